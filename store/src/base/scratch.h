// Working memory that is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace flor::store {

/// A buffer that grows on demand. It is not initialised, and growing discards its content.
class Scratch {
 public:
  std::uint8_t* reserve(std::size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();
      capacity_ = 0;  // in case there is no memory
      memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    return memory_.get();
  }
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace flor::store
