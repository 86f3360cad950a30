#!/usr/bin/env bash
# What sampling the machine costs a recording: a program of a known pace, recorded with samples as
# often as they may be taken, every second, and with none, in turns. Prints the ratios of the loop's time.
#
#   bench/machine.sh BUILD_DIR [PAIRS]
set -euo pipefail
build=$(realpath "$1")
pairs=${2:-5}
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
"$build/bench/machine"

recorded() {
  rm -rf "$FLOR_HOME"
  "$build/bench/pace" --flor pace --flor_no_git --flor_machine "$1" --kwargs epochs=6000 work=1000 mib=1 threads=1 \
    quiet=true > /dev/null 2> "$scratch/err"
  sed -n 's/^loop \([0-9.]*\) s$/\1/p' "$scratch/err"
}
for ((i = 1; i <= pairs; ++i)); do
  if ((i % 2)); then # neither goes first always
    none=$(recorded none) every=$(recorded 1)
  else
    every=$(recorded 1) none=$(recorded none)
  fi
  awk -v n="$none" -v e="$every" 'BEGIN { printf "%.4f (none %.2f s, every second %.2f s)\n", e / n, n, e }'
done | sort -n
