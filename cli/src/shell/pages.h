// Describes the commands as texts, from which the manual and the completions of shells are made.
#pragma once

#include "shell/command.h"

#include <string>
#include <vector>

namespace flor::cli {

struct CommandPage {
  std::string group;  ///< group in the help, such as "Look at runs"
  std::string name;
  std::vector<std::string> aliases;
  std::string summary, lesson, usage;
  std::vector<Syntax::Entry> entries;
};

struct Pages {
  std::vector<CommandPage> commands;
  std::vector<Syntax::Entry> global;  ///< options of every command
  std::string introduction;           ///< how users name runs, and first steps
};

/// The parts of an option's description, such as "-n, --limit N".
struct OptionForm {
  std::vector<std::string> names;
  std::string value;  ///< name of the value, such as "N"; empty for a flag
};
OptionForm option_form(const Syntax::Entry& entry);

}  // namespace flor::cli
