// flor jobs --follow: the queue as it changes.
#pragma once

#include "queue/jobs.h"

#include <functional>
#include <vector>

namespace flor::cli {

class Context;

/// What a view is made of: `ask` gives the jobs as they are, `draw` shows them as a table, `say`
/// tells of one that is new or has another state.
struct JobsView {
  std::function<std::vector<store::Job>()> ask;
  std::function<void(const std::vector<store::Job>&)> draw;
  std::function<void(const store::Job&)> say;
};

/// Until somebody interrupts it. On a terminal the table is drawn anew when something has changed,
/// with as many of the latest jobs as there are lines; elsewhere each change is a line.
[[noreturn]] void follow_jobs(Context& context, const JobsView& view);

}  // namespace flor::cli
