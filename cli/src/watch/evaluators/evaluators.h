// All evaluators of a watch: distributes jobs to their workers, tells how many jobs each could
// take, and replaces workers when the user edits an evaluator.
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

/// Facts that decide how many more jobs a group of workers may lease.
struct LeaseFacts {
  std::size_t could_take = 0;  ///< EvaluationGroup::wanted
  std::size_t coming = 0;      ///< leased jobs whose checkpoint files are being made
  std::size_t held = 0;        ///< leases of jobs that the group has
  std::size_t workers = 1;
  bool needs_room = false;  ///< whether each job needs a file of its checkpoint
  bool rests = false;       ///< take no jobs: the watch ends, no file can be made, or the evaluator
                            ///< was edited
};
/// The number of further jobs to lease. If they need files, each worker may have the file of its
/// job and two more.
std::size_t jobs_to_lease(const LeaseFacts& facts);

/// Evaluators are identified by their index in the plan (`place`), because their id in the queue
/// changes with each edit. Workers of an edited evaluator begin no more jobs; when they have
/// finished their current ones, new workers replace them. Not thread-safe.
class Evaluators {
 public:
  using Clock = EvaluationGroup::Clock;
  /// Makes the workers of an evaluator, which has this id in the queue, without starting them.
  using Open = std::function<std::unique_ptr<EvaluationGroup>(const WatchPlan::Judge& judge,
                                                              std::int64_t evaluator)>;

  explicit Evaluators(Open open, EditGuard::Now now = Clock::now)
      : open_(std::move(open)), now_(std::move(now)) {}

  /// Adds the evaluator with its present content; `number` returns its id in the queue.
  void add(const WatchPlan::Judge& judge,
           const std::function<std::int64_t(const std::string& spec, const std::string& digest)>&
               number);

  std::size_t size() const { return all_.size(); }
  /// The evaluator's id in the queue.
  std::int64_t number(std::size_t place) const { return all_[place].group->evaluator(); }
  std::string spec(std::size_t place) const { return all_[place].judge.group.evaluator.text(); }
  /// The digest of the evaluator, with its file as it was when last checked.
  const std::string& digest(std::size_t place) const { return all_[place].guard.digest(); }
  const WatchPlan::Judge& judge(std::size_t place) const { return all_[place].judge; }

  void start();
  /// Ends the workers and the jobs they are doing.
  void stop();
  /// Adds descriptors to poll: POLLIN on one means that `hear` has work. It also has work at the
  /// time `due`.
  void add_descriptors(std::vector<pollfd>& waiting) const;
  Clock::time_point due() const;
  /// Handles messages of the workers, and calls `tell` with each verdict. Throws Error if an
  /// evaluator cannot be loaded.
  void hear(const EvaluationGroup::Tell& tell);
  /// Gives a job to the workers of its evaluator; they begin it in `dispatch`.
  void give(store::LeasedJob job);
  void dispatch();
  /// The facts known here; `rests` if the evaluator was edited. The caller adds the others.
  LeaseFacts facts(std::size_t place) const;

  /// The leases of all jobs that were given and have no verdict yet.
  std::vector<store::Lease> leases() const;
  /// Removes and returns the jobs that no worker has begun.
  std::vector<store::Lease> take_waiting();
  void call_off(const store::Lease& lease);
  /// Whether every evaluator is known to be loadable.
  bool is_ready() const;

  struct Edits {
    std::vector<std::string> noticed;     ///< files edited since the last call
    std::vector<store::Lease> unstarted;  ///< jobs of edited evaluators that no worker has begun
    std::vector<std::size_t> replaceable;  ///< evaluators whose file has settled and whose workers
                                           ///< have finished
  };
  /// Checks the files of all evaluators for edits.
  Edits look_for_edits();
  /// The earliest time at which an evaluator may be replaceable; Clock::time_point::max() if none
  /// was edited.
  Clock::time_point next_edit() const;
  /// Replaces the workers by workers of the new version, whose id in the queue is `number`.
  void replace(std::size_t place, std::int64_t number);
  /// Delays the replacement of an evaluator as if it had just been edited.
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
