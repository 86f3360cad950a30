// WatchCoordinator: its exchanges with the queue.
#include "output/terminal_text.h"
#include "watch/watch_coordinator.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using store::JobReport;

/// How long the last reports are tried, and the pause between tries.
constexpr milliseconds kLastTries{2000}, kBetween{200};

template <typename T>
void put_before(std::vector<T> first, std::vector<T>& rest) {
  first.insert(first.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
  rest = std::move(first);
}

/// Repeats the call until it succeeds, or fails at a time after `until`.
template <typename Call>
auto insist(std::chrono::steady_clock::time_point until, const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const Damaged&) {
      throw;
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() >= until) throw;
    }
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace

bool WatchCoordinator::has_orders() const {
  return !orders_.reports.empty() || !orders_.additions.empty() || !orders_.sightings.empty();
}

void WatchCoordinator::begin_exchange() {
  if (next_file_ && Clock::now() >= *next_file_) {
    next_file_.reset();
    look_ = true;
  }
  if (exchange_.is_busy() || (failing_since_ && Clock::now() < next_try_)) return;
  const auto now = Clock::now();
  const bool beats = !leases().empty() && now >= next_heartbeat_;
  if (!look_ && !has_orders() && !beats && now < next_lease(now)) return;
  add_heartbeats();
  look_ = false;
  asked_ = Clock::now();
  next_look_ = asked_ + kLook;
  begin_saying();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t count = wanted(i);
    if (count > 0) said_.requests.push_back({groups_[i]->evaluator(), count, plan_.order});
  }
  exchange_.begin([this] { return queue_.exchange(said_); });
}

void WatchCoordinator::add_heartbeats() {
  if (Clock::now() < next_heartbeat_) return;
  next_heartbeat_ = Clock::now() + plan_.lease / 3;
  for (const store::Lease& lease : leases()) {
    orders_.reports.push_back({lease, JobReport::Kind::alive});
  }
}

void WatchCoordinator::take_replies() {
  try {
    if (const auto replies = exchange_.take()) note_replies(*replies);
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    keep_orders(error.what());
  }
}

void WatchCoordinator::note_replies(const store::JobReplies& replies) {
  if (failing_since_) note_("the queue can be written again");
  failing_since_.reset();
  std::map<std::int64_t, std::size_t> given;
  for (const store::LeasedJob& job : replies.leases) {
    hand_over(job);
    ++given[job.what.evaluator];
  }
  more_.assign(groups_.size(), true);
  for (const store::LeaseRequest& request : said_.requests) {
    more_[index_of(request.evaluator)] = given[request.evaluator] == request.count;
  }
  next_us_ = replies.next_us;
  for (const std::string& remark : replies.remarks) note_(remark);
  note_copies(replies);
  found_nothing_open_ = !next_us_ && said_.reports.empty() && said_.additions.empty() &&
                        said_.requests.size() == groups_.size();
  for (std::size_t i = 0; i < said_.reports.size(); ++i) {
    obey(said_.reports[i], replies.accepted[i]);
  }
}

/// Jobs are about contents: a copy of a checkpoint is reported, not judged again.
void WatchCoordinator::note_copies(const store::JobReplies& replies) {
  std::size_t copies = 0;
  std::string first;
  for (std::size_t i = 0; i < said_.additions.size(); ++i) {
    if (replies.same_as[i].empty() || copies++ > 0) continue;
    first = fmt::format("{} has the content of {}", said_.additions[i].path, replies.same_as[i]);
  }
  if (copies == 0) return;
  note_(fmt::format("{}{}: judged once, not again", printable(first),
                    copies == 1   ? ""
                    : copies == 2 ? ", and 1 more is a copy"
                                  : fmt::format(", and {} more are copies", copies - 1)));
}

/// Keeps all reports for the next try: results may have taken hours.
void WatchCoordinator::keep_orders(const std::string& reason) {
  std::erase_if(said_.reports,
                [](const JobReport& report) { return report.kind == JobReport::Kind::alive; });
  put_before(std::move(said_.reports), orders_.reports);
  put_before(std::move(said_.additions), orders_.additions);
  put_before(std::move(said_.sightings), orders_.sightings);
  look_ = true;
  next_heartbeat_ = Clock::now();  // none of them arrived
  pause_ = failing_since_ ? std::min(pause_ * 2, kLongestPause) : kFirstPause;
  next_try_ = Clock::now() + pause_;
  failure_ = reason;
  if (failing_since_) return;
  failing_since_ = Clock::now();
  note_(fmt::format("{}; results are kept until it works", reason));
}

void WatchCoordinator::obey(const JobReport& report, bool accepted) {
  if (report.kind == JobReport::Kind::alive) {
    if (!accepted) call_off(report.lease);
    return;
  }
  const auto event = events_.find(report.lease);
  if (event == events_.end()) return;
  if (accepted) {
    accepted_.push_back(std::move(event->second));
  } else {
    note_(fmt::format("{}: its result is not wanted any more", printable(event->second.path)));
  }
  events_.erase(event);
}

/// Shows results that have become durable, and begins a sync of those accepted meanwhile.
void WatchCoordinator::publish() {
  try {
    if (sync_.take()) {
      tell(std::exchange(syncing_, {}));
      unsynced_since_.reset();
    }
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    keep_accepted(error.what());
  }
  if (sync_.is_busy() || accepted_.empty()) return;
  if (unsynced_since_ && Clock::now() < next_sync_) return;
  syncing_ = std::exchange(accepted_, {});
  sync_.begin([this] {
    queue_.sync();
    return true;
  });
}

void WatchCoordinator::tell(const std::vector<JobEvent>& events) {
  for (const JobEvent& event : events) {
    gave_up_ = gave_up_ || event.kind == JobEvent::Kind::dead;
    say_(event);
  }
}

void WatchCoordinator::keep_accepted(const std::string& reason) {
  put_before(std::exchange(syncing_, {}), accepted_);
  next_sync_ = Clock::now() + kFirstPause * 5;
  failure_ = reason;
  if (unsynced_since_) return;
  unsynced_since_ = Clock::now();
  note_(fmt::format("{}; results are not told of until it works", reason));
}

void WatchCoordinator::give_back() {
  ends_ = true;
  for (const store::Lease& lease : leases()) {
    orders_.reports.push_back({lease, JobReport::Kind::back});
  }
  for (const auto& group : groups_) group->stop();
  while (exchange_.is_busy()) {
    pollfd waiting{exchange_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    take_replies();
  }
  // After an error we go on: the failed exchange may have leased jobs that we do not know of.
  if (!has_orders() && !failing_since_ && accepted_.empty() && syncing_.empty()) return;
  try {
    const auto until = Clock::now() + kLastTries;
    do {
      begin_saying();
      note_replies(insist(until, [this] { return queue_.exchange(said_); }));
    } while (has_orders());
    insist(until, [this] { return queue_.sync(), true; });
  } catch (const Error& error) {
    const std::size_t lost = events_.size() + syncing_.size() + accepted_.size();
    if (lost == 0) throw;
    throw Error(fmt::format("{}; {} results are lost, what they are of is judged again next time",
                            error.what(), lost));
  }
  tell(std::exchange(syncing_, {}));
  tell(std::exchange(accepted_, {}));
}

/// Moves all orders into `said_`, the next exchange, without requests for jobs yet.
void WatchCoordinator::begin_saying() {
  orders_.requests.clear();
  said_ = orders_;
  orders_.reports.clear();
  orders_.additions.clear();
  orders_.sightings.clear();
}

}  // namespace flor::cli
