# Three versions of a training, each recorded, and log statements that none of them has.
set -e
printf '/build/\n/history.sh\n' > .gitignore
git init -qb main
record() {
  cp "$SOURCE/tests/hindsight/history/$1.cpp" train.cpp
  shift
  cmake -B build
  cmake --build build
  for arguments; do ./build/train --flor fit --kwargs $arguments; done
}
record v3 lr=0.05
git add .
git commit -qm 'Fit a line'
record v4 lr=0.05 lr=0.2
record v5 lr=0.05
sed -i -e 's/^#include <random>/#include <cmath>\n&/' \
  -e 's/^\( *\)for (const double weight : net.weights) .*/&\n\1flor::log("so_far", distance);/' \
  -e 's/^\( *\)flor::log("loss", loss);/&\n\1flor::log("relative", loss \/ sum);/' \
  -e 's/^\( *\)flor::log("mean", sum \/ 6);/&\n\1const double first = std::sqrt(std::abs(net.weights[0]));\n\1flor::log("first", first);/' train.cpp
