// Writes ZIP files whose entries are uncompressed and aligned, so that they can be mapped into
// memory.
#pragma once

#include "file/new_file.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Without ZIP64, thus up to 4 GiB and 65 535 entries. Throws UsageError beyond that.
class ZipWriter {
 public:
  explicit ZipWriter(NewFile& file) : file_(file) {}

  void add(std::string_view name, std::span<const std::byte> content);
  /// Writes the directory of the archive. Nothing can be added after it.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint32_t size = 0;
    std::uint32_t offset = 0;
  };

  NewFile& file_;
  std::vector<Entry> entries_;
};

}  // namespace flor::store
