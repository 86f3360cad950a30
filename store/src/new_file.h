// A file that appears under its name only when it is whole.
#pragma once

#include "filesystem.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace flor::store {

/// Written from front to back. Without `finish` nothing is left of it.
class NewFile {
 public:
  NewFile(Filesystem& filesystem, std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  std::uint64_t bytes() const { return bytes_; }
  /// Syncs it and puts it in the place of `path`.
  void finish();

 private:
  Filesystem& filesystem_;
  std::filesystem::path path_, temporary_;
  std::unique_ptr<File> file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace flor::store
