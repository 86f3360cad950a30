// Chooses test cases of which there are too many, such as points at which a fault strikes: a short
// suite tests some of them, others each time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace flor::testing {

/// Whether the suite must not leave out any case, as in `scripts/test.sh --slow`.
inline bool every_point() { return std::getenv("FLOR_TEST_EVERY_POINT") != nullptr; }

/// All elements if every_point(), else `count` random ones, in their order.
template <typename T>
std::vector<T> some_of(const std::vector<T>& all, std::size_t count) {
  if (every_point()) return all;
  std::vector<T> some;
  std::mt19937 random{std::random_device()()};
  std::sample(all.begin(), all.end(), std::back_inserter(some), count, random);
  return some;
}

/// Returns 1, 2, 3, ... if every_point(). Otherwise every number up to `dense`, and from there a
/// random one of each `spread` numbers.
class SomePoints {
 public:
  SomePoints(int dense, int spread)
      : dense_(every_point() ? std::numeric_limits<int>::max() : dense), spread_(spread) {}

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
