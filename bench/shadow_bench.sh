#!/bin/bash
# Shadow commit of a tree with one change, beside `git add -A && git commit` on an equal tree; rounds
# take turns, so that whatever else the machine does meets both.
#   bench/shadow_bench.sh BUILD_DIRECTORY [FILES=10000] [ROUNDS=31]
# The program is built by `cmake --build BUILD_DIRECTORY --target shadow_once`.
set -euo pipefail
once=$(find "$(realpath "${1:?the build directory}")" -name shadow_once -type f -perm -u+x | head -n 1)
files=${2:-10000}
rounds=${3:-31}
[ -n "$once" ] || { echo "shadow_once is not built in $1" >&2; exit 1; }

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

now_us() { local t=$EPOCHREALTIME; echo $((${t/./} + 0)); }
for ((round = 0; round < rounds; ++round)); do
  changed=src/d$((round % (files / 100)))/x0/f$((round % (files / 100) * 100)).cpp
  echo "round $round" >> "$place/git/$changed"
  echo "round $round" >> "$place/shadow/$changed"
  cd "$place/git"
  start=$(now_us)
  git add -A && git commit -qm "round $round"
  git_us=$(($(now_us) - start))
  cd "$place/shadow"
  start=$(now_us)
  said=$("$once")
  shadow_us=$(($(now_us) - start))
  echo "$git_us $shadow_us ${said##* }"
done > "$place/times"

median() { cut -d' ' -f"$1" "$place/times" | sort -n | sed -n "$((rounds / 2 + 1))p"; }
git_us=$(median 1) shadow_us=$(median 2) inside_ms=$(median 3)
awk -v g="$git_us" -v s="$shadow_us" -v i="$inside_ms" -v n="$files" -v r="$rounds" 'BEGIN {
  printf "%d files, one changed, median of %d rounds\n", n, r
  printf "  git add -A && git commit     %8.1f ms\n", g / 1000
  printf "  shadow commit, a process     %8.1f ms   %.2f of git\n", s / 1000, s / g
  printf "  shadow commit, in a process  %8.1f ms   %.2f of git\n", i, i * 1000 / g
}'
