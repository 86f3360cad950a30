#!/bin/sh
# Fuzzes everything that reads stored bytes, with libFuzzer and sanitizers, one target after another:
#   scripts/fuzz.sh [SECONDS_EACH [TARGET...]]     default: 720 each, 72 minutes for all six
# Needs clang. What it finds lies in out/fuzz/TARGET-*; new inputs go to out/fuzz/corpus/TARGET, from
# which `out/fuzz/build/tests/fuzz/TARGET_fuzz -merge=1 tests/fuzz/corpus/TARGET ...` keeps the few
# that are worth it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-720}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- codec pack blob safetensors store remote
cxx=${FUZZ_CXX:-$(command -v clang++ || command -v clang++-14)}
build=out/fuzz/build
cmake -G Ninja -S . -B $build -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$cxx" \
  -DFLOR_WITH_TORCH=OFF -DFLOR_BUILD_EXAMPLES=OFF -DFLOR_BUILD_FUZZERS=ON >/dev/null
for target in "$@"; do
  ninja -C $build "${target}_fuzz" >/dev/null
done
for target in "$@"; do
  mkdir -p out/fuzz/corpus/$target
  echo "$target: $seconds s"
  nice -n 19 $build/tests/fuzz/${target}_fuzz -max_len=8192 -max_total_time="$seconds" \
    -artifact_prefix=out/fuzz/$target- -print_final_stats=1 -verbosity=0 -timeout=20 \
    out/fuzz/corpus/$target tests/fuzz/corpus/$target 2>&1 |
    grep -vE '^INFO|NEW_FUNC|Recommended dict|# Uses: |^stat::(average|new|slow|peak)' || true
done
