// Patterns of .gitignore files (and of flor.exclude, which has the same form), and the stack of
// those in force in a directory while the work tree is walked.
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
  /// `base` is the directory the patterns are relative to: empty or with a trailing slash.
  PatternList(std::string_view text, std::string base);

  /// True: excluded; false: included again by a `!` pattern; nothing: no pattern matches. `path` is
  /// relative to the root of the work tree.
  std::optional<bool> excludes(std::string_view path, bool is_directory) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string text;
    bool negated = false;
    bool only_directories = false;
    bool only_name = false;     ///< no slash inside: matches the last component at any depth
    bool literal = false;       ///< nothing special in the text
    bool literal_tail = false;  ///< "*" and then nothing special
    std::size_t plain = 0;      ///< bytes before those that `glob` matches
    std::optional<Glob> glob;   ///< where it is neither
  };
  void add(std::string_view line);
  static bool matches(const Pattern& pattern, std::string_view text);

  std::string base_;
  std::vector<Pattern> patterns_;
};

/// Pattern lists by rising precedence; the last list with a match for a path decides.
class IgnoreStack {
 public:
  void push(PatternList list) { lists_.push_back(std::move(list)); }
  void pop() { lists_.pop_back(); }
  /// For a path whose parents are not ignored.
  bool ignores(std::string_view path, bool is_directory) const;

 private:
  std::vector<PatternList> lists_;
};

}  // namespace flor::git
