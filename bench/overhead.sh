#!/usr/bin/env bash
# What recording costs a whole program: runs an example with and without --flor in turns and prints
# the times of the pairs and the median of their ratios.
#
#   bench/overhead.sh BUILD_DIR [PAIRS]
#
# Epochs take 5 s or more on two cores; every epoch is checkpointed. Start-up (commit of the sources,
# opening the store) and the waiting for the last writes at the end are included.
set -euo pipefail
build=$(realpath "$1")
pairs=${2:-5}
export FLOR_LOG=error
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
work_tree

seconds() {
  local began=$EPOCHREALTIME
  "$@" > /dev/null
  local ended=$EPOCHREALTIME
  awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.3f", b - a }'
}

# Into a new store each time: what an earlier run stored would cost nothing.
recorded() {
  rm -rf "$FLOR_HOME"
  seconds "$build/examples/$name" --flor "$name" "$@"
}

measure() {
  local name=$1
  shift
  echo "$name $*"
  seconds "$build/examples/$name" "$@" > /dev/null # warm the caches
  for ((i = 1; i <= pairs; ++i)); do
    local plain recorded
    if ((i % 2)); then # neither goes first always
      plain=$(seconds "$build/examples/$name" "$@")
      recorded=$(recorded "$@")
    else
      recorded=$(recorded "$@")
      plain=$(seconds "$build/examples/$name" "$@")
    fi
    awk -v p="$plain" -v r="$recorded" 'BEGIN { printf "  plain %.2f s, recorded %.2f s, ratio %.4f\n", p, r, r / p }'
    awk -v p="$plain" -v r="$recorded" 'BEGIN { printf "%.4f\n", r / p }' >> "$scratch/$name"
  done
  sort -n "$scratch/$name" | awk '{ v[NR] = $1 } END { printf "  median ratio %.4f\n", v[int((NR + 1) / 2)] }'
}

measure convnet --kwargs epochs=3 pictures=12000 channels=32
measure charlm --kwargs epochs=3 steps=40 width=128 layers=4
