#!/bin/sh
# Installs what is needed, builds with warnings as errors and runs the tests; ends with ctest's
# summary and status. `--slow` compiles all as for a release, runs the slow tests too, starts each program of
# libtorch anew instead of forking it (FLOR_TEST_COLD_STARTS), and lets faults strike at every point
# (FLOR_TEST_EVERY_POINT). `--s3` runs those, and only those, that want
# a real S3 server: it installs Ceph's RADOS gateway and rclone, and starts the former on loopback.
# `--slurm` does the same with a Slurm of two nodes, as root.
# `--package` makes the packages of Debian and the tarball, tries them in a clean Debian 12 (as root),
# and says how long each step took.
# `--browser` runs those, and only those, that look at the page of flor serve in a real browser: it
# installs Chromium. FLOR_TEST_SCREENSHOTS: a directory for what they saw.
# `--sanitize address` or `--sanitize thread` builds all but what needs libtorch with clang's
# sanitizers, and runs the tests that come of it.
# Further arguments go to ctest.
#
# FLOR_TEST_DATA: a directory with real data (mnist/, tinyshakespeare.txt) for the tests that can
# use it; without it they use data made by code.
set -eu
cd "$(dirname "$0")/.."

labels='-LE slow'
preset=ci
if [ "${1-}" = --slow ]; then
  labels=
  preset=thorough
  FLOR_TEST_COLD_STARTS=1
  FLOR_TEST_EVERY_POINT=1
  export FLOR_TEST_COLD_STARTS FLOR_TEST_EVERY_POINT
  shift
fi
s3=
if [ "${1-}" = --s3 ]; then
  s3=1
  labels='-L s3'
  shift
fi
slurm=
if [ "${1-}" = --slurm ]; then
  slurm=1
  labels='-L slurm'
  shift
fi
if [ "${1-}" = --package ]; then
  scripts/package.sh
  exec tests/install/clean_root.sh build/package
fi
if [ "${1-}" = --sanitize ]; then
  case ${2-} in
    address) preset=asan ;;
    thread) preset=tsan ;;
    *) echo "--sanitize wants address or thread" >&2; exit 2 ;;
  esac
  shift 2
fi
browser=
if [ "${1-}" = --browser ]; then
  browser=1
  labels='-L browser'
  shift
fi
scripts/install-packages.sh packages-page.txt packages-test.txt packages-python.txt ${s3:+packages-s3.txt} ${slurm:+packages-slurm.txt} \
  ${browser:+packages-browser.txt}
cmake --preset $preset
cmake --build --preset $preset -j "$(scripts/jobs.sh)"
if [ -n "$s3" ]; then
  server=$(mktemp -d)
  # shellcheck disable=SC2064  # the directory of now
  trap "tests/remote/s3_server.sh down '$server'; rm -rf '$server'" EXIT
  FLOR_TEST_S3=$(tests/remote/s3_server.sh up "$server" 17480)
  export FLOR_TEST_S3 FLOR_TEST_S3_CA="$server/ca.pem"
  ctest --preset ci -j 2 $labels "$@"
  exit
fi
if [ -n "$slurm" ]; then
  cluster=$(mktemp -d)
  # shellcheck disable=SC2064  # the directory of now
  trap "tests/cluster/slurm_cluster.sh down '$cluster'; rm -rf '$cluster'" EXIT
  tests/cluster/slurm_cluster.sh up "$cluster" 17680
  FLOR_TEST_SLURM=$cluster
  export FLOR_TEST_SLURM
  ctest --preset ci -j 1 $labels "$@"
  exit
fi
# shellcheck disable=SC2086  # two words or none
# Homes and repositories of tests lie in memory where that has room: they are synced some hundred thousand
# times, which a disk takes longer for than all else takes. With TMPDIR they lie there; the slow tests use the disk.
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
if [ -z "${TMPDIR-}" ] && [ -n "$labels" ] && [ "${free:-0}" -gt 4194304 ]; then
  TMPDIR=$(mktemp -d /dev/shm/flor-tests.XXXXXX)
  chmod 1777 "$TMPDIR"  # some programs run as another user
  export TMPDIR
  # shellcheck disable=SC2064  # the directory of now
  trap "rm -rf '$TMPDIR'" EXIT
fi
jobs=$(scripts/jobs.sh)
ctest --preset $preset -j $((jobs < 2 ? 2 : jobs > 8 ? 8 : jobs)) $labels "$@"
