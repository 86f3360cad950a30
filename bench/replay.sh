#!/usr/bin/env bash
# Recording against replaying, for each example: the whole process each time.
#
#   bench/replay.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
work_tree

# Prints how long a command took and the line of Flor that begins with what it found.
timed() {
  local what=$1
  shift
  local began=$EPOCHREALTIME
  "$@" > /dev/null 2> "$scratch/said" || true
  local ended=$EPOCHREALTIME
  awk -v w="$what" -v a="$began" -v b="$ended" 'BEGIN { printf "  %-34s %6.2f s  ", w, b - a }'
  { grep -oE '(recorded .*|verified:.*|unverified:.*|doubtful:.*|DIFFERS.*)' "$scratch/said" || echo; } | tail -n 1
}

for name in linear convnet charlm; do
  echo "$name"
  timed "plain" "$build/examples/$name"
  timed "record" "$build/examples/$name" --flor "$name"
  timed "replay, training skipped" "$build/examples/$name" --replay_flor
  timed "replay, stepping into train" "$build/examples/$name" --replay_flor --flor_probe train
  timed "replay of the last third, inside" "$build/examples/$name" --replay_flor 2/3 --flor_probe train
done
