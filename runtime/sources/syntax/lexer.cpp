#include "sources/syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace flor::sources {
namespace {

bool begins_identifier(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) || c == '_' || c == '$' || byte >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_identifier(char c) { return begins_identifier(c) || is_digit(c); }

/// Longest first. ">>" counts as two tokens, since it may close two lists of template arguments.
constexpr std::array<std::string_view, 35> kPunctuators = {
    "%:%:", "...", "<=>", "<<=", "->*", "::", "->", "++", "--", "<<", "<=", ">=",
    "==",   "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "##",   ".*",  "<%",  "%>",  "<:",  ":>", "%:", "{",  "}",  "(",  ")"};

std::string_view without_digraphs(std::string_view text) {
  if (text == "<%") return "{";
  if (text == "%>") return "}";
  if (text == "<:") return "[";
  if (text == ":>") return "]";
  if (text == "%:") return "#";
  if (text == "%:%:") return "##";
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    if (source_.starts_with("\xEF\xBB\xBF")) at_ = line_start_ = 3;
  }

  Tokens run() {
    while (skip_space()) token();
    return std::move(out_);
  }

 private:
  /// The length of a backslash and the newline after it; 0 if there is none at `at`.
  std::size_t splice(std::size_t at) const {
    if (at + 1 >= source_.size() || source_[at] != '\\') return 0;
    if (source_[at + 1] == '\n') return 2;
    return source_[at + 1] == '\r' && at + 2 < source_.size() && source_[at + 2] == '\n' ? 3 : 0;
  }
  void step_over_splices() {
    while (const std::size_t length = splice(at_)) {
      at_ += length;
      ++line_;
      line_start_ = at_;
    }
  }
  bool done() {
    step_over_splices();
    return at_ >= source_.size();
  }
  char peek() { return done() ? '\0' : source_[at_]; }
  /// The character after the one that peek() returns.
  char second() {
    if (done()) return '\0';
    std::size_t at = at_ + 1;
    while (const std::size_t length = splice(at)) at += length;
    return at < source_.size() ? source_[at] : '\0';
  }
  void advance() {
    if (done()) return;
    if (source_[at_++] == '\n') {
      ++line_;
      line_start_ = at_;
    }
  }
  void take() {
    if (done()) return;
    text_ += source_[at_];
    advance();
  }

  void newline() {
    in_directive_ = false;
    line_has_token_ = false;
  }

  /// Skips to the next token. Returns false at the end.
  bool skip_space() {
    while (!done()) {
      const char c = peek();
      if (c == '\n') {
        newline();
        advance();
      } else if (c == '/' && second() == '/') {
        while (!done() && peek() != '\n') advance();
      } else if (c == '/' && second() == '*') {
        skip_comment();
      } else if (c == '\0' || std::isspace(static_cast<unsigned char>(c))) {
        advance();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_comment() {
    advance();
    advance();
    while (!done() && !(peek() == '*' && second() == '/')) advance();
    advance();
    advance();
  }

  void token() {
    begin_ = at_;
    token_.line = line_;
    token_.column = static_cast<std::uint32_t>(at_ - line_start_ + 1);
    token_.starts_directive = false;
    text_.clear();
    const char c = peek();
    if (header_name_ && c == '<') return header_name();
    if (begins_identifier(c)) return identifier();
    if (is_digit(c) || (c == '.' && is_digit(second()))) return number();
    if (c == '"') return quoted('"', TokenKind::text);
    if (c == '\'') return quoted('\'', TokenKind::character);
    punctuator();
  }

  void add(TokenKind kind) {
    const std::string_view raw = source_.substr(begin_, at_ - begin_);
    add(kind, raw == text_ ? raw : std::string_view(out_.joined.emplace_back(text_)));
  }
  void add(TokenKind kind, std::string_view text) {
    header_name_ = in_directive_ && !out_.all.empty() && out_.all.back().starts_directive &&
                   (text == "include" || text == "include_next" || text == "import");
    token_.kind = kind;
    token_.text = text;
    token_.directive = in_directive_;
    line_has_token_ = true;
    out_.all.push_back(token_);
  }

  void identifier() {
    while (continues_identifier(peek()) && !done()) take();
    const bool raw =
        text_ == "R" || text_ == "LR" || text_ == "uR" || text_ == "UR" || text_ == "u8R";
    if (raw && peek() == '"') return raw_string();
    const bool prefix = text_ == "L" || text_ == "u" || text_ == "U" || text_ == "u8";
    if (prefix && peek() == '"') return quoted('"', TokenKind::text);
    if (prefix && peek() == '\'') return quoted('\'', TokenKind::character);
    add(TokenKind::identifier);
  }

  void number() {
    take();
    while (!done()) {
      const char c = peek();
      const char last = text_.back();
      const bool exponent = last == 'e' || last == 'E' || last == 'p' || last == 'P';
      const bool separator = c == '\'' && continues_identifier(second());
      if (!continues_identifier(c) && c != '.' && !separator &&
          !(exponent && (c == '+' || c == '-'))) {
        break;
      }
      take();
    }
    add(TokenKind::number);
  }

  /// Reads a literal. One that is not closed ends with its line, as may happen in text that is not
  /// C++.
  void quoted(char quote, TokenKind kind) {
    take();
    while (!done() && peek() != '\n') {
      const char c = peek();
      take();
      if (c == quote) break;
      if (c == '\\' && peek() != '\n') take();
    }
    suffix();
    add(kind);
  }

  void suffix() {
    if (begins_identifier(peek())) {
      while (continues_identifier(peek()) && !done()) take();
    }
  }

  /// Reads a raw string, in which only its end is special; lines are not continued.
  void raw_string() {
    const std::size_t open = source_.find('(', at_);
    constexpr std::size_t kDelimiterMax = 16;
    if (open == std::string_view::npos || open - at_ > kDelimiterMax + 1) {
      return quoted('"', TokenKind::text);
    }
    const std::string close = fmt::format("){}\"", source_.substr(at_ + 1, open - at_ - 1));
    const std::size_t found = source_.find(close, open);
    const std::size_t end = found == std::string_view::npos ? source_.size() : found + close.size();
    for (; at_ < end; ++at_) {
      if (source_[at_] == '\r' && at_ + 1 < end && source_[at_ + 1] == '\n') continue;
      text_ += source_[at_];
      if (source_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
    }
    suffix();
    add(TokenKind::text);
  }

  void header_name() {
    while (!done() && peek() != '\n') {
      const char c = peek();
      take();
      if (c == '>') break;
    }
    add(TokenKind::text);
  }

  bool next_is(std::string_view wanted) const {
    std::size_t at = at_;
    for (const char c : wanted) {
      while (const std::size_t length = splice(at)) at += length;
      if (at >= source_.size() || source_[at++] != c) return false;
    }
    return true;
  }

  /// "<::" begins a template argument with "::" and is no digraph, unless ":" or ">" follows.
  bool is_no_digraph(std::string_view text) const {
    return text == "<:" && next_is("<::") && !next_is("<:::") && !next_is("<::>");
  }

  void punctuator() {
    std::size_t length = 1;
    for (const std::string_view candidate : kPunctuators) {
      if (next_is(candidate) && !is_no_digraph(candidate)) {
        length = candidate.size();
        break;
      }
    }
    for (; length > 0; --length) take();
    const std::string_view plain = without_digraphs(text_);
    if (plain == "#" && !line_has_token_) {
      in_directive_ = true;
      token_.starts_directive = true;
    }
    if (plain != text_) return add(TokenKind::punctuator, plain);
    add(TokenKind::punctuator);
  }

  std::string_view source_;
  std::size_t at_ = 0, line_start_ = 0, begin_ = 0;
  std::uint32_t line_ = 1;
  bool line_has_token_ = false, in_directive_ = false, header_name_ = false;
  std::string text_;
  Token token_;
  Tokens out_;
};

}  // namespace

Tokens lex(std::string_view source) { return Lexer(source).run(); }

}  // namespace flor::sources
