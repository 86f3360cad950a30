// `flor watch`: turns found checkpoints into jobs, gives jobs to workers, and stores their results.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "launch/seat_starter.h"
#include "process/background_calls.h"
#include "queue/jobs.h"
#include "queue/sightings.h"
#include "queue/watchers.h"
#include "watch/checkpoint_files.h"
#include "watch/directory_watch.h"
#include "watch/edit_guard.h"
#include "watch/evaluators/worker_group.h"
#include "watch/finder.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::cli {

struct WatchPlan {
  /// Absolute. If empty, it judges jobs that other processes have added.
  std::vector<std::filesystem::path> directories;
  std::vector<store::CheckpointScope> scopes = {};  ///< Flor's own runs, instead of directories
  Handover handover = Handover::safetensors;        ///< of their checkpoints
  /// An evaluator, and the directory whose checkpoints it judges; nothing: all.
  struct Judge {
    GroupPlan group;
    std::optional<std::filesystem::path> directory = {};
  };
  std::vector<Judge> judges;  ///< at least one
  std::string arguments;      ///< for the evaluators, besides the path: a JSON object, or nothing
  DirectoryWatchOptions finding;
  store::JobOrder order = store::JobOrder::fifo;
  store::RetryPolicy retries;
  EngineWish engine;                           ///< where the workers are
  std::chrono::milliseconds idle{60'000};      ///< how long workers elsewhere wait for a job
  std::chrono::milliseconds lease{30'000};     ///< prolonged three times before it ends
  bool existing = false;                       ///< judges checkpoints from before the start, too
  bool until_idle = false;                     ///< ends when there is nothing to do
  std::chrono::milliseconds patience{60'000};  ///< with `until_idle`, while writing fails
};

/// An evaluation has ended.
struct JobEvent {
  enum class Kind { done, failed, dead };
  Kind kind = Kind::done;
  std::int64_t job = 0;
  std::string path;
  std::string text;    ///< the result, or why there is none
  double seconds = 0;  ///< how long it took
};

/// When an evaluator is edited, its workers finish their jobs with the old version; then it becomes
/// a new evaluator, which takes over the waiting jobs.
///
/// Everything happens in the thread that calls `run`, except slow work: finding, and exchanges with
/// the queue, during which more is collected for the next one. Workers get their next jobs as soon
/// as the queue knows of a result, which is reported as soon as it is durable.
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

  /// Runs until it is idle, if `until_idle` is set, or a process asks it to end (queue/watchers.h),
  /// or SIGINT or SIGTERM comes, which the caller has blocked. Then returns its leases to the
  /// queue. Returns `done`, also when it was asked to end; `partly_done` if a checkpoint has been
  /// given up or was never complete; or `interrupted`. While the queue cannot be written it keeps
  /// its reports and tries again; Error if they are lost in the end.
  ExitStatus run();

 private:
  using Clock = std::chrono::steady_clock;
  /// The bell announces what other processes do; this interval is the fallback.
  static constexpr std::chrono::milliseconds kLook{60'000};
  /// Between tries to write what cannot be written.
  static constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{10'000};
  /// A directory with an evaluator for it.
  struct Pair {
    std::int64_t watch = 0;  // of WatchMemory
    EvaluationGroup* group = nullptr;
    /// Checkpoints that this evaluator need not judge, though another evaluator of the directory
    /// must.
    std::unordered_map<std::string, store::FileIdentity> known;
  };

  void watch();
  void rescue(const std::string& reason);
  std::unique_ptr<EvaluationGroup> open_group(const WatchPlan::Judge& judge,
                                              std::int64_t evaluator) const;
  void open_pairs(std::size_t place);
  void open_pair(std::size_t place, Pair& pair, const std::string& spec);
  void take_over(std::int64_t evaluator, const std::string& spec,
                 const std::vector<store::Sighting>& seen);
  void forget_what_all_know(std::size_t place);
  void enter();
  void notice_edits();
  std::optional<std::int64_t> take_over_edited(std::size_t group);
  void renew(std::size_t group, std::int64_t evaluator);
  Clock::time_point next_edit() const;
  void wait();
  Clock::time_point due() const;
  Clock::time_point next_lease(Clock::time_point now) const;
  void take_news();
  void hand_over(const store::LeasedJob& job);
  void take_files();
  void take_file(const CheckpointFiles::Made& made, store::LeasedJob job);
  void postpone(const store::Lease& lease, const std::string& reason);
  void take_verdicts();
  void note_verdict(Verdict verdict);
  std::string found_path(const store::LeasedJob& job);
  void call_off(const store::Lease& lease);
  void wind_down();
  bool has_ended() const;
  void take_replies();
  void begin_exchange();
  void begin_saying();
  bool has_orders() const;
  void add_heartbeats();
  void note_copies(const store::JobReplies& replies);
  void note_replies(const store::JobReplies& replies);
  void obey(const store::JobReport& report, bool accepted);
  void keep_orders(const std::string& reason);
  void lose_patience() const;
  void publish();
  void tell(const std::vector<JobEvent>& events);
  void keep_accepted(const std::string& reason);
  void give_back();
  std::size_t index_of(std::int64_t evaluator) const;
  std::size_t wanted(std::size_t group) const;
  std::vector<store::Lease> leases() const;
  bool is_idle();
  ExitStatus status() const;

  store::Store& store_;
  store::JobQueue& queue_;
  store::WatchMemory memory_;
  WatchPlan plan_;
  Say say_;
  Note note_;
  std::string owner_;
  std::optional<store::RunLock> lock_;
  std::unique_ptr<CheckpointSource> watch_;
  std::optional<store::WatcherEntry> entry_;              // is there until the workers are gone
  std::vector<std::unique_ptr<EvaluationGroup>> groups_;  // as plan_.judges
  std::vector<EditGuard> guards_;                         // as plan_.judges
  std::vector<std::vector<Pair>> pairs_;                  // by place
  std::optional<CheckpointFiles> files_;
  std::map<store::Lease, store::LeasedJob> preparing_;  // their files are being made
  // While no files can be made:
  std::optional<Clock::time_point> next_file_;
  std::chrono::milliseconds file_pause_{0};
  std::optional<Clock::time_point> files_failing_since_;
  std::string file_failure_;                        // the latest
  std::set<std::int64_t> reads_files_;              // evaluators that were given such files
  std::map<store::Lease, std::string> references_;  // their checkpoints, by the lease of the job
  store::JobOrders orders_;                         // of the next exchange
  store::JobOrders said_;                           // of the one that runs
  std::map<store::Lease, JobEvent> events_;         // reported to the queue; not shown yet
  std::vector<JobEvent> accepted_;                  // by the queue; not durable yet
  std::vector<JobEvent> syncing_;                   // being made durable by the running sync
  std::optional<std::int64_t> next_us_;             // when there may be more to lease
  std::vector<bool> more_;  // by group: the latest exchange did not say that there is none
  Clock::time_point next_heartbeat_, next_look_, next_ask_, asked_;
  store::StopRequest stop_request_ = store::StopRequest::none;
  bool look_ = true, stop_ = false, gave_up_ = false, finder_idle_ = false;
  bool ends_ = false;                // new leases are returned at once
  bool found_nothing_open_ = false;  // by an exchange that began when all else was idle
  // While the queue cannot be written:
  std::optional<Clock::time_point> failing_since_;
  std::string failure_;  // the latest
  std::optional<Clock::time_point> unsynced_since_;
  Clock::time_point next_try_, next_sync_;
  std::chrono::milliseconds pause_{0};
  std::vector<std::string> incomplete_;
  int signals_ = -1, bell_ = -1;
  std::optional<Finder> finder_;
  Background<store::JobReplies> exchange_;
  Background<bool> sync_;
};

}  // namespace flor::cli
