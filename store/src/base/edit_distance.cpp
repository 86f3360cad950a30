#include "base/edit_distance.h"

#include <algorithm>
#include <utility>

namespace flor::store {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: for the current prefix of `a` (`now`), the one that is a letter
  // shorter (`last`), and the one before (`before`).
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names) {
  constexpr std::size_t kShown = 3;
  const std::size_t limit = std::max<std::size_t>(1, std::min<std::size_t>(3, wrong.size() / 3));
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    const bool begins = wrong.size() >= 2 && name.starts_with(wrong);
    if (distance <= limit || begins) found.emplace_back(distance, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (auto& [distance, name] : found) {
    if (result.size() < kShown) result.push_back(std::move(name));
  }
  return result;
}

}  // namespace flor::store
