#include "watch/coordinator.h"

#include "output/text.h"
#include "output/time.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using store::JobReport;
using Answer = EvaluatorProcess::Answer;

/// Leases are prolonged three times before they end.
constexpr milliseconds kHeartbeat{10'000};
/// What other processes do is learnt of by the bell; this is the net.
constexpr milliseconds kLook{60'000};
/// So much work, in seconds, is leased ahead for each worker.
constexpr double kAhead = 0.02;

void drain(int descriptor) {
  char buffer[sizeof(signalfd_siginfo)];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

std::filesystem::path job_log(const store::Store& store, const store::Lease& lease) {
  return store.home() / "logs" / "jobs" / fmt::format("{}.{}.log", lease.job, lease.token);
}

WatchCoordinator::WatchCoordinator(store::Store& store, store::JobQueue& queue, WatchPlan plan,
                                   Say say, Note note)
    : store_(store),
      queue_(queue),
      memory_(store),
      plan_(std::move(plan)),
      say_(std::move(say)),
      note_(std::move(note)),
      owner_(store::new_run_key()),
      lock_(store.lock_run(owner_)),
      watch_(plan_.directories, plan_.finding),
      processes_(plan_.evaluator) {
  ::signal(SIGIO, SIG_IGN);  // of leases on files that somebody wants to write
  if (!lock_) throw Busy("another process holds this watch's lock: try again");
  std::filesystem::create_directories(store.home() / "logs" / "jobs");
  evaluator_ = queue_.add_evaluator(plan_.evaluator.text(), plan_.evaluator.digest());
  orders_.owner = owner_;
  orders_.retries = plan_.retries;
  queue_.bell();  // from now on
  sigset_t stopping;
  ::sigemptyset(&stopping);
  ::sigaddset(&stopping, SIGINT);
  ::sigaddset(&stopping, SIGTERM);
  signals_ = ::signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK);
  open_watches();
}

WatchCoordinator::~WatchCoordinator() {
  finder_.reset();
  if (signals_ >= 0) ::close(signals_);
}

/// What was there when a directory was watched for the first time is not judged, unless that is
/// asked for; what came since is.
void WatchCoordinator::open_watches() {
  for (std::size_t i = 0; i < plan_.directories.size(); ++i) {
    std::vector<store::Sighting> present;
    if (!plan_.existing) {
      for (const auto& [path, file] : watch_.present(i)) present.push_back({0, path, file, {}});
    }
    const auto opened = memory_.add(plan_.directories[i].string(), plan_.evaluator.text(), "",
                                    queue_.name(), present);
    watches_.push_back(opened.id);
    for (const store::Sighting& sighting : memory_.sightings(opened.id)) {
      if (!sighting.content && plan_.existing) continue;
      watch_.know(i, sighting.path, sighting.file);
      if (!plan_.existing || identify(sighting.path) != sighting.file) continue;
      orders_.additions.push_back(
          {.content = *sighting.content, .evaluator = evaluator_, .path = sighting.path});
    }
  }
}

ExitStatus WatchCoordinator::run() {
  slots_.resize(std::max<std::size_t>(1, plan_.workers));
  for (Slot& slot : slots_) slot.process = processes_.start();
  finder_.emplace(watch_);
  next_heartbeat_ = Clock::now() + kHeartbeat;
  next_look_ = Clock::now() + kLook;
  for (;;) {
    wait();
    if (stop_) break;
    take_news();
    hear_workers();
    end_overdue();
    dispatch();  // a commit takes longer than many an evaluation
    exchange();
    dispatch();
    if (plan_.until_idle && is_idle()) return status();
  }
  give_back();
  return ExitStatus::interrupted;
}

void WatchCoordinator::wait() {
  std::vector<pollfd> waiting{
      {finder_->descriptor(), POLLIN, 0}, {queue_.bell(), POLLIN, 0}, {signals_, POLLIN, 0}};
  auto until = next_look_;
  for (const Slot& slot : slots_) {
    waiting.push_back({slot.process->descriptor(), POLLIN, 0});
    if (!slot.job) continue;
    until = std::min(until, next_heartbeat_);
    if (plan_.timeout) until = std::min(until, slot.began + *plan_.timeout);
  }
  auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  if (next_us_ && wanted() > 0) {
    // Whole milliseconds, and not a moment too early.
    left = std::min(left, milliseconds((*next_us_ - now_us()) / 1000 + 1));
  }
  if (look_) left = milliseconds(0);
  const int timeout = static_cast<int>(std::max<std::int64_t>(0, left.count()));
  ::poll(waiting.data(), waiting.size(), timeout);
  if (waiting[1].revents != 0) {
    queue_.hush();
    look_ = true;
    next_heartbeat_ = Clock::now();  // somebody may have cancelled what we are at
  }
  if (waiting[2].revents != 0) {
    drain(signals_);
    stop_ = true;
  }
  look_ = look_ || Clock::now() >= next_look_;
}

void WatchCoordinator::take_news() {
  Finder::News news = finder_->take();
  if (!news.failure.empty()) throw Error(news.failure);
  for (const std::string& remark : news.remarks) note_(remark);
  for (const Found& found : news.found) {
    orders_.additions.push_back(
        {.content = found.content, .evaluator = evaluator_, .path = found.path});
    orders_.sightings.push_back({watches_[found.directory], found.path, found.file, found.content});
  }
  finder_idle_ = news.is_idle;
  incomplete_ = std::move(news.incomplete);
}

void WatchCoordinator::hear_workers() {
  for (Slot& slot : slots_) {
    for (const Answer& answer : slot.process->answers()) {
      hear(slot, answer);
      if (answer.kind == Answer::Kind::died) break;  // its slot has another process now
    }
  }
}

void WatchCoordinator::hear(Slot& slot, const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::ready:
      slot.is_ready = true;
      deaths_before_ready_ = 0;
      break;
    case Answer::Kind::fatal:
      throw Error(fmt::format("{} cannot be loaded: {}", printable(plan_.evaluator.text()),
                              printable(answer.text)));
    case Answer::Kind::result:
      try {
        report(slot, JobReport::Kind::done, result_json(answer.text));
      } catch (const Error& error) {
        report(slot, JobReport::Kind::failed, error.what());
      }
      break;
    case Answer::Kind::error:
      report(slot, JobReport::Kind::failed, answer.text);
      break;
    case Answer::Kind::died:
      if (slot.job) {
        report(slot, JobReport::Kind::failed, answer.text);
      } else if (!slot.is_ready && ++deaths_before_ready_ >= 10) {
        throw Error(
            fmt::format("{} does not start: {}", printable(plan_.evaluator.text()), answer.text));
      }
      restart(slot);
      break;
  }
}

void WatchCoordinator::restart(Slot& slot) {
  slot.process = processes_.start();
  slot.is_ready = false;
}

void WatchCoordinator::report(Slot& slot, JobReport::Kind kind, std::string text) {
  if (!slot.job) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - slot.began).count();
  mean_seconds_ += 0.2 * (seconds - mean_seconds_);
  const bool last = slot.job->attempt >= plan_.retries.attempts;
  events_.push_back({.kind = kind == JobReport::Kind::done ? JobEvent::Kind::done
                             : last                        ? JobEvent::Kind::dead
                                                           : JobEvent::Kind::failed,
                     .job = slot.job->lease.job,
                     .path = slot.job->what.path,
                     .text = text,
                     .seconds = seconds});
  orders_.reports.push_back({slot.job->lease, kind, std::move(text)});
  const auto log = job_log(store_, slot.job->lease);
  std::error_code error;
  if (std::filesystem::file_size(log, error) == 0 && !error) std::filesystem::remove(log, error);
  slot.job.reset();
}

