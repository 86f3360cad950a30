#!/bin/bash
# sample.sh PREFIX: records the runs of docs/sample with the Flor that is installed in PREFIX.
#
# With them `flor list`, `show`, `query`, `plot`, `serve` and `report` can be tried before anything is
# compiled or trained, and the pages of docs/ show their output. docs/sample is an object store as
# `flor spool` makes it, so that its content is data and never executed. It holds four runs of
# examples/spirals.cpp: one was killed, two were asked what they had not logged. After it was made
# again, `tests/docs/pages.py --write` brings the pages up to date.
set -euo pipefail
prefix=$(realpath "$1")
source_directory=$(cd "$(dirname "$0")/.." && pwd)
project=/tmp/spirals  # what the runs remember as their directory
if [ -e "$project" ]; then
  echo "$project exists: move it away first" >&2
  exit 1
fi
trap 'rm -rf "$project"' EXIT
export FLOR_HOME=$project/home PATH=$prefix/bin:$PATH

mkdir "$project"
cd "$project"
cp "$source_directory/examples/spirals.cpp" .
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(spirals LANGUAGES CXX)
find_package(flor REQUIRED COMPONENTS core)
add_executable(spirals spirals.cpp)
flor_instrument(spirals)
CMAKE
printf '/build/\n/home/\n' >.gitignore
git init -q -b main .
git add .
git -c user.name=Sample -c user.email=sample@localhost commit -q -m 'Train a network'
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build build >/dev/null

record() { ./build/spirals --flor spirals --kwargs lr="$1"; }
record 0.001
# Killed in the middle: the first line of an epoch is waited for.
coproc killed { exec stdbuf -oL ./build/spirals --flor spirals --kwargs lr=0.03 epochs=400; }
for _ in 0 1 2 3 4 5; do read -r line <&"${killed[0]}"; echo "$line"; done
kill -9 "$killed_PID"
wait "$killed_PID" || true

record 0.01
record 0.003

# What was forgotten: a number, a histogram and a table.
sed -i '/int correct = 0/i\
    double squares = 0;\
    for (double weight : net) squares += weight * weight;\
    flor::log("norm", std::sqrt(squares));\
    flor::log_histogram("weights", net, 24);' spirals.cpp
cmake --build build >/dev/null
for run in spirals spirals~1; do ./build/spirals --replay_flor --flor_run "$run"; done
sed -i '/int correct = 0/i\
    flor::Table confusion{{"0", "1", "2"}, std::vector(arms, std::vector<double>(arms)), {"0", "1", "2"}};\
    for (const Point\& point : test) confusion.rows[point.arm][predict(net, point)] += 1;\
    flor::log_table("confusion", confusion);' spirals.cpp
cmake --build build >/dev/null
./build/spirals --replay_flor --flor_run spirals

rm -rf "$source_directory/docs/sample"
mkdir "$source_directory/docs/sample"
flor spool spirals "file://$source_directory/docs/sample"
find "$source_directory/docs/sample" -type f -printf '%s\n' | awk '{ bytes += $1 } END { print bytes, "bytes" }'
