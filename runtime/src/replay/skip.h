// Decides whether a replay skips a nested loop, by loading its recorded end, or executes it, and
// why.
#pragma once

#include "sources/analysis.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::detail {

enum class SkipReason {
  skipped,
  named,       ///< --flor_probe, or flor::probed in the code
  changed,     ///< its statement has changed, or code that it may call
  read,        ///< a question reads values that it leaves
  not_stored,  ///< its recorded end is not stored, or lacks attached locals
  left,        ///< a return or goto may have left the function around it
  no_source,   ///< its source is not known, so it is unknown how it was left
};

/// The facts that decide about one execution of a nested loop.
struct LoopFacts {
  bool stored = false;       ///< its recorded end can be loaded
  bool catching_up = false;  ///< it is executed only to reach requested epochs
  bool named = false, changed = false, read = false;
  bool leads = false;  ///< the question needs values that loops on the way leave
  bool broke = false;  ///< the recording left it before its range was exhausted
  bool left_main = false;  ///< the recording may have left its main loop with it
  /// Whether the sources show a return or goto in the loop.
  sources::Leaving leaving = sources::Leaving::impossible;
};

struct SkipDecision {
  SkipReason reason = SkipReason::skipped;
  bool skips() const { return reason == SkipReason::skipped; }
};

SkipDecision decide(const LoopFacts& facts);

/// The reason as it is printed and counted: "not stored", `read by "gradnorm"`.
std::string print_reason(SkipReason reason, std::string_view question);

}  // namespace flor::detail
