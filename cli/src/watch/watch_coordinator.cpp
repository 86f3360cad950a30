#include "watch/watch_coordinator.h"

#include "file/home_files.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "seats/cluster_engine.h"
#include "watch/evaluators/cluster_group.h"
#include "watch/evaluators/worker_group.h"
#include "watch/run_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <thread>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;

/// Pause between looks for a request to end, in case its bell is not heard.
constexpr milliseconds kAsk{10'000};
/// How long the last reports are tried when the watch ends, and the pause between tries.
constexpr milliseconds kLastTries{2000}, kBetween{200};

Moment this_moment() { return {std::chrono::steady_clock::now(), now_us()}; }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::unique_ptr<CheckpointSource> open_source(const store::Store& store, const WatchPlan& plan) {
  if (plan.scopes.empty()) {
    return std::make_unique<DirectoryWatch>(plan.directories, plan.finding);
  }
  return std::make_unique<RunWatch>(store::Store::open(store.home(), store::OpenMode::existing),
                                    plan.scopes, plan.finding.poll);
}

store::JobOrders terms(const WatchPlan& plan, const std::string& owner) {
  return {.owner = owner,
          .lease_us = std::chrono::microseconds(plan.lease).count(),
          .retries = plan.retries};
}

/// Repeats the call until it succeeds. Rethrows its error after the time `until`.
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

WatchCoordinator::WatchCoordinator(store::Store& store, store::JobQueue& queue, WatchPlan plan,
                                   Say say, Note note)
    : store_(store),
      queue_(queue),
      plan_(std::move(plan)),
      say_(std::move(say)),
      note_(std::move(note)),
      owner_(store::new_run_key()),
      lock_(store.lock_run(owner_)),
      desk_(terms(plan_, owner_), plan_.order, note_, Clock::now()),
      evaluators_([this](const WatchPlan::Judge& judge, std::int64_t evaluator) {
        return open_group(judge, evaluator);
      }) {
  sources_.emplace(store_, queue_, open_source(store_, plan_), plan_, evaluators_, desk_, note_);
  ::signal(SIGIO, SIG_IGN);  // SIGIO comes from leases on files that another process wants to write
  if (!lock_) throw Busy("another process holds this watch's lock: try again");
  store::require_directory_in_home(job_logs(store));
  for (const WatchPlan::Judge& judge : plan_.judges) {
    evaluators_.add(judge, [this](const std::string& spec, const std::string& digest) {
      return queue_.add_evaluator(spec, digest);
    });
  }
  bell_ = queue_.bell();  // listens from this moment on
  sources_->open();
  enter();
}

std::unique_ptr<EvaluationGroup> WatchCoordinator::open_group(const WatchPlan::Judge& judge,
                                                              std::int64_t evaluator) const {
  if (plan_.engine.is_local()) {
    return std::make_unique<WorkerGroup>(judge.group, evaluator, job_logs(store_), note_);
  }
  // The directory below `scratch` is removed when the watch ends, even if it is killed.
  ClusterPlan cluster{.engine = plan_.engine,
                      .name = watch_job_name(owner_),
                      .directory = {},
                      .logs = job_logs(store_)};
  cluster.directory = store_.home() / "scratch" / owner_ / fmt::format("evaluator-{}", evaluator);
  cluster.silence = milliseconds(std::llround(cluster_patience() * 1000));
  cluster.idle = plan_.idle;
  return std::make_unique<ClusterGroup>(judge.group, evaluator, std::move(cluster), note_);
}

/// Registers this watch, for processes that list watches and for those that delete checkpoints.
void WatchCoordinator::enter() {
  store::Watcher self{.key = owner_, .pid = ::getpid(), .host = host_name()};
  const std::vector<std::string> places = sources_->places();
  for (const WatchPlan::Judge& judge : plan_.judges) {
    self.workers += static_cast<std::int64_t>(judge.group.workers);
    for (const std::string& place : places) {
      if (judge.directory && judge.directory->string() != place) continue;
      self.places.push_back({place, judge.group.evaluator.text()});
    }
    // A watch without places evaluates jobs that other processes have added.
    if (places.empty()) self.places.push_back({"", judge.group.evaluator.text()});
  }
  entry_.emplace(store_, self);
  files_.emplace(std::make_unique<CheckpointFiles>(
                     store::Store::open(store_.home(), store::OpenMode::existing), owner_,
                     plan_.handover),
                 note_);
  // for evaluators that read a checkpoint from the store
  ::setenv("FLOR_HOME", store_.home().c_str(), 1);
}

WatchCoordinator::~WatchCoordinator() { sources_->stop(); }

// ---------------------------------------------------------------------------------------------
// The loop.

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
  evaluators_.start();
  sources_->start();
  next_ask_ = Clock::now() + kAsk;
  for (;;) {
    wait();
    if (stop_) return;
    wind_down();
    sources_->take_news();
    take_verdicts();
    take_replies();
    take_files();
    notice_edits();
    evaluators_.dispatch();
    begin_exchange();
    publish();
    if (has_ended() || (plan_.until_idle && is_idle())) return;
    lose_patience();
  }
}

