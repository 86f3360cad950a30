#!/bin/sh
# Makes the packages of Debian, flor and libflor-dev, and has lintian look at them. They are in
# build/package afterwards; their paths are the last lines that are printed.
#
#   scripts/package.sh [BUILD_DIRECTORY]
#
# BUILD_DIRECTORY: one that is configured already, to save compiling everything again; its prefix
# becomes /usr.
set -eu
cd "$(dirname "$0")/.."

scripts/install-packages.sh packages-page.txt packages-package.txt
build=${1-build/package}
out=build/package
mkdir -p "$out"
if [ $# -eq 0 ]; then
  cmake --preset package
else
  cmake -S . -B "$build" -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" >/dev/null
fi
cmake --build "$build" -j "$(scripts/jobs.sh)" \
  --target flor_cli flor_manual flor_core flor_git flor_torch flor_torch_data
rm -f "$out"/*.deb
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$out" >/dev/null
rm -rf "$out/_CPack_Packages"
lintian --fail-on error,warning --suppress-tags-from-file cmake/debian/lintian-suppressed "$out"/*.deb
ls "$PWD/$out"/*.deb
