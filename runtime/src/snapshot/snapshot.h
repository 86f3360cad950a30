// Copies the registered state at one moment, as fast as memory allows and no more than changed.
#pragma once

#include "snapshot/buffers.h"
#include "snapshot/device_item.h"
#include "snapshot/late_copies.h"
#include "state/registry.h"

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::detail {

struct TakenSnapshot {
  store::Snapshot snapshot;
  /// Items whose content is still null, see flor::overlapping; null if there are none.
  std::shared_ptr<LateCopies> late;
  /// Copies from devices that may not have arrived yet, and the places of the items.
  std::vector<std::pair<std::size_t, std::shared_ptr<PendingCopy>>> pending;
  std::vector<std::pair<std::size_t, std::shared_ptr<DeviceItem>>> staged;
  std::uint64_t copied_bytes = 0;

  /// Waits until everything from devices is on the host, which the snapshot then has. Not for the
  /// thread that trains.
  void arrive();
};

/// Used by the session's thread. Content that equals that of the last snapshot is found by
/// comparing it, not by trusting version counters, which writes through raw pointers and some
/// kernels of libtorch do not move; it shares the last snapshot's memory and is not copied. Only
/// where a program has promised not to write are versions enough.
class Snapshotter {
 public:
  /// `writing()`: earlier snapshots are still being written, so that waiting frees memory. `wait`
  /// shall call its argument when it has hurried the writer.
  Snapshotter(std::function<bool()> writing, std::function<void(const std::function<void()>&)> wait)
      : writing_(std::move(writing)), wait_(std::move(wait)) {}

  /// Holds at most three times the state in memory: the last snapshot, one that is being written,
  /// and the new one. Waits where it would take more. `overlap`: where the user allows it, large
  /// tensors are left to late copies, whose memory is estimated from their versions. `untouched`:
  /// by its promise the program has not written these since the last snapshot.
  TakenSnapshot take(const Registry& registry, const std::vector<Slot>& attached,
                     bool overlap = false, bool untouched = false);
  /// Only the attached locals of a loop.
  TakenSnapshot take_attached(const Registry& registry, const std::vector<Slot>& attached);

  BufferPool& buffers() { return buffers_; }

 private:
  class Gatherer;
  class Sink;
  std::shared_ptr<std::byte> acquire(std::size_t bytes, bool pinned);
  void make_room(std::uint64_t bytes);
  void make_room_for_late_copies(const LateCopies& copies);

  std::function<bool()> writing_;
  std::function<void(const std::function<void()>&)> wait_;
  BufferPool buffers_;
  struct Last {
    store::SnapshotItem item;
    std::shared_ptr<LateItem> late;      // has the content, if not null
    std::shared_ptr<DeviceItem> device;  // likewise
    std::uint64_t snapshot = 0;      // number of the last one that had it
  };
  void forget_gone();

  std::unordered_map<std::string, Last> last_;
  std::vector<std::byte> gathered_;                // content of small items, while they are visited
  std::vector<std::shared_ptr<LateCopies>> late_;  // that may be incomplete
  std::uint64_t snapshots_ = 0;
  std::uint64_t largest_ = 0;  // bytes of the largest snapshot so far
};

}  // namespace flor::detail
