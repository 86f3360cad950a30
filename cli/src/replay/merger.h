// What the processes of a replay hand in, merged into the store by the one process that owns it.
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

/// Of one rank. Parts count once, whoever hands them in, and however often.
class Merger {
 public:
  /// `run` and `replay` as in the catalog.
  Merger(store::Store& store, std::int64_t run, std::int64_t replay);

  /// Content goes into the store at once.
  void take(const detail::HandedObject& object);
  void take(const detail::RestoreTime& time);

  /// What one process hands in, in its order: values are kept with their part.
  class Hands {
   public:
    void take(detail::HandedValue handed);

   private:
    friend class Merger;
    std::map<std::int64_t, std::vector<store::Value>> values_;
  };
  /// A part is complete. False if it was already.
  bool complete(Hands& hands, const store::ReplayedPart& part);
  /// Makes what is complete durable, in one transaction. Returns the parts.
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
