// A file system in memory that has one file, for tests of framed files and packs.
#pragma once

#include "file/filesystem.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

namespace flor::store {

class OneFile : public Filesystem {
 public:
  OneFile() = default;
  explicit OneFile(std::vector<std::byte> bytes) : content(std::move(bytes)) {}

  std::vector<std::byte> content;

  int open(const char*, int, mode_t) override { return 1000; }
  int close(int) override { return 0; }
  ssize_t pread(int, void* bytes, std::size_t size, off_t offset) override {
    if (offset < 0) {
      errno = EINVAL;
      return -1;
    }
    const auto from = std::min(static_cast<std::size_t>(offset), content.size());
    const std::size_t count = std::min(size, content.size() - from);
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(from), count,
                static_cast<std::byte*>(bytes));
    return static_cast<ssize_t>(count);
  }
  ssize_t pwrite(int, const void* bytes, std::size_t size, off_t offset) override {
    const auto end = static_cast<std::size_t>(offset) + size;
    if (content.size() < end) content.resize(end);
    std::copy_n(static_cast<const std::byte*>(bytes), size, content.begin() + offset);
    return static_cast<ssize_t>(size);
  }
  int fdatasync(int) override { return 0; }
};

}  // namespace flor::store
