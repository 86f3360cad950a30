// flor watch --stop: asks the watches of the store to end.
#pragma once

#include <cstdint>
#include <optional>

namespace flor::cli {

class Context;

struct StopOptions {
  bool now = false;                          ///< end running evaluations, too, instead of waiting
                                             ///< for them
  std::optional<std::uint64_t> wait_s = {};  ///< wait at most this long; nullopt: until all have
                                             ///< ended
};

/// Asks the watches to end, and prints which ones were asked and which have ended. Returns the exit
/// status: 5 if one is still running.
int stop_watches(Context& context, const StopOptions& options);

}  // namespace flor::cli
