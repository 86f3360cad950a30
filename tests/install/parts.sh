#!/bin/bash
# parts.sh SOURCES DIRECTORY (configure|build) [CMAKE-ARGUMENTS...]
#
# The command as scripts/demo.sh builds it, without the parts that FLOR_TOOL_PARTS names. `configure` shows that
# nothing is looked for of what scripts/packages-parts.txt lists; `build` also that nothing of it is included,
# that what needs a part says in one line how to get it, and that the rest works.
set -euo pipefail
sources=$1 work=$2 job=$3
shift 3
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
libraries='cairo|hiredis|curl|pugixml|microhttpd'

rm -rf "$work/build/CMakeCache.txt" && mkdir -p "$work" && cd "$sources"
cmake --preset demo -B "$work/build" -DFLOR_WITH_TORCH=OFF "$@" >"$work/said.txt" 2>&1 || { cat "$work/said.txt"; exit 1; }
! grep -iE "$libraries" "$work/build/CMakeCache.txt" "$work/said.txt" || fail "it looks for them"
if cmake --preset demo -B "$work/wrong" -DFLOR_TOOL_PARTS='png;sserve' >"$work/wrong.txt" 2>&1; then fail "there is no part sserve"; fi
grep -q "FLOR_TOOL_PARTS has 'sserve', which is none of png;queue;s3;serve" "$work/wrong.txt" || { cat "$work/wrong.txt"; exit 1; }
rm -rf "$work/wrong"
[ "$job" = build ] || exit 0

cmake --build "$work/build" --target flor_cli -j "$(scripts/jobs.sh)" >"$work/built.txt" || { cat "$work/built.txt"; exit 1; }
! cmake --build "$work/build" -- -t deps | grep -E "/include/.*($libraries)" || fail "it includes them"
export FLOR_HOME=$work/home HOME=$work/home PATH=$work/build/cli:$PATH
rm -rf "$work/home" && mkdir -p "$work/home" && cd "$work/home"

flor fetch spirals "file://$sources/docs/sample"
[ "$(flor list -q | wc -l)" = 4 ] || fail "flor list: $(flor list)"
flor plot -m accuracy -o plot.svg && grep -q '<svg' plot.svg

# refused WHAT PACKAGES COMMAND...
refused() {
  local said what=$1 packages=$2
  shift 2
  if said=$("$@" 2>&1 | tail -n 1); then fail "$* works"; fi
  [ "$said" = "flor: $what was left out of this build of flor: install $packages, and build it again without \
FLOR_TOOL_PARTS, as by cmake --preset release" ] || fail "$*: $said"
  echo "$said"
}
refused 'a plot as PNG' libcairo2-dev flor plot -m accuracy -o plot.png
refused 'the queue on a Redis server' libhiredis-dev flor jobs --queue redis://localhost
refused 'S3' 'libcurl4-openssl-dev and libpugixml-dev' flor spool spirals s3://bucket/runs
refused 'flor serve' 'libmicrohttpd-dev and npm' flor serve
