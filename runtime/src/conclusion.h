// What a replay says when it ends.
#pragma once

#include "flags.h"
#include "plan.h"
#include "verdict.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <string>

namespace flor::detail {

/// How often a nested loop was skipped and executed in the epochs that were asked for.
struct NestedCount {
  std::int64_t skipped = 0, executed = 0;
};

/// What a replay has done.
struct ReplayWork {
  Epochs segment;
  double seconds = 0;
  std::map<std::string, NestedCount> nested;  ///< by name of the loop
  std::int64_t restored = 0;                  ///< checkpoints
  std::uint64_t restored_bytes = 0;
};

/// "epochs 3 to 5", "epoch 3", "no epoch"
std::string print_epochs(Epochs epochs);

/// Says what was done, what was compared, and where the first differences are.
void conclude(const ReplayWork& work, const Comparison& comparison, const store::Run& run,
              const Flags& flags);

}  // namespace flor::detail
