// Brings chunks into the store: encodes them, appends them to a pack, and gives them rows.
#pragma once

#include "codec.h"
#include "database.h"
#include "pack_writer.h"

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flor::store {

/// Longest chain of differences: a chunk at depth 4 needs four others decoded before it. Measured
/// on a transformer with Adam, depth 4 restores at 1.5 GB/s a core on average and 8 at 0.87, for a
/// further gain of 0.5 % in size; 0 restores at 3.5 and costs 2 %.
inline constexpr std::uint8_t kDepthMax = 4;

/// A chunk that has a row in the catalog.
struct StoredChunk {
  std::uint32_t id = 0;
  std::uint8_t depth = 0;
};

/// A chunk that has none yet.
struct NewChunk {
  struct Base {
    StoredChunk chunk;
    Digest digest;
    std::span<const std::byte> raw;
  };

  Digest digest;
  std::span<const std::byte> raw;
  ElementType type = ElementType::bytes;
  std::optional<Base> base;  ///< it may be stored as the difference to this
};

/// The steps of one transaction, in this order: `append`, `sync`, `insert` in the transaction, and
/// after it `committed`; or at any point `roll_back`. Not thread-safe.
class ChunkWriter {
 public:
  ChunkWriter(const Paths& paths, Filesystem& filesystem) : packs_(paths, filesystem) {}

  void append(std::span<const NewChunk> chunks);
  void sync() { packs_.sync(); }
  std::uint64_t appended_bytes() const { return packs_.appended(); }

  /// Inserts what was appended. Where another process stored the same content in the meantime, its
  /// row is used. In the order of `append`.
  std::vector<StoredChunk> insert(Connection& connection);
  void committed();
  void roll_back(bool may_be_referred_to) noexcept;

 private:
  struct Appended {
    RecordHeader header;
    RecordPlace place;
    std::uint32_t base = 0;
  };

  std::int64_t pack_row(const OpenPack& pack) const;
  StoredChunk insert(Connection& connection, const Appended& chunk);

  CodecContext codec_;
  PackWriter packs_;
  std::vector<std::byte> payload_;
  std::vector<Appended> appended_;
  std::vector<std::int64_t> pack_rows_;  ///< of packs_.touched(), in the present transaction
};

/// The chunk's row, if the store has that content.
std::optional<StoredChunk> find_chunk(Connection& connection, const Digest& digest);

}  // namespace flor::store
