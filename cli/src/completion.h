// Completes words of the command line when the user presses Tab in a shell.
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
  enum class Paths { none, files, directories } paths = Paths::none;  ///< file names that the shell
                                                                      ///< adds by itself
};

/// The words that could replace the last of `words`, which are those after "flor"; the last one may
/// be empty or incomplete. Reads names of runs, experiments, metrics and loops from the store; a
/// store that is missing or unreadable gives no names.
Completions complete(const Pages& pages, const std::vector<std::string>& words);

/// Prints one line for each word, with its description after a tab. The last line is ":files" or
/// ":directories" if the shell is to add paths.
std::string print(const Completions& completions);

}  // namespace flor::cli
