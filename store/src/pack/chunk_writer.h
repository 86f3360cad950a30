// Brings chunks into the store: encodes them, appends them to a pack, and gives them rows.
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

/// Thrown if a row that was remembered, or just found, is gone, was moved in its chain, or comes
/// from elsewhere since: a garbage collection, an archive or a fetch came between.
struct ChunkVanished {};

/// The steps of one commit, in this order: `append`, `sync`, then `insert` in a transaction of the
/// index, or `appended` for a journal, and after it `committed`; or at any point `roll_back` or
/// `abandon`. Not thread-safe.
class ChunkWriter {
 public:
  ChunkWriter(const Paths& paths, Filesystem& filesystem, const WriterOptions& options,
              PackOrigin origin)
      : encoder_(options), packs_(paths, filesystem, origin), origin_(origin) {}

  ChunkEncoder& encoder() { return encoder_; }
  const ChunkEncoder& encoder() const { return encoder_; }
  /// Bytes of memory that it holds, apart from some for each chunk of a transaction.
  std::uint64_t memory() const { return encoder_.memory() + packs_.memory(); }

  void append(std::span<const NewChunk> chunks);
  void sync() { packs_.sync(); }
  std::uint64_t appended_bytes() const { return packs_.appended(); }
  /// The ends of the packs to which this commit may refer without asking the index.
  std::vector<PackMark> marks() const;

  /// Inserts the appended chunks, in the order of `append`. Where another process stored the same
  /// content in the meantime, its row is used. The row of a record that came from elsewhere becomes
  /// that of the chunk which `replaces` it: content recorded here depends on no bytes that an
  /// attacker may have chosen.
  std::vector<StoredChunk> insert(Connection& connection);
  /// The chunks that were appended, without rows, in the order of `append`.
  std::vector<StoredChunk> appended() const;
  /// A chunk of the pack that is being written, to which this commit may refer without asking the
  /// index.
  std::optional<StoredChunk> find_present(const Digest& digest);
  void committed();
  /// As those of PackWriter.
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
  std::vector<std::int64_t> pack_rows_;  ///< of packs_.touched(), in the present transaction
  std::optional<std::uint64_t> present_pack_;         ///< its key
  std::unordered_map<Digest, StoredChunk> present_;  ///< committed records in it
};

/// The chunk's row, if the store has that content.
std::optional<StoredChunk> find_chunk(Connection& connection, const Digest& digest);

}  // namespace flor::store
