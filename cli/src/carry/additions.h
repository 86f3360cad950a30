// Finds the log statements that the work tree has and a recorded version does not have.
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

/// Consecutive added statements that only log, with the computations that only they need.
struct LogHunk {
  int number = 0;  ///< from 1, in the order of files and lines
  std::string path;
  std::uint32_t line = 0;  ///< of the work tree's file
  std::string text;        ///< as in the work tree, without the indentation of its first line
  std::string what;        ///< for the user: `logs "norm"`
  std::string function;    ///< the function it stands in
  std::vector<std::string> loops;  ///< names of the flor::loops around it, the innermost last
  std::set<int> needs;  ///< numbers of hunks that share variables with it: all of them are carried,
                        ///< or none
};

/// A change in the work tree that is no log statement, and therefore is not carried.
struct OtherEdit {
  std::string path;
  std::uint32_t line = 0;
  std::string what;
};

/// A hunk with its tokens and its place in the work tree's sources.
struct Addition {
  LogHunk hunk;
  std::size_t file = 0;            ///< index in Additions::work
  Range range;                     ///< its tokens
  const Block* block = nullptr;    ///< the block it was taken from
  std::size_t index = 0;           ///< index of the statement it stood before; the number of
                                   ///< statements: at the end
  std::set<std::string> declares;  ///< names that the hunk itself declares
};

/// A function, declaration or #include of the work tree that only hunks use.
struct Helper {
  std::size_t file = 0;
  Range range;
  std::string context;  ///< the namespaces around it
  std::string name;     ///< empty for an #include
  std::set<int> hunks;  ///< numbers of the hunks that use it
};

/// The work tree's sources separated into the additions and the rest.
struct Additions {
  std::vector<Tree> work;  ///< the sources without the statements of the hunks
  std::vector<Addition> hunks;
  std::vector<Helper> helpers;
  std::vector<OtherEdit> others;
};

/// Compares `base`, the files as they were recorded, with `work`, the same files of the work tree
/// and its new ones.
Additions find_additions(const std::vector<FileText>& base, const std::vector<FileText>& work);

/// Names under which the tokens in `range` log: the literals in calls of flor::log and related
/// functions.
std::set<std::string> logged_names(const Source& source, Range range);

/// Names that the tokens of `range` declare, as far as they can be recognized without a compiler.
std::set<std::string> declared_names(const Source& source, Range range);

/// Sets the bytes of the text from the first to the last token of `range`. Returns false if the
/// text does not spell a token literally, because a line continuation is within it.
bool bytes_of(const Source& source, Range range, std::size_t& begin, std::size_t& end);

}  // namespace flor::carry