/// Saves the results that came before an error that ends the watch; the caller reports the error.
void WatchCoordinator::rescue(const std::string& reason) {
  try {
    give_back();
  } catch (const std::exception& error) {
    if (error.what() != reason) note_(error.what());
  }
}

void WatchCoordinator::wait() {
  std::vector<pollfd> waiting{{bell_, POLLIN, 0},
                              {signals_.descriptor(), POLLIN, 0},
                              {sources_->descriptor(), POLLIN, 0},
                              {exchange_.descriptor(), POLLIN, 0},
                              {sync_.descriptor(), POLLIN, 0},
                              {entry_->descriptor(), POLLIN, 0},
                              {files_->descriptor(), POLLIN, 0}};
  evaluators_.add_descriptors(waiting);
  const auto left = std::chrono::ceil<milliseconds>(due() - Clock::now());
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (waiting[0].revents != 0) {
    queue_.hush();
    desk_.ring(Clock::now());
  }
  while (waiting[1].revents != 0 && signals_.came()) stop_ = true;
  if (waiting[5].revents != 0 || Clock::now() >= next_ask_) {
    stop_request_ = entry_->asked();
    next_ask_ = Clock::now() + kAsk;
  }
}

WatchCoordinator::Clock::time_point WatchCoordinator::due() const {
  auto due = std::min({next_ask_, evaluators_.due(), files_->rest_end(),
                       desk_.due(this_moment(), demands(), !leases().empty())});
  if (plan_.until_idle) due = std::min(due, files_->end_of(plan_.patience));
  const bool can_replace = !desk_.is_exchanging() && !desk_.fails() && files_->is_empty();
  return can_replace ? std::min(due, evaluators_.next_edit()) : due;
}

/// After a request to end, returns jobs that no worker has begun to the queue.
void WatchCoordinator::wind_down() {
  if (stop_request_ != store::StopRequest::none) desk_.give_back(evaluators_.take_waiting());
}

bool WatchCoordinator::has_ended() const {
  if (stop_request_ != store::StopRequest::drain) return stop_request_ != store::StopRequest::none;
  return leases().empty() && !desk_.has_orders() && !desk_.is_exchanging() &&
         desk_.accepted().size() == 0;
}

bool WatchCoordinator::is_idle() {
  // An evaluator that cannot be loaded must be reported even if there is nothing to evaluate.
  return desk_.is_idle(sources_->is_idle() && !files_->rests() && leases().empty() &&
                       evaluators_.is_ready());
}

/// Throws Error if writing has failed for too long. Only with `until_idle`, because a user waits
/// for such a watch.
void WatchCoordinator::lose_patience() const {
  if (!plan_.until_idle) return;
  if (const auto why = desk_.failure(Clock::now(), plan_.patience)) throw Error(*why);
  if (Clock::now() > files_->end_of(plan_.patience)) throw Error(files_->why());
}

// ---------------------------------------------------------------------------------------------
// Jobs.

/// Gives a job to the workers; if its checkpoint is one of Flor's own, makes its file first.
void WatchCoordinator::hand_over(const store::LeasedJob& job) {
  if (ends_) return desk_.give_back(job.lease);
  if (JobFiles::concerns(job)) return files_->prepare(job);
  evaluators_.give(job);
}

void WatchCoordinator::take_files() {
  using End = FileMaker::Made::End;
  for (JobFiles::Prepared& prepared : files_->take(Clock::now())) {
    const store::Lease lease = prepared.job.lease;
    switch (prepared.end) {
      case End::made:
        evaluators_.give(std::move(prepared.job));
        break;
      case End::gone:
        desk_.forget(lease);
        break;
      case End::damaged: {
        std::string path = prepared.job.what.path;
        desk_.end({.job = std::move(prepared.job), .text = std::move(prepared.failure)},
                  std::move(path));
        break;
      }
      case End::later:
        desk_.give_back(lease);
        break;
    }
  }
}

void WatchCoordinator::take_verdicts() {
  evaluators_.hear([this](Verdict verdict) {
    std::string path = files_->end(verdict.job);
    desk_.end(std::move(verdict), std::move(path));
  });
}

void WatchCoordinator::call_off(const store::Lease& lease) {
  evaluators_.call_off(lease);
  files_->call_off(lease);
}

