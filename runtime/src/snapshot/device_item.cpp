#include "snapshot/device_item.h"

namespace flor::detail {

int DeviceItem::waiting() const {
  const std::lock_guard lock(mutex_);
  if (content_) return 0;
  return 1 + (before_ ? before_->waiting() : 0);
}

store::Content DeviceItem::bring() {
  const std::lock_guard lock(mutex_);
  if (content_) return content_;
  if (before_ && copy_->unchanged()) {
    content_ = before_->bring();
  } else {
    copy_->copy(buffer_.get());
    content_ = buffer_;
  }
  buffer_.reset();
  before_.reset();
  return content_;
}

}  // namespace flor::detail
