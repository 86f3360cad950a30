// Scans the packs themselves for all records in them, with or without a row.
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
  /// Walks through a pack, from the beginning of a record to `bytes`, past the holes that `flor gc`
  /// left. After a damaged header it continues at the next of `offsets`, which are the places that
  /// the catalog knows, sorted; after the last of them, at the next sound header.
  void add(const File& file, std::int64_t pack, PackOrigin origin, std::uint64_t bytes,
           const std::vector<std::uint64_t>& offsets, std::uint64_t from = kPackHeaderBytes);

  /// By place, thus in the order in which each pack was written.
  const std::map<std::pair<std::int64_t, std::uint64_t>, RecordHeader>& records() const {
    return records_;
  }
  PackOrigin origin(std::int64_t pack) const { return origins_.at(pack); }
  /// All records of that content.
  std::vector<FoundRecord> find(const Digest& digest) const;

 private:
  std::map<std::int64_t, PackOrigin> origins_;
  std::map<std::pair<std::int64_t, std::uint64_t>, RecordHeader> records_;
  std::unordered_multimap<Digest, std::pair<std::int64_t, std::uint64_t>> by_digest_;
};

/// The row that such a record would have.
ChunkRow row_of(const FoundRecord& record, std::uint32_t id, std::uint32_t base);

}  // namespace flor::store
