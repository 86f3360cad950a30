// Matches brackets, and finds where preprocessor conditionals begin and end.
#pragma once

#include "sources/syntax/lexer.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace flor::sources {

/// A half-open range of token positions.
struct Range {
  std::size_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  bool holds(std::size_t at) const { return begin <= at && at < end; }
  bool operator==(const Range&) const = default;
};

/// An #if with its #elif, #else and #endif.
struct Conditional {
  std::vector<std::size_t> branches;  ///< position of the '#' of each, except of #endif
  std::size_t end = 0;                ///< after the line of #endif, or the end of the text
};

struct Brackets {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> partner;  ///< by token; kNone: not a bracket, or one without a match
  std::vector<Conditional> conditionals;
};

/// The position after the directive whose '#' is at `at`.
std::size_t directive_end(const std::vector<Token>& tokens, std::size_t at);
/// The name of a directive: "define", "include", ...; empty for a lone '#'.
std::string_view directive_name(const std::vector<Token>& tokens, std::size_t at);

/// Brackets in directives only match each other. Each branch of a conditional may open or close
/// brackets; after the conditional, matching continues from the state at the end of the first
/// branch.
Brackets match_brackets(const std::vector<Token>& tokens);

}  // namespace flor::sources
