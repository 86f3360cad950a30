// Splits C++ source text into tokens: without comments and white space, literals as one token,
// continued lines joined. Takes any text; text that is no C++ gives some tokens, never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

enum class TokenKind : std::uint8_t { identifier, number, text, character, punctuator };

struct Token {
  std::string_view text;  ///< with continued lines joined, digraphs as the usual brackets
  std::uint32_t line = 0, column = 0;  ///< of its first byte, counted from 1, columns in bytes
  TokenKind kind = TokenKind::punctuator;
  bool directive = false;         ///< belongs to a preprocessor directive
  bool starts_directive = false;  ///< is its '#'

  bool is(std::string_view other) const { return text == other; }
};

/// Equal but for where they stand.
inline bool same(const Token& a, const Token& b) {
  return a.text == b.text && a.kind == b.kind && a.directive == b.directive &&
         a.starts_directive == b.starts_directive;
}

/// The tokens of a text, which they refer to: it must outlive them.
struct Tokens {
  std::vector<Token> all;
  std::deque<std::string> joined;  ///< texts of tokens that are not in the source as they are
};

Tokens lex(std::string_view source);

}  // namespace flor::sources
