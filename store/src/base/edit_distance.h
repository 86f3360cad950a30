// "Did you mean": the names that are nearest to a mistyped one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// At most three of `names`, nearest first: those that begin with `wrong` or need few edits for its
/// length.
std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names);

}  // namespace flor::store
