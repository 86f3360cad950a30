// Finds the changes between two versions of some files, as changes of functions, declarations and
// statements. Not counted as changes: formatting, comments, functions that only moved, and braces
// around a single statement that an if or a loop controls.
#pragma once

#include "sources/syntax/source.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::sources {

struct Change {
  const Source* source = nullptr;  ///< the new file; null if the file is gone
  /// The changed tokens in the new file. Empty: something was removed before `now.begin`.
  Range now;
  std::string where;  ///< e.g. "train.cpp:57"
  std::string what;   ///< e.g. `logs "norm"`, or `'0.8' is now '0.9'`
  std::string label;  ///< names the function or declaration that contains the change
  /// Names of that function or declaration, in either version.
  std::vector<std::string_view> names;
  std::string_view owner;
  bool function = false;
  bool added = false;     ///< the other version has nothing with that name
  bool anywhere = false;  ///< in code that may be called from anywhere
  bool entry = false;     ///< in the `main` of the program, which both versions have
};

struct Changes {
  std::vector<Change> all;  ///< all differences
  /// Changes that could alter the computation: `all`, except added or removed statements that only
  /// log or print, or work on variables made for that.
  std::vector<Change> computation;
};

/// `rest` are unchanged sources, whose macros may be used. All sources must outlive the result.
Changes find_changes(const std::vector<SourcePointer>& before,
                     const std::vector<SourcePointer>& now,
                     const std::vector<SourcePointer>& rest);

}  // namespace flor::sources
