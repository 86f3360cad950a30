#include "sources/syntax/difference.h"

#include <algorithm>

namespace flor::sources {
namespace {

/// Myers's greedy algorithm: finds the furthest position on each diagonal for each number of edits.
class Myers {
 public:
  Myers(const Sequence& before, const Sequence& now, Range a, Range b)
      : before_(before), now_(now), a_(a), b_(b) {}

  /// Finds the pairs of equal tokens, in order. Returns false if it would need too many edits.
  bool run(std::vector<std::pair<std::size_t, std::size_t>>& equal) {
    const auto n = static_cast<long>(a_.end - a_.begin), m = static_cast<long>(b_.end - b_.begin);
    const long limit = std::min(n + m, kEditsMax);
    std::vector<long> furthest(static_cast<std::size_t>(2 * limit + 3), 0);
    const auto at = [&](long diagonal) -> long& {
      return furthest[static_cast<std::size_t>(diagonal + limit + 1)];
    };
    for (long edits = 0; edits <= limit; ++edits) {
      for (long k = -edits; k <= edits; k += 2) {
        const bool down = k == -edits || (k != edits && at(k - 1) < at(k + 1));
        long x = down ? at(k + 1) : at(k - 1) + 1;
        while (x < n && x - k < m && x - k >= 0 && equal_at(x, x - k)) ++x;
        at(k) = x;
        if (x >= n && x - k >= m) {
          rows_.emplace_back(furthest.begin() + (limit + 1 - edits),
                             furthest.begin() + (limit + 2 + edits));
          trace(n, m, edits, equal);
          return true;
        }
      }
      rows_.emplace_back(furthest.begin() + (limit + 1 - edits),
                         furthest.begin() + (limit + 2 + edits));
    }
    return false;
  }

 private:
  static constexpr long kEditsMax = 1500;

  bool equal_at(long x, long y) const {
    return same(*before_[a_.begin + static_cast<std::size_t>(x)],
                *now_[b_.begin + static_cast<std::size_t>(y)]);
  }
  long row(long edits, long diagonal) const {
    return rows_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(diagonal + edits)];
  }

  void trace(long x, long y, long edits,
             std::vector<std::pair<std::size_t, std::size_t>>& equal) const {
    for (; edits >= 0; --edits) {
      const long k = x - y;
      const bool down =
          edits > 0 &&
          (k == -edits || (k != edits && row(edits - 1, k - 1) < row(edits - 1, k + 1)));
      const long from_k = down ? k + 1 : k - 1;
      const long from_x = edits == 0 ? 0 : row(edits - 1, from_k);
      const long start = edits == 0 ? 0 : down ? from_x : from_x + 1;
      while (x > start) {
        --x, --y;
        equal.emplace_back(a_.begin + static_cast<std::size_t>(x),
                           b_.begin + static_cast<std::size_t>(y));
      }
      x = from_x;
      y = from_x - from_k;
    }
    std::ranges::reverse(equal);
  }

  const Sequence& before_;
  const Sequence& now_;
  Range a_, b_;
  std::vector<std::vector<long>> rows_;
};

bool ends_statement(const Token& token) {
  return token.is(";") || token.is("{") || token.is("}") || token.starts_directive;
}

/// Chooses the best description of an ambiguous insertion, which may be "b ;" after "a ;" or "; b"
/// after "a". Prefers one that begins after a statement, else changes nothing.
void slide(Range& range, Range& other, const Sequence& sequence, std::size_t low,
           std::size_t high) {
  const auto good = [&](std::size_t begin, std::size_t end) {
    return (begin == 0 || ends_statement(*sequence[begin - 1])) &&
           ends_statement(*sequence[end - 1]) && !sequence[end - 1]->is("{");
  };
  for (std::size_t left = 0;; ++left) {
    if (good(range.begin - left, range.end - left)) {
      range = {range.begin - left, range.end - left};
      other = {other.begin - left, other.end - left};
      return;
    }
    if (range.begin - left <= low || other.begin < left + 1 ||
        !same(*sequence[range.begin - left - 1], *sequence[range.end - left - 1])) {
      break;
    }
  }
  for (std::size_t right = 1; range.end + right <= high; ++right) {
    if (!same(*sequence[range.begin + right - 1], *sequence[range.end + right - 1])) break;
    if (good(range.begin + right, range.end + right)) {
      range = {range.begin + right, range.end + right};
      other = {other.begin + right, other.end + right};
      return;
    }
  }
}

}  // namespace

std::vector<Hunk> difference(const Sequence& before, const Sequence& now) {
  std::size_t head = 0, tail = 0;
  const std::size_t shorter = std::min(before.size(), now.size());
  while (head < shorter && same(*before[head], *now[head])) ++head;
  while (tail < shorter - head &&
         same(*before[before.size() - tail - 1], *now[now.size() - tail - 1])) {
    ++tail;
  }
  const Range a{head, before.size() - tail}, b{head, now.size() - tail};
  if (a.empty() && b.empty()) return {};
  std::vector<std::pair<std::size_t, std::size_t>> equal;
  if (!a.empty() && !b.empty() && !Myers(before, now, a, b).run(equal)) equal.clear();
  equal.emplace_back(a.end, b.end);
  std::vector<Hunk> hunks;
  std::size_t x = a.begin, y = b.begin;
  for (const auto& [next_x, next_y] : equal) {
    if (next_x > x || next_y > y) hunks.push_back({{x, next_x}, {y, next_y}});
    x = next_x + 1;
    y = next_y + 1;
  }
  for (std::size_t i = 0; i < hunks.size(); ++i) {
    Hunk& hunk = hunks[i];
    const bool first = i == 0, last = i + 1 == hunks.size();
    if (hunk.before.empty()) {
      slide(hunk.now, hunk.before, now, first ? 0 : hunks[i - 1].now.end,
            last ? now.size() : hunks[i + 1].now.begin);
    } else if (hunk.now.empty()) {
      slide(hunk.before, hunk.now, before, first ? 0 : hunks[i - 1].before.end,
            last ? before.size() : hunks[i + 1].before.begin);
    }
  }
  return hunks;
}

}  // namespace flor::sources
