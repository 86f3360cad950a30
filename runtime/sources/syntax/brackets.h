// Which bracket closes which, and where preprocessor conditionals begin and end.
#pragma once

#include "sources/syntax/lexer.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace flor::sources {

/// Positions of tokens, half-open.
struct Range {
  std::size_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  bool holds(std::size_t at) const { return begin <= at && at < end; }
  bool operator==(const Range&) const = default;
};

/// One #if with its #elif, #else and #endif.
struct Conditional {
  std::vector<std::size_t> branches;  ///< the '#' of each of them except #endif
  std::size_t end = 0;                ///< after the line of #endif, or the end of the text
};

struct Brackets {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> partner;  ///< for each token; kNone: no bracket, or none that fits
  std::vector<Conditional> conditionals;
};

/// Position after the directive whose '#' is at `at`.
std::size_t directive_end(const std::vector<Token>& tokens, std::size_t at);
/// "define", "include", ...; empty for a lone '#'.
std::string_view directive_name(const std::vector<Token>& tokens, std::size_t at);

/// Brackets of directives match among themselves. The branches of a conditional may each open or
/// close brackets: the text after it continues from the state of the first.
Brackets match_brackets(const std::vector<Token>& tokens);

}  // namespace flor::sources
