#!/bin/bash
# What checkpoints of a training on a GPU cost, beside torch::save and what Python has:
#
#   bench/gpu.sh BUILD [QUICK]     of scripts/gpu.sh; QUICK: small states only
set -euo pipefail
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
cd "$scratch"

stall() {  # NAME FLOR'S-FLAGS KWARGS...
  local flags=$1
  shift
  # shellcheck disable=SC2086  # words
  "$build/bench/gpu_stall" $flags --kwargs "$@"
  rm -rf "$FLOR_HOME"
}
recorded='--flor gpu --flor_no_git --flor_every 4'

sizes=('width=4096 layers=5')
[ $# -gt 1 ] || sizes+=('width=8192 layers=12 epochs=17 steps=10')
for size in "${sizes[@]}"; do
  echo "== $size"
  # shellcheck disable=SC2086  # words
  {
    stall '' $size
    stall "$recorded" $size 2>&1
    stall "$recorded" $size overlap=true 2>&1
    stall "$recorded" $size dtype=bf16 2>&1
    stall '' $size rival=save
  }
done
echo "== Python"
python3 "$here/gpu_rivals.py" || echo "no figures of Python's"
