#!/usr/bin/env bash
# Many of what is small: recording beside replaying, asking and resuming 10^5 epochs, 10^5 registered
# objects and a map of 10^5 entries. Wall time, and processor time of all processes, which other
# programs disturb less.
#
#   bench/scale.sh BUILD_DIR [COUNT]
set -euo pipefail
build=$(realpath "$1")
count=${2:-100000}
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
program=$build/bench/epochs
cd "$scratch"

# Runs a command; prints its times, and beside them their ratios to the recording.
timed() {
  local what=$1 status=0
  shift
  TIMEFORMAT='%R %U %S'
  { time "$@" > "$scratch/out" 2> "$scratch/said" || status=$?; } 2> "$scratch/times"
  read -r wall user system < <(tail -n 1 "$scratch/times")
  case $what in recording) base_wall=$wall base_user=$user base_system=$system ;; esac
  awk -v what="$what" -v w="$wall" -v u="$user" -v s="$system" \
    -v bw="$base_wall" -v bu="$base_user" -v bs="$base_system" 'BEGIN {
      printf "  %-34s %7.2f s %6.2f   processor %7.2f s %6.2f", what, w, w / bw, u + s, (u + s) / (bu + bs) }'
  local expected=0
  [ "$what" = "recording, killed" ] && expected=137
  [ "$status" = "$expected" ] || { echo; cat "$scratch/said" >&2; exit 1; }
  { grep -o 'registered in .*' "$scratch/said" | grep -v ' 0.000 s' || echo; } | sed 's/^registered/   registered/'
}

measure() {
  local name=$1
  shift
  echo "$*"
  timed "recording" "$program" --flor "$name" --flor_no_git "${every[@]}" --kwargs "$@"
  timed "replay, one process" "$program" --replay_flor
  timed "flor replay --workers 2" "$build/cli/flor" replay "$name" --workers 2 --again
  timed "asking what was not logged" env ASK=yes "$program" --replay_flor
  timed "the same, --workers 2" env ASK=yes "$build/cli/flor" replay "$name" --workers 2 --again
  timed "recording, killed" env "DIE_IN_EPOCH=$die" "$program" --flor "$name-killed" --flor_no_git \
    "${every[@]}" --kwargs "$@"
  timed "resumed" "$program" --flor "$name-killed" --flor_no_git --flor_resume
}

echo "seconds, and times those of the recording"
die=$((count / 2)) every=()
measure epochs "epochs=$count"
every=(--flor_every $((count / 100)))
measure stored "epochs=$count"
die=3 every=(--flor_every 1)
measure objects epochs=5 "objects=$count"
measure entries epochs=5 "entries=$count"