void WatchCoordinator::end_overdue() {
  if (!plan_.timeout) return;
  for (Slot& slot : slots_) {
    if (!slot.job || Clock::now() < slot.began + *plan_.timeout) continue;
    report(slot, JobReport::Kind::failed,
           fmt::format("it took longer than {} s (--timeout)",
                       static_cast<double>(plan_.timeout->count()) / 1000));
    restart(slot);
  }
}

std::size_t WatchCoordinator::wanted() const {
  std::size_t free = 0;
  for (const Slot& slot : slots_) free += slot.is_ready && !slot.job ? 1 : 0;
  const double ahead = std::floor(kAhead / std::max(mean_seconds_, kAhead / 64));
  const std::size_t most = free + slots_.size() * static_cast<std::size_t>(ahead);
  return most > backlog_.size() ? most - backlog_.size() : 0;
}

void WatchCoordinator::add_heartbeats() {
  if (Clock::now() < next_heartbeat_) return;
  next_heartbeat_ = Clock::now() + kHeartbeat;
  for (const Slot& slot : slots_) {
    if (slot.job) orders_.reports.push_back({slot.job->lease, JobReport::Kind::alive});
  }
  for (const store::LeasedJob& job : backlog_) {
    orders_.reports.push_back({job.lease, JobReport::Kind::alive});
  }
}

