// Merges the findings that the processes of a replay hand in into the store. Only the process that
// owns the replay does so.
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

/// Merges the findings of one rank. A part counts once, however often and by however many processes
/// it is handed in.
class PartMerger {
 public:
  /// `run` and `replay`: ids in the catalog.
  PartMerger(store::Store& store, std::int64_t run, std::int64_t replay);

  /// Write the content of an object, or a measured time, to the store at once.
  void take(const detail::HandedObject& object);
  void take(const detail::RestoreTime& time);

  /// Values that one process has handed in for parts that are not complete yet.
  class Hands {
   public:
    void take(detail::HandedValue handed);

   private:
    friend class PartMerger;
    std::map<std::int64_t, std::vector<store::Value>> values_;
  };
  /// Takes a completed part together with its values. Returns false if the part was complete
  /// already.
  bool complete(Hands& hands, const store::ReplayedPart& part);
  /// Makes the completed parts durable in one transaction, and returns them.
  std::vector<store::ReplayedPart> flush();

 private:
  store::Store& store_;
  std::int64_t run_, replay_;
  std::unique_ptr<store::CheckpointWriter> writer_;  // null until there is something to write
  std::set<std::int64_t> known_;                     // parts that are complete
  std::vector<store::Value> values_;
  std::vector<store::ReplayedPart> parts_;
};

}  // namespace flor::cli
