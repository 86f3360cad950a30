#include "watch/watch_coordinator.h"

#include "file/home_files.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "seats/cluster_engine.h"
#include "watch/evaluators/cluster_group.h"
#include "watch/run_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;
using store::JobReport;

/// A request to end comes with a bell; this interval is the fallback.
constexpr milliseconds kAsk{10'000};
/// Files made ahead for each worker, besides that of its current job.
constexpr std::size_t kFilesAhead = 2;
/// See `next_lease`.
constexpr milliseconds kHidden{1000};

void drain(int descriptor) {
  char buffer[sizeof(signalfd_siginfo)];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
}

std::unique_ptr<CheckpointSource> open_source(const store::Store& store, const WatchPlan& plan) {
  if (plan.scopes.empty()) {
    return std::make_unique<DirectoryWatch>(plan.directories, plan.finding);
  }
  return std::make_unique<RunWatch>(store::Store::open(store.home(), store::OpenMode::existing),
                                    plan.scopes, plan.finding.poll);
}

}  // namespace

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
      watch_(open_source(store, plan_)) {
  ::signal(SIGIO, SIG_IGN);  // of leases on files that another process wants to write
  if (!lock_) throw Busy("another process holds this watch's lock: try again");
  store::require_directory_in_home(job_logs(store));
  orders_.owner = owner_;
  orders_.retries = plan_.retries;
  orders_.lease_us = std::chrono::microseconds(plan_.lease).count();
  for (const WatchPlan::Judge& judge : plan_.judges) {
    const EvaluatorSpec& spec = judge.group.evaluator;
    guards_.emplace_back(spec);
    const std::int64_t evaluator = queue_.add_evaluator(spec.text(), guards_.back().digest());
    groups_.push_back(open_group(judge, evaluator));
  }
  more_.assign(groups_.size(), true);
  bell_ = queue_.bell();  // from now on
  sigset_t stopping;
  ::sigemptyset(&stopping);
  ::sigaddset(&stopping, SIGINT);
  ::sigaddset(&stopping, SIGTERM);
  signals_ = ::signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK);
  pairs_.resize(watch_->places().size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) open_pairs(i);
  enter();
}

std::unique_ptr<EvaluationGroup> WatchCoordinator::open_group(const WatchPlan::Judge& judge,
                                                              std::int64_t evaluator) const {
  if (plan_.engine.is_local()) {
    return std::make_unique<WorkerGroup>(judge.group, evaluator, job_logs(store_), note_);
  }
  // The files below `scratch` are removed with the watch, however it ends.
  ClusterPlan cluster{.engine = plan_.engine,
                      .name = watch_job_name(owner_),
                      .directory = {},
                      .logs = job_logs(store_)};
  cluster.directory = store_.home() / "scratch" / owner_ / fmt::format("evaluator-{}", evaluator);
  cluster.silence = milliseconds(std::llround(cluster_patience() * 1000));
  cluster.idle = plan_.idle;
  return std::make_unique<ClusterGroup>(judge.group, evaluator, std::move(cluster), note_);
}

WatchCoordinator::~WatchCoordinator() {
  finder_.reset();
  if (signals_ >= 0) ::close(signals_);
}

ExitStatus WatchCoordinator::run() {
  try {
    watch();
  } catch (const std::exception& error) {
    rescue(error.what());
    throw;
  }
  give_back();
  return stop_ ? ExitStatus::interrupted : status();
}

void WatchCoordinator::watch() {
  for (const auto& group : groups_) group->start();
  finder_.emplace(*watch_);
  next_heartbeat_ = Clock::now() + plan_.lease / 3;
  next_look_ = Clock::now() + kLook;
  next_ask_ = Clock::now() + kAsk;
  for (;;) {
    wait();
    if (stop_) return;
    wind_down();
    take_news();
    take_verdicts();
    take_replies();
    take_files();
    notice_edits();
    for (const auto& group : groups_) group->dispatch();
    begin_exchange();
    publish();
    if (has_ended() || (plan_.until_idle && is_idle())) return;
    lose_patience();
  }
}

/// The watch ends because of an error, which its caller reports; results that came before still
/// count.
void WatchCoordinator::rescue(const std::string& reason) {
  try {
    give_back();
  } catch (const std::exception& error) {
    if (error.what() != reason) note_(error.what());
  }
}

/// After a request to end: returns jobs that no worker has begun to the queue.
void WatchCoordinator::wind_down() {
  if (stop_request_ == store::StopRequest::none) return;
  for (const auto& group : groups_) {
    for (const store::Lease& lease : group->take_waiting()) {
      orders_.reports.push_back({lease, JobReport::Kind::back});
    }
  }
}

bool WatchCoordinator::has_ended() const {
  if (stop_request_ != store::StopRequest::drain) return stop_request_ != store::StopRequest::none;
  return leases().empty() && !has_orders() && !exchange_.is_busy() && !sync_.is_busy() &&
         accepted_.empty();
}

