// Chooses the stored states from which all others are computed again within a time. Pure functions.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace flor::store {

/// A main loop, as far as walking through it needs to know. A boundary is the state before an
/// iteration; the number of iterations stands for the state at the end of the loop.
struct WalkedLoop {
  std::vector<double> seconds;    ///< of each iteration
  std::set<std::int64_t> starts;  ///< boundaries that are stored, so that a walk can begin there
  std::set<std::int64_t> stay;    ///< those of them that stay, whatever the walks cost
};

/// Returns the fewest starts from which every boundary of the loop is reached within `within`
/// seconds of computing. The first and the last start are always among them, and those that stay.
/// A boundary that takes longer even from the start before it is reached from that start.
std::set<std::int64_t> starts_of_walks(const WalkedLoop& loop, double within);

/// Returns the longest walk, in seconds, from these starts to any boundary after the first of them.
double longest_walk(const WalkedLoop& loop, const std::set<std::int64_t>& starts);

/// Chooses `count` of the boundaries, evenly spread, the last one always among them.
std::set<std::int64_t> spread_over(const std::set<std::int64_t>& boundaries, std::int64_t count);

}  // namespace flor::store
