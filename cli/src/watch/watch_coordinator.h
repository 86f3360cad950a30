// `flor watch`: the loop that waits for events of checkpoints, workers and the queue, and passes
// them on between these.
#pragma once

#include "process/background_calls.h"
#include "process/stop_signals.h"
#include "queue/job_queue.h"
#include "queue/watchers.h"
#include "watch/checkpoint_files.h"
#include "watch/evaluators/evaluators.h"
#include "watch/job_desk.h"
#include "watch/job_files.h"
#include "watch/watch_plan.h"
#include "watch/watched_sources.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// Connects the finder of checkpoints, the queue and the workers. When the user edits an evaluator,
/// its workers finish their jobs with the old version; then it becomes a new evaluator in the
/// queue, which takes over the waiting jobs.
///
/// Everything happens in the thread that calls `run`, except slow work: finding checkpoints, and
/// exchanges with the queue, during which orders are collected for the next exchange. Workers get
/// their next jobs as soon as the queue knows a result; the user is told the result as soon as it
/// is durable.
class WatchCoordinator {
 public:
  using Say = std::function<void(const JobEvent&)>;
  using Note = WatchNote;

  /// Begins to watch. The store and the queue must outlive this object. Throws what DirectoryWatch,
  /// Store and JobQueue throw.
  WatchCoordinator(store::Store& store, store::JobQueue& queue, WatchPlan plan, Say say, Note note);
  ~WatchCoordinator();
  WatchCoordinator(const WatchCoordinator&) = delete;
  WatchCoordinator& operator=(const WatchCoordinator&) = delete;

  /// Runs until it is idle (if `until_idle` is set), a process asks it to end (queue/watchers.h),
  /// or SIGINT or SIGTERM comes, which the caller must have blocked. Then returns its leases to the
  /// queue. Returns `done`, also when it was asked to end; `partly_done` if a checkpoint was given
  /// up or never became complete; or `interrupted`. If the queue cannot be written, keeps its
  /// reports and tries again; throws Error if they are lost in the end.
  ExitStatus run();

 private:
  using Clock = std::chrono::steady_clock;

  std::unique_ptr<EvaluationGroup> open_group(const WatchPlan::Judge& judge,
                                              std::int64_t evaluator) const;
  void enter();
  void watch();
  void rescue(const std::string& reason);
  void wait();
  Clock::time_point due() const;
  void wind_down();
  bool has_ended() const;
  bool is_idle();
  void lose_patience() const;

  void hand_over(const store::LeasedJob& job);
  void take_files();
  void take_verdicts();
  void call_off(const store::Lease& lease);
  void notice_edits();
  bool replace_edited(std::size_t evaluator);

  void take_replies();
  void take(const store::JobReplies& replies);
  void begin_exchange();
  void publish();
  void tell(const std::vector<JobEvent>& events);
  void give_back();
  std::vector<Demand> demands() const;
  std::vector<store::Lease> leases() const;
  ExitStatus status() const;

  store::Store& store_;
  store::JobQueue& queue_;
  const WatchPlan plan_;
  Say say_;
  Note note_;
  const std::string owner_;
  std::optional<store::RunLock> lock_;
  JobDesk desk_;
  std::optional<WatchedSources> sources_;
  std::optional<store::WatcherEntry> entry_;  // exists until the workers have ended
  Evaluators evaluators_;
  std::optional<JobFiles> files_;
  Clock::time_point next_ask_;
  store::StopRequest stop_request_ = store::StopRequest::none;
  bool stop_ = false;  // a signal came
  bool ends_ = false;  // the watch ends: new leases are returned at once
  StopSignals signals_{SIGINT, SIGTERM};
  int bell_ = -1;
  Background<store::JobReplies> exchange_;
  Background<bool> sync_;
};

}  // namespace flor::cli
