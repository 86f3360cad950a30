// Copies the registered state as it is at one moment, as fast as memory allows, and only what has
// changed.
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
  /// Copies for the items whose content is still null, see flor::overlapping; null if there are
  /// none.
  std::shared_ptr<LateCopies> late;
  /// Copies from devices that may not have arrived yet, each with the index of its item.
  std::vector<std::pair<std::size_t, std::shared_ptr<PendingCopy>>> pending;
  std::vector<std::pair<std::size_t, std::shared_ptr<DeviceItem>>> staged;
  std::uint64_t copied_bytes = 0;

  /// Waits until the content of all items from devices is on the host and in the snapshot. Not for
  /// the training thread.
  void arrive();
};

/// Takes snapshots of the registered state. To be used by the session's thread. Content equal to
/// that of the last snapshot shares its memory, and is not copied. Equality is found by comparing
/// contents: version counters are not enough, since writes through raw pointers and by some kernels
/// of libtorch do not change them. They are only trusted if the program has promised not to write.
class Snapshotter {
 public:
  /// `writing()`: earlier snapshots are still being written, so that waiting frees memory. `wait`
  /// must call its argument after it has made the writer hurry.
  Snapshotter(std::function<bool()> writing, std::function<void(const std::function<void()>&)> wait)
      : writing_(std::move(writing)), wait_(std::move(wait)) {}

  /// Keeps at most three times the state in memory: the last snapshot, one that is being written,
  /// and the new one. Waits if it would need more. `overlap`: leaves large tensors to late copies
  /// where the user allows it; their memory is estimated from their versions. `untouched`: the
  /// program has promised not to have written these tensors since the last snapshot.
  TakenSnapshot take(const Registry& registry, const std::vector<Slot>& attached,
                     bool overlap = false, bool untouched = false);
  /// Takes only the attached locals of a loop.
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
    std::shared_ptr<DeviceItem> device;  // has the content, if not null
    std::uint64_t snapshot = 0;      // number of the last snapshot that had it
  };
  void forget_gone();

  std::unordered_map<std::string, Last> last_;
  std::vector<std::byte> gathered_;  // content of small items, while they are collected
  std::vector<std::shared_ptr<LateCopies>> late_;  // those that may be incomplete
  std::uint64_t snapshots_ = 0;
  std::uint64_t largest_ = 0;  // bytes of the largest snapshot so far
};

}  // namespace flor::detail
