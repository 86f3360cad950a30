// Checkpoints that the program asks for, and the strategy that says which checkpoints are kept.
#pragma once

#include "retention/retention.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace flor::detail {

/// Names and numbers of saved checkpoints, and which checkpoints are kept. Has no lock: each
/// function belongs to one thread, as noted.
class SavedCheckpoints {
 public:
  // For the training thread.

  /// Tells this object which checkpoints a resumed run has saved, by the places in the loops where
  /// it saved them. Code that is executed again saves them again under the same numbers. To be
  /// called before the background thread exists.
  void know(std::map<std::string, store::SavedCheckpoint> recorded);
  /// The name under which a checkpoint was saved at this place before; empty if none was.
  std::string recorded_name(const std::string& place) const;
  /// Sets the number of a checkpoint that is being saved, and its name if that is empty.
  void identify(store::SavedCheckpoint& saved, const std::string& place);

  // For the background thread.

  /// Notes that the checkpoint of this name is stored. It is not entered into the catalog yet.
  void stored(const std::string& name) { stored_.insert(name); }
  /// Enters a saved checkpoint into the catalog. Returns false if it could not be stored, of which
  /// the user was told.
  bool enter(const store::SavedCheckpoint& saved, store::Catalog& catalog, std::int64_t run);
  /// Enters scores that came later. Returns false if there is no such checkpoint.
  bool score(std::string_view name, const std::map<std::string, double>& scores,
             store::Catalog& catalog, std::int64_t run) const;
  void set_strategy(const store::CheckpointStrategy& strategy) { strategy_ = strategy; }
  const store::CheckpointStrategy& strategy() const { return strategy_; }
  /// Deletes the checkpoints that the strategy does not keep. Rank 0 decides for all ranks of its
  /// group, and `at_end` the last rank to finish. A failure only costs space.
  void delete_others(store::Store& store, const store::Run& run, bool at_end = false);

 private:
  store::CheckpointStrategy strategy_;
  bool told_failure_ = false;
  std::map<std::string, store::SavedCheckpoint> recorded_;  // by place
  std::int64_t highest_ = 0;                                // highest number so far
  std::set<std::string> stored_;
  std::map<std::string, std::int64_t> numbers_;  // by name
};

}  // namespace flor::detail
