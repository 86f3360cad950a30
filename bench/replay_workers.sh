#!/usr/bin/env bash
# What a second worker brings: `flor replay` of a run recorded with one thread, stepping into the
# training loop, with one worker and with two, in turns; whole commands, median of the ratios.
#
#   bench/replay_workers.sh BUILD_DIR [ROUNDS]
set -euo pipefail
build=$(realpath "$1")
rounds=${2:-3}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
work_tree

seconds() {
  local began=$EPOCHREALTIME
  "$@" > "$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
  awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
}

compare() {
  local name=$1 program=$2
  shift 2
  "$program" --flor "$name" "$@" > /dev/null 2>&1
  local ratios=()
  for ((i = 0; i < rounds; ++i)); do
    local one two
    one=$(seconds "$build/cli/flor" replay "$name" --probe train --again --workers 1)
    two=$(seconds "$build/cli/flor" replay "$name" --probe train --again --workers 2)
    ratios+=("$(awk -v a="$one" -v b="$two" 'BEGIN { printf "%.2f", a / b }')")
    echo "$name: one worker $one s, two workers $two s, ratio ${ratios[-1]}"
  done
  grep -E 'exact|replayed' "$scratch/out"
  printf '%s\n' "${ratios[@]}" | sort -n |
    awk -v n="$name" '{ r[NR] = $1 } END { print n ": median " r[int((NR + 1) / 2)] }'
}

compare compute "$build/bench/compute" --kwargs epochs=24 steps=200 size=200000
if [[ -x $build/examples/linear ]]; then compare linear "$build/examples/linear"; fi
