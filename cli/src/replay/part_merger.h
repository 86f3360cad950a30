// Merges what the processes of a replay hand in into the store; only the process that owns it does
// so.
#pragma once

#include "protocol/protocol.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// Merges for one rank. A part counts once, however many processes hand it in, and however often.
class PartMerger {
 public:
  /// `run` and `replay` as in the catalog.
  PartMerger(store::Store& store, std::int64_t run, std::int64_t replay);

  /// Writes content to the store at once.
  void take(const detail::HandedObject& object);
  void take(const detail::RestoreTime& time);

  /// The values that one process has handed in, by their part, until the part is complete.
  class Hands {
   public:
    void take(detail::HandedValue handed);

   private:
    friend class PartMerger;
    std::map<std::int64_t, std::vector<store::Value>> values_;
  };
  /// Takes a complete part with its values. False if it was complete before.
  bool complete(Hands& hands, const store::ReplayedPart& part);
  /// Makes the completed parts durable, in one transaction. Returns the parts.
  std::vector<store::ReplayedPart> flush();

 private:
  store::Store& store_;
  std::int64_t run_, replay_;
  std::unique_ptr<store::CheckpointWriter> writer_;  // once there is something to write
  std::set<std::int64_t> known_;                     // parts
  std::vector<store::Value> values_;
  std::vector<store::ReplayedPart> parts_;
};

}  // namespace flor::cli
