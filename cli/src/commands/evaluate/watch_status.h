// flor watch --status: shows the running watches, for users and for programs.
#pragma once

#include "output/json.h"
#include "queue/job_queue.h"
#include "queue/watchers.h"

#include <string>

namespace flor::cli {

class Context;

/// Prints a table, or JSON, of the running watches of the store. `queue`: the queue of their jobs.
void print_watch_status(Context& context, const store::JobQueue& queue);

Json watcher_json(const store::Watcher& watcher);
/// The watch's process, "pid 123 on node1", safe to print.
std::string process_text(const store::Watcher& watcher);

}  // namespace flor::cli
