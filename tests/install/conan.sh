#!/bin/bash
# conan.sh SOURCES DIRECTORY: the recipe makes a package without a network, with Debian's libraries in
# the place of Conan's, and a program that uses the package records and replays. Status 77 where there
# is no Conan 2 (`pip install conan`). Without optimization: the recipe is tried here, and compiled sooner.
set -euo pipefail
sources=$1 work=$2
if ! conan --version 2>/dev/null | grep -q 'version 2'; then
  echo "Conan 2 is not installed: skipped"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work"
export CONAN_HOME=$work/home
conan profile detect >/dev/null
cat >"$work/profile" <<EOF
include(default)
[settings]
compiler.cppstd=20
build_type=Debug
[platform_requires]
$(for library in fmt libgit2 libxxhash:xxhash sqlite3 libzstd:zstd; do
  echo "${library#*:}/$(pkg-config --modversion "${library%:*}")"
done)
nlohmann_json/$(pkg-config --modversion nlohmann_json)
[conf]
tools.cmake.cmaketoolchain:generator=Ninja
EOF
conan remote remove conancenter >/dev/null
# As from a tarball: without git and without what was built.
mkdir "$work/sources"
(cd "$sources" && tar -cf - CMakeLists.txt LICENSE CHANGELOG.md cmake store runtime cli examples packaging) |
  tar -C "$work/sources" -xf -
conan create "$work/sources/packaging/conan" -pr:a "$work/profile" -c "tools.build:jobs=$("$sources/scripts/jobs.sh")"
