#include "ignore.h"

#include <cctype>

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

/// Matches `c` against the bracket expression that starts at pattern[at] == '['. Moves `at` behind
/// it; nothing if the expression never ends, in which case no text matches.
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

/// `start` of the pattern tells whether "**" stands at its beginning.
bool match_here(std::string_view pattern, std::size_t at, std::string_view text) {
  while (at < pattern.size()) {
    const char p = pattern[at];
    if (p == '*') {
      const std::size_t stars = at;
      while (at < pattern.size() && pattern[at] == '*') ++at;
      const bool bounded_left = stars == 0 || pattern[stars - 1] == '/';
      const bool bounded_right = at == pattern.size() || pattern[at] == '/';
      const bool crosses = at - stars >= 2 && bounded_left && bounded_right;
      if (crosses && at < pattern.size() && match_here(pattern, at + 1, text)) return true;
      if (at == pattern.size()) return crosses || text.find('/') == std::string_view::npos;
      for (std::size_t skip = 0;; ++skip) {
        if (match_here(pattern, at, text.substr(skip))) return true;
        if (skip == text.size() || (!crosses && text[skip] == '/')) return false;
      }
    }
    if (text.empty()) return false;
    if (p == '[') {
      const auto matched = match_bracket(pattern, at, text[0]);
      if (!matched || !*matched) return false;
    } else if (p == '?') {
      if (text[0] == '/') return false;
      ++at;
    } else {
      if (p == '\\' && ++at == pattern.size()) return false;
      if (pattern[at] != text[0]) return false;
      ++at;
    }
    text.remove_prefix(1);
  }
  return text.empty();
}

bool is_special(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

bool is_plain(std::string_view text) {
  for (char c : text) {
    if (is_special(c)) return false;
  }
  return true;
}

/// Without trailing blanks, unless a backslash protects them.
std::string_view trim(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    end = i + 1;
  }
  return line.substr(0, end);
}

}  // namespace

bool wildmatch(std::string_view pattern, std::string_view text) {
  return match_here(pattern, 0, text);
}

PatternList::PatternList(std::string_view text, std::string base) : base_(std::move(base)) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with('#')) add(trim(line));
  }
}

void PatternList::add(std::string_view line) {
  Pattern pattern;
  if (line.starts_with('!')) {
    pattern.negated = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.only_directories = true;
    line.remove_suffix(1);
  }
  if (line.empty()) return;
  pattern.only_name = line.find('/') == std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  pattern.literal = is_plain(line);
  pattern.literal_tail = pattern.only_name && line.starts_with('*') && is_plain(line.substr(1));
  pattern.text = line;
  patterns_.push_back(std::move(pattern));
}

bool PatternList::matches(const Pattern& pattern, std::string_view text) {
  if (pattern.literal) return pattern.text == text;
  if (pattern.literal_tail) return text.ends_with(std::string_view(pattern.text).substr(1));
  return wildmatch(pattern.text, text);
}

std::optional<bool> PatternList::excludes(std::string_view path, bool is_directory) const {
  if (!path.starts_with(base_)) return std::nullopt;
  const std::string_view relative = path.substr(base_.size());
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->only_directories && !is_directory) continue;
    if (matches(*pattern, pattern->only_name ? name : relative)) return !pattern->negated;
  }
  return std::nullopt;
}

bool IgnoreStack::ignores(std::string_view path, bool is_directory) const {
  for (auto list = lists_.rbegin(); list != lists_.rend(); ++list) {
    if (const auto decision = list->excludes(path, is_directory)) return *decision;
  }
  return false;
}

}  // namespace flor::git
