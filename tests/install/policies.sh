#!/bin/bash
# policies.sh PREFIX [CMAKE-ARGUMENTS...]
#
# find_package(flor) and flor_instrument() warn of nothing, whichever CMake a project asks for: with
# Ninja and with Makefiles, and every warning an error. Two of them are built, too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for version in 3.10 3.16 3.20 3.25; do
  for generator in Ninja 'Unix Makefiles'; do
    project="$work/$version $generator"
    mkdir "$project" && cd "$project"
    cp "$here/snippet/train.cpp" .
    cat >CMakeLists.txt <<EOF
cmake_minimum_required(VERSION $version)
project(train CXX)
find_package(flor REQUIRED COMPONENTS core)
add_executable(train train.cpp)
flor_instrument(train)
EOF
    cmake -S . -B build -G "$generator" -Werror=dev -Werror=deprecated -DCMAKE_PREFIX_PATH="$prefix" "$@" \
      >said.txt 2>&1 || { cat said.txt; exit 1; }
    if grep -iE 'warning|policy' said.txt; then
      echo "FAILED: CMake $version with $generator warns" >&2
      exit 1
    fi
    case "$version $generator" in
      '3.10 Ninja' | '3.25 Unix Makefiles')
        cmake --build build >built.txt 2>&1 || { cat built.txt; exit 1; }
        ./build/train
        # What the sources are is noted again when one of them changed, and only then.
        touch train.cpp
        cmake --build build >again.txt && grep 'Noting the sources of train' again.txt
        cmake --build build >again.txt
        ! grep 'Noting the sources' again.txt || exit 1
        ;;
    esac
    echo "$version, $generator: no warning"
  done
done
