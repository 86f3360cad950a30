// Declares the options of commands whose workers may run on other machines.
#pragma once

#include "launch/seat_starter.h"
#include "shell/command.h"

#include <string>

namespace flor::cli {

/// The option `--engine` and the options that belong to it.
class EngineOptions {
 public:
  /// Declares the options. Parsing fills in `wish`, which must live until then.
  void setup(Syntax& syntax, EngineWish& wish);
  /// Call it after the command line was parsed. Throws UsageError.
  void finish(EngineWish& wish) const;

 private:
  std::string engine_ = "local";
};

}  // namespace flor::cli
