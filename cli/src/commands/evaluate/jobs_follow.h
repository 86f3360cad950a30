// flor jobs --follow: shows how the queue changes.
#pragma once

#include "queue/job_queue.h"

#include <functional>
#include <vector>

namespace flor::cli {

class Context;

/// The parts of the view that depend on the options: `ask` returns the jobs as they are, `draw`
/// shows them as a table, `say` reports a job that is new or has changed its state.
struct JobsView {
  std::function<std::vector<store::Job>()> ask;
  std::function<void(const std::vector<store::Job>&)> draw;
  std::function<void(const store::Job&)> say;
};

/// Runs until the user interrupts it. On a terminal it redraws the table when something has
/// changed, with as many of the latest jobs as fit; elsewhere it prints a line for each change.
[[noreturn]] void follow_jobs(Context& context, const JobsView& view);

}  // namespace flor::cli
