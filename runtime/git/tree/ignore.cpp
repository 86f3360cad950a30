#include "git/tree/ignore.h"

namespace flor::git {
namespace {

bool is_special(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

bool is_plain(std::string_view text) {
  for (char c : text) {
    if (is_special(c)) return false;
  }
  return true;
}

/// Removes trailing blanks, except one that a backslash protects.
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
  if (!pattern.literal && !pattern.literal_tail) {
    // As in git, stars after a literal beginning count as the first of their pattern: "a**/b"
    // matches "ab".
    while (!pattern.only_name && !is_special(line[pattern.plain])) ++pattern.plain;
    pattern.glob.emplace(line.substr(pattern.plain));
  }
  patterns_.push_back(std::move(pattern));
}

bool PatternList::matches(const Pattern& pattern, std::string_view text) {
  if (pattern.literal) return pattern.text == text;
  if (pattern.literal_tail) return text.ends_with(std::string_view(pattern.text).substr(1));
  const std::string_view plain = std::string_view(pattern.text).substr(0, pattern.plain);
  return text.starts_with(plain) && pattern.glob->matches(text.substr(plain.size()));
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