void WatchCoordinator::wait() {
  std::vector<pollfd> waiting{{bell_, POLLIN, 0},
                              {signals_, POLLIN, 0},
                              {finder_->descriptor(), POLLIN, 0},
                              {exchange_.descriptor(), POLLIN, 0},
                              {sync_.descriptor(), POLLIN, 0},
                              {entry_->descriptor(), POLLIN, 0},
                              {files_->descriptor(), POLLIN, 0}};
  for (const auto& group : groups_) group->add_descriptors(waiting);
  const auto left = std::chrono::ceil<milliseconds>(due() - Clock::now());
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (waiting[0].revents != 0) {
    queue_.hush();
    look_ = true;
    next_heartbeat_ = Clock::now();  // a running job may have been cancelled
  }
  if (waiting[1].revents != 0) {
    drain(signals_);
    stop_ = true;
  }
  if (waiting[5].revents != 0 || Clock::now() >= next_ask_) {
    stop_request_ = entry_->asked();
    next_ask_ = Clock::now() + kAsk;
  }
  look_ = look_ || Clock::now() >= next_look_;
}

WatchCoordinator::Clock::time_point WatchCoordinator::due() const {
  auto due = std::min(next_look_, next_ask_);
  for (const auto& group : groups_) due = std::min(due, group->due());
  if (unsynced_since_ && !sync_.is_busy()) due = std::min(due, next_sync_);
  if (next_file_) due = std::min(due, *next_file_);
  if (plan_.until_idle && files_failing_since_) {
    due = std::min(due, *files_failing_since_ + plan_.patience);
  }
  if (exchange_.is_busy()) return due;
  due = std::min(due, next_edit());
  if (failing_since_) return std::min(due, next_try_);
  if (look_ || has_orders()) return Clock::now();
  if (!leases().empty()) due = std::min(due, next_heartbeat_);
  return std::min(due, next_lease(Clock::now()));
}

/// When there may be a job for a free worker, as of `now`.
WatchCoordinator::Clock::time_point WatchCoordinator::next_lease(Clock::time_point now) const {
  bool wants = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (wanted(i) == 0) continue;
    if (more_[i]) return now;
    wants = true;
  }
  if (!wants || !next_us_) return Clock::time_point::max();
  // Not a moment too early. A time in the past belongs to a job for a group that is busy, and may
  // hide the time of a job for another group.
  const std::int64_t left = *next_us_ - now_us();
  return left < 0 ? asked_ + kHidden : now + std::chrono::microseconds(left + 1000);
}

void WatchCoordinator::take_news() {
  Finder::News news = finder_->take();
  if (!news.failure.empty()) throw Error(news.failure);
  for (const std::string& remark : news.remarks) note_(remark);
  for (const Found& found : news.found) {
    for (Pair& pair : pairs_[found.place]) {
      const auto known = pair.known.find(found.path);
      const bool is_known = known != pair.known.end() && known->second == found.file;
      if (known != pair.known.end()) pair.known.erase(known);
      if (is_known) continue;
      orders_.additions.push_back({.content = found.content,
                                   .evaluator = pair.group->evaluator(),
                                   .arguments = plan_.arguments,
                                   .path = found.path});
      orders_.sightings.push_back({pair.watch, found.path, found.file, found.content});
    }
  }
  finder_idle_ = news.is_idle;
  incomplete_ = std::move(news.incomplete);
}

/// A checkpoint of Flor's own is written to a file before a worker gets the job.
void WatchCoordinator::hand_over(const store::LeasedJob& job) {
  if (ends_) return orders_.reports.push_back({job.lease, JobReport::Kind::back});
  if (!is_reference(job.what.path)) return groups_[index_of(job.what.evaluator)]->give(job);
  reads_files_.insert(job.what.evaluator);
  preparing_.emplace(job.lease, job);
  files_->make(job.lease, job.what);
}

void WatchCoordinator::take_files() {
  for (const CheckpointFiles::Made& made : files_->take()) {
    auto node = preparing_.extract(made.lease);
    if (node.empty()) {  // cancelled meanwhile
      files_->drop(made.lease);
      continue;
    }
    if (made.end != CheckpointFiles::Made::End::made) files_->drop(made.lease);
    take_file(made, std::move(node.mapped()));
  }
}

void WatchCoordinator::take_file(const CheckpointFiles::Made& made, store::LeasedJob job) {
  using End = CheckpointFiles::Made::End;
  switch (made.end) {
    case End::made:
      file_pause_ = {};
      files_failing_since_.reset();
      references_[made.lease] = std::exchange(job.what.path, made.path.string());
      return groups_[index_of(job.what.evaluator)]->give(std::move(job));
    case End::gone:
      note_(printable(made.failure));
      orders_.reports.push_back({made.lease, JobReport::Kind::gone});
      return;
    case End::damaged:
      return note_verdict({.job = std::move(job), .text = made.failure});
    case End::later:
      return postpone(made.lease, made.failure);
  }
}

