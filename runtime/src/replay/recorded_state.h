// The recorded state of a run: restored into the program, or compared with state that it computed.
#pragma once

#include "replay/recorded_run.h"
#include "replay/returned_state.h"
#include "snapshot/restore.h"
#include "state/registry.h"
#include "verdict/verdict.h"

#include <flor/state.h>
#include <flor/store/store.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flor::detail {

/// Restores recorded states of one run, and compares them. To be used by the session's thread. The
/// arguments must outlive this object. Every function throws Error if a checkpoint does not fit the
/// registered objects, and Damaged if the store does not have what was written.
class RecordedState {
 public:
  /// `set_threads`: restoring also sets the recorded number of threads. `proves`: what is compared
  /// is never put back, so that the program walks by itself; any item that differs is a difference,
  /// and what is equal is kept for `take_equal`.
  RecordedState(const store::Store& store, const Record& record, const Registry& registry,
                Comparison& comparison, bool set_threads, bool proves = false)
      : store_(store),
        record_(record),
        registry_(registry),
        comparison_(comparison),
        set_threads_(set_threads),
        proves_(proves) {}

  /// From now on stores these checkpoints again where the program comes to them.
  void store_again(store::Store& store, std::vector<store::CheckpointName> wanted) {
    returned_.emplace(store, record_.run(), registry_, comparison_, std::move(wanted));
  }

  /// The recorded state for other objects than the registered ones. They must outlive the result.
  RecordedState of(const Registry& objects) const {
    return {store_, record_, objects, comparison_, set_threads_, proves_};
  }

  /// Restores the state. Returns false if no such checkpoint is stored.
  bool restore(const store::CheckpointKey& key, const std::vector<Slot>& attached);
  /// Restores the attached locals of a loop to the values that they had when it began, compares
  /// them with those, or stores them again.
  void restore_entry(std::int64_t part, const store::CheckpointKey& nested_end,
                     const std::vector<Slot>& attached);
  /// Whether the checkpoint has all of the attached locals.
  bool has_attached(std::int64_t checkpoint, const std::vector<Slot>& attached);
  /// Compares the state with the checkpoint that was taken at this point, if any, and then sets it
  /// to the recorded one; or stores it again. `computed`: the program computed the state instead of
  /// loading it. `part` is the part to which the comparison belongs.
  void compare_with(std::int64_t part, const store::CheckpointKey& key, const std::string& where,
                    const std::vector<Slot>& attached, bool computed);

  /// The id of a checkpoint in this store, so that it can be read; if it is elsewhere, it is
  /// fetched first.
  std::int64_t brought(std::int64_t checkpoint);

  /// The checkpoints that were found equal since the last call.
  std::vector<store::CheckpointName> take_equal() { return std::exchange(equal_, {}); }

  std::int64_t restored() const { return restored_; }
  std::uint64_t restored_bytes() const { return restored_bytes_; }
  double restore_seconds() const { return restore_seconds_; }

 private:
  const store::CheckpointReader& reader(std::int64_t checkpoint);
  using CompareWith = std::function<std::vector<StateDifference>(const store::CheckpointReader&)>;
  std::vector<StateDifference> compare(std::int64_t checkpoint, const CompareWith& compare);
  /// Counts the comparison, and keeps the name of a checkpoint that is equal.
  void note_proof(std::int64_t part, const store::CheckpointKey& key, const std::string& where,
                  std::int64_t checkpoint, const std::vector<StateDifference>& differences);

  const store::Store& store_;
  const Record& record_;
  const Registry& registry_;
  Comparison& comparison_;
  bool set_threads_, proves_;
  std::vector<store::CheckpointName> equal_;
  std::optional<ReturnedState> returned_;
  std::map<std::int64_t, std::int64_t> brought_;  // by their ids elsewhere
  std::int64_t open_checkpoint_ = 0;              // id of the one that `reader_` reads
  std::unique_ptr<store::CheckpointReader> reader_;
  std::int64_t restored_ = 0;
  std::uint64_t restored_bytes_ = 0;
  double restore_seconds_ = 0;
  bool told_random_ = false, told_stale_ = false;
};

}  // namespace flor::detail
