// Records the points of a sweep in several processes, on this or other machines: hands out the
// points, and restarts recordings that ended early.
#pragma once

#include "process/stop_signals.h"
#include "sweep/point_process.h"
#include "sweep/sweep_plan.h"
#include "sweep/sweep_runs.h"
#include "watch/evaluators/evaluation_group.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

struct EngineWish;

struct SweepWish {
  std::size_t workers = 1;
  std::vector<std::string> gpus;  ///< assigned to the workers in turn
  PointOrder order;
  std::uint64_t retries = 3;  ///< so many failures in a row without a further epoch are tolerated
};

/// Decides which point is recorded next, and which is given up. Pure.
class PointQueue {
 public:
  /// `open`: indices of the points that are not done, in order.
  PointQueue(std::vector<std::size_t> open, std::uint64_t retries)
      : waiting_(open.begin(), open.end()), retries_(retries) {}

  /// The point to begin or to continue; nullopt if all remaining points are being recorded.
  std::optional<std::size_t> next();
  /// Marks a point as not to be recorded any more.
  void done(std::size_t point) { running_.erase(point); }
  /// Reports that a recording ended early, with `epochs` in all: the point is queued again after
  /// all others. Returns false if the point is given up, because its recordings made no further
  /// epoch `retries` + 1 times in a row.
  bool ended_early(std::size_t point, std::int64_t epochs);

  bool is_empty() const { return waiting_.empty() && running_.empty(); }
  const std::set<std::size_t>& running() const { return running_; }

 private:
  struct Tries {
    std::int64_t epochs = 0;  // most epochs so far
    std::uint64_t in_vain = 0;
  };
  std::deque<std::size_t> waiting_;
  std::set<std::size_t> running_;
  std::map<std::size_t, Tries> tries_;
  std::uint64_t retries_;
};

/// Runs a sweep. Not thread-safe.
class SweepCoordinator {
 public:
  using Note = std::function<void(const std::string&)>;

  /// `plan` must be written already, and outlive this object. Throws Busy if another process runs
  /// the sweep.
  SweepCoordinator(const store::Store& store, const SweepPlan& plan, const EngineWish& engine,
                   SweepWish wish, Note note);

  /// Returns when all points are done or given up, or when the user interrupted it; then it has
  /// asked the programs to end, and they have. Throws Error if there are no workers, and never will
  /// be.
  void run();

  bool has_work() const { return !queue_.is_empty(); }
  bool was_interrupted() const { return interrupted_; }

 private:
  using Clock = EvaluationGroup::Clock;
  void hand_out();
  void wait();
  void take(const Verdict& verdict);
  void warn_of_unread(std::size_t point, const std::string& run);
  void end_all();

  const store::Store& store_;
  const SweepPlan& plan_;
  SweepWish wish_;
  Note note_;
  StopSignals signals_;  // before any thread is started, so that all threads block them
  SweepLock lock_;
  PointQueue queue_;
  std::size_t done_;
  std::unique_ptr<EvaluationGroup> group_;
  std::filesystem::path logs_;
  std::int64_t given_ = 0;
  std::set<std::string> unread_;  // arguments that the user was told a program did not read
  bool interrupted_ = false;
};

}  // namespace flor::cli