void WatchCoordinator::exchange() {
  const std::size_t count = wanted();
  const bool has_news =
      look_ || !orders_.reports.empty() || !orders_.additions.empty() || !orders_.sightings.empty();
  const bool is_due = count > 0 && next_us_ && *next_us_ <= now_us();
  if (!has_news && !is_due && !(holds_leases() && Clock::now() >= next_heartbeat_)) return;
  add_heartbeats();
  look_ = false;
  next_look_ = Clock::now() + kLook;
  orders_.requests = {{evaluator_, count, plan_.order}};
  const store::JobReplies replies = queue_.exchange(orders_);
  const auto reports = std::exchange(orders_.reports, {});
  orders_.additions.clear();
  orders_.sightings.clear();
  backlog_.insert(backlog_.end(), replies.leases.begin(), replies.leases.end());
  next_us_ = replies.next_us;
  for (const std::string& remark : replies.remarks) note_(remark);
  for (std::size_t i = 0; i < reports.size(); ++i) obey(reports[i], replies.accepted[i]);
}

void WatchCoordinator::obey(const JobReport& report, bool accepted) {
  if (report.kind == JobReport::Kind::alive) {
    if (!accepted) drop_lease(report.lease);
    return;
  }
  const auto event = std::ranges::find(events_, report.lease.job, &JobEvent::job);
  if (event == events_.end()) return;
  if (accepted) {
    gave_up_ = gave_up_ || event->kind == JobEvent::Kind::dead;
    say_(*event);
  } else {
    note_(fmt::format("{}: its result is not wanted any more", printable(event->path)));
  }
  events_.erase(event);
}

/// Somebody has cancelled or dropped the job, or taken it over.
void WatchCoordinator::drop_lease(const store::Lease& lease) {
  std::erase_if(backlog_, [&](const store::LeasedJob& job) { return job.lease == lease; });
  for (Slot& slot : slots_) {
    if (!slot.job || slot.job->lease != lease) continue;
    note_(fmt::format("{}: its evaluation was called off", printable(slot.job->what.path)));
    slot.job.reset();
    restart(slot);
  }
}

void WatchCoordinator::dispatch() {
  for (Slot& slot : slots_) {
    if (backlog_.empty()) return;
    if (!slot.is_ready || slot.job) continue;
    slot.job = backlog_.front();
    backlog_.pop_front();
    slot.began = Clock::now();
    slot.process->judge(slot.job->what.path, job_log(store_, slot.job->lease));
  }
}

void WatchCoordinator::give_back() {
  for (Slot& slot : slots_) {
    if (slot.job) orders_.reports.push_back({slot.job->lease, JobReport::Kind::back});
    slot.process.reset();
  }
  for (const store::LeasedJob& job : backlog_) {
    orders_.reports.push_back({job.lease, JobReport::Kind::back});
  }
  orders_.requests.clear();
  queue_.exchange(orders_);
}

bool WatchCoordinator::holds_leases() const {
  return !backlog_.empty() ||
         std::ranges::any_of(slots_, [](const Slot& slot) { return slot.job.has_value(); });
}

bool WatchCoordinator::is_idle() const {
  if (!finder_idle_ || !orders_.additions.empty() || !orders_.reports.empty()) {
    return false;
  }
  // An evaluator that cannot be loaded is to be told of, though there is nothing to judge.
  if (holds_leases() || !std::ranges::all_of(slots_, &Slot::is_ready)) return false;
  return std::ranges::none_of(queue_.jobs({.evaluator = evaluator_}), [](const store::Job& job) {
    return job.state == store::JobState::queued || job.state == store::JobState::leased ||
           job.state == store::JobState::failed;
  });
}

ExitStatus WatchCoordinator::status() const {
  for (const std::string& path : incomplete_) {
    note_(fmt::format("{} is not complete, and nobody writes it", printable(path)));
  }
  return gave_up_ || !incomplete_.empty() ? ExitStatus::partly_done : ExitStatus::done;
}

}  // namespace flor::cli
