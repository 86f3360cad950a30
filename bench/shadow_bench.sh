#!/bin/bash
# Shadow commit of a tree with one change, beside `git add -A && git commit` on an equal tree; rounds
# take turns, so that whatever else the machine does meets both.
#   bench/shadow_bench.sh BUILD_DIRECTORY [FILES=10000] [ROUNDS=31]
# The program is built with -DFLOR_BUILD_BENCH=ON.
set -euo pipefail
once=$(realpath "${1:?the build directory}")/bench/shadow_once
files=${2:-10000}
rounds=${3:-31}
[ -x "$once" ] || { echo "no $once: configure with -DFLOR_BUILD_BENCH=ON and build" >&2; exit 1; }
directories=$(((files + 99) / 100))
[ "$directories" -gt 0 ] || { echo "FILES=$files: expected 1 at least" >&2; exit 2; }

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME=$place GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@localhost
export GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@localhost

git init -q -b main "$place/git"
cd "$place/git"
git config gc.auto 0
for ((i = 0; i < files; ++i)); do
  directory=src/d$((i / 100))/x$((i % 2))
  [ $((i % 100)) -gt 1 ] || mkdir -p "$directory"
  printf 'file %d\nof some lines\nthat differ: %d\n' "$i" "$((i * 7919))" > "$directory/f$i.cpp"
done
git add -A && git commit -qm first
cp -a "$place/git" "$place/shadow"
(cd "$place/shadow" && git update-index -q --refresh; sleep 1.1; "$once" > /dev/null)

# Wall clock and processor time of a function, in milliseconds: the latter is what is left to compare
# on a machine that is busy with other things.
TIMEFORMAT='%3R %3U %3S'
measure() {
  { time "$1" > "$place/said"; } 2>&1 | awk '{ printf "%.0f %.0f ", $1 * 1000, ($2 + $3) * 1000 }'
}
by_git() { git add -A && git commit -qm "a round"; }
by_flor() { "$once"; }
for ((round = 0; round < rounds; ++round)); do
  changed=src/d$((round % directories))/x0/f$((round % directories * 100)).cpp
  echo "round $round" >> "$place/git/$changed"
  echo "round $round" >> "$place/shadow/$changed"
  cd "$place/git" && measure by_git
  cd "$place/shadow" && measure by_flor
  cut -d' ' -f3 "$place/said"
done > "$place/times"

median() { cut -d' ' -f"$1" "$place/times" | sort -n | sed -n "$((rounds / 2 + 1))p"; }
awk -v n="$files" -v r="$rounds" -v gw="$(median 1)" -v gc="$(median 2)" -v sw="$(median 3)" \
    -v sc="$(median 4)" -v i="$(median 5)" 'BEGIN {
  printf "%d files, one changed, median of %d rounds, milliseconds\n", n, r
  printf "%-30s %8s %8s\n", "", "wall", "cpu"
  printf "%-30s %8d %8d\n", "git add -A && git commit", gw, gc
  printf "%-30s %8d %8d   %.2f and %.2f of git\n", "shadow commit, own process", sw, sc, sw / gw, sc / gc
  printf "%-30s %8d            %.2f of git\n", "shadow commit, in a program", i, i / gw
}'
