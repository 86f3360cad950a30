// Copies the registered state at one moment, as fast as memory allows and no more than changed.
#pragma once

#include "buffers.h"
#include "registry.h"

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::detail {

struct TakenSnapshot {
  store::Snapshot snapshot;
  /// Copies from devices that have not arrived yet: wait before reading the snapshot.
  std::vector<std::shared_ptr<PendingCopy>> pending;
  std::uint64_t copied_bytes = 0;
};

/// Used by the session's thread. Content that equals that of the last snapshot is found by
/// comparing it, not by trusting version counters, which writes through raw pointers and some
/// kernels of libtorch do not move; it shares the last snapshot's memory and is not copied.
class Snapshotter {
 public:
  TakenSnapshot take(const Registry& registry, const std::vector<Slot>& attached);

  BufferPool& buffers() { return buffers_; }
  /// Bytes of the largest snapshot so far.
  std::uint64_t largest() const { return largest_; }

 private:
  class Sink;
  BufferPool buffers_;
  std::unordered_map<std::string, store::SnapshotItem> last_;
  std::uint64_t largest_ = 0;
};

}  // namespace flor::detail
