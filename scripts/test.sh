#!/bin/sh
# Installs what is needed, builds with warnings as errors and runs the tests; ends with ctest's
# summary and status. `--slow` runs the slow tests too. Further arguments go to ctest.
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
scripts/install-packages.sh
cmake --preset ci
cmake --build --preset ci -j "$(scripts/jobs.sh)"
# shellcheck disable=SC2086  # two words or none
exec ctest --preset ci -j 2 $labels "$@"
