// The options of commands whose workers may run on other machines.
#pragma once

#include "launch/seat_starter.h"
#include "shell/command.h"

#include <string>

namespace flor::cli {

/// The option `--engine` and those that belong to it.
class EngineOptions {
 public:
  /// `wish` is filled in, and must stay alive until then.
  void setup(Syntax& syntax, EngineWish& wish);
  /// Called once the command line has been read. Throws UsageError.
  void finish(EngineWish& wish) const;

 private:
  std::string engine_ = "local";
};

}  // namespace flor::cli
