// Connects checkpoints and objects that journals name with their chunks: makes rows of `chunk` from
// the records in the packs.
#pragma once

#include "database/database.h"
#include "journal/events.h"
#include "pack/chunk_encoder.h"
#include "pack/pack_scan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::store {

/// Collects rows that were entered with digests only, and assigns chunks at the end, when deleted
/// rows have dropped out. Within a transaction of the caller.
class Placing {
 public:
  explicit Placing(Database& database) : database_(database) {}

  /// Announces the digests of the chunks of a row of `checkpoint` or `object`; replaces an earlier
  /// call for the same row. Records from elsewhere are used only if `origin` says that the content
  /// came from elsewhere, too.
  void expect(const char* table, std::int64_t id, const std::vector<Digest>& chunks,
              PackOrigin origin);
  /// Notes how long the packs are according to an event. The packs have the origin of the event.
  void know(const std::vector<PackMark>& packs, PackOrigin origin);

  /// Assigns the chunks. Rows whose chunks are missing are marked as deleted; returns a line for
  /// each.
  std::vector<std::string> finish();

 private:
  struct Expected {
    std::string table;
    std::int64_t id = 0;
    std::vector<Digest> chunks;
    PackOrigin origin = PackOrigin::here;
  };
  static constexpr unsigned kAnyDepth = 256;
  struct Pack {
    std::string name;
    PackOrigin origin = PackOrigin::here;
    std::uint64_t from = 0, to = 0;  ///< the scanned part
    std::uint64_t size = 0;          ///< size of the file at that time
    bool is_written = false;         ///< a process was writing it at that time
  };
  /// Returns the row of a chunk with this content and a depth below `depth_end`. `origin` here:
  /// only records written here, with all bases written here.
  std::optional<std::uint32_t> id_of(const Digest& digest, PackOrigin origin,
                                     unsigned depth_end = kAnyDepth);
  std::optional<StoredChunk> place(const Digest& digest, PackOrigin origin, unsigned depth_end,
                                   std::uint32_t row);
  std::optional<StoredChunk> place_among(const Digest& digest, PackOrigin origin,
                                         unsigned depth_end, std::uint32_t row);
  std::string table_of(const Expected& expected);
  void place_all();
  void enter(const Expected& expected, std::vector<std::string>& lost);
  std::optional<StoredChunk> put(const FoundRecord& record, std::uint32_t row);
  PackOrigin origin_of(const std::string& pack, const File& file) const;
  bool is_vouched_for(const FoundRecord& record) const;
  bool may_go(const FoundRecord& record) const;
  bool is_being_written(const File& pack) const;
  const Pack& pack_of(const FoundRecord& record) const;
  std::int64_t row_of_pack(std::int64_t number, std::uint64_t bytes);
  bool has_shallower(const Digest& digest, PackOrigin origin, unsigned depth) const;
  void scan(const std::string& pack, std::uint64_t from, std::optional<std::uint64_t> to);
  void scan_named();
  void scan_all();
  bool is_sound(const FoundRecord& record);
  std::string give_up(const Expected& expected);

  Database& database_;
  std::map<std::pair<std::string, std::int64_t>, Expected> expected_;  ///< by table and id
  std::map<std::string, std::uint64_t> named_;  ///< lengths of packs according to events
  std::set<std::string> own_;                   ///< packs named by recordings of this home
  // Packs, numbered in the order in which they were found.
  bool has_all_ = false;
  std::map<std::string, std::int64_t> numbers_;
  PackScan found_;
  std::vector<Pack> packs_;
  std::unordered_map<Digest, StoredChunk> known_;
};

}  // namespace flor::store
