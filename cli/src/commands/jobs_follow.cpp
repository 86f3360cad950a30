#include "commands/jobs_follow.h"

#include "context.h"
#include "output/stream.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using store::Job;

/// What a queue on a server does is not heard here: so it is asked that often.
constexpr int kPauseMs = 1000;
/// The log is written before what it says can be read.
constexpr milliseconds kSettle{50};

/// Wakes when the catalog of the store is written.
class CatalogEvents {
 public:
  explicit CatalogEvents(const store::Store& store)
      : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(inotify_, store.home().c_str(), IN_MODIFY);
  }
  ~CatalogEvents() {
    if (inotify_ >= 0) ::close(inotify_);
  }
  CatalogEvents(const CatalogEvents&) = delete;
  CatalogEvents& operator=(const CatalogEvents&) = delete;

  void wait() const {
    pollfd waiting{inotify_, POLLIN, 0};
    if (::poll(&waiting, 1, kPauseMs) > 0) std::this_thread::sleep_for(kSettle);
    char events[4096];
    while (::read(inotify_, events, sizeof events) > 0) {
    }
  }

 private:
  int inotify_;
};

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
    events.wait();
  }
}

}  // namespace flor::cli
