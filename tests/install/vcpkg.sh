#!/bin/bash
# vcpkg.sh SOURCES DIRECTORY TORCH [CMAKE-ARGUMENTS...]
#
# The port makes packages from a tarball of the sources: one with the libraries alone, one with the command, too, and with
# the support for libtorch where TORCH is ON. Projects outside of this one build against them through vcpkg's toolchain file,
# record and replay. FLOR_VCPKG is a checkout of vcpkg with its program `vcpkg` (bootstrap-vcpkg.sh, or its sources built
# by CMake and put there); status 77 without. Where vcpkg would download the sources of libraries Debian's take their
# place: ports that are empty, but libgit2's, which is a static library as vcpkg's is. Without optimization: the port is
# tried here, and compiled sooner.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$1 work=$2 torch=$3
shift 3
if [ ! -x "${FLOR_VCPKG-}/vcpkg" ]; then
  echo "FLOR_VCPKG names no checkout of vcpkg that has its program: skipped"
  exit 77
fi
command -v patchelf >/dev/null || { echo "vcpkg wants patchelf, which is not installed: skipped"; exit 77; }
rm -rf "$work" && mkdir -p "$work/sources" "$work/ports" "$work/triplets"
"$sources/scripts/source_tarball.sh" "$work/flor.tar.gz"
tar -C "$work/sources" --strip-components 1 -xf "$work/flor.tar.gz"

# port NAME VERSION: the port of a library that is there already; what installs more than that is read.
port() {
  mkdir "$work/ports/$1"
  echo "{\"name\": \"$1\", \"version-string\": \"$2\"}" >"$work/ports/$1/vcpkg.json"
  { echo 'set(VCPKG_POLICY_EMPTY_PACKAGE enabled)'; cat; } >"$work/ports/$1/portfile.cmake"
}
for library in CLI11:cli11 cairo libcurl:curl fmt hiredis libjpeg:libjpeg-turbo libmicrohttpd libpng nlohmann_json:nlohmann-json \
  openssl pugixml sqlite3 libxxhash:xxhash zlib libzstd:zstd; do
  port "${library#*:}" "$(pkg-config --modversion "${library%:*}")" </dev/null
done
port libtorch "of Debian" </dev/null
libdir=$(pkg-config --variable libdir libgit2)
port libgit2 "$(pkg-config --modversion libgit2)" <<END
set(VCPKG_POLICY_SKIP_ALL_POST_BUILD_CHECKS enabled)
file(INSTALL $libdir/libgit2.a DESTINATION \${CURRENT_PACKAGES_DIR}/lib)
file(WRITE \${CURRENT_PACKAGES_DIR}/lib/pkgconfig/libgit2.pc [[
prefix=\${pcfiledir}/../..
Name: libgit2
Description: Debian's, static
Version: $(pkg-config --modversion libgit2)
Libs: -L\${prefix}/lib -lgit2
Libs.private: $(pkg-config --static --libs libgit2 | sed 's/-lgit2 //') -l:libgssapi_krb5.so.2
]])
END

triplet=flor
cat >"$work/triplets/$triplet.cmake" <<END
set(VCPKG_TARGET_ARCHITECTURE $(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/'))
set(VCPKG_CRT_LINKAGE dynamic)
set(VCPKG_LIBRARY_LINKAGE static)
set(VCPKG_CMAKE_SYSTEM_NAME Linux)
set(VCPKG_BUILD_TYPE release)
set(VCPKG_CMAKE_CONFIGURE_OPTIONS "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"
    $(printf '"%s" ' "$@" | grep -o '"-DCMAKE_CXX_COMPILER_LAUNCHER=[^"]*"' || true))
END
export VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1
VCPKG_MAX_CONCURRENCY=$("$sources/scripts/jobs.sh")
export VCPKG_MAX_CONCURRENCY

# install FEATURES: as docs/install.md has it, into a tree of its own.
install() {
  "$FLOR_VCPKG/vcpkg" install "flor$1" --recurse --vcpkg-root="$FLOR_VCPKG" --overlay-ports="$work/sources/packaging/vcpkg" \
    --overlay-ports="$work/ports" --overlay-triplets="$work/triplets" --triplet="$triplet" --host-triplet="$triplet" \
    --x-install-root="$work/installed" --x-buildtrees-root="$work/buildtrees" --x-packages-root="$work/packages" \
    --downloads-root="$work/downloads" --binarysource=clear
}
prefix=$work/installed/$triplet
# project COMPONENT [CMAKE-ARGUMENTS...]: outside_project.sh, through the toolchain file.
project() {
  "$here/outside_project.sh" "$prefix" "$work/$1" "$@" -DCMAKE_TOOLCHAIN_FILE="$FLOR_VCPKG/scripts/buildsystems/vcpkg.cmake" \
    -DVCPKG_INSTALLED_DIR="$work/installed" -DVCPKG_TARGET_TRIPLET="$triplet" -DVCPKG_HOST_TRIPLET="$triplet" \
    -DVCPKG_MANIFEST_MODE=OFF
}
install ''
[ ! -e "$prefix/tools/flor" ] || { echo "FAILED: the libraries alone come with a command" >&2; exit 1; }
features=tool
[ "$torch" != ON ] || features=tool,torch
install "[$features]"
project core "$@"
[ "$torch" != ON ] || project torch "$@"
