#!/bin/sh
# bench/build_steps.sh BUILD [COUNT]: the COUNT (default 25) steps that took longest when Ninja last
# made each part of BUILD, in seconds, and all of them together. After a build from nothing this is
# the table of docs/performance.md.
set -eu
log=${1:?usage: bench/build_steps.sh BUILD [COUNT]}/.ninja_log
sort -t '	' -u -k1,2 -k5,5 "$log" | awk -F '\t' -v count="${2-25}" '
  /^#/ { next }
  { took = ($2 - $1) / 1000; steps++; all += took
    name = $4; sub(/CMakeFiles\//, "", name); sub(/\.dir\//, "/", name); sub(/_cxx\.cxx\.o$|\.cpp\.o$/, "", name)
    printf "%8.1f  %s\n", took, name | "sort -rn | head -n " count }
  END { close("sort -rn | head -n " count); printf "%8.0f  %d steps together\n", all, steps }'
