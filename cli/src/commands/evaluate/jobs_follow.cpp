#include "commands/evaluate/jobs_follow.h"

#include "output/stream.h"
#include "process/catalog_events.h"
#include "shell/context.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace flor::cli {
namespace {

using store::Job;

/// How often to ask a queue on a server, which does not announce changes.
constexpr std::chrono::milliseconds kPause{1000};

/// A job's state and token, by its id. The job is shown again when they change.
using Marks = std::map<std::int64_t, std::pair<store::JobState, std::int64_t>>;

Marks marks_of(const std::vector<Job>& jobs) {
  Marks marks;
  for (const Job& job : jobs) marks[job.lease.job] = {job.state, job.lease.token};
  return marks;
}

}  // namespace

void follow_jobs(Context& context, const JobsView& view) {
  const bool is_terminal = context.out().is_terminal() && !context.json();
  const CatalogEvents events(context.store());
  Marks shown;
  for (bool is_first = true;; is_first = false) {
    std::vector<Job> jobs = view.ask();
    Marks now = marks_of(jobs);
    if (is_terminal) {
      // The title and the cursor take one line each.
      const auto room = static_cast<std::size_t>(std::max(context.out().height() - 2, 3));
      if (jobs.size() > room) {
        jobs.erase(jobs.begin(), jobs.end() - static_cast<std::ptrdiff_t>(room));
      }
      if (is_first || now != shown) {
        context.out().write("\x1b[H\x1b[2J");
        view.draw(jobs);
      }
    } else {
      for (const Job& job : jobs) {
        const auto before = shown.find(job.lease.job);
        if (before == shown.end() || before->second != now.at(job.lease.job)) view.say(job);
      }
    }
    context.out().flush();
    shown = std::move(now);
    events.wait(kPause);
  }
}

}  // namespace flor::cli
