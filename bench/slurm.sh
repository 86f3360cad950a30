#!/bin/sh
# What handing out a piece costs, by engine: 50 pieces that take no time (every second epoch of a
# hundred) against 2, each the fastest of five. As root: starts a Slurm of two nodes on loopback.
#
#   bench/slurm.sh BUILD
set -eu
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
directory=$(mktemp -d)
# shellcheck disable=SC2064  # the directory of now
trap "'$here/tests/cluster/slurm_cluster.sh' down '$directory/slurm'; rm -rf '$directory'" EXIT
trap 'exit 1' INT TERM
SLURM_CONF=$("$here/tests/cluster/slurm_cluster.sh" up "$directory/slurm" 17780)
export SLURM_CONF FLOR_HOME="$directory/store"
programs=$build/tests/programs
[ -x "$programs/trainer" ] || programs=$build/tests/programs/bin
flor=$build/cli/flor

mkdir "$directory/repository"
cd "$directory/repository"
git init -q .
"$programs/trainer" --flor bench --flor_every 1 --kwargs epochs=100 >/dev/null 2>&1
many=$(seq -s, 0 2 98)

# The fastest of five, in milliseconds, of what `flor replay` says it took.
fastest() {
  for _ in 1 2 3 4 5; do
    "$flor" replay bench --again --json --workers 2 "$@" 2>/dev/null |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["seconds"] * 1000)'
  done | sort -n | head -n 1
}

for engine in local slurm; do
  few=$(fastest --engine $engine --epochs 0,2)
  all=$(fastest --engine $engine --epochs "$many")
  echo "$engine: 2 pieces $few ms, 50 pieces $all ms," \
    "$(echo "$all $few" | awk '{ printf "%.1f", ($1 - $2) / 48 }') ms a piece"
done

# The ways not taken: a step, or a job of an array, for each piece.
begin=$(date +%s%N)
sbatch --parsable --wait --ntasks=1 --output=/dev/null --wrap \
  "for i in $(seq -s' ' 0 9); do srun --ntasks=1 '$programs/trainer' --replay_flor \$i/100; done" \
  >/dev/null
echo "a step of srun for each piece: $((($(date +%s%N) - begin) / 10000000)) ms a piece"
begin=$(date +%s%N)
sbatch --parsable --wait --array=0-19 --ntasks=1 --output=/dev/null --wrap \
  "'$programs/trainer' --replay_flor \$SLURM_ARRAY_TASK_ID/100" >/dev/null
echo "a job of an array for each piece: $((($(date +%s%N) - begin) / 20000000)) ms a piece"
