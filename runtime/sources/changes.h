// Finds the changes between two versions of some files, in terms of functions, declarations and
// statements. Formatting, comments, functions that only moved, and braces around a single statement
// that an if or a loop controls are no change.
#pragma once

#include "sources/syntax/source.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

struct Change {
  const Source* source = nullptr;  ///< the new file; null if the file is gone
  Range now;          ///< tokens of it; empty: something was removed before `now.begin`
  std::string where;  ///< "train.cpp:57"
  std::string what;   ///< `logs "norm"`, `'0.8' is now '0.9'`
  std::string label;  ///< of the function or declaration that holds it
  std::vector<std::string_view> names;  ///< of that, in either version
  std::string_view owner;
  bool function = false;
  bool added = false;     ///< the other version has nothing of that name
  bool anywhere = false;  ///< that may be called from anywhere
  bool entry = false;     ///< that is the `main` of the program, in both versions
};

struct Changes {
  std::vector<Change> all;  ///< whatever is not the same
  /// Changes that could alter the computation: `all` without added or removed statements that only
  /// log, print, or work on variables made for that.
  std::vector<Change> computation;
};

/// `rest`: unchanged sources, whose macros may be used. All must outlive the result.
Changes find_changes(const std::vector<SourcePointer>& before,
                     const std::vector<SourcePointer>& now,
                     const std::vector<SourcePointer>& rest);

}  // namespace flor::sources
