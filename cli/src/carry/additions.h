// Finds log statements of the work tree that a recorded version does not have.
#pragma once

#include "carry/tree.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flor::carry {

struct FileText {
  std::string path;  ///< from the root of the repository
  std::string text;
};

/// Consecutive statements that only log, with the computations for that.
struct LogHunk {
  int number = 0;  ///< from 1, in the order of files and lines
  std::string path;
  std::uint32_t line = 0;  ///< in the work tree
  std::string text;        ///< as it is written there, indentation of its first line left out
  std::string what;        ///< `logs "norm"`
  std::string function;    ///< in which it stands
  std::vector<std::string> loops;  ///< names of the flor::loops around it, the innermost last
  std::set<int> needs;  ///< hunks that share variables with it: all of them or none are carried
};

/// A change of the work tree that is not carried.
struct OtherEdit {
  std::string path;
  std::uint32_t line = 0;
  std::string what;
};

/// A hunk with the tokens and the place that it has in the work tree's sources.
struct Addition {
  LogHunk hunk;
  std::size_t file = 0;            ///< among the files of the work tree
  Range range;                     ///< tokens
  const Block* block = nullptr;    ///< from which it was taken
  std::size_t index = 0;           ///< of the statement before which it stood; the size: the end
  std::set<std::string> declares;  ///< names that are its own
};

/// A function, a declaration or an #include that only hunks use.
struct Helper {
  std::size_t file = 0;
  Range range;
  std::string context;  ///< namespaces around it
  std::string name;     ///< empty for an #include
  std::set<int> hunks;  ///< numbers of the hunks that use it
};

/// The work tree's sources without the additions, and the additions.
struct Additions {
  std::vector<Tree> work;  ///< statements of hunks have been removed from their blocks
  std::vector<Addition> hunks;
  std::vector<Helper> helpers;
  std::vector<OtherEdit> others;
};

/// `base`: the files as they were recorded; `work`: the same files of the work tree, and new ones.
Additions find_additions(const std::vector<FileText>& base, const std::vector<FileText>& work);

/// Names that the tokens in `range` log: the literals in calls of flor::log and its like.
std::set<std::string> logged_names(const Source& source, Range range);

/// Names that the tokens of `range` declare, as far as the text tells.
std::set<std::string> declared_names(const Source& source, Range range);

/// Bytes of the text between the beginning of the first token of `range` and the end of the last.
/// False if a token is not in the text as it is (a line that is continued within it).
bool bytes_of(const Source& source, Range range, std::size_t& begin, std::size_t& end);

}  // namespace flor::carry
