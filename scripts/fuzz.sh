#!/bin/sh
# Fuzzes everything that reads bytes of strangers, with libFuzzer and sanitizers, as many targets at once as
# there are processors; ends with status 1 where one found something:
#   scripts/fuzz.sh [SECONDS_EACH [TARGET...]]     default: 300 each, 38 minutes for all fifteen on two
# 0 seconds: only builds them. Needs clang and its runtime (packages-test.txt). An input that fails
# lies in out/fuzz/TARGET-*, beside TARGET.log, and is run again by
#   FLOR_FUZZ_TARGET=TARGET out/fuzz/build/tests/fuzz/flor_fuzz out/fuzz/TARGET-crash-...
# A run begins with the inputs of tests/fuzz/corpus; one of a minute or more also with those that earlier
# ones found, and leaves its own in out/fuzz/corpus/TARGET, from which
#   FLOR_FUZZ_TARGET=TARGET out/fuzz/build/tests/fuzz/flor_fuzz -merge=1 tests/fuzz/corpus/TARGET out/fuzz/corpus/TARGET
# keeps the few that are worth it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-300}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(ls tests/fuzz | sed -n 's/_fuzz\.cpp$//p')
cxx=${FUZZ_CXX:-$(command -v clang++ || command -v clang++-14)}
build=out/fuzz/build
# For a short run compiling takes longer than all else: half as long without optimization, and a third of
# that less where undefined behaviour is left to longer runs and to `scripts/test.sh --sanitize address`.
flags='-O1 -gline-tables-only'
sanitizers=fuzzer-no-link,address,undefined
if [ "$seconds" -lt 60 ]; then
  flags=-O0
  sanitizers=fuzzer-no-link,address
fi
# CMake forgets all other settings where the compiler changes.
grep -qs "^CMAKE_CXX_COMPILER:[A-Z]*=$cxx\$" $build/CMakeCache.txt || rm -rf $build
cmake -G Ninja -S . -B $build -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DFLOR_WITH_TORCH=OFF -DFLOR_BUILD_EXAMPLES=OFF -DFLOR_UPLOT=OFF -DFLOR_BUILD_FUZZERS=ON \
  -DFLOR_SANITIZE=$sanitizers >/dev/null
ninja -C $build -j "$(scripts/jobs.sh)" flor_fuzz
[ "$seconds" -gt 0 ] || exit 0

# Fuzzes one target; status 1 where that found something.
fuzz() {
  found=0
  inputs=out/fuzz/corpus/$1
  if [ "$seconds" -lt 60 ]; then
    inputs=out/fuzz/new/$1
    rm -rf "$inputs"
  fi
  mkdir -p "$inputs"
  FLOR_FUZZ_TARGET=$1 nice -n 19 $build/tests/fuzz/flor_fuzz -max_len=8192 -max_total_time="$seconds" \
    -artifact_prefix="out/fuzz/$1-" -print_final_stats=1 -verbosity=0 -timeout=20 \
    "$inputs" "tests/fuzz/corpus/$1" >"out/fuzz/$1.log" 2>&1 || found=1
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "out/fuzz/$1.log")
  if [ $found = 0 ]; then
    echo "$1: $runs inputs in $seconds s, nothing found"
  else
    grep -vE '^INFO|NEW_FUNC|Recommended dict|# Uses: |^stat::' "out/fuzz/$1.log"
    echo "$1: FOUND something after $runs inputs: out/fuzz/$1.log"
  fi
  return $found
}

# As many at once as there are processors.
status=0
running=
free=$(nproc)
for target in "$@"; do
  if [ "$free" = 0 ]; then
    wait "${running%% *}" || status=1
    running=${running#* }
    free=1
  fi
  fuzz "$target" &
  running="$running$! "
  free=$((free - 1))
done
for process in $running; do wait "$process" || status=1; done
exit $status
