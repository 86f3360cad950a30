#!/bin/bash
# Builds Flor against the libtorch that is there (CUDA's, where it is), and runs on the GPU what has to be
# shown there: the tests of the adapter, trainings recorded, replayed, resumed bit for bit, and what a
# checkpoint costs. Needs no network and no package beside CMake, a C++20 compiler and libtorch (that
# of `python3 -c 'import torch'`, or CMAKE_PREFIX_PATH): the rest is carried along in a directory
# that a machine with the packages of scripts/packages.txt and packages-parts.txt makes.
#
#   scripts/gpu.sh carry [DIR]           where the packages are: collect them in DIR (build/carry)
#   scripts/gpu.sh [build|test|bench]... where the GPU is: these steps (default: all three)
#
# FLOR_CARRIED: that directory, build/carry by default; where there is none the packages are used.
# FLOR_JOBS: compilers at once. FLOR_GPU_BUILD: the build directory (build/gpu). Without a GPU it all runs on the CPU, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."

carry() {
  local out=${1:-build/carry} library header
  local from=/usr/lib/$(gcc -print-multiarch)
  rm -rf "$out"
  mkdir -p "$out/lib" "$out/include"
  for library in zstd sqlite3 git2 mbedtls mbedx509 mbedcrypto ssh2 http_parser pcre2-8 z crypto \
                 pugixml hiredis xxhash jpeg png16 gtest gtest_main gmock rapidcheck; do
    cp "$from/lib$library.a" "$out/lib/"
  done
  gcc -O2 -fPIC -c cmake/bundle/no_kerberos.c -o "$out/no_kerberos.o"
  ar rcs "$out/lib/libno_kerberos.a" "$out/no_kerberos.o"
  rm "$out/no_kerberos.o"
  # Debian has these as shared libraries alone; their names are what programs look for.
  for library in benchmark; do
    cp -L "$from/lib$library.so" "$out/lib/"
    cp -L "$from/lib$library.so" "$out/lib/$(objdump -p "$from/lib$library.so" | awk '/SONAME/ { print $2 }')"
  done
  for header in zstd.h zstd_errors.h sqlite3.h git2.h git2 fmt nlohmann CLI pugixml.hpp pugiconfig.hpp \
                hiredis xxhash.h microhttpd.h zlib.h zconf.h jpeglib.h jmorecfg.h jerror.h png.h pngconf.h \
                pnglibconf.h openssl cairo gtest gmock rapidcheck rapidcheck.h benchmark; do
    cp -rL "/usr/include/$header" "$out/include/"
  done
  cp -rL "/usr/include/$(gcc -print-multiarch)"/{curl,openssl,jconfig.h} "$out/include/"
  du -sh "$out"
}

prepare() {
  build=${FLOR_GPU_BUILD:-build/gpu}
  torch=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)' 2>/dev/null || true)
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1 || true)
  if [ -n "$gpu" ]; then
    export FLOR_TEST_DEVICE=cuda CUBLAS_WORKSPACE_CONFIG=:4096:8
    echo "gpu: $gpu"
  else
    unset FLOR_TEST_DEVICE
    echo "there is no GPU here: everything runs on the CPU, which shows that it builds and no more"
  fi
  echo "libtorch: ${torch:-found by CMake}, $(nproc) cores"
}

build() {
  local carried=${FLOR_CARRIED-$PWD/build/carry} options=()
  [ ! -d "$carried" ] || options+=("-DFLOR_CARRIED=$carried")
  [ -z "$torch" ] || options+=("-DCMAKE_PREFIX_PATH=$torch${CMAKE_PREFIX_PATH:+;$CMAKE_PREFIX_PATH}")
  ! command -v ninja >/dev/null || options+=(-G Ninja)
  cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DFLOR_UPLOT=OFF -DFLOR_BUILD_BENCH=ON \
    "${options[@]}"
  cmake --build "$build" -j "${FLOR_JOBS:-$(scripts/jobs.sh)}" \
    --target torch_test device_test learner_test flor_cli gpu_stall
}

# Most of a test is the start of its programs, so many run at once. Each is started anew: a process
# that has loaded CUDA is not forked.
tests() {
  local failed=0 test shard shards log
  shards=$(($(nproc) > 12 ? 12 : $(nproc)))
  log=$(mktemp -d)
  for test in tests/torch/torch_test tests/device/device_test tests/programs/learner_test; do
    echo "== $test"
    for ((shard = 0; shard < shards; ++shard)); do
      GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_NUM_THREADS=2 FLOR_TEST_COLD_STARTS=1 \
        "$build/$test" --gtest_brief=1 "--gtest_filter=*-*Matrix*:Overlapper.*:WholeState.*" >"$log/$shard" 2>&1 || echo FAILED >>"$log/$shard" &
    done
    wait
    ! grep -h -B 40 FAILED "$log"/* || failed=1
    cat "$log"/* | awk '/PASSED/ { n += $4 } /SKIPPED.*test/ { s += $4 } END { print n + 0, "passed,", s + 0, "skipped" }'
  done
  rm -rf "$log"
  return $failed
}

bench() {
  bench/gpu.sh "$build"
}

if [ "${1-}" = carry ]; then
  shift
  carry "$@"
  exit
fi
[ $# -gt 0 ] || set -- build test bench
prepare
status=0
for step in "$@"; do
  case $step in
    build) build ;;
    test) tests || status=1 ;;
    bench) bench || status=1 ;;
    *) echo "scripts/gpu.sh: there is no step '$step'; see its first lines" >&2; exit 2 ;;
  esac
done
exit $status
