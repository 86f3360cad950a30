#!/bin/bash
# fetched.sh SOURCES DIRECTORY (configure|build|cpm) [CMAKE-ARGUMENTS...]
#
# Flor as a part of another project, from a tarball of its sources, by the lines of docs/install.md for FetchContent or,
# with `cpm`, for CPM.cmake, the file that FLOR_CPM names (status 77 without). The project gets nothing but the libraries:
# no test, no example, no rule of installation, no flag. But for `configure` it is also built, and records and replays;
# without optimization, since how it is built is tried here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$1 work=$2 job=$3
shift 3
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
if [ "$job" = cpm ] && [ ! -f "${FLOR_CPM-}" ]; then
  echo "FLOR_CPM names no file CPM.cmake: skipped"
  exit 77
fi

rm -rf "$work" && mkdir -p "$work/project" && cd "$work"
"$sources/scripts/source_tarball.sh" flor.tar.gz
cp "$here/snippet/train.cpp" project/
if [ "$job" = cpm ]; then
  line=$(grep -o 'CPMAddPackage([^`]*)' "$sources/docs/install.md") || fail "docs/install.md has no line for CPM"
  cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.24)
project(fetched LANGUAGES CXX)
include($(realpath "$FLOR_CPM"))
$line
add_executable(train train.cpp)
flor_instrument(train)
install(TARGETS train)
END
else
  cp "$here/fetched/CMakeLists.txt" project/
fi
# configure DIRECTORY [CMAKE-ARGUMENTS...]
configure() {
  cmake -S "$1" -B "$1/build" --no-warn-unused-cli -Werror=dev -DCMAKE_INSTALL_PREFIX="$work/installed" -DFLOR_SOURCES="$work/flor.tar.gz" \
    -DFETCHCONTENT_FULLY_DISCONNECTED=OFF "${@:2}" -DCMAKE_CXX_FLAGS_RELEASE='-O0 -DNDEBUG' >said.txt 2>&1 || { cat said.txt; exit 1; }
  ! grep -A 10 Warning said.txt || fail "CMake warns"
}
configure project "$@"
[ -z "$(cd project/build && ctest -N | sed -n 's/^Total Tests: //p' | grep -v '^0$')" ] || fail "it brings tests"
grep -rn 'flor' project/build/_deps/flor-build/cmake_install.cmake | grep -v '_deps\|directory' && fail "it installs"

# The block of the page, as it is pasted.
if [ "$job" != cpm ]; then
  awk '/^```cmake$/ { inside = 1; text = ""; next }
       /^```$/ { if (inside && text ~ /FetchContent_Declare/) printf "%s", text; inside = 0 }
       inside { text = text $0 "\n" }' "$sources/docs/install.md" >pasted.txt
  grep -q '^project(' pasted.txt || fail "docs/install.md shows no project that fetches Flor"
  mkdir pasted && cp pasted.txt pasted/CMakeLists.txt && cp "$here/snippet/train.cpp" pasted/
  configure pasted "$@"
fi
[ "$job" != configure ] || exit 0

cd project
git init -q . && echo /build/ >.gitignore
cmake --build build -j "$("$sources/scripts/jobs.sh")" --target train
cmake --install build >../said.txt 2>&1 || cat ../said.txt
[ "$(cd .. && find installed -type f)" = installed/bin/train ] || fail "it installs $(find ../installed -type f)"
export FLOR_HOME=$work/home
build/train --flor fetched
build/train --replay_flor --flor_probe epoch 2>../said.txt || fail "no replay: $(cat ../said.txt)"
grep '^flor: verified: ' ../said.txt || fail "no verified replay: $(cat ../said.txt)"
