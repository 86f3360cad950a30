// The part of `check` that examines chunks: their rows, records and content.
#pragma once

#include "pack/chunk_reader.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::store {

/// A row of `pack`, and the state of its file.
struct PackState {
  std::string name;
  std::uint64_t committed = 0;         ///< length according to the catalog
  std::uint64_t size = 0;              ///< length of the file
  PackOrigin origin = PackOrigin::here;
  std::optional<std::size_t> finding;  ///< index of the finding about it, if it cannot be read
                                       ///< completely
};

using ChunkRows = std::unordered_map<std::uint32_t, ChunkRow>;
/// Unreadable chunks, each with the index of the finding that names the cause.
using BadChunks = std::unordered_map<std::uint32_t, std::size_t>;

class ChunkChecker {
 public:
  /// Adds its results to `bad` and `report`.
  ChunkChecker(const Database& database, const std::map<std::int64_t, PackState>& packs,
               const ChunkRows& chunks, BadChunks& bad, CheckReport& report);

  /// Checks that packs and bases exist and match the rows.
  void check_rows();
  /// Checks that every record decodes to the content with its digest. Reads and decodes each record
  /// once: whole chunks first, and after each one the differences built on it.
  void read_all();
  /// Marks chunks as bad that are differences to bad chunks.
  void spread_to_dependents();

 private:
  void add(std::uint32_t chunk, Finding::Kind kind, std::string what);
  void check_row(const ChunkRow& row);
  void read_tree(const ChunkRow& row, std::span<const std::byte> base, bool base_is_good,
                 std::size_t level);
  bool read_one(const ChunkRow& row, std::span<const std::byte> base, bool base_is_good,
                std::span<std::byte> raw);

  const std::map<std::int64_t, PackState>& packs_;
  const ChunkRows& chunks_;
  BadChunks& bad_;
  CheckReport& report_;
  PackReader reader_;
  DecodeScratch scratch_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> dependents_;
};

}  // namespace flor::store
