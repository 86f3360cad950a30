#!/usr/bin/env bash
# What a question outside the training loop costs: the epochs of a replay that skips the training,
# beside the two things that they cannot do without, the evaluations and one load each. All three are
# times of the same process. The load is the checkpoint at the end of the training loop, verified,
# into the registered objects, as the catalog keeps its time.
#
#   bench/outer_probe.sh BUILD_DIR [ROUNDS]
set -euo pipefail
build=$(realpath "$1")
rounds=${2:-5}
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
program=$build/bench/pace

seconds_of() { sed -n "s/^$1 \\([0-9.]*\\) s\$/\\1/p" "$scratch/err"; }

measure() {
  echo "$*"
  rm -rf "$FLOR_HOME" "$scratch/ratios"
  "$program" --flor probe --flor_no_git --flor_every 1 --kwargs "$@" > /dev/null 2> "$scratch/err"
  local recorded
  recorded=$(seconds_of loop)
  for ((i = 1; i <= rounds; ++i)); do
    "$program" --replay_flor > /dev/null 2> "$scratch/err"
    grep -q 'verified: ' "$scratch/err" || { cat "$scratch/err" >&2; exit 1; }
    local load
    load=$(python3 -c 'import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())' "$FLOR_HOME/catalog.db" \
      'SELECT seconds FROM restoring ORDER BY replay DESC LIMIT 1')
    awk -v t="$(seconds_of loop)" -v e="$(seconds_of evaluation)" -v l="$load" \
      'BEGIN { printf "%.4f %.2f %.2f %.2f\n", t / (e + l), t, e, l }' >> "$scratch/ratios"
  done
  sort -n "$scratch/ratios" | awk -v r="$recorded" '{ v[NR] = $1; line[NR] = $0 }
    END { m = int((NR + 1) / 2); split(line[m], f)
      printf "  replay %.2f s, evaluations %.2f s, loads %.2f s: ratio %.4f, %.4f to %.4f (recording: %.2f s)\n",
        f[2], f[3], f[4], v[m], v[1], v[NR], r }'
}

measure epochs=20 work=200000 mib=50 evaluate=100000
measure epochs=40 work=100000 mib=10 evaluate=20000
measure epochs=200 work=10000 mib=1 evaluate=2000
