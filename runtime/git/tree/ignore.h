// The patterns of .gitignore files (and of flor.exclude, which has the same syntax), and the stack
// of pattern lists that apply in a directory while the work tree is walked.
#pragma once

#include "git/tree/glob.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::git {

/// The patterns of one file.
class PatternList {
 public:
  /// `base` is the directory that the patterns are relative to: empty, or with a trailing slash.
  PatternList(std::string_view text, std::string base);

  /// Returns true if the patterns exclude the path, false if a `!` pattern includes it again, and
  /// nothing if no pattern matches. `path` is relative to the root of the work tree.
  std::optional<bool> excludes(std::string_view path, bool is_directory) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string text;
    bool negated = false;
    bool only_directories = false;
    bool only_name = false;     ///< has no slash: matches the last component at any depth
    bool literal = false;       ///< has no wildcard
    bool literal_tail = false;  ///< "*" followed by text without wildcards
    std::size_t plain = 0;      ///< length of the wildcard-free beginning
    std::optional<Glob> glob;   ///< for the rest of any other pattern
  };
  void add(std::string_view line);
  static bool matches(const Pattern& pattern, std::string_view text);

  std::string base_;
  std::vector<Pattern> patterns_;
};

/// Pattern lists in order of rising precedence: the last list with a match for a path decides.
class IgnoreStack {
 public:
  void push(PatternList list) { lists_.push_back(std::move(list)); }
  void pop() { lists_.pop_back(); }
  /// Whether the path is ignored. To be called only for paths whose parent directories are not
  /// ignored.
  bool ignores(std::string_view path, bool is_directory) const;

 private:
  std::vector<PatternList> lists_;
};

}  // namespace flor::git
