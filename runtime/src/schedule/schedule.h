// Decides which iterations a recording stores, by the flags or else by the policy (Adaptive), and
// keeps the accounts for both.
#pragma once

#include "protocol/flags.h"
#include "schedule/adaptive.h"
#include "schedule/ledger.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace flor::detail {

/// The decisions and accounts of one recording. To be used by the training thread, except for the
/// ledger.
class Schedule {
 public:
  explicit Schedule(const Flags& flags);
  /// Sets --flor_every and --flor_epsilon. To be called before the first iteration.
  void set_rule(const Flags& flags);
  /// Sets the measured speed of restoring, in bytes per second.
  void set_restore_rate(double rate) { policy_.set_restore_rate(rate); }

  /// Lets several ranks decide together: takes this rank's own decision and returns the common one.
  using Agree = std::function<bool(std::int64_t main_loop, std::int64_t iteration, bool own)>;
  void set_agreement(Agree agree) { agree_ = std::move(agree); }
  /// Whether recording has cost as much as it may.
  bool is_spent() const;

  /// The facts that a decision depends on at the present moment.
  struct Now {
    std::int64_t main_loop = 0, iteration = 0;
    std::optional<std::uint64_t> count;    ///< number of the loop's iterations, if known
    double iteration_seconds = 0;          ///< since the iteration began
    double flor_seconds = 0;               ///< Flor's share of these, in the training thread
    bool writing = false;                  ///< the background still has work to do
    bool degraded = false;                 ///< nothing can be stored at the moment
    std::function<std::uint64_t()> bytes;  ///< size of the present state; called only if needed
  };

  void begin_iteration();
  /// Counts a checkpoint of the present iteration that is due. Returns the decision about the
  /// iteration, if there is one already.
  std::optional<store::StorageReason> due() {
    ++due_;
    return reason_;
  }
  /// Whether the present iteration is stored. The first call in an iteration decides.
  bool stores(const Now& now);
  std::optional<store::StorageReason> decided() const { return reason_; }
  /// Opens a batch for a checkpoint outside of iterations.
  std::shared_ptr<Batch> open_single();
  /// Stores the present iteration from here on, whatever was decided before.
  void force(const Now& now, store::StorageReason reason);
  /// The batch to which checkpoints of the present iteration are charged; null if it is not stored.
  const std::shared_ptr<Batch>& batch() const { return batch_; }
  void end_iteration(const Now& now);
  /// Tells that the iteration that ended last was the loop's last one, and that its boundary is
  /// stored.
  void ended_with_last_iteration();

  /// The decisions since the last call. A range that still grows is returned again.
  std::vector<store::StorageDecision> decisions();
  store::Recording recording() const;
  /// Tells how many seconds passed until the program's first statement after flor::init.
  void started(double seconds) { startup_ = seconds; }

  Ledger& ledger() { return ledger_; }

 private:
  double computed(const Now& now) const;
  store::StorageReason choose(const Now& now);
  store::StorageReason weigh(const Now& now);
  void learn();
  void note(const Now& now, store::StorageReason reason);

  std::int64_t every_;
  Adaptive policy_;
  Agree agree_;
  Ledger ledger_;
  double startup_ = 0;
  // Seconds in complete iterations, without Flor's part in the training thread.
  double elapsed_ = 0;
  std::optional<store::StorageReason> reason_;  // decision about the present iteration
  std::shared_ptr<Batch> batch_;
  // A single checkpoint, whose cost is the estimate until an iteration is measured.
  std::shared_ptr<Batch> entry_;
  bool entry_written_ = false;
  bool measuring_ = false;                  // one iteration was stored to measure the cost
  std::int64_t due_ = 0, checkpoints_ = 2;  // so far in this iteration; expected per iteration
  std::int64_t iterations_ = 0, stored_ = 0;
  std::vector<store::StorageDecision> ranges_;  // the last one still grows
  bool range_changed_ = false;
};

}  // namespace flor::detail
