// A ZIP file of entries that are stored as they are, aligned for mapping into memory.
#pragma once

#include "file/new_file.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Writes no ZIP64: up to 4 GiB and 65 535 entries; throws UsageError beyond that.
class ZipWriter {
 public:
  explicit ZipWriter(NewFile& file) : file_(file) {}

  void add(std::string_view name, std::span<const std::byte> content);
  /// Writes the directory; nothing may be added after it.
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
