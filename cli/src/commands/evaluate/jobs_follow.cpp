#include "commands/evaluate/jobs_follow.h"

#include "output/stream.h"
#include "process/catalog_events.h"
#include "shell/context.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

namespace flor::cli {
namespace {

using store::Job;

/// What a queue on a server does is not heard here: so it is asked that often.
constexpr std::chrono::milliseconds kPause{1000};

std::size_t terminal_lines() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4;
  return known ? size.ws_row : 24;
}

/// A job is told of when this has changed.
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
      // The title and the cursor take a line each.
      const std::size_t room = terminal_lines() - 2;
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
