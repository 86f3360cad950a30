// Jobs whose checkpoint is one of Flor's own: it is written to a file before a worker gets the job,
// and the file goes when the evaluation has ended.
#pragma once

#include "queue/jobs.h"
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

/// Knows the jobs whose file is being made, and the checkpoints in the files of those that are
/// being evaluated. Lacking room for a file is no failure of the job: it is returned to the queue,
/// and nothing is leased for a while.
///
/// Pure, apart from notes and the maker: the time is given. Not thread-safe.
class JobFiles {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{200}, kLongestPause{10'000};

  JobFiles(std::unique_ptr<FileMaker> maker, WatchNote note)
      : maker_(std::move(maker)), note_(std::move(note)) {}

  /// Whether a worker cannot get the job as it is.
  static bool concerns(const store::LeasedJob& job);
  /// Begins to make the file of such a job.
  void prepare(const store::LeasedJob& job);

  /// A job whose file was made, or will not be.
  struct Prepared {
    FileMaker::Made::End end = FileMaker::Made::End::made;
    store::LeasedJob job;  ///< if made, with the path of the file
    std::string failure;   ///< why not
  };
  /// Readable when there is something to take.
  int descriptor() const { return maker_->descriptor(); }
  /// The jobs that were prepared since the last call, but those that were called off meanwhile.
  std::vector<Prepared> take(Time now);
  /// An evaluation has ended: removes its file. Returns the checkpoint's name, or the path of a job
  /// that these files do not concern.
  std::string end(const store::LeasedJob& job);
  /// The lease was lost.
  void call_off(const store::Lease& lease);

  /// The jobs that are being prepared.
  std::vector<store::Lease> leases() const;
  bool is_empty() const { return preparing_.empty(); }
  /// How many of them are for this evaluator.
  std::size_t coming(std::int64_t evaluator) const;
  /// Whether the evaluator ever got such a job.
  bool reads(std::int64_t evaluator) const { return readers_.contains(evaluator); }

  /// Whether no job is to be leased, since no file could be made a moment ago.
  bool rests() const { return next_.has_value(); }
  /// Whether such a rest is over by now, which then counts as ended.
  bool end_rest(Time now);
  /// When it is; the end of time if there is none.
  Time rest_end() const { return next_.value_or(Time::max()); }
  /// When files will have failed for so long.
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
