#!/usr/bin/env bash
# What adaptive recording costs: a program of a known pace with and without --flor, in turns, for
# epochs from 1 ms to seconds and up to 100 MiB of state, on one thread and on all cores. Prints the
# median of the ratios of the loop's time, next to what the recording says of itself.
#
#   bench/adaptive.sh BUILD_DIR [PAIRS]
set -euo pipefail
build=$(realpath "$1")
pairs=${2:-5}
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
program=$build/bench/pace

loop_seconds() { sed -n 's/^loop \([0-9.]*\) s$/\1/p' "$scratch/err"; }
run() { "$program" "$@" > /dev/null 2> "$scratch/err"; }
plain() { run --kwargs "$@" && loop_seconds; }
# Into a new store each time: what an earlier run stored would cost nothing.
recorded() {
  rm -rf "$FLOR_HOME"
  run --flor pace --flor_no_git --kwargs "$@"
  grep recorded "$scratch/err" | sed 's/.*recorded/recorded/' > "$scratch/said"
  loop_seconds
}

measure() {
  echo "$*"
  rm -f "$scratch/ratios"
  plain "$@" quiet=true > /dev/null # warm the caches
  for ((i = 1; i <= pairs; ++i)); do
    local p r
    if ((i % 2)); then # neither goes first always
      p=$(plain "$@" quiet=true)
      r=$(recorded "$@" quiet=true)
    else
      r=$(recorded "$@" quiet=true)
      p=$(plain "$@" quiet=true)
    fi
    awk -v p="$p" -v r="$r" 'BEGIN { printf "%.4f %.2f %.2f\n", r / p, p, r }' >> "$scratch/ratios"
  done
  sort -n "$scratch/ratios" | awk '{ v[NR] = $1; p[NR] = $2 }
    END { m = int((NR + 1) / 2); printf "  ratio: median %.4f, %.4f to %.4f (plain %.1f s)\n", v[m], v[1], v[NR], p[m] }'
  echo "  $(cat "$scratch/said")"
}

measure epochs=6000 work=1000 mib=100 threads=1
measure epochs=3000 work=1000 mib=100 threads="$(nproc)"
measure epochs=60 work=100000 mib=100 threads=1
measure epochs=60 work=100000 mib=100 threads="$(nproc)"
measure epochs=6 work=1000000 mib=50 threads="$(nproc)"
