// Gives checkpoints and objects that journals name their chunks: rows of `chunk`, from the records
// in the packs.
#pragma once

#include "database/database.h"
#include "journal/events.h"
#include "pack/pack_scan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::store {

/// Collects what was entered by digests alone, and enters their chunks at the end: what was deleted
/// meanwhile needs none. Within a transaction of the caller.
class Placing {
 public:
  explicit Placing(Database& database) : database_(database) {}

  /// A row of `checkpoint` or `object`, whose column `chunks` is empty yet.
  /// `own`: of a run that was recorded here.
  void expect(const char* table, std::int64_t id, const std::vector<Digest>& chunks, bool own);
  /// The packs go that far. `own`: a run that was recorded here says so.
  void know(const std::vector<PackMark>& packs, bool own);

  /// What cannot be given its chunks is entered as deleted. Returns a line for each.
  std::vector<std::string> finish();

 private:
  struct Expected {
    std::string table;
    std::int64_t id = 0;
    std::vector<Digest> chunks;
    bool own = false;
  };
  /// The row of the content; with `depth` only one of that depth.
  std::optional<std::uint32_t> id_of(const Digest& digest, std::optional<std::uint8_t> depth = {});
  std::optional<std::uint32_t> place(const Digest& digest, std::optional<std::uint8_t> depth);
  std::string table_of(const Expected& expected);
  void place_all();
  std::optional<std::uint32_t> put(const FoundRecord& record);
  std::int64_t row_of_pack(std::int64_t number, std::uint64_t bytes);
  void scan();
  bool is_sound(const FoundRecord& record);
  void mark_origin(const std::vector<std::uint32_t>& ids, bool own);
  std::string give_up(const Expected& expected);

  Database& database_;
  std::vector<Expected> expected_;
  std::map<std::string, std::uint64_t> packs_;  ///< as far as events say
  std::set<std::string> own_;
  // The packs, numbered as they were found.
  bool scanned_ = false;
  PackScan found_;
  std::vector<std::string> names_;
  std::map<std::int64_t, std::int64_t> rows_;
  std::unordered_map<Digest, std::uint32_t> ids_;
  std::set<std::uint32_t> placed_;  ///< rows that were made here
};

}  // namespace flor::store
