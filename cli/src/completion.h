// Completes words of the command line for a shell, when Tab is pressed.
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

/// The words that could replace the last of `words`, which follow "flor"; it may be empty or the
/// beginning of a word. Reads the store for names of runs, experiments, metrics or loops; a store
/// that is missing or cannot be read has none.
Completions complete(const Pages& pages, const std::vector<std::string>& words);

/// One line for each word, with its description after a tab; ":files" or ":directories" as the last
/// line.
std::string print(const Completions& completions);

}  // namespace flor::cli
