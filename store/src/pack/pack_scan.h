// Finds all records in the packs themselves, whether or not they have a row.
#pragma once

#include "pack/chunk_reader.h"
#include "pack/pack_record.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::store {

struct FoundRecord {
  std::int64_t pack = 0;
  std::uint64_t offset = 0;
  RecordHeader header;
  PackOrigin origin = PackOrigin::here;
};

class PackScan {
 public:
  /// Scans a pack from `from`, where a record begins, to `bytes`, and skips the holes that `flor
  /// gc` left. After a damaged header it continues at the next of `offsets`, the sorted places that
  /// the catalog knows; after the last of them, at the next sound header.
  void add(const File& file, std::int64_t pack, PackOrigin origin, std::uint64_t bytes,
           const std::vector<std::uint64_t>& offsets, std::uint64_t from = kPackHeaderBytes);

  /// Records by pack and offset, thus in the order in which each pack was written.
  const std::map<std::pair<std::int64_t, std::uint64_t>, RecordHeader>& records() const {
    return records_;
  }
  PackOrigin origin(std::int64_t pack) const { return origins_.at(pack); }
  /// Returns all records with this content.
  std::vector<FoundRecord> find(const Digest& digest) const;

 private:
  std::map<std::int64_t, PackOrigin> origins_;
  std::map<std::pair<std::int64_t, std::uint64_t>, RecordHeader> records_;
  std::unordered_multimap<Digest, std::pair<std::int64_t, std::uint64_t>> by_digest_;
};

/// Returns the row that this record would have.
ChunkRow row_of(const FoundRecord& record, std::uint32_t id, std::uint32_t base);

}  // namespace flor::store
