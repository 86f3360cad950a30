// Checkpoints that the program itself asks for, and the strategy by which checkpoints are kept.
#pragma once

#include "retention/retention.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace flor::detail {

/// Names and numbers of saved checkpoints, and which checkpoints stay. Has no lock: the functions
/// of the training are called by its thread, the others by the background thread.
class SavedCheckpoints {
 public:
  // On the thread of the training.

  /// Those of a run that is continued, by their places: code that is executed again saves its
  /// checkpoints again, under their old numbers. Called before there is a background thread.
  void know(std::map<std::string, store::SavedCheckpoint> recorded);
  /// The name of the checkpoint that was saved at this place before; empty if there was none.
  std::string recorded_name(const std::string& place) const;
  /// Enters the number of the checkpoint that is saved now, and its name, which may be empty so
  /// far.
  void identify(store::SavedCheckpoint& saved, const std::string& place);

  // On the background thread.

  /// The checkpoint of this name is stored, and not entered yet.
  void stored(const std::string& name) { stored_.insert(name); }
  /// Enters it. False: it could not be stored, as the user was told.
  bool enter(const store::SavedCheckpoint& saved, store::Catalog& catalog, std::int64_t run);
  /// Enters scores that came later. False: there is no such checkpoint.
  bool score(std::string_view name, const std::map<std::string, double>& scores,
             store::Catalog& catalog, std::int64_t run) const;
  void set_strategy(const store::CheckpointStrategy& strategy) { strategy_ = strategy; }
  const store::CheckpointStrategy& strategy() const { return strategy_; }
  /// Deletes the checkpoints that the strategy does not keep. Rank 0 decides for all ranks of a
  /// group, and `at_end` the last rank to finish. A failure costs space, no more.
  void delete_others(store::Store& store, const store::Run& run, bool at_end = false);

 private:
  store::CheckpointStrategy strategy_;
  bool told_failure_ = false;
  std::map<std::string, store::SavedCheckpoint> recorded_;  // by place
  std::int64_t highest_ = 0;                                // number
  std::set<std::string> stored_;
  std::map<std::string, std::int64_t> numbers_;  // by name
};

}  // namespace flor::detail
