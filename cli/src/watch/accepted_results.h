// Holds results that the queue has accepted until they are durable, so that the user may be told.
#pragma once

#include "watch/retry_pause.h"
#include "watch/watch_plan.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The caller syncs the queue, in whatever thread, and reports how that ended; only one sync may
/// run at a time. Results that are accepted during a sync wait for the next one. Pure, apart from
/// notes to the user. Not thread-safe.
class AcceptedResults {
 public:
  using Time = RetryPause::Time;
  /// Time between tries of a sync that fails.
  static constexpr std::chrono::milliseconds kPause{1000};

  explicit AcceptedResults(WatchNote note) : note_(std::move(note)) {}

  void accept(JobEvent event) { accepted_.push_back(std::move(event)); }
  /// Whether results wait for a sync, and no sync is running.
  bool wants_sync(Time now) const;
  void begin_sync();
  /// Ends a sync that succeeded. Returns the events that the user may be told.
  std::vector<JobEvent> synced();
  void sync_failed(Time now, const std::string& why);
  /// Removes and returns all events. Call it only after a sync that began when the last result had
  /// been accepted.
  std::vector<JobEvent> take_all();

  std::size_t size() const { return accepted_.size() + syncing_.size(); }
  /// The time to retry a failed sync; Time::max() if the last one succeeded, or one is running.
  Time due() const { return is_syncing_ ? Time::max() : pause_.next(); }
  /// The reason if syncs have failed for longer than `patience`, else nullopt.
  std::optional<std::string> failure(Time now, std::chrono::milliseconds patience) const;
  /// Whether the user was told of a job that has failed for the last time.
  bool gave_up() const { return gave_up_; }

 private:
  std::vector<JobEvent> told(std::vector<JobEvent> events);

  WatchNote note_;
  std::vector<JobEvent> accepted_;  // accepted, but not durable yet
  std::vector<JobEvent> syncing_;   // being made durable by the running sync
  bool is_syncing_ = false, gave_up_ = false;
  RetryPause pause_{kPause, kPause};
};

}  // namespace flor::cli
