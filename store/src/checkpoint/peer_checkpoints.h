// The checkpoints that another recording process stores, as read from its journals.
#pragma once

#include "journal/journal_reader.h"

#include <flor/store/checkpoint.h>
#include <flor/store/store.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::store {

/// Follows one run. It forgets deleted checkpoints, and at a resume those of the earlier process.
/// Not thread-safe.
class PeerCheckpoints {
 public:
  struct Stored {
    CheckpointKey key;
    std::vector<Digest> chunks;
  };

  /// `run`: key of a run in this store.
  PeerCheckpoints(const Store& store, std::string run);

  /// Reads what the journals have received since the last call. Unreadable parts are retried by the
  /// next call.
  void follow();
  /// Returns null if the checkpoint is not among the latest 64.
  const Stored* find(const CheckpointKey& key) const;
  const Stored* last() const { return stored_.empty() ? nullptr : &stored_.back(); }

 private:
  void read(JournalReader& reader);
  void forget(const CheckpointKey& key);

  std::shared_ptr<Database> database_;
  std::string run_;
  std::map<std::int64_t, JournalPosition> read_;  ///< by number of the journal
  std::deque<Stored> stored_;
};

}  // namespace flor::store
