// A tensor of a snapshot that lies on a device: copied there at once, brought to the host later.
#pragma once

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace flor::detail {

/// Thread-safe. Each item is brought by the thread that writes checkpoints, and compared with by the
/// thread that takes the next one.
class DeviceItem {
 public:
  /// `buffer`: pinned memory for the content. `before`: the item that `copy` was compared with, or
  /// null.
  DeviceItem(std::shared_ptr<std::byte> buffer, std::shared_ptr<StagedCopy> copy,
             std::shared_ptr<DeviceItem> before)
      : buffer_(std::move(buffer)), copy_(std::move(copy)), before_(std::move(before)) {}

  const std::shared_ptr<StagedCopy>& copy() const { return copy_; }
  /// The content on the host: that of the item before, where the bits are the same. Waits for the
  /// device.
  store::Content bring();
  /// How many items, itself included, wait to be brought for this one to be.
  int waiting() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<std::byte> buffer_;
  const std::shared_ptr<StagedCopy> copy_;
  std::shared_ptr<DeviceItem> before_;
  store::Content content_;
};

}  // namespace flor::detail
