// What a shell offers when somebody presses Tab.
#pragma once

#include "shell/pages.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

struct Completion {
  std::string word;
  std::string description;  ///< for shells that show one; may be empty
};

struct Completions {
  std::vector<Completion> words;
  enum class Paths { none, files, directories } paths = Paths::none;  ///< the shell adds those
};

/// What could be in the place of the last of `words`, which follow "flor"; it may be empty or the
/// beginning of what is meant. Reads the store where names of runs, experiments, metrics or loops
/// are wanted; a store that is not there or cannot be read has none.
Completions complete(const Pages& pages, const std::vector<std::string>& words);

/// A line each, word and description parted by a tab; ":files" or ":directories" as the last line.
std::string print(const Completions& completions);

}  // namespace flor::cli
