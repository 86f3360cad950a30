#!/bin/bash
# conan.sh SOURCES DIRECTORY TORCH: the recipe makes packages from a tarball of the sources, with Debian's libraries in the
# place of Conan's: one with the libraries alone, one with the command, too, and with the support for libtorch where TORCH
# is ON. Programs that use them record and replay. Status 77 where there is no Conan 2. Without optimization: the recipe is
# tried here, and compiled sooner.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$1 work=$2 torch=$3
if ! conan --version 2>/dev/null | grep -q 'version 2'; then
  echo "Conan 2 is not on the PATH (python3 -m venv DIR && DIR/bin/pip install conan): skipped"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work/sources"
export CONAN_HOME=$work/home
conan profile detect >/dev/null
cat >"$work/profile" <<END
include(default)
[settings]
compiler.cppstd=20
build_type=Debug
[platform_requires]
$(for library in CLI11:cli11 cairo fmt hiredis libcurl libgit2 libmicrohttpd libxxhash:xxhash libzstd:zstd nlohmann_json \
  openssl pugixml sqlite3 zlib; do
  echo "${library#*:}/$(pkg-config --modversion "${library%:*}")"
done)
[conf]
tools.cmake.cmaketoolchain:generator=Ninja
tools.build:jobs=$("$sources/scripts/jobs.sh")
END
conan remote remove conancenter >/dev/null
"$sources/scripts/source_tarball.sh" "$work/flor.tar.gz"
tar -C "$work/sources" --strip-components 1 -xf "$work/flor.tar.gz"

# package OPTIONS...: makes one, and prints where it is.
package() {
  conan create "$work/sources/packaging/conan" -pr:a "$work/profile" "$@" --format json >"$work/created.json" || return 1
  python3 - "$work/created.json" <<'END'
import json, sys
nodes = json.load(open(sys.argv[1]))["graph"]["nodes"].values()
print(next(node["package_folder"] for node in nodes if node["name"] == "flor" and node["package_folder"]))
END
}
prefix=$(package)
[ ! -e "$prefix/bin" ] || { echo "FAILED: the libraries alone come with a command" >&2; exit 1; }
prefix=$(package -o '&:tool=True' -o "&:torch=$([ "$torch" = ON ] && echo True || echo False)")
for component in core $([ "$torch" != ON ] || echo torch); do
  "$here/outside_project.sh" "$prefix" "$work/$component" "$component" -G Ninja -DCMAKE_BUILD_TYPE=Debug
done
