// flor watch --stop: asks the watches of the store to end.
#pragma once

#include <cstdint>
#include <optional>

namespace flor::cli {

class Context;

struct StopOptions {
  bool now = false;                          ///< end running evaluations, too
  std::optional<std::uint64_t> wait_s = {};  ///< at most so long; absent: until all have ended
};

/// Prints which watches were asked and which have ended. Returns the exit status: 5 if one is left.
int stop_watches(Context& context, const StopOptions& options);

}  // namespace flor::cli
