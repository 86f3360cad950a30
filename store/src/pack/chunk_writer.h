// Stores chunks: encodes them, appends them to a pack, and gives them rows.
#pragma once

#include "database/database.h"
#include "journal/events.h"
#include "pack/chunk_encoder.h"
#include "pack/pack_writer.h"

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace flor::store {

/// Thrown if a chunk's row, which was just found or remembered, is gone, has another depth, or has
/// come to point to a record from elsewhere: a garbage collection, archive or fetch happened
/// meanwhile.
struct ChunkVanished {};

/// A commit has these steps, in order: `append`, `sync`, then `insert` in a transaction of the
/// index (or `appended` for a journal), and finally `committed`. At any point `roll_back` or
/// `abandon` ends it instead. Not thread-safe.
class ChunkWriter {
 public:
  ChunkWriter(const Paths& paths, Filesystem& filesystem, const WriterOptions& options,
              PackOrigin origin)
      : encoder_(options), packs_(paths, filesystem, origin), origin_(origin) {}

  ChunkEncoder& encoder() { return encoder_; }
  const ChunkEncoder& encoder() const { return encoder_; }
  /// Returns the bytes of allocated memory, without the little that each chunk of a transaction
  /// takes.
  std::uint64_t memory() const { return encoder_.memory() + packs_.memory(); }

  void append(std::span<const NewChunk> chunks);
  void sync() { packs_.sync(); }
  std::uint64_t appended_bytes() const { return packs_.appended(); }
  /// Returns how far each pack is durable to which this commit may refer without asking the index.
  std::vector<PackMark> marks() const;

  /// Inserts rows of the appended chunks, in the order of `append`. If another process has
  /// meanwhile stored the same content, its row is used, unless its record came from elsewhere and
  /// the new chunk `replaces` it: then the row is changed to the new record, so that content
  /// recorded here never depends on bytes that an attacker may have chosen.
  std::vector<StoredChunk> insert(Connection& connection);
  /// Returns the appended chunks in the order of `append`. They have no rows yet.
  std::vector<StoredChunk> appended() const;
  /// Looks for the content in the pack that is being written, to which this commit may refer
  /// without asking the index.
  std::optional<StoredChunk> find_present(const Digest& digest);
  void committed();
  /// See the functions of PackWriter with the same names.
  void roll_back(bool may_be_referred_to) noexcept;
  void abandon() noexcept;

 private:
  struct Appended {
    RecordHeader header;
    RecordPlace place;
    std::uint32_t base = 0;
    bool replaces = false;
    bool own = false;
  };

  StoredChunk insert(Connection& connection, const Appended& chunk);
  void forget_filled();

  ChunkEncoder encoder_;
  PackWriter packs_;
  PackOrigin origin_;
  std::vector<Appended> appended_;
  std::vector<std::int64_t> pack_rows_;  ///< row ids of packs_.touched() in the current transaction
  std::optional<std::uint64_t> present_pack_;         ///< key of the pack that `present_` describes
  std::unordered_map<Digest, StoredChunk> present_;  ///< committed records in that pack
};

/// Returns the row of the chunk with this digest, if it is stored.
std::optional<StoredChunk> find_chunk(Connection& connection, const Digest& digest);

}  // namespace flor::store
