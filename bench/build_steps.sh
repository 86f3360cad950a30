#!/bin/sh
# bench/build_steps.sh BUILD [COUNT]: the COUNT (default 25) steps that took longest when Ninja last
# made each part of BUILD, in seconds, and all of them together. After a build from nothing this is
# the table of docs/performance.md.
set -eu
log=${1:?usage: bench/build_steps.sh BUILD [COUNT]}/.ninja_log
awk -F '\t' '!/^#/ { took[$4] = ($2 - $1) / 1000; command[$4] = $5 }
  END {
    for (name in took) {
      if (command[name] in told) continue  # a step that makes several files
      told[command[name]] = 1
      steps++
      all += took[name]
      text = name
      sub(/CMakeFiles\//, "", text); sub(/\.dir\//, "/", text); sub(/(_cxx\.cxx|\.cpp)\.o$/, "", text)
      printf "%8.1f  %s\n", took[name], text
    }
    printf "%8.0f  in all, %d steps\n", all, steps > "/dev/stderr"
  }' "$log" | sort -rn | head -n "${2-25}"
