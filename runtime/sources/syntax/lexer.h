// Splits C++ source text into tokens: comments and white space are dropped, a literal is one token,
// and continued lines are joined. Accepts any text: one that is not C++ gives some tokens, never an
// error.
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
  std::string_view text;  ///< continued lines joined, digraphs replaced by brackets
  std::uint32_t line = 0, column = 0;  ///< of its first byte, from 1; columns in bytes
  TokenKind kind = TokenKind::punctuator;
  bool directive = false;         ///< belongs to a preprocessor directive
  bool starts_directive = false;  ///< is the '#' of a directive

  bool is(std::string_view other) const { return text == other; }
};

/// Whether two tokens are equal apart from their positions.
inline bool same(const Token& a, const Token& b) {
  return a.text == b.text && a.kind == b.kind && a.directive == b.directive &&
         a.starts_directive == b.starts_directive;
}

/// The tokens of a text. They refer to the text, which must outlive them.
struct Tokens {
  std::vector<Token> all;
  std::deque<std::string> joined;  ///< token texts that the source does not have in one piece
};

Tokens lex(std::string_view source);

}  // namespace flor::sources
