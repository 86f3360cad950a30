#include "sweep/sweep_coordinator.h"

#include "file/home_files.h"
#include "launch/left_jobs.h"
#include "output/terminal_text.h"
#include "seats/cluster_engine.h"
#include "watch/evaluators/cluster_group.h"
#include "watch/evaluators/worker_group.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace flor::cli {
namespace {

using std::chrono::milliseconds;

/// Time for programs that were asked to end: a little more than their own processes allow them.
constexpr std::chrono::seconds kEnding{35};

SweepLock lock_sweep(const store::Store& store, const SweepPlan& plan) {
  auto lock = SweepLock::of_sweep(store, plan);
  if (lock) return *std::move(lock);
  throw Busy(
      fmt::format("sweep {} is being run by another process: 'flor sweep {}' shows its table",
                  plan.name, plan.name));
}

std::vector<std::size_t> open_points(const store::Store& store, const SweepPlan& plan) {
  std::vector<std::size_t> open;
  const std::vector<PointState> states = point_states(store, plan);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i].is_done()) open.push_back(i);
  }
  return open;
}

/// The workers of the sweep are those of `flor watch`. Their "evaluator" is the process that
/// records a point (`flor __point`); on other machines it is the flor that runs the worker itself.
std::unique_ptr<EvaluationGroup> workers_for(const store::Store& store, const SweepPlan& plan,
                                             const EngineWish& engine, const SweepWish& wish,
                                             const std::filesystem::path& logs,
                                             const EvaluationGroup::Note& note) {
  GroupPlan group{
      .evaluator = {.kind = EvaluatorSpec::Kind::program,
                    .file = "/proc/self/exe",
                    .words = {"/proc/self/exe", "__point", store.home().string(), plan.name, "{}"}},
      .workers = wish.workers,
      .gpus = wish.gpus,
      .timeout = {}};
  if (engine.is_local()) return std::make_unique<WorkerGroup>(std::move(group), 0, logs, note);
  ClusterPlan cluster{.engine = engine,
                      .name = "flor-sweep-" + plan.name,
                      .directory = sweep_directory(store, plan.name) / "seats",
                      .logs = logs};
  cluster.silence = milliseconds(std::llround(cluster_patience() * 1000));
  // left by a sweep that was killed
  std::error_code error;
  cancel_left_jobs(cluster.directory, cluster.name);
  std::filesystem::remove_all(cluster.directory, error);
  return std::make_unique<ClusterGroup>(std::move(group), 0, std::move(cluster), note);
}

}  // namespace

std::optional<std::size_t> PointQueue::next() {
  if (waiting_.empty()) return std::nullopt;
  const std::size_t point = waiting_.front();
  waiting_.pop_front();
  running_.insert(point);
  return point;
}

bool PointQueue::ended_early(std::size_t point, std::int64_t epochs) {
  running_.erase(point);
  Tries& tries = tries_[point];
  tries.in_vain = epochs > tries.epochs ? 0 : tries.in_vain + 1;
  tries.epochs = std::max(tries.epochs, epochs);
  if (retries_ == 0 || tries.in_vain > retries_) return false;
  waiting_.push_back(point);
  return true;
}

SweepCoordinator::SweepCoordinator(const store::Store& store, const SweepPlan& plan,
                                   const EngineWish& engine, SweepWish wish, Note note)
    : store_(store),
      plan_(plan),
      wish_(std::move(wish)),
      note_(std::move(note)),
      lock_(lock_sweep(store, plan)),
      queue_(open_points(store, plan), wish_.retries),
      done_(plan.points.size()),
      logs_(sweep_directory(store, plan.name) / "attempts") {
  store::require_directory_in_home(logs_);
  for (const PointState& state : point_states(store, plan)) done_ -= state.is_done() ? 0 : 1;
  group_ = workers_for(store, plan, engine, wish_, logs_, note_);
}

void SweepCoordinator::run() {
  if (queue_.is_empty()) return;
  group_->start();
  while (!queue_.is_empty() && !interrupted_) {
    hand_out();
    wait();
    group_->hear([this](const Verdict& verdict) { take(verdict); });
  }
  if (interrupted_) {
    end_all();
  } else {
    group_->stop();
  }
  std::error_code error;
  std::filesystem::remove_all(logs_, error);
}

void SweepCoordinator::hand_out() {
  while (group_->wanted() > 0) {
    const auto point = queue_.next();
    if (!point) break;
    group_->give(
        {.lease = {static_cast<std::int64_t>(*point), ++given_},
         .what = {
             .content = {}, .arguments = wish_.order.encode(), .path = std::to_string(*point)}});
  }
  group_->dispatch();
}

void SweepCoordinator::wait() {
  std::vector<pollfd> waiting{{signals_.descriptor(), POLLIN, 0}};
  group_->add_descriptors(waiting);
  constexpr std::chrono::seconds kLongest{60};
  const auto due = std::min(group_->due(), Clock::now() + kLongest);
  const auto left = std::chrono::ceil<milliseconds>(due - Clock::now()).count();
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(0, left)));
  interrupted_ = waiting[0].revents != 0 && signals_.came();
}

void SweepCoordinator::take(const Verdict& verdict) {
  const auto point = static_cast<std::size_t>(verdict.job.lease.job);
  std::error_code error;
  std::filesystem::remove(job_log(logs_, verdict.job.lease), error);
  PointReport report{.words = verdict.text};  // if the process was killed
  if (verdict.good) report = PointReport::decode(verdict.text);
  const std::string what = point_text(plan_.points[point]);
  if (report.done) {
    queue_.done(point);
    note_(fmt::format("{} of {}: {}: run {} {}", ++done_, plan_.points.size(), what,
                      report.run.substr(0, 8), report.state));
    warn_of_unread(point, report.run);
    return;
  }
  if (report.hopeless) queue_.done(point);
  const bool again = !report.hopeless && queue_.ended_early(point, report.epochs);
  std::string how = printable(report.words);
  if (!report.run.empty()) {
    how = fmt::format("run {} {}: {}", report.run.substr(0, 8), report.state, how);
  } else if (verdict.good) {
    how = "no run: " + how;
  }
  note_(fmt::format("{}: {}; {}", what, how,
                    again ? "it is begun again where it was"
                          : fmt::format("given up: {} has what it wrote",
                                        printable(point_log(store_, plan_, point).string()))));
}

/// Warns about arguments that the program did not read: points that differ only in these are the
/// same training.
void SweepCoordinator::warn_of_unread(std::size_t point, const std::string& run) {
  store_.catalog().follow();
  const auto recorded = store_.catalog().arguments(store_.catalog().resolve(run).id);
  for (const auto& [name, value] : plan_.points[point]) {
    if (std::ranges::find(recorded, name, &store::Argument::name) != recorded.end()) continue;
    if (!unread_.insert(name).second) continue;
    note_(fmt::format("run {} never read the argument {}: flor::arg(\"{}\", ...) does",
                      run.substr(0, 8), printable(name), printable(name)));
  }
}

/// Ends everything after an interruption. The workers are killed; the process of each point then
/// asks its program to end.
void SweepCoordinator::end_all() {
  note_("interrupted: what is being recorded takes a checkpoint, and ends");
  group_->stop();
  const auto until = Clock::now() + kEnding;
  for (const std::size_t point : queue_.running()) {
    while (!SweepLock::of_point(store_, plan_, point) && Clock::now() < until) {
      ::poll(nullptr, 0, 20);
    }
  }
}

}  // namespace flor::cli
