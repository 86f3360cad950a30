// Reads chunks: loads their rows from the catalog, reads their records from packs, decodes and
// verifies them.
#pragma once

#include "codec/decode_scratch.h"
#include "database/database.h"
#include "pack/pack_record.h"

#include <flor/store/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::store {

/// Thrown if a pack file is missing, or has a hole in place of a record. Either it was lost, or
/// garbage was collected after the rows were loaded.
struct PackMissing : Damaged {
  using Damaged::Damaged;
};

/// A row of the table `chunk`.
struct ChunkRow {
  std::uint32_t id = 0;
  Digest digest;
  std::int64_t pack = 0;
  std::uint64_t offset = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint8_t codec = 0;
  ElementType type = ElementType::bytes;
  std::uint8_t depth = 0;
  std::uint32_t base = 0;  ///< 0: none
};

/// The columns of `chunk` in the order that `read_chunk_row` expects.
#define FLOR_CHUNK_COLUMNS \
  "SELECT id, digest, pack, offset, raw_bytes, stored_bytes, codec, type, depth, base FROM chunk "

ChunkRow read_chunk_row(const Query& row);

/// Returns the header of a pack; nullopt if it is damaged.
std::optional<PackHeader> read_pack_header(const File& file);

/// Reads records of packs, opening each pack when it is first needed. Thread-safe.
class PackReader {
 public:
  PackReader(Paths paths, Filesystem& filesystem) : paths_(std::move(paths)), files_(filesystem) {}

  void add(std::int64_t pack, const std::string& name);
  bool knows(std::int64_t pack) const;
  std::filesystem::path path(std::int64_t pack) const;
  /// Returns the open file of the pack. Throws PackMissing if there is none, Error if a newer Flor
  /// wrote it.
  const File& open(std::int64_t pack);

  /// Reads the record of `row` into `buffer`, which grows as needed, and returns its payload.
  /// Throws Damaged if the bytes are not that record. `verify_payload`: also compares the payload
  /// with its checksum.
  std::span<const std::byte> read(const ChunkRow& row, std::vector<std::byte>& buffer,
                                  bool verify_payload);

 private:
  struct Pack {
    std::string name;
    std::unique_ptr<File> file;
  };
  Paths paths_;
  Filesystem& files_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, Pack> packs_;
};

/// A set of chunks, together with all chunks that they are differences to.
class ChunkReader {
 public:
  ChunkReader(Paths paths, Filesystem& filesystem) : packs_(std::move(paths), filesystem) {}

  /// Loads the rows of these chunks and their bases. Throws Damaged if one is missing or invalid.
  void load_rows(Connection& connection, std::span<const std::uint32_t> ids);
  const ChunkRow& row(std::uint32_t id) const { return rows_.at(id); }
  /// True if all chunks are at the same places as in `other`.
  bool lies_like(const ChunkReader& other) const;

  /// Throws Damaged unless the chunk has this length.
  void require_length(std::uint32_t id, std::size_t bytes) const;
  /// Decodes one record without comparing the result with its digest. `base` and `raw` may be the
  /// same memory: the difference is then applied in place. Thread-safe.
  void decode_record(DecodeScratch& scratch, const ChunkRow& row, std::span<const std::byte> base,
                     std::span<std::byte> raw) const;
  /// Decodes one record, and returns whether the result has the digest of the chunk.
  bool decode_and_verify(DecodeScratch& scratch, const ChunkRow& row,
                         std::span<const std::byte> base, std::span<std::byte> raw) const;
  /// Decodes a chunk of `raw.size()` bytes and the chunks that it builds upon, and compares each
  /// with its digest. Throws Damaged, which names the faulty record. Thread-safe.
  void read(DecodeScratch& scratch, std::uint32_t id, std::span<std::byte> raw) const;

  /// Returns the file of a pack, for read-ahead hints.
  const File& open(std::int64_t pack) const { return packs_.open(pack); }

 private:
  void load_rows(Connection& connection, std::uint32_t first, std::uint32_t last,
                 std::span<const std::uint32_t> wanted);
  void load_pack(Connection& connection, const ChunkRow& row);
  void check_bases() const;
  void read(DecodeScratch& scratch, const ChunkRow& row, std::span<std::byte> raw,
            std::size_t level) const;
  /// Calls `decode` with the record's payload. An exception is rethrown with the name of the
  /// record.
  template <typename Decode>
  void with_payload(DecodeScratch& scratch, const ChunkRow& row, const Decode& decode) const;

  mutable PackReader packs_;
  std::unordered_map<std::uint32_t, ChunkRow> rows_;
};

/// Returns "the record at offset 4711 of /home/.../packs/0123456789abcdef.pack".
std::string describe(const ChunkRow& row, const std::filesystem::path& pack);

}  // namespace flor::store
