// Prepares jobs whose checkpoint is one of Flor's own: the checkpoint is written to a file before a
// worker gets the job, and the file is removed after the evaluation.
#pragma once

#include "queue/job_queue.h"
#include "watch/checkpoint_files.h"
#include "watch/retry_pause.h"
#include "watch/watch_plan.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// Keeps the jobs whose file is being made, and the checkpoints of the jobs being evaluated. If
/// there is no room for a file, the job has not failed: it is returned to the queue, and no job is
/// leased for a while (a rest).
///
/// Pure, apart from notes to the user and the maker: the time is a parameter. Not thread-safe.
class JobFiles {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{10'000};

  JobFiles(std::unique_ptr<FileMaker> maker, WatchNote note)
      : maker_(std::move(maker)), note_(std::move(note)) {}

  /// Whether the job needs a file before a worker can get it.
  static bool concerns(const store::LeasedJob& job);
  /// Begins to make the file of such a job.
  void prepare(const store::LeasedJob& job);

  /// A job whose file was made, or will not be.
  struct Prepared {
    FileMaker::Made::End end = FileMaker::Made::End::made;
    store::LeasedJob job;  ///< if its file was made, with the path of the file
    std::string failure;   ///< why there is no file
  };
  /// A descriptor that is readable when `take` has results.
  int descriptor() const { return maker_->descriptor(); }
  /// The jobs that were prepared since the last call, except those that were called off.
  std::vector<Prepared> take(Time now);
  /// Removes the file of an evaluation that has ended. Returns the checkpoint's name for the user:
  /// KEY@EPOCH, or for other jobs their path.
  std::string end(const store::LeasedJob& job);
  /// Drops a job whose lease was lost.
  void call_off(const store::Lease& lease);

  /// The leases of the jobs whose files are being made.
  std::vector<store::Lease> leases() const;
  bool is_empty() const { return preparing_.empty(); }
  /// The number of jobs of this evaluator whose files are being made.
  std::size_t coming(std::int64_t evaluator) const;
  /// Whether this evaluator ever got a job that needed a file.
  bool reads(std::int64_t evaluator) const { return readers_.contains(evaluator); }

  /// Whether no job may be leased, because a file could not be made a moment ago.
  bool rests() const { return next_.has_value(); }
  /// Ends the rest if it is over at `now`. Returns whether it did.
  bool end_rest(Time now);
  /// The end of the rest; Time::max() if there is none.
  Time rest_end() const { return next_.value_or(Time::max()); }
  /// When making files will have failed for as long as `patience`.
  Time end_of(std::chrono::milliseconds patience) const { return pause_.end_of(patience); }
  const std::string& why() const { return pause_.why(); }

 private:
  std::optional<Prepared> take(const FileMaker::Made& made, Time now);
  void note_failure(const std::string& why, Time now);

  std::unique_ptr<FileMaker> maker_;
  WatchNote note_;
  std::map<store::Lease, store::LeasedJob> preparing_;
  std::map<store::Lease, std::string> references_;  // checkpoints, by the lease of the job
  std::set<std::int64_t> readers_;
  RetryPause pause_{kFirstPause, kLongestPause};
  std::optional<Time> next_;
};

}  // namespace flor::cli
