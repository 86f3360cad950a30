#!/usr/bin/env bash
# Flor beside the Python original: the same two models (examples/linear and examples/charlm), the same
# data and sizes, trained, recorded and replayed with both. Prints a table a model; original/compare.py
# says what is measured.
#
# Usage: bench/original.sh BUILD ORIGINAL [--pairs N] [--models NAME...] [--MODEL SETTING=VALUE...]
#
# ORIGINAL is a directory with the package `flor` (pyflor 2.5.5) and what it imports. The data are
# read from $FLOR_TEST_DATA: mnist/ and tinyshakespeare.txt. Some three minutes on two cores.
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n 's/^# Usage: /usage: /p' "$0" >&2
  exit 2
fi
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
build=$(realpath "$1")
original=$(realpath -m "$2")
shift 2
python=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 FLOR_LOG=error
. "$here/setup.sh"
work_tree

fail() {
  echo "original.sh: $*" >&2
  exit 1
}
export HOME=$scratch/python-home # the original keeps its store there, and cannot be told otherwise
export PYTHONPATH=$original PYTHONDONTWRITEBYTECODE=1
mkdir "$HOME" "$scratch/python"
"$python" -c 'import torch' 2> "$scratch/err" ||
  fail "$python has no torch (Debian: python3-torch): $(tail -n 1 "$scratch/err")"
(cd "$scratch/python" && "$python" -c 'from flor import MTK') 2> "$scratch/err" ||
  fail "the original cannot be imported from $original (pyflor 2.5.5; Debian's python3-git and" \
    "python3-pandas, bidict 0.21, apted): $(tail -n 1 "$scratch/err")"
for file in mnist tinyshakespeare.txt; do
  [ -e "${FLOR_TEST_DATA:-}/$file" ] || fail "FLOR_TEST_DATA has to name a directory with $file"
done
for example in linear charlm; do
  [ -x "$build/examples/$example" ] || fail "$build has no examples/$example: build it"
done

# The original records on a branch of this name only, and commits as the user does.
unset XDG_CONFIG_HOME
export GIT_CONFIG_GLOBAL="$HOME/.gitconfig"
git config --global user.name bench
git config --global user.email bench@localhost
cp "$here"/original/{training,mlp,charlm}.py "$scratch/python"
git -C "$scratch/python" init -q -b flor.shadow
git -C "$scratch/python" add -A
git -C "$scratch/python" commit -q -m programs

"$python" "$here/original/compare.py" --build "$build" --scratch "$scratch" --python "$python" "$@"
