#!/bin/sh
# Fuzzes everything that reads bytes of strangers, with libFuzzer and sanitizers, one target after
# another; ends with status 1 where one found something:
#   scripts/fuzz.sh [SECONDS_EACH [TARGET...]]     default: 300 each, an hour for all twelve
# 0 seconds: only builds them. Needs clang and its runtime (packages-test.txt). An input that fails
# lies in out/fuzz/TARGET-*, beside TARGET.log, and is run again by
#   out/fuzz/build/tests/fuzz/TARGET_fuzz out/fuzz/TARGET-crash-...
# New inputs go to out/fuzz/corpus/TARGET, from which
#   out/fuzz/build/tests/fuzz/TARGET_fuzz -merge=1 tests/fuzz/corpus/TARGET out/fuzz/corpus/TARGET
# keeps the few that are worth it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-300}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(ls tests/fuzz | sed -n 's/_fuzz\.cpp$//p')
cxx=${FUZZ_CXX:-$(command -v clang++ || command -v clang++-14)}
build=out/fuzz/build
# For a short run compiling takes longer than all else, and half as long without optimization.
optimization=-O1
[ "$seconds" -ge 60 ] || optimization=-O0
# CMake forgets all other settings where the compiler changes.
grep -qs "^CMAKE_CXX_COMPILER:[A-Z]*=$cxx\$" $build/CMakeCache.txt || rm -rf $build
cmake -G Ninja -S . -B $build -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$optimization -gline-tables-only" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DFLOR_WITH_TORCH=OFF -DFLOR_BUILD_EXAMPLES=OFF -DFLOR_UPLOT=OFF -DFLOR_BUILD_FUZZERS=ON \
  -DFLOR_SANITIZE=fuzzer-no-link,address,undefined >/dev/null
ninja -C $build -j "$(scripts/jobs.sh)" $(printf '%s_fuzz ' "$@")
[ "$seconds" -gt 0 ] || exit 0

status=0
for target in "$@"; do
  found=0
  mkdir -p out/fuzz/corpus/$target
  nice -n 19 $build/tests/fuzz/${target}_fuzz -max_len=8192 -max_total_time="$seconds" \
    -artifact_prefix=out/fuzz/$target- -print_final_stats=1 -verbosity=0 -timeout=20 \
    out/fuzz/corpus/$target tests/fuzz/corpus/$target >out/fuzz/$target.log 2>&1 || found=1
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' out/fuzz/$target.log)
  if [ $found = 0 ]; then
    echo "$target: $runs inputs in $seconds s, nothing found"
  else
    grep -vE '^INFO|NEW_FUNC|Recommended dict|# Uses: |^stat::' out/fuzz/$target.log
    echo "$target: FOUND something after $runs inputs: out/fuzz/$target.log"
    status=1
  fi
done
exit $status
