// Points at which a fault strikes: in a short suite some of them, others each time.
#pragma once

#include <cstdlib>
#include <limits>
#include <random>

namespace flor::testing {

/// Counts 1, 2, ... where FLOR_TEST_EVERY_POINT is set, as `scripts/test.sh --slow` does. Else every
/// point up to `dense`, and then one of each `spread`, at random.
class SomePoints {
 public:
  SomePoints(int dense, int spread)
      : dense_(std::getenv("FLOR_TEST_EVERY_POINT") ? std::numeric_limits<int>::max() : dense),
        spread_(spread) {}

  int next() {
    if (last_ < dense_) return ++last_;
    const int first = dense_ + (last_ - dense_ + spread_ - 1) / spread_ * spread_ + 1;
    last_ = first + std::uniform_int_distribution(0, spread_ - 1)(random_);
    return last_;
  }

 private:
  int dense_, spread_, last_ = 0;
  std::mt19937 random_{std::random_device()()};
};

}  // namespace flor::testing
