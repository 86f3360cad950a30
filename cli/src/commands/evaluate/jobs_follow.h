// flor jobs --follow: the queue as it changes.
#pragma once

#include "queue/jobs.h"

#include <functional>
#include <vector>

namespace flor::cli {

class Context;

/// The parts of a view: `ask` returns the jobs as they are, `draw` shows them as a table, `say`
/// reports one that is new or has another state.
struct JobsView {
  std::function<std::vector<store::Job>()> ask;
  std::function<void(const std::vector<store::Job>&)> draw;
  std::function<void(const store::Job&)> say;
};

/// Runs until the user interrupts it. On a terminal the table is drawn anew when something has changed,
/// with as many of the latest jobs as there are lines; elsewhere each change is a line.
[[noreturn]] void follow_jobs(Context& context, const JobsView& view);

}  // namespace flor::cli
