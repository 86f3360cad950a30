#!/usr/bin/env bash
# The table of docs/performance.md: what is left of series of checkpoints, and how fast, by zstd,
# byte-shuffled zstd and Flor, and by restic and borg where they are installed.
# Usage: bench/compare.sh BUILD SERIES_DIRECTORY [SERIES...], the output of make_series.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n 's/^# Usage: /usage: /p' "$0" >&2
  exit 2
fi
build=$1
directory=$2
shift 2
if [ $# -eq 0 ]; then
  for layout in "$directory"/*/layout; do set -- "$@" "$(basename "$(dirname "$layout")")"; done
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/flor-compare-XXXXXX")
trap 'rm -rf "$work"' EXIT
export RESTIC_PASSWORD=benchmark RESTIC_CACHE_DIR="$work/cache" BORG_BASE_DIR="$work/borg-base"
export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes

# Processor seconds, user and system, of a command and all its children.
cpu_seconds() {
  local TIMEFORMAT='%U %S' times
  times=$({ time "$@" > "$work/output" 2>&1; } 2>&1) || { cat "$work/output" >&2; return 1; }
  awk '{print $1 + $2}' <<< "$times"
}

# One file under one name, saved once for each checkpoint, as a training program would leave it.
peer() {
  local name=$1 series=$2 raw=0 encode=0 decode=0 stored file seconds number=0
  local state="$work/state" repository="$work/$1"
  rm -rf "$repository" "$state" "$work/back"
  mkdir -p "$state" "$work/back"
  "init_$name" "$repository"
  for file in "$directory/$series"/*.raw; do
    cp "$file" "$state/checkpoint"
    raw=$((raw + $(stat -c %s "$file")))
    seconds=$(cpu_seconds "save_$name" "$repository" "$state" "$number")
    encode=$(awk "BEGIN {print $encode + $seconds}")
    number=$((number + 1))
  done
  stored=$(find "$repository" -type f -printf '%s\n' | awk '{sum += $1} END {print sum}')
  number=0
  for file in "$directory/$series"/*.raw; do
    rm -rf "$work/back"
    mkdir "$work/back"
    seconds=$(cpu_seconds "load_$name" "$repository" "$work/back" "$number")
    decode=$(awk "BEGIN {print $decode + $seconds}")
    cmp -s "$(find "$work/back" -type f -name checkpoint)" "$file" ||
      { echo "$name gave back other bytes" >&2; return 1; }
    number=$((number + 1))
  done
  awk -v s="$series" -v n="$name" -v raw="$raw" -v stored="$stored" -v e="$encode" -v d="$decode" \
    'BEGIN {printf "| %-9s | %-16s | %.4f | %5.2f | %5.2f |\n", s, n, stored / raw, raw / e / 1e9, raw / d / 1e9}'
}

init_restic() { restic -q init --repository-version 2 -r "$1"; }
save_restic() { restic -q -r "$1" backup --compression max --tag "n$3" "$2"; }
load_restic() { restic -q -r "$1" restore latest --tag "n$3" --target "$2"; }

init_borg() { borg init -e none "$1"; }
save_borg() { borg create -C zstd,3 "$1::n$3" "$2"; }
load_borg() { (cd "$2" && borg extract "$1::n$3"); }

echo "$(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
echo '| series    | method           | stored / raw | encode, GB/s a core | decode, GB/s a core |'
echo '|---|---|---|---|---|'
for series in "$@"; do
  "$build/bench/compare" "$directory" "$series"
  for name in restic borg; do
    if command -v "$name" > "$work/output"; then
      peer "$name" "$series"
    else
      echo "$name is not installed: skipped (apt-get install restic borgbackup)" >&2
    fi
  done
done
