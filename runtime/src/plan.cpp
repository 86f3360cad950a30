#include "plan.h"

#include <algorithm>

namespace flor::detail {

Epochs segment_of(std::int64_t epochs, std::int64_t segment, std::int64_t segments) {
  const std::int64_t size = epochs / segments;
  const std::int64_t larger = epochs % segments;  // that many segments have one epoch more
  const std::int64_t first = segment * size + std::min(segment, larger);
  return {first, first + size + (segment < larger ? 1 : 0)};
}

Epochs part_of_loop(Epochs segment, std::int64_t first, std::int64_t iterations) {
  const Epochs part{std::max<std::int64_t>(segment.first - first, 0),
                    std::min(segment.end - first, iterations)};
  return part.empty() ? Epochs{} : part;
}

std::optional<std::int64_t> start_boundary(const std::set<std::int64_t>& stored,
                                           std::int64_t target, bool strong) {
  const auto after = stored.upper_bound(target);
  if (after == stored.begin()) return std::nullopt;
  return strong ? *stored.begin() : *std::prev(after);
}

}  // namespace flor::detail
