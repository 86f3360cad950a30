#include "secrets/secret_values.h"

#include <algorithm>

namespace flor::store {
namespace {

bool is_quote(char c) { return c == '"' || c == '\''; }

std::size_t slashes_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && text[at + count] == '\\') ++count;
  return count;
}

/// Returns where the closing quote of a text begins, including the backslashes before it. The
/// opening quote before `at` had `level` backslashes: nested texts have 1, 3, 7 of them. A quote
/// with more backslashes belongs to an inner text.
std::size_t closing_quote(std::string_view text, std::size_t at, char quote, std::size_t level) {
  while (at < text.size()) {
    const std::size_t slashes = slashes_at(text, at);
    const std::size_t next = at + slashes;
    if (next >= text.size()) break;
    const bool closes =
        text[next] == quote && slashes >= level && (slashes - level) % (2 * (level + 1)) == 0;
    if (closes) return next - level;
    at = next + 1;
  }
  return text.size();
}

char closing_of(char opening) {
  switch (opening) {
    case '[':
      return ']';
    case '{':
      return '}';
    case '(':
      return ')';
    default:
      return '\0';
  }
}

/// Returns the position of the bracket that closes the one at `at`.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  std::vector<char> open;
  while (at < text.size()) {
    const std::size_t slashes = slashes_at(text, at);
    const std::size_t next = at + slashes;
    if (next >= text.size()) break;
    const char c = text[next];
    if (is_quote(c)) {
      at = closing_quote(text, next + 1, c, slashes) + slashes + 1;
      continue;
    }
    if (closing_of(c) != '\0') open.push_back(closing_of(c));
    if (!open.empty() && c == open.back()) open.pop_back();
    if (open.empty()) return next;
    at = next + 1;
  }
  return text.size();
}

}  // namespace

OpenQuotes::OpenQuotes(std::string_view text) : open_(text.size() + 1) {
  char open = '\0';
  for (std::size_t at = 0; at < text.size(); ++at) {
    open_[at] = open;
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      open_[++at] = open;
    } else if (is_quote(c) && (open == '\0' || open == c)) {
      open = open == '\0' ? c : '\0';
    }
  }
  open_.back() = open;
}

ValueRange value_at(std::string_view text, std::size_t begin, std::string_view closing,
                    char around) {
  ValueRange inside;
  std::size_t at = begin;
  while (at < text.size()) {
    const std::size_t slashes = slashes_at(text, at);
    const std::size_t next = at + slashes;
    const char c = next < text.size() ? text[next] : '\0';
    const bool nested = slashes % 2 == 1 && (at == begin || around == '"');
    if (is_quote(c) && ((slashes == 0 && c != around) || nested)) {
      const std::size_t close = closing_quote(text, next + 1, c, slashes);
      const std::size_t after = std::min(close + slashes + 1, text.size());
      if (at == begin) inside = {next + 1, close, after};
      at = after;
    } else if (at == begin && closing_of(text[at]) != '\0') {
      const std::size_t close = closing_bracket(text, at);
      inside = {at + 1, close, std::min(close + 1, text.size())};
      at = inside.after;
    } else if (slashes > 0) {
      at = std::min(next + slashes % 2, text.size());
    } else if (c == around || closing.find(c) != closing.npos) {
      break;
    } else {
      ++at;
    }
  }
  return inside.after == at && at > begin ? inside : ValueRange{begin, at, at};
}

}  // namespace flor::store
