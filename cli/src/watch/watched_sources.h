// The places that a watch watches: which evaluators evaluate the checkpoints found there, which
// checkpoints are new to each, and what happens to waiting jobs when an evaluator is edited.
#pragma once

#include "queue/job_queue.h"
#include "queue/sightings.h"
#include "watch/checkpoint_source.h"
#include "watch/evaluators/evaluators.h"
#include "watch/finder.h"
#include "watch/job_desk.h"
#include "watch/watch_plan.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::cli {

/// Turns found checkpoints into new jobs at the desk: one for each evaluator of the place that does
/// not know the checkpoint yet. The store remembers which evaluator has seen which checkpoint, for
/// later watches. Must be called from one thread only; between `start` and `stop` the source
/// belongs to the finder's thread.
class WatchedSources {
 public:
  /// All arguments except the source must outlive this object.
  WatchedSources(const store::Store& store, store::JobQueue& queue,
                 std::unique_ptr<CheckpointSource> source, const WatchPlan& plan,
                 const Evaluators& evaluators, JobDesk& desk, WatchNote note);

  /// Pairs places with evaluators, which must all have been added before. Checkpoints that were
  /// there when a place was watched for the first time are evaluated only with `existing`, later
  /// ones always. Throws what the store and the queue throw.
  void open();
  /// `start` begins to look for checkpoints in another thread; `stop` ends that.
  void start() { finder_.emplace(*source_); }
  void stop() { finder_.reset(); }

  /// The names of the places.
  std::vector<std::string> places() const { return source_->places(); }
  /// A descriptor that is readable when `take_news` has work.
  int descriptor() const { return finder_->descriptor(); }
  /// Adds jobs for what was found since the last call. Throws Error if the finder has ended.
  void take_news() { take(finder_->take()); }
  /// Adds jobs for the given news.
  void take(Finder::News news);
  /// Whether everything has been examined, and nothing more is expected.
  bool is_idle() const { return is_idle_; }
  /// Paths of incomplete checkpoints.
  const std::vector<std::string>& incomplete() const { return incomplete_; }

  /// Moves the waiting jobs of an edited evaluator to its new version, whose id in the queue is
  /// `number`. Throws what the queue throws; then nothing is lost, and the call may be repeated.
  void take_over(std::size_t evaluator, std::int64_t number);

 private:
  /// A place with an evaluator for it.
  struct Pair {
    std::size_t evaluator = 0;  // index in the plan
    std::int64_t watch = 0;     // id in WatchMemory
    /// Checkpoints that this evaluator need not evaluate, although another evaluator of the place
    /// must.
    std::unordered_map<std::string, store::FileIdentity> known;
  };

  void open_pair(std::size_t place, Pair& pair);
  void forget_what_all_know(std::size_t place);
  void take_over(std::int64_t number, const std::string& spec,
                 const std::vector<store::Sighting>& seen);
  store::NewJob job(const store::Digest& content, std::int64_t evaluator,
                    const std::string& path) const;

  store::JobQueue& queue_;
  store::WatchMemory memory_;
  const WatchPlan& plan_;
  const Evaluators& evaluators_;
  JobDesk& desk_;
  WatchNote note_;
  std::unique_ptr<CheckpointSource> source_;
  std::vector<std::vector<Pair>> pairs_;  // by place
  std::vector<std::string> incomplete_;
  bool is_idle_ = false;
  std::optional<Finder> finder_;
};

}  // namespace flor::cli
