#!/bin/sh
# Makes the packages of Debian (flor, libflor-dev and libflor-torch-dev), has lintian look at them, and
# makes a tarball that runs where it is unpacked. They are in build/package afterwards; their paths are
# the last lines that are printed.
#
#   scripts/package.sh [BUILD_DIRECTORY]
#
# BUILD_DIRECTORY: one that is configured already, to save compiling everything again; its prefix
# becomes /usr. DEBFULLNAME and DEBEMAIL: who answers for the packages, when it is configured first.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh packages-page.txt packages-package.txt
build=${1-build/package}
out=$PWD/build/package
mkdir -p "$out"
if [ $# -eq 0 ]; then
  cmake --preset package >/dev/null
else
  cmake -S . -B "$build" -DFLOR_BUNDLE=ON -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" >/dev/null
fi
compile() {
  cmake --build "$build" -j "$(scripts/jobs.sh)" \
    --target flor_cli flor_manual flor_core flor_git flor_torch flor_torch_data flor_bundle
}
compile
rm -f "$out"/*.deb "$out"/*.tar.gz
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$out" >/dev/null
rm -rf "$out/_CPack_Packages"
lintian --fail-on error,warning "$out"/*.deb

# The same for a directory of any name: what is compiled stays, only the files of CMake are others.
cmake -S . -B "$build" -DCMAKE_INSTALL_PREFIX=/opt/flor -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
compile >/dev/null
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=flor-$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")-linux-$(uname -m)
for component in tool dev torch bundle; do
  # The last brings a command and a file for pkg-config that need no packages. CMake would not replace
  # files that were written in the same second.
  [ "$component" != bundle ] || rm "$stage/$name/bin/flor" "$stage/$name/lib/pkgconfig/flor-core.pc"
  cmake --install "$build" --component "$component" --prefix "$stage/$name" --strip >/dev/null
done
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -9n >"$out/$name.tar.gz"
ls "$out"/*.deb "$out"/*.tar.gz
