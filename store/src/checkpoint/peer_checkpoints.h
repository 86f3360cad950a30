// The checkpoints that another recording stores, read from its journals.
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

/// Not thread-safe. Checkpoints from before a resume, and deleted ones, are forgotten.
class PeerCheckpoints {
 public:
  struct Stored {
    CheckpointKey key;
    std::vector<Digest> chunks;
  };

  /// `run`: the key of a run of this store.
  PeerCheckpoints(const Store& store, std::string run);

  /// Reads the journals from where the last call ended; the next call retries unreadable parts.
  void follow();
  /// Null if it is not among the latest 64.
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
