// Whether a replay skips a nested loop, by loading its recorded end, or executes it, and why.
#pragma once

#include "sources/analysis.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::detail {

enum class SkipReason {
  skipped,
  named,       ///< --flor_probe, or flor::probed in the code
  changed,     ///< its statement changed, or code that it may call
  read,        ///< a question reads values that it leaves
  not_stored,  ///< its recorded end is not there, or lacks attached locals
  left,        ///< a return or goto may have left the function that holds it
  no_source,   ///< how it was left is unknown, since its source is not known
};

/// All that decides about one execution of a nested loop.
struct LoopFacts {
  bool stored = false;       ///< its recorded end can be loaded
  bool catching_up = false;  ///< it lies on the way to the epochs asked for
  bool named = false, changed = false, read = false;
  bool leads = false;  ///< the question needs values that loops on the way leave
  bool broke = false;  ///< the record left it before its range was exhausted
  bool left_main = false;  ///< it was perhaps left together with its main loop
  /// Whether the sources show a return or goto in it.
  sources::Leaving leaving = sources::Leaving::impossible;
};

struct SkipDecision {
  SkipReason reason = SkipReason::skipped;
  bool skips() const { return reason == SkipReason::skipped; }
};

SkipDecision decide(const LoopFacts& facts);

/// "not stored", `read by "gradnorm"`: as it is printed and counted.
std::string print_reason(SkipReason reason, std::string_view question);

}  // namespace flor::detail
