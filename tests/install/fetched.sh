#!/bin/bash
# fetched.sh SOURCES DIRECTORY (configure|build) [CMAKE-ARGUMENTS...]
#
# Flor as a part of another project, from a tarball of its sources and without a network: by the lines
# of docs/building.md for FetchContent, and by add_subdirectory. `configure` shows that the project
# gets nothing but the libraries: no test, no example, no rule of installation, no flag. `build` also
# builds it, records and replays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$1 work=$2 job=$3
shift 3
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

rm -rf "$work" && mkdir -p "$work/project" && cd "$work"
tar -C "$sources" -czf flor.tar.gz --transform 's,^,flor-0/,' CMakeLists.txt cmake store runtime cli examples LICENSE
cp "$here/snippet/train.cpp" project/
cp "$here/fetched/CMakeLists.txt" project/
configure() {
  cmake -S project -B build -Werror=dev -DCMAKE_INSTALL_PREFIX="$work/installed" -DFLOR_SOURCES="$work/flor.tar.gz" \
    -DFETCHCONTENT_FULLY_DISCONNECTED=OFF "$@" >said.txt 2>&1 || { cat said.txt; exit 1; }
  ! grep -A 10 Warning said.txt || fail "CMake warns"
}
configure "$@"
[ -z "$(cd build && ctest -N | sed -n 's/^Total Tests: //p' | grep -v '^0$')" ] || fail "it brings tests"
grep -rn 'flor' build/_deps/flor-build/cmake_install.cmake | grep -v '_deps\|directory' && fail "it installs"

# The block of the page, as it is pasted.
awk '/^```cmake$/ { inside = 1; text = ""; next }
     /^```$/ { if (inside && text ~ /FetchContent_Declare/) printf "%s", text; inside = 0 }
     inside { text = text $0 "\n" }' "$sources/docs/building.md" >pasted.txt
grep -q '^project(' pasted.txt || fail "docs/building.md shows no project that fetches Flor"
mkdir pasted && cp pasted.txt pasted/CMakeLists.txt && cp "$here/snippet/train.cpp" pasted/
cmake -S pasted -B pasted/build -DFLOR_SOURCES="$work/flor.tar.gz" "$@" >said.txt 2>&1 || { cat said.txt; exit 1; }
[ "$job" = build ] || exit 0

git -C project init -q .
cmake --build build -j "$("$sources/scripts/jobs.sh")" --target train
cmake --install build >installed.txt 2>&1 || cat installed.txt
[ "$(find installed -type f)" = installed/bin/train ] || fail "it installs $(find installed -type f)"
export FLOR_HOME=$work/home
cd project
../build/train --flor fetched
../build/train --replay_flor
