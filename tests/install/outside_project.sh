#!/bin/sh
# outside_project.sh PREFIX DIRECTORY COMPONENT [CMAKE-ARGUMENTS...]
# Copies the project beside this script into DIRECTORY, builds it against the Flor in PREFIX, and
# records and replays with it.
set -eu
source_directory=$(dirname "$0")/outside
prefix=$1 directory=$2 component=$3
shift 3

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

rm -rf "$directory"
mkdir -p "$directory"
cp -r "$source_directory" "$directory/project"
cd "$directory/project"
git init -q .
echo /build/ >.gitignore
cmake -S . -B build "$@" -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT="$component"
cmake --build build

export FLOR_HOME="$directory/home"
./build/outside >plain.txt
[ ! -e "$FLOR_HOME" ] || fail "a program without Flor's flags wrote $FLOR_HOME"
./build/outside --flor outside >recorded.txt
cmp plain.txt recorded.txt || fail "recording changed what the program prints"
./build/outside --replay_flor >replayed.txt
cmp recorded.txt replayed.txt || fail "the replay prints something else than the record"
./build/outside --replay_flor 1/2 --flor_probe train 2>verdict.txt
grep -q '^flor: verified: ' verdict.txt || fail "no verified replay: $(cat verdict.txt)"

# The installed command line tool reads what was recorded, and needs no libtorch for it.
flor=$prefix/bin/flor
[ -e "$flor" ] || flor=$prefix/tools/flor/flor  # where vcpkg puts programs
"$flor" query --csv total | grep -q . || fail "flor query found no values"
! ldd "$flor" | grep libtorch || fail "the flor executable links libtorch"
if [ "$component" = core ]; then
  ! ldd build/outside | grep libtorch || fail "a program without libtorch links it"
fi
