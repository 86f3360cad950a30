// The process that records one point of a sweep, on this or another machine.
#pragma once

#include "sweep/poor_runs.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The rule by which a recording is ended early.
struct StopRule {
  Goal goal;
  std::size_t after = 1;  ///< epochs that each run may make in any case
};

/// The orders of a sweep to the process, besides the point.
struct PointOrder {
  int threads = 0;  ///< OMP_NUM_THREADS for the program; 0: unchanged
  std::optional<StopRule> stop;

  std::string encode() const;
  /// Throws Error if the text is no encoded order.
  static PointOrder decode(const std::string& text);
};

/// The report of the process: the last line of its output.
struct PointReport {
  std::string run = {};    ///< key of the run; empty: no run was begun
  bool hopeless = false;   ///< the program ended by itself without beginning a run, so trying again
                           ///< is useless
  bool done = false;       ///< the run has finished, or was ended early
  std::string state = {};  ///< "finished", "stopped early", "failed", ...
  std::int64_t epochs = 0;
  std::string words = {};  ///< the last line that the program wrote, if it is not done

  std::string encode() const;
  /// Throws Error if the text is no encoded report.
  static PointReport decode(const std::string& text);
};

/// `flor __point HOME SWEEP N`: records point N of a sweep, when no other process is recording it.
/// Continues the point's run if there is one, unless that is done. Reads its order from
/// FLOR_ARGUMENTS. When its parent dies, for whatever reason, it asks the program to take a
/// checkpoint and to end. Returns the exit status.
int run_point(const std::vector<std::string>& words);

}  // namespace flor::cli
