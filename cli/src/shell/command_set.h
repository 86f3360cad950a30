// Which commands an executable has.
#pragma once

#include "shell/command.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Commands with one purpose.
struct CommandGroup {
  std::string_view title;
  std::vector<std::unique_ptr<Command> (*)()> makers;
};

/// The commands of an executable.
struct CommandSet {
  std::vector<CommandGroup> groups;  ///< in the order of the help
  /// Does the work of a process that one of the commands started for itself. Returns nullopt for
  /// other words.
  std::optional<int> (*own_process)(std::span<char*> words) = nullptr;
  std::string_view missing = {};  ///< where the other commands are; empty if there are none
};

}  // namespace flor::cli
