// Checks the words of a command line against the declaration of the command.
#pragma once

#include "shell/command.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// A command as the check sees it.
struct KnownWords {
  std::string command;  ///< "list"; empty where none is given
  const Syntax& syntax;
  std::span<const Syntax::Entry> global;  ///< options of every command
};

/// Whether a word is an option where one may stand: "-", "--" and "-- a comment of SQL" are none.
bool is_option(std::string_view word);

enum class Asked { work, help, version };

/// Throws UsageError, one line with the next step, for the first word that does not fit: an unknown
/// option, a missing, superfluous or wrong value, an option given twice, an operand too many or too
/// few. `words` follow "flor"; the first operand among them is the command itself. A command
/// line that asks for help or the version fits whatever else it says.
Asked check_words(const KnownWords& known, std::span<const std::string_view> words);

}  // namespace flor::cli
