// Suggestions for a mistyped name ("did you mean").
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Returns the smallest number of insertions, deletions, substitutions and swaps of neighbours that
/// turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns at most three of `names`, nearest first: those that begin with `wrong`, or that are few
/// edits away from it in proportion to its length.
std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names);

}  // namespace flor::store
