// A tensor of a snapshot that is on a device: it is copied on the device at once, and to the host
// later.
#pragma once

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace flor::detail {

/// One tensor on a device, as one snapshot has it. Thread-safe. The writer's thread brings each
/// item to the host, while the thread that takes the next snapshot may compare with it.
class DeviceItem {
 public:
  /// `buffer` is pinned memory for the content. `before` is the item with which `copy` was
  /// compared, or null.
  DeviceItem(std::shared_ptr<std::byte> buffer, std::shared_ptr<StagedCopy> copy,
             std::shared_ptr<DeviceItem> before)
      : buffer_(std::move(buffer)), copy_(std::move(copy)), before_(std::move(before)) {}

  const std::shared_ptr<StagedCopy>& copy() const { return copy_; }
  /// The content on the host. It is the content of the item before if the bits are equal. Waits for
  /// the device.
  store::Content bring();
  /// How many items, including this one, must be brought to the host before this one's content is
  /// there.
  int waiting() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<std::byte> buffer_;
  const std::shared_ptr<StagedCopy> copy_;
  std::shared_ptr<DeviceItem> before_;
  store::Content content_;
};

}  // namespace flor::detail
