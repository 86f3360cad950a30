// The process that records one point of a sweep, on whatever machine.
#pragma once

#include "sweep/poor_runs.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// When a recording is ended early.
struct StopRule {
  Goal goal;
  std::size_t after = 1;  ///< epochs that each run gets
};

/// The wishes of a sweep for the process, besides the point.
struct PointOrder {
  int threads = 0;  ///< OMP_NUM_THREADS of the program; 0: as it is
  std::optional<StopRule> stop;

  std::string encode() const;
  /// Throws Error for other text.
  static PointOrder decode(const std::string& text);
};

/// Said by the process at its end: the last line of its output.
struct PointReport {
  std::string run = {};    ///< key; empty: none was begun
  bool hopeless = false;   ///< the program ended by itself, and began no run
  bool done = false;       ///< it has finished, or was ended early
  std::string state = {};  ///< "finished", "stopped early", "failed", ...
  std::int64_t epochs = 0;
  std::string words = {};  ///< the last line that the program wrote, where it is not done

  std::string encode() const;
  /// Throws Error for other text.
  static PointReport decode(const std::string& text);
};

/// `flor __point HOME SWEEP N`: waits until no other process records the point, and records it:
/// continues its run where there is one, unless that is done. The order is in FLOR_ARGUMENTS. When
/// its parent dies, for whatever reason, it asks the program to take a checkpoint and to end.
/// Returns the exit status.
int run_point(const std::vector<std::string>& words);

}  // namespace flor::cli
