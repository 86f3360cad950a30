// Reads the tokens of a source without a compiler: finds names, brackets, template arguments, and
// declarations.
#pragma once

#include "sources/syntax/source.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace flor::sources {

class Reader {
 public:
  explicit Reader(const Source& source);

  const Source& source() const { return *source_; }
  std::size_t size() const { return tokens().size(); }
  bool is(std::size_t at, std::string_view text) const {
    return at < size() && tokens()[at].is(text);
  }
  std::string_view text(std::size_t at) const {
    return at < size() ? tokens()[at].text : std::string_view();
  }
  bool is_directive(std::size_t at) const { return tokens()[at].directive; }
  /// Whether the token at `at` is an identifier that is not a keyword, outside of directives.
  bool is_name(std::size_t at) const { return is_word(at) && !is_reserved(text(at)); }
  bool is_literal(std::size_t at) const {
    return at < size() && (tokens()[at].kind == TokenKind::number ||
                           tokens()[at].kind == TokenKind::text ||
                           tokens()[at].kind == TokenKind::character);
  }
  bool is_assignment(std::size_t at) const;
  /// Whether the tokens `>` `>` at `at` are a shift operator. Template arguments must have been
  /// stepped over before.
  bool is_right_shift(std::size_t at) const;
  /// Whether an operand ends before `at`, so that a token at `at` is a binary operator.
  bool operand_ends_before(std::size_t at) const;

  /// The position after the bracket that closes the one at `at`.
  std::size_t behind(std::size_t at) const;
  std::size_t opening(std::size_t at) const;  ///< of the bracket that closes at `at`; else `at`
  /// The position after the template arguments that begin at `at`, or `at` if none begin there.
  std::size_t behind_angles(std::size_t at) const;
  /// The innermost bracket that is open at `at`; nothing if none is.
  std::optional<std::size_t> bracket_around(std::size_t at) const;
  /// The parts of `range` between its commas, ignoring commas inside brackets and template
  /// arguments.
  std::vector<Range> split(Range range) const;
  std::size_t next_comma(Range range) const;

  struct Declared {
    Range type;
    bool binding = false;  ///< one of the names of `auto [a, b]`
  };
  /// The declaration of the name at `at`; nothing if no variable is declared there.
  std::optional<Declared> declared(std::size_t at, std::size_t begin) const;

 private:
  const std::vector<Token>& tokens() const { return source_->tokens.all; }
  bool is_word(std::size_t at) const {
    return at < size() && tokens()[at].kind == TokenKind::identifier && !tokens()[at].directive;
  }
  static bool is_reserved(std::string_view word);
  std::size_t before_angles(std::size_t at, std::size_t begin) const;
  std::size_t binding_type(std::size_t at, std::size_t begin) const;
  std::optional<Range> type_before(std::size_t at, std::size_t begin) const;
  std::optional<Range> type_around(std::size_t at, std::size_t begin) const;
  std::optional<Range> type_of_list(std::size_t at, std::size_t begin) const;

  const Source* source_;
  std::vector<std::size_t> around_;
};

}  // namespace flor::sources
