#!/bin/sh
# Makes the tarball of the sources that a release has, FILE: what git knows, as it lies here. In a tree
# without git, which is such a tarball's, everything but what was built.
#
#   scripts/source_tarball.sh FILE
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")/.."
name=flor-$(sed -n 's/^project(flor VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
files() {
  if [ -e .git ]; then git ls-files -z; else find . '(' -path './build*' -o -path ./out ')' -prune -o -type f -print0; fi
}
files | tar --null --no-recursion -T - --transform "s,^\(\./\)\?,$name/,S" --sort=name --owner=0 --group=0 \
  --numeric-owner -cf "$out.part"
gzip -nc "$out.part" >"$out"
rm "$out.part"