/// Lacking room for its file is no failure of the job. Nothing is leased for a while.
void WatchCoordinator::postpone(const store::Lease& lease, const std::string& reason) {
  orders_.reports.push_back({lease, JobReport::Kind::back});
  if (next_file_) return;  // this file was begun before the pause
  file_failure_ = printable(reason);
  if (!files_failing_since_) {
    files_failing_since_ = Clock::now();
    note_(fmt::format("{}; checkpoints wait until it works", file_failure_));
  }
  file_pause_ = std::clamp(file_pause_ * 2, kFirstPause, kLongestPause);
  next_file_ = Clock::now() + file_pause_;
}

/// The name of the job's checkpoint; removes its file, which is not needed any more.
std::string WatchCoordinator::found_path(const store::LeasedJob& job) {
  const auto node = references_.extract(job.lease);
  if (node.empty()) return job.what.path;
  files_->drop(job.lease);
  return node.mapped();
}

void WatchCoordinator::call_off(const store::Lease& lease) {
  for (const auto& group : groups_) group->call_off(lease);
  preparing_.erase(lease);
  if (references_.erase(lease) > 0) files_->drop(lease);
}

void WatchCoordinator::take_verdicts() {
  for (const auto& group : groups_) {
    group->hear([this](Verdict verdict) { note_verdict(std::move(verdict)); });
  }
}

void WatchCoordinator::note_verdict(Verdict verdict) {
  const bool last = verdict.job.attempt >= plan_.retries.attempts;
  const auto kind = verdict.good ? JobEvent::Kind::done
                    : last       ? JobEvent::Kind::dead
                                 : JobEvent::Kind::failed;
  events_[verdict.job.lease] = {.kind = kind,
                                .job = verdict.job.lease.job,
                                .path = found_path(verdict.job),
                                .text = verdict.text,
                                .seconds = verdict.seconds};
  orders_.reports.push_back({verdict.job.lease,
                             verdict.good ? JobReport::Kind::done : JobReport::Kind::failed,
                             std::move(verdict.text)});
}

/// A user waits for a watch that ends when idle, so it must not retry for ever.
void WatchCoordinator::lose_patience() const {
  if (!plan_.until_idle) return;
  const auto is_over = [&](const std::optional<Clock::time_point>& since) {
    return since && Clock::now() - *since > plan_.patience;
  };
  if (is_over(failing_since_) || is_over(unsynced_since_)) throw Error(failure_);
  if (is_over(files_failing_since_)) throw Error(file_failure_);
}

std::size_t WatchCoordinator::index_of(std::int64_t evaluator) const {
  const auto found =
      std::ranges::find(groups_, evaluator, [](const auto& group) { return group->evaluator(); });
  return static_cast<std::size_t>(found - groups_.begin());
}

std::vector<store::Lease> WatchCoordinator::leases() const {
  std::vector<store::Lease> all;
  for (const auto& [lease, job] : preparing_) all.push_back(lease);
  for (const auto& group : groups_) std::ranges::copy(group->leases(), std::back_inserter(all));
  return all;
}

std::size_t WatchCoordinator::wanted(std::size_t index) const {
  const EvaluationGroup& group = *groups_[index];
  const bool is_edited = guards_[index].due() != Clock::time_point::max();
  if (stop_request_ != store::StopRequest::none || next_file_ || is_edited) return 0;
  const auto coming =
      static_cast<std::size_t>(std::ranges::count_if(preparing_, [&](const auto& entry) {
        return entry.second.what.evaluator == group.evaluator();
      }));
  std::size_t most = group.wanted();
  const bool reads_runs = !plan_.scopes.empty() || reads_files_.contains(group.evaluator());
  if (reads_runs && plan_.handover != Handover::reference) {
    // Each job needs room for a checkpoint.
    const std::size_t workers = plan_.judges[index].group.workers;
    const std::size_t room = (1 + kFilesAhead) * std::max<std::size_t>(1, workers);
    const std::size_t taken = group.leases().size();
    most = std::min(most, room > taken ? room - taken : 0);
  }
  return most > coming ? most - coming : 0;
}

bool WatchCoordinator::is_idle() {
  // An evaluator that cannot be loaded must be reported, though there is nothing to judge.
  const bool rests =
      finder_idle_ && !has_orders() && !next_file_ && !exchange_.is_busy() && !sync_.is_busy() &&
      accepted_.empty() && leases().empty() &&
      std::ranges::all_of(groups_, [](const auto& group) { return group->is_ready(); });
  if (!rests) {
    found_nothing_open_ = false;
    return false;
  }
  if (!found_nothing_open_ && !next_us_) look_ = true;  // ask the queue once more
  return found_nothing_open_;
}

ExitStatus WatchCoordinator::status() const {
  for (const std::string& path : incomplete_) {
    note_(fmt::format("{} is not complete, and no process writes it", printable(path)));
  }
  return gave_up_ || !incomplete_.empty() ? ExitStatus::partly_done : ExitStatus::done;
}

}  // namespace flor::cli
