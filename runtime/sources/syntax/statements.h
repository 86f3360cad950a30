// Finds where statements end, and the loops and lambdas in them.
#pragma once

#include "sources/syntax/structure.h"

#include <vector>

namespace flor::sources {

/// The position after the labels and attributes at `at`, where their statement begins. `at` if
/// there are none.
std::size_t behind_label(const std::vector<Token>& tokens, const Brackets& brackets,
                         std::size_t at);

/// All `for` statements, in the order of their keywords.
std::vector<ForLoop> find_loops(const std::vector<Token>& tokens, const Brackets& brackets);

/// The statements in `range` that an if, else, for, while or do controls and that have no braces.
/// Adding braces would not change their meaning.
std::vector<Range> bare_bodies(const std::vector<Token>& tokens, const Brackets& brackets,
                               Range range);

/// All lambdas. A lambda that is neither named, nor called at once, nor passed to an algorithm is
/// marked as one that may be called from anywhere.
std::vector<Inner> find_lambdas(const std::vector<Token>& tokens, const Brackets& brackets);

}  // namespace flor::sources
