// `flor watch`: what is found becomes jobs, jobs go to workers, what they say becomes results.
#pragma once

#include "watch/directory_watch.h"
#include "watch/evaluator.h"
#include "watch/evaluator_process.h"
#include "watch/finder.h"

#include <flor/store/error.h>
#include <flor/store/jobs.h>
#include <flor/store/sightings.h>
#include <flor/store/store.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct WatchPlan {
  std::vector<std::filesystem::path> directories;  ///< absolute
  EvaluatorSpec evaluator;
  DirectoryWatchOptions finding;
  std::size_t workers = 1;
  store::JobOrder order = store::JobOrder::fifo;
  std::optional<std::chrono::milliseconds> timeout;  ///< of one evaluation
  store::RetryPolicy retries;
  bool existing = false;    ///< what is there at the beginning is judged, too
  bool until_idle = false;  ///< ends when there is nothing to do
};

/// An evaluation has ended.
struct JobEvent {
  enum class Kind { done, failed, dead };
  Kind kind = Kind::done;
  std::int64_t job = 0;
  std::string path;
  std::string text;    ///< the result, or why there is none
  double seconds = 0;  ///< that it took
};

/// Where what an attempt wrote is kept.
std::filesystem::path job_log(const store::Store& store, const store::Lease& lease);

class WatchCoordinator {
 public:
  using Say = std::function<void(const JobEvent&)>;
  using Note = std::function<void(const std::string&)>;

  /// Begins to watch. The store and the queue must outlive it. Throws what DirectoryWatch, Store
  /// and JobQueue throw.
  WatchCoordinator(store::Store& store, store::JobQueue& queue, WatchPlan plan, Say say, Note note);
  ~WatchCoordinator();
  WatchCoordinator(const WatchCoordinator&) = delete;
  WatchCoordinator& operator=(const WatchCoordinator&) = delete;

  /// Until it is idle, if that was asked for, or SIGINT or SIGTERM comes, which the caller has
  /// blocked. Leases that it still has are given back then. Returns `done`, `partly_done` if a
  /// checkpoint has been given up or was never complete, or `interrupted`.
  ExitStatus run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    std::unique_ptr<EvaluatorProcess> process;
    bool is_ready = false;
    std::optional<store::LeasedJob> job;
    Clock::time_point began;
  };

  void open_watches();
  void wait();
  void take_news();
  void hear_workers();
  void hear(Slot& slot, const EvaluatorProcess::Answer& answer);
  void restart(Slot& slot);
  void end_overdue();
  void exchange();
  void add_heartbeats();
  void obey(const store::JobReport& report, bool accepted);
  void drop_lease(const store::Lease& lease);
  void dispatch();
  void report(Slot& slot, store::JobReport::Kind kind, std::string text);
  void give_back();
  std::size_t wanted() const;
  bool holds_leases() const;
  bool is_idle() const;
  ExitStatus status() const;

  store::Store& store_;
  store::JobQueue& queue_;
  store::WatchMemory memory_;
  WatchPlan plan_;
  Say say_;
  Note note_;
  std::string owner_;
  std::optional<store::RunLock> lock_;
  std::int64_t evaluator_ = 0;
  std::vector<std::int64_t> watches_;  // by directory
  DirectoryWatch watch_;
  EvaluatorProcesses processes_;
  std::vector<Slot> slots_;
  std::deque<store::LeasedJob> backlog_;  // leased ahead, since commits take longer than quick jobs
  store::JobOrders orders_;               // of the next exchange
  std::vector<JobEvent> events_;          // one for each report that ends a job, in that order
  double mean_seconds_ = 1;               // of the latest evaluations
  std::optional<std::int64_t> next_us_;   // when there may be more to lease
  Clock::time_point next_heartbeat_, next_look_;
  bool look_ = true, stop_ = false, gave_up_ = false, finder_idle_ = false;
  int deaths_before_ready_ = 0;
  std::vector<std::string> incomplete_;
  int signals_ = -1;
  std::optional<Finder> finder_;
};

}  // namespace flor::cli
