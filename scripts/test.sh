#!/bin/sh
# Installs what is needed, builds with warnings as errors and runs the tests; ends with ctest's
# summary and status. `--slow` runs the slow tests too. `--s3` runs those, and only those, that want
# a real S3 server: it installs Ceph's RADOS gateway and rclone, and starts the former on loopback.
# Further arguments go to ctest.
#
# FLOR_TEST_DATA: a directory with real data (mnist/, tinyshakespeare.txt) for the tests that can
# use it; without it they use data made by code.
set -eu
cd "$(dirname "$0")/.."

labels='-LE slow'
if [ "${1-}" = --slow ]; then
  labels=
  shift
fi
s3=
if [ "${1-}" = --s3 ]; then
  s3=1
  labels='-L s3'
  shift
fi
scripts/install-packages.sh ${s3:+packages-s3.txt}
cmake --preset ci
cmake --build --preset ci -j "$(scripts/jobs.sh)"
if [ -n "$s3" ]; then
  server=$(mktemp -d)
  # shellcheck disable=SC2064  # the directory of now
  trap "tests/remote/s3_server.sh down '$server'; rm -rf '$server'" EXIT
  FLOR_TEST_S3=$(tests/remote/s3_server.sh up "$server" 17480)
  export FLOR_TEST_S3
  ctest --preset ci -j 2 $labels "$@"
  exit
fi
# shellcheck disable=SC2086  # two words or none
exec ctest --preset ci -j 2 $labels "$@"
