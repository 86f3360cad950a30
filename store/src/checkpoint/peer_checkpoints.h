// The checkpoints that another recording stores, heard of by its journals alone.
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

/// Not thread-safe. Forgets what came before the run was taken up again.
class PeerCheckpoints {
 public:
  struct Stored {
    CheckpointKey key;
    std::vector<Digest> chunks;
  };

  /// `run`: the key of a run of this store.
  PeerCheckpoints(const Store& store, std::string run);

  /// Reads what has come since the last call. What cannot be read now is looked for again.
  void follow();
  /// Of the latest ones, which are kept as long as ranks that go at one pace need them.
  const Stored* find(const CheckpointKey& key) const;
  const Stored* last() const { return stored_.empty() ? nullptr : &stored_.back(); }

 private:
  void read(JournalReader& reader);

  std::shared_ptr<Database> database_;
  std::string run_;
  std::map<std::int64_t, JournalPosition> read_;  ///< by number of the journal
  std::deque<Stored> stored_;
};

}  // namespace flor::store
