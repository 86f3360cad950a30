// The difference between two sequences of tokens.
#pragma once

#include "sources/syntax/brackets.h"

#include <cstddef>
#include <vector>

namespace flor::sources {

/// The range `before` of one sequence was replaced by the range `now` of the other. One may be
/// empty.
struct Hunk {
  Range before, now;
};

using Sequence = std::vector<const Token*>;

/// Returns the ranges that differ. Where there is a choice, they begin and end with statements.
/// Sequences that differ nearly everywhere are returned as one hunk.
std::vector<Hunk> difference(const Sequence& before, const Sequence& now);

}  // namespace flor::sources
