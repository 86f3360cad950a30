// The iterations that a recording stores: by the flags, else by the policy, and the accounts for
// both.
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

/// Used by the training thread, except for the ledger.
class Schedule {
 public:
  explicit Schedule(const Flags& flags);
  /// Sets --flor_every and --flor_epsilon, before the first iteration.
  void set_rule(const Flags& flags);
  /// Measured bytes a second.
  void set_restore_rate(double rate) { policy_.set_restore_rate(rate); }

  /// Several ranks decide together: given this one's own decision, returns that of all.
  using Agree = std::function<bool(std::int64_t main_loop, std::int64_t iteration, bool own)>;
  void set_agreement(Agree agree) { agree_ = std::move(agree); }
  /// Recording has cost as much as it may.
  bool is_spent() const;

  /// The recorder's state that a decision depends on.
  struct Now {
    std::int64_t main_loop = 0, iteration = 0;
    std::optional<std::uint64_t> count;    ///< of the loop's iterations, if that is known
    double iteration_seconds = 0;          ///< since the iteration began
    double flor_seconds = 0;               ///< Flor's share of it, in the training thread
    bool writing = false;                  ///< the background has not finished its work
    bool degraded = false;                 ///< nothing can be stored at the moment
    std::function<std::uint64_t()> bytes;  ///< of the state now; asked only where it matters
  };

  void begin_iteration();
  /// A checkpoint of the present iteration is due; returns the decision about it, if there is one.
  std::optional<store::StorageReason> due() {
    ++due_;
    return reason_;
  }
  /// Whether the present iteration is stored; decided when it is asked for the first time.
  bool stores(const Now& now);
  std::optional<store::StorageReason> decided() const { return reason_; }
  /// For a checkpoint outside any iteration.
  std::shared_ptr<Batch> open_single();
  /// Stores the present iteration from here on, whatever was decided.
  void force(const Now& now, store::StorageReason reason);
  /// Where checkpoints of the present iteration are charged to; null if it is not stored.
  const std::shared_ptr<Batch>& batch() const { return batch_; }
  void end_iteration(const Now& now);
  /// The last iteration that ended was the loop's last one, and its boundary is stored.
  void ended_with_last_iteration();

  /// The decisions since the last call; ranges that still grow come again.
  std::vector<store::StorageDecision> decisions();
  store::Recording recording() const;
  /// The program's first statement after flor::init is about to run.
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
  double elapsed_ = 0;  // in complete iterations, without Flor's part of the training thread
  std::optional<store::StorageReason> reason_;  // of the present iteration
  std::shared_ptr<Batch> batch_;
  std::shared_ptr<Batch> entry_;  // a single checkpoint: its cost counts until there is better
  bool entry_written_ = false;
  bool measuring_ = false;                  // an iteration was stored to measure the cost
  std::int64_t due_ = 0, checkpoints_ = 2;  // in the present iteration; expected in one
  std::int64_t iterations_ = 0, stored_ = 0;
  std::vector<store::StorageDecision> ranges_;  // the last one still grows
  bool range_changed_ = false;
};

}  // namespace flor::detail
