#!/bin/bash
# snippets.sh PREFIX FILE.md... [-- CMAKE-ARGUMENTS...]
#
# Each CMakeLists.txt that a page shows whole (a block `cmake` with project()) works as it is pasted:
# with five lines of C++ it is configured, built against the Flor in PREFIX, and its program recorded.
# Blocks that fetch Flor's sources are fetched.sh's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  pages+=("$(realpath "$1")")
  shift
done
[ $# -eq 0 ] || shift

for page in "${pages[@]}"; do
  mkdir -p "$work/blocks"
  awk -v out="$work/blocks/" '/^```cmake$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print >(out n) }' "$page"
  found=0
  for block in "$work"/blocks/*; do
    if ! grep -q '^project(' "$block" || grep -q FetchContent "$block"; then continue; fi
    found=$((found + 1))
    rm -rf "$work/project" && mkdir "$work/project" && cd "$work/project"
    cp "$block" CMakeLists.txt
    cp "$here/snippet/train.cpp" .
    git init -q . && echo /build/ >.gitignore
    cmake -S . -B build -Werror=dev -DCMAKE_PREFIX_PATH="$prefix" "$@" >configured.txt 2>&1 ||
      { cat configured.txt; exit 1; }
    ! grep -A 10 Warning configured.txt || exit 1
    cmake --build build >built.txt || { cat built.txt; exit 1; }
    FLOR_HOME=$work/home ./build/train --flor pasted
    [ "$("$prefix/bin/flor" --home "$work/home" query --csv half | tail -n +2 | wc -l)" = 3 ]
    rm -rf "$work/home"
  done
  [ "$found" -gt 0 ] || { echo "$page shows no CMakeLists.txt that is whole" >&2; exit 1; }
  echo "$(basename "$page"): $found"
  rm -r "$work/blocks"
done