void WatchCoordinator::notice_edits() {
  const Evaluators::Edits edits = evaluators_.look_for_edits();
  for (const std::string& file : edits.noticed) {
    note_(fmt::format("{} was edited: what waits is judged by it as it is now", printable(file)));
  }
  desk_.give_back(edits.unstarted);
  if (desk_.is_exchanging() || desk_.fails() || !files_->is_empty()) return;
  for (const std::size_t evaluator : edits.replaceable) {
    if (replace_edited(evaluator)) continue;
    evaluators_.postpone(evaluator);
    desk_.look();
  }
}

/// Replaces an edited evaluator by its new version. Returns false if the queue cannot be written at
/// the moment; the next exchange reports the error.
bool WatchCoordinator::replace_edited(std::size_t evaluator) {
  std::int64_t number = 0;
  try {
    number = queue_.add_evaluator(evaluators_.spec(evaluator), evaluators_.digest(evaluator));
    sources_->take_over(evaluator, number);
  } catch (const Damaged&) {
    throw;
  } catch (const Error&) {
    return false;
  }
  desk_.replace_evaluator(evaluators_.number(evaluator), number);
  evaluators_.replace(evaluator, number);
  return true;
}

std::vector<Demand> WatchCoordinator::demands() const {
  std::vector<Demand> all;
  for (std::size_t i = 0; i < evaluators_.size(); ++i) {
    const std::int64_t number = evaluators_.number(i);
    LeaseFacts facts = evaluators_.facts(i);
    facts.coming = files_->coming(number);
    const bool reads_runs = !plan_.scopes.empty() || files_->reads(number);
    facts.needs_room = reads_runs && plan_.handover != Handover::reference;
    facts.rests =
        facts.rests || stop_request_ != store::StopRequest::none || files_->rests();
    all.push_back({number, jobs_to_lease(facts)});
  }
  return all;
}

std::vector<store::Lease> WatchCoordinator::leases() const {
  std::vector<store::Lease> all = files_->leases();
  std::ranges::copy(evaluators_.leases(), std::back_inserter(all));
  return all;
}

// ---------------------------------------------------------------------------------------------
// The queue.

void WatchCoordinator::begin_exchange() {
  if (files_->end_rest(Clock::now())) desk_.look();
  if (desk_.is_exchanging()) return;
  const std::vector<store::Lease> held = leases();
  const std::vector<Demand> wanted = demands();
  if (!desk_.is_due(this_moment(), wanted, !held.empty())) return;
  const store::JobOrders& orders = desk_.begin(this_moment(), held, wanted);
  exchange_.begin([this, &orders] { return queue_.exchange(orders); });
}

void WatchCoordinator::take_replies() {
  try {
    if (const auto replies = exchange_.take()) take(*replies);
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    desk_.failed(Clock::now(), error.what());
  }
}

void WatchCoordinator::take(const store::JobReplies& replies) {
  const JobDesk::News news = desk_.take(replies);
  for (const store::LeasedJob& job : news.leases) hand_over(job);
  for (const store::Lease& lease : news.called_off) call_off(lease);
}

/// Tells the user the results that have become durable, and begins a sync of those accepted since.
void WatchCoordinator::publish() {
  try {
    if (sync_.take()) tell(desk_.accepted().synced());
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    desk_.accepted().sync_failed(Clock::now(), error.what());
  }
  if (!desk_.accepted().wants_sync(Clock::now())) return;
  desk_.accepted().begin_sync();
  sync_.begin([this] {
    queue_.sync();
    return true;
  });
}

void WatchCoordinator::tell(const std::vector<JobEvent>& events) {
  for (const JobEvent& event : events) say_(event);
}

void WatchCoordinator::give_back() {
  ends_ = true;
  desk_.give_back(leases());
  evaluators_.stop();
  while (exchange_.is_busy()) {
    pollfd waiting{exchange_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    take_replies();
  }
  // Continues after a failed exchange, because it may have leased jobs that this process does not
  // know of.
  if (!desk_.has_orders() && !desk_.fails() && desk_.accepted().size() == 0) return;
  try {
    const auto until = Clock::now() + kLastTries;
    do {
      const store::JobOrders& orders = desk_.begin_last();
      take(insist(until, [&] { return queue_.exchange(orders); }));
    } while (desk_.has_orders());
    insist(until, [this] { return queue_.sync(), true; });
  } catch (const Error& error) {
    const std::size_t lost = desk_.unpublished();
    if (lost == 0) throw;
    throw Error(fmt::format("{}; {} results are lost, what they are of is judged again next time",
                            error.what(), lost));
  }
  tell(desk_.accepted().take_all());
}

ExitStatus WatchCoordinator::status() const {
  for (const std::string& path : sources_->incomplete()) {
    note_(fmt::format("{} is not complete, and no process writes it", printable(path)));
  }
  return desk_.accepted().gave_up() || !sources_->incomplete().empty() ? ExitStatus::partly_done
                                                            : ExitStatus::done;
}

}  // namespace flor::cli
