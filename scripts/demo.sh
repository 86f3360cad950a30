#!/bin/bash
# The main job from end to end: installs what is needed, builds Flor, records a training, asks it a
# question that was forgotten, and gets the answer without training again. Everything the demo
# writes, beside build/release, is in a directory of its own that is left for you to look at.
set -euo pipefail
cd "$(dirname "$0")/.."
source_directory=$PWD
TIMEFORMAT='(%1R s)'

show() {  # prints a command as one would type it, and runs it
  printf '\n$ %s\n' "$1"
  time eval "$1"
}

scripts/install-packages.sh
cmake --preset release
cmake --build --preset release -j "$(scripts/jobs.sh)"

demo=$(mktemp -d /tmp/flor-demo.XXXXXX)
cmake --install build/release --prefix "$demo/flor" >/dev/null

# A project as a user has it: the example, in a git repository, built against the installed Flor.
export FLOR_HOME=$demo/home PATH=$demo/flor/bin:$PATH
cp -r "$source_directory/examples" "$demo/project"
cd "$demo/project"
git init -q -b main .
echo /build/ >.gitignore
git add . && git -c user.name=demo -c user.email=demo@localhost commit -q -m 'Train a network'
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$demo/flor" >/dev/null
cmake --build build --target linear
printf '\nIn %s:\n' "$PWD"

show './build/linear --flor linear'
show 'flor list'
show 'git apply hindsight/linear_confusion.patch && git diff -U1 linear.cpp'
show 'cmake --build build --target linear'
show './build/linear --replay_flor'
show './build/linear --replay_flor 0/2'
show './build/linear --replay_flor 1/2'
show 'flor query accuracy confusion'
show 'flor show linear@7 | tail -n 12'
printf '\nThe demo is in %s: look around, and delete it when you are done.\n' "$demo"
