#!/usr/bin/env bash
# What executing an epoch to verify its values adds to a hindsight replay of the examples: the whole
# process, with --flor_verify none and as it comes, in turns.
#
#   bench/verification.sh BUILD_DIR [ROUNDS]     builds the examples against it twice
set -euo pipefail
source_directory=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
build=$(realpath "$1")
rounds=${2:-3}
. "$source_directory/bench/setup.sh"
cmake --install "$build" --prefix "$scratch/flor" > "$scratch/log"
cp -r "$source_directory/examples" "$scratch/work"
cd "$scratch/work"
echo /build/ > .gitignore
git init -q . && git add . && git -c user.name=bench -c user.email=bench@localhost commit -q -m examples
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$scratch/flor" >> "$scratch/log"

make_all() { cmake --build build -j 2 --target linear convnet charlm >> "$scratch/log" 2>&1; }

# Seconds of a command; what it says is in $scratch/said.
seconds_of() {
  local began=$EPOCHREALTIME
  "$@" > /dev/null 2> "$scratch/said"
  awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", b - a }'
}
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

make_all
for name in linear convnet charlm; do
  ./build/$name --flor "$name" > /dev/null 2>&1
done
# A value of each epoch that was never logged.
sed -i 's/^    std::printf("epoch %d: accuracy/    flor::log("error", 1 - correct);\n&/' linear.cpp
sed -i 's/^    std::printf("epoch %d: loss/    flor::log("error", 1 - evaluate(net, test));\n&/' convnet.cpp
sed -i 's/^    std::printf("epoch %d: validation/    flor::log("perplexity", std::exp(loss));\n&/' charlm.cpp
make_all
for name in linear convnet charlm; do
  : > "$scratch/none"
  : > "$scratch/usual"
  for ((i = 0; i < rounds; ++i)); do
    seconds_of ./build/$name --replay_flor --flor_run "$name" --flor_verify none >> "$scratch/none"
    seconds_of ./build/$name --replay_flor --flor_run "$name" >> "$scratch/usual"
  done
  none=$(median < "$scratch/none") usual=$(median < "$scratch/usual")
  awk -v n="$name" -v a="$none" -v b="$usual" \
    'BEGIN { printf "%-8s not verified %6.2f s, verified %6.2f s: %.2f times\n", n, a, b, b / a }'
  grep -E 'replayed in|executed beside|executing|not verified|verified:|unverified:' "$scratch/said" | sed 's/^/  /'
done
