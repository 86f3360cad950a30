#include "git/tree/glob.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace flor::git {
namespace {

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

bool in_class(std::string_view name, char c) {
  const int v = byte(c);
  if (name == "alnum") return v < 128 && std::isalnum(v);
  if (name == "alpha") return v < 128 && std::isalpha(v);
  if (name == "blank") return v == ' ' || v == '\t';
  if (name == "cntrl") return v < 128 && std::iscntrl(v);
  if (name == "digit") return v >= '0' && v <= '9';
  if (name == "graph") return v > 32 && v < 127;
  if (name == "lower") return v >= 'a' && v <= 'z';
  if (name == "print") return v >= 32 && v < 127;
  if (name == "punct") return v < 128 && std::ispunct(v);
  if (name == "space") return v < 128 && std::isspace(v);
  if (name == "upper") return v >= 'A' && v <= 'Z';
  if (name == "xdigit") return v < 128 && std::isxdigit(v);
  return false;
}

/// Matches `c` against the bracket expression that begins at pattern[at] == '[', and moves `at`
/// behind it. Nothing if the expression has no end; then the pattern matches no text.
std::optional<bool> match_bracket(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool matched = false;
  int previous = -1;  // start of a range, if one can follow
  for (bool first = true;; first = false) {
    if (i >= pattern.size()) return std::nullopt;
    if (pattern[i] == ']' && !first) break;
    if (pattern[i] == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const std::size_t end = pattern.find(":]", i + 2);
      const std::size_t bracket = pattern.find(']', i + 2);
      if (bracket == std::string_view::npos) return std::nullopt;
      if (end != std::string_view::npos && end + 1 == bracket) {
        if (in_class(pattern.substr(i + 2, end - i - 2), c)) matched = true;
        i = end + 2;
        previous = -1;
        continue;
      }
    }
    const bool range =
        pattern[i] == '-' && previous >= 0 && i + 1 < pattern.size() && pattern[i + 1] != ']';
    if (range) ++i;
    if (pattern[i] == '\\' && ++i >= pattern.size()) return std::nullopt;
    const char literal = pattern[i++];
    if (range) {
      matched = matched || (previous <= byte(c) && byte(c) <= byte(literal));
      previous = -1;
    } else {
      matched = matched || literal == c;
      previous = byte(literal);
    }
  }
  at = i + 1;
  return matched != negated && c != '/';
}

}  // namespace

Glob::Glob(std::string_view pattern) : pattern_(pattern) { valid_ = compile(); }

/// Splits the pattern into parts and tokens. False if the pattern cannot match any text.
bool Glob::compile() {
  parts_.emplace_back();
  for (std::size_t at = 0; at < pattern_.size();) {
    const char c = pattern_[at];
    if (c == '*') {
      at = compile_stars(at);
    } else if (c == '[') {
      tokens_.push_back({.kind = Token::Kind::bracket, .byte = 0, .at = at});
      if (!match_bracket(pattern_, at, 'x')) return false;
    } else if (c == '?') {
      tokens_.push_back({.kind = Token::Kind::any});
      ++at;
    } else {
      if (c == '\\' && ++at == pattern_.size()) return false;
      if (pattern_[at] == '/') {
        end_part();
      } else {
        tokens_.push_back({.kind = Token::Kind::byte, .byte = pattern_[at]});
      }
      ++at;
    }
  }
  parts_.back().end = tokens_.size();
  return true;
}

void Glob::end_part() {
  parts_.back().end = tokens_.size();
  parts_.push_back({.begin = tokens_.size()});
}

/// Compiles stars. Returns the position after them, and after a slash that belongs to them.
std::size_t Glob::compile_stars(std::size_t at) {
  const bool begins = at == 0 || pattern_[at - 1] == '/';
  const std::size_t first = at;
  while (at < pattern_.size() && pattern_[at] == '*') ++at;
  const std::string_view rest = std::string_view(pattern_).substr(at);
  const bool slash = rest.starts_with('/'), escaped = rest.starts_with("\\/");
  if (at - first < 2 || !begins || !(rest.empty() || slash || escaped)) {
    tokens_.push_back({.kind = Token::Kind::star});
    return at;
  }
  parts_.back().many = true;
  parts_.back().least = slash ? 0 : 1;
  if (rest.empty()) return at;
  end_part();
  return at + (slash ? 1 : 2);
}

bool Glob::match_token(const Token& token, char c) const {
  if (token.kind == Token::Kind::byte) return token.byte == c;
  if (token.kind == Token::Kind::any) return true;
  std::size_t at = token.at;
  return match_bracket(pattern_, at, c).value_or(false);
}

/// When the text and the pattern differ, the last star takes one more byte. Earlier stars need not
/// be tried again, since the last star can take whatever they could.
bool Glob::match_part(const Part& part, std::string_view text, std::size_t* steps) const {
  std::size_t token = part.begin, at = 0, star = tokens_.size(), taken = 0;
  while (at < text.size()) {
    if (steps) ++*steps;
    const bool more = token < part.end;
    if (more && tokens_[token].kind == Token::Kind::star) {
      star = token++;
      taken = at;
    } else if (more && match_token(tokens_[token], text[at])) {
      ++token;
      ++at;
    } else if (star < tokens_.size()) {
      token = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  while (token < part.end && tokens_[token].kind == Token::Kind::star) ++token;
  return token == part.end;
}

/// Works like match_part, with parts instead of bytes and "**" instead of stars.
bool Glob::match(std::string_view text, std::size_t* steps) const {
  if (!valid_) return false;
  const std::size_t end = text.size() + 1;
  const auto after = [&](std::size_t at) { return std::min(text.find('/', at), text.size()) + 1; };
  std::size_t part = 0, at = 0, many = parts_.size(), taken = 0;
  while (at < end) {
    if (steps) ++*steps;
    const bool more = part < parts_.size();
    if (more && parts_[part].many) {
      many = part;
      taken = parts_[part].least > 0 ? after(at) : at;
      at = taken;
      ++part;
    } else if (more && match_part(parts_[part], text.substr(at, after(at) - 1 - at), steps)) {
      ++part;
      at = after(at);
    } else if (many < parts_.size()) {
      at = taken = after(taken);
      part = many + 1;
    } else {
      return false;
    }
  }
  while (part < parts_.size() && parts_[part].many && parts_[part].least == 0) ++part;
  return part == parts_.size();
}

}  // namespace flor::git
