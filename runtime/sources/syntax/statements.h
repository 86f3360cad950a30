// Finds where statements end, and the loops and lambdas in them.
#pragma once

#include "sources/syntax/structure.h"

#include <vector>

namespace flor::sources {

/// The statement that a label or an attribute at `at` stands before; `at` where none does.
std::size_t behind_label(const std::vector<Token>& tokens, const Brackets& brackets,
                         std::size_t at);

/// Every `for`, in the order of the keywords.
std::vector<ForLoop> find_loops(const std::vector<Token>& tokens, const Brackets& brackets);

/// The statements in `range` that an if, else, for, while or do controls without braces around
/// them: braces would not change their meaning.
std::vector<Range> bare_bodies(const std::vector<Token>& tokens, const Brackets& brackets,
                               Range range);

/// Every lambda. One without a name that is neither called at once nor handed to an algorithm may
/// be called from anywhere.
std::vector<Inner> find_lambdas(const std::vector<Token>& tokens, const Brackets& brackets);

}  // namespace flor::sources
