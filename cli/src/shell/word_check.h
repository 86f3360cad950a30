// Checks the words of a command line against what the command declares.
#pragma once

#include "shell/command.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// A command, as far as the check needs it.
struct KnownWords {
  std::string command;  ///< name, such as "list"; empty if the command line has no command
  const Syntax& syntax;
  std::span<const Syntax::Entry> global;  ///< options of every command
};

/// Whether the word is an option, where an option may stand. "-", "--" and SQL such as "-- a
/// comment" are not.
bool is_option(std::string_view word);

enum class Asked { work, help, version };

/// Throws UsageError, one line with the next step, for the first wrong word: an unknown option, a
/// missing, superfluous or malformed value, an option given twice, an operand too many or too few.
/// `words` are those after "flor"; the first operand among them is the command itself. A command
/// line that asks for help or the version is never wrong.
Asked check_words(const KnownWords& known, std::span<const std::string_view> words);

}  // namespace flor::cli
