// Results that the queue has accepted, until they are durable and the user may be told.
#pragma once

#include "watch/retry_pause.h"
#include "watch/watch_plan.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The caller carries out a sync of the queue, in whatever thread, and says how it ended; one may
/// run at a time. Results that are accepted meanwhile wait for the next one. Pure, apart from notes
/// to the user. Not thread-safe.
class AcceptedResults {
 public:
  using Time = RetryPause::Time;
  /// Between tries.
  static constexpr std::chrono::milliseconds kPause{1000};

  explicit AcceptedResults(WatchNote note) : note_(std::move(note)) {}

  void accept(JobEvent event) { accepted_.push_back(std::move(event)); }
  /// Whether results wait for a sync, and none runs.
  bool wants_sync(Time now) const;
  void begin_sync();
  /// The sync has ended: the events that the user may be told.
  std::vector<JobEvent> synced();
  void sync_failed(Time now, const std::string& why);
  /// All events, after a sync that began when none was missing.
  std::vector<JobEvent> take_all();

  std::size_t size() const { return accepted_.size() + syncing_.size(); }
  /// When a sync is tried again; the end of time while it works, or runs.
  Time due() const { return is_syncing_ ? Time::max() : pause_.next(); }
  /// Why it has failed for longer than that; nothing if it has not.
  std::optional<std::string> failure(Time now, std::chrono::milliseconds patience) const;
  /// Whether the user was told of a job that has failed as often as it may.
  bool gave_up() const { return gave_up_; }

 private:
  std::vector<JobEvent> told(std::vector<JobEvent> events);

  WatchNote note_;
  std::vector<JobEvent> accepted_;  // not durable yet
  std::vector<JobEvent> syncing_;   // being made durable by the running sync
  bool is_syncing_ = false, gave_up_ = false;
  RetryPause pause_{kPause, kPause};
};

}  // namespace flor::cli
