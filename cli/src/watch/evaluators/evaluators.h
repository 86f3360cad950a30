// The evaluators of a watch: which of them gets a job, how many jobs each could take, and what
// happens when one is edited while the watch runs.
#pragma once

#include "watch/edit_guard.h"
#include "watch/evaluators/evaluation_group.h"
#include "watch/watch_plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flor::cli {

/// All that decides how many further jobs a group of workers may lease.
struct LeaseFacts {
  std::size_t could_take = 0;  ///< as the group says
  std::size_t coming = 0;      ///< leased already; their files are being made
  std::size_t held = 0;        ///< leases that the group has
  std::size_t workers = 1;
  bool needs_room = false;  ///< each job needs room for a file of its checkpoint
  bool rests = false;       ///< the watch ends, no file can be made, or the evaluator was edited
};
/// With files, each worker may have that of its job and two made ahead.
std::size_t jobs_to_lease(const LeaseFacts& facts);

/// Evaluators are known by their place in the plan: the number in the queue changes with each edit.
/// Workers of an edited evaluator begin no more jobs; when they have finished the current ones, new
/// workers replace them. Not thread-safe.
class Evaluators {
 public:
  using Clock = EvaluationGroup::Clock;
  /// Makes the workers of an evaluator with this number; they are started later.
  using Open = std::function<std::unique_ptr<EvaluationGroup>(const WatchPlan::Judge& judge,
                                                              std::int64_t evaluator)>;

  explicit Evaluators(Open open, EditGuard::Now now = Clock::now)
      : open_(std::move(open)), now_(std::move(now)) {}

  /// Adds the evaluator with its present content; `number` gives it its number in the queue.
  void add(const WatchPlan::Judge& judge,
           const std::function<std::int64_t(const std::string& spec, const std::string& digest)>&
               number);

  std::size_t size() const { return all_.size(); }
  /// Number in the queue.
  std::int64_t number(std::size_t place) const { return all_[place].group->evaluator(); }
  std::string spec(std::size_t place) const { return all_[place].judge.group.evaluator.text(); }
  /// Digest of the evaluator with its file as it was last looked at.
  const std::string& digest(std::size_t place) const { return all_[place].guard.digest(); }
  const WatchPlan::Judge& judge(std::size_t place) const { return all_[place].judge; }

  void start();
  /// Ends the workers and their jobs.
  void stop();
  /// Adds descriptors that show by POLLIN that `hear` has something to do; it also has at `due`.
  void add_descriptors(std::vector<pollfd>& waiting) const;
  Clock::time_point due() const;
  /// Passes on each verdict. Throws Error if an evaluator cannot be loaded.
  void hear(const EvaluationGroup::Tell& tell);
  /// Gives a job to the workers of its evaluator, which begin it in `dispatch`.
  void give(store::LeasedJob job);
  void dispatch();
  /// The evaluator's own part of the facts: it rests if it was edited.
  LeaseFacts facts(std::size_t place) const;

  /// Leases of all given jobs that have no verdict.
  std::vector<store::Lease> leases() const;
  /// Removes and returns the jobs that no worker has begun.
  std::vector<store::Lease> take_waiting();
  void call_off(const store::Lease& lease);
  /// Whether each is known to be loadable.
  bool is_ready() const;

  struct Edits {
    std::vector<std::string> noticed;     ///< files that were edited since the last look
    std::vector<store::Lease> unstarted;  ///< jobs of edited evaluators that no worker has begun
    std::vector<std::size_t> replaceable;  ///< settled, and their workers have finished
  };
  /// Looks at the evaluators' files.
  Edits look_for_edits();
  /// When there may be one to replace; the end of time if none was edited.
  Clock::time_point next_edit() const;
  /// Starts workers of the new version, which has this number.
  void replace(std::size_t place, std::int64_t number);
  /// It cannot be replaced yet: waits as if it had just been edited.
  void postpone(std::size_t place) { all_[place].guard.postpone(); }

 private:
  struct One {
    WatchPlan::Judge judge;
    EditGuard guard;
    std::unique_ptr<EvaluationGroup> group;
    bool is_edited() const { return guard.due() != Clock::time_point::max(); }
  };

  Open open_;
  EditGuard::Now now_;
  std::vector<One> all_;
};

}  // namespace flor::cli
