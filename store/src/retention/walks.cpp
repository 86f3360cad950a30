#include "retention/walks.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace flor::store {
namespace {

/// How long it takes to walk between boundaries.
class Way {
 public:
  explicit Way(const std::vector<double>& seconds) {
    for (const double one : seconds) {
      reached_.push_back(reached_.back() + (one > 0 ? one : 0));  // a NaN costs nothing
    }
  }
  double between(std::int64_t from, std::int64_t to) const { return at(to) - at(from); }
  std::int64_t end() const { return static_cast<std::int64_t>(reached_.size()) - 1; }

 private:
  double at(std::int64_t boundary) const {
    return reached_[static_cast<std::size_t>(std::clamp<std::int64_t>(boundary, 0, end()))];
  }
  std::vector<double> reached_{0};
};

}  // namespace

std::set<std::int64_t> starts_of_walks(const WalkedLoop& loop, double within) {
  if (loop.starts.empty()) return {};
  const Way way(loop.seconds);
  const std::int64_t last = *loop.starts.rbegin();
  std::set<std::int64_t> chosen{*loop.starts.begin()};
  for (auto at = loop.starts.begin(); *at != last;) {
    const std::int64_t from = *at;
    // The next start is free to reach. What lies before it is reached from here.
    for (++at; !loop.stay.contains(*at) && *at != last; ++at) {
      const bool is_late = way.between(from, *std::next(at) - 1) > within;
      if (is_late && way.between(from, *at) > 0) break;  // else it is as late from there
    }
    chosen.insert(*at);
  }
  return chosen;
}

double longest_walk(const WalkedLoop& loop, const std::set<std::int64_t>& starts) {
  const Way way(loop.seconds);
  double longest = 0;
  for (auto at = starts.begin(); at != starts.end(); ++at) {
    const auto next = std::next(at);
    longest = std::max(longest, way.between(*at, next == starts.end() ? way.end() : *next - 1));
  }
  return longest;
}

std::set<std::int64_t> spread_over(const std::set<std::int64_t>& boundaries, std::int64_t count) {
  const std::vector<std::int64_t> all(boundaries.begin(), boundaries.end());
  const auto size = static_cast<std::int64_t>(all.size());
  std::set<std::int64_t> chosen;
  count = std::min(count, size);
  // The i-th of n parts ends with the i-th choice.
  for (std::int64_t i = 1; i <= count; ++i) {
    chosen.insert(all[static_cast<std::size_t>((i * size + count - 1) / count - 1)]);
  }
  return chosen;
}

}  // namespace flor::store
