// The commands as texts: what the manual and the completions of shells are made from.
#pragma once

#include "shell/command.h"

#include <string>
#include <vector>

namespace flor::cli {

struct CommandPage {
  std::string name, summary, lesson, usage;
  std::vector<Syntax::Entry> entries;
};

struct Pages {
  std::vector<CommandPage> commands;
  std::vector<Syntax::Entry> global;  ///< options of every command
  std::string introduction;           ///< how runs are called, first steps
};

/// "-n, --limit N" taken apart.
struct OptionForm {
  std::vector<std::string> names;
  std::string value;  ///< "N"; empty for a flag
};
OptionForm option_form(const Syntax::Entry& entry);

}  // namespace flor::cli
