// A disk in memory, for fuzz targets of what reads files.
#pragma once

#include "filesystem.h"

#include <algorithm>
#include <cerrno>
#include <span>

namespace flor::store {

/// A disk with one file.
class OneFile : public Filesystem {
 public:
  explicit OneFile(std::span<const std::byte> content) : content_(content) {}
  int open(const char*, int, mode_t) override { return 1000; }
  int close(int) override { return 0; }
  ssize_t pread(int, void* bytes, std::size_t size, off_t offset) override {
    if (offset < 0) {
      errno = EINVAL;
      return -1;
    }
    const auto from = std::min(static_cast<std::size_t>(offset), content_.size());
    const std::size_t count = std::min(size, content_.size() - from);
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(from), count,
                static_cast<std::byte*>(bytes));
    return static_cast<ssize_t>(count);
  }

 private:
  std::span<const std::byte> content_;
};

}  // namespace flor::store
