// The difference of two sequences of tokens.
#pragma once

#include "sources/syntax/brackets.h"

#include <cstddef>
#include <vector>

namespace flor::sources {

/// `before` was replaced by `now`; one of them may be empty. Positions in the sequences.
struct Hunk {
  Range before, now;
};

using Sequence = std::vector<const Token*>;

/// Tokens that are equal in both, in the same order, are in no hunk. Where there is a choice, hunks
/// begin and end with statements. Sequences that differ nearly everywhere come back as one hunk.
std::vector<Hunk> difference(const Sequence& before, const Sequence& now);

}  // namespace flor::sources
