#!/bin/bash
# The main job from end to end: installs what is needed, builds Flor, records a training, asks it a
# question that was forgotten, and gets the answer without training again. Installs and builds only what it
# runs: no tests, no examples but its own, of the command only what looks at runs (FLOR_TOOL_COMMANDS), no
# part of it that needs a library of its own (FLOR_TOOL_PARTS). Everything the demo writes, beside
# build/demo, is in a directory of its own that is left for you to look at.
set -euo pipefail
cd "$(dirname "$0")/.."
source_directory=$PWD
TIMEFORMAT='(%1R s)'

show() {  # prints a command as one would type it, and runs it
  printf '\n$ %s\n' "$1"
  time eval "$1"
}

step() {  # says which of the steps this is, and how long it has been
  number=$((${number-0} + 1))
  printf '\n== Step %s of 5, after %s s: %s\n' "$number" "$SECONDS" "$1"
}

echo 'The demo takes five to ten minutes on two cores, most of them for packages and the compiler.'
step 'packages of Debian'
scripts/install-packages.sh --only

# While the larger half of the packages, libtorch, is installed, what needs none of it is compiled.
step 'Flor'
build() {
  cmake --preset demo "-DFLOR_WITH_TORCH=$1" >/dev/null
  shift
  NINJA_STATUS='[%f of %t, %e s] ' cmake --build --preset demo -j "$(scripts/jobs.sh)" "$@"
}
scripts/install-packages.sh --only packages-torch.txt &
libtorch=$!
build OFF --target flor_cli flor_core
wait "$libtorch"
build ON
demo=$(mktemp -d /tmp/flor-demo.XXXXXX)
cmake --install build/demo --prefix "$demo/flor" >/dev/null

# A project as a user has it: the example, in a git repository, built against the installed Flor.
step 'a project that uses it'
export FLOR_HOME=$demo/home PATH=$demo/flor/bin:$PATH
cp -r "$source_directory/examples" "$demo/project"
cd "$demo/project"
git init -q -b main .
echo /build/ >.gitignore
git add . && git -c user.name=demo -c user.email=demo@localhost commit -q -m 'Train a network'
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$demo/flor" >/dev/null
cmake --build build --target linear -j "$("$source_directory/scripts/jobs.sh")"
printf '\nIn %s:\n' "$PWD"

step 'train, recorded'
show './build/linear --flor linear'
show 'flor list'

step 'ask what was forgotten'
show 'git apply hindsight/linear_confusion.patch && git diff -U1 linear.cpp'
show 'cmake --build build --target linear'
show './build/linear --replay_flor'
show './build/linear --replay_flor 0/2'
show './build/linear --replay_flor 1/2'
show 'flor query accuracy confusion'
show 'flor show linear@7 | tail -n 12'
printf '\n%s s in all. The demo is in %s: look around, and delete it when you are done.\n' "$SECONDS" "$demo"
