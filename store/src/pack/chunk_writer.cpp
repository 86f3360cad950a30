#include "pack/chunk_writer.h"

#include "pack/pack_rows.h"

#include <flor/store/error.h>

#include <limits>

namespace flor::store {

void ChunkWriter::append(std::span<const NewChunk> chunks) {
  encoder_.encode(chunks, [this](const NewChunk& chunk, const EncodedChunk& encoded) {
    Appended& appended = appended_.emplace_back();
    appended.header = encoded.header;
    if (encoded.header.uses_base) appended.base = chunk.base->chunk.id;
    appended.replaces = chunk.replaces;
    appended.place = packs_.append(encoded.header, encoded.payload);
  });
}

std::vector<PackMark> ChunkWriter::marks() const {
  std::vector<PackMark> marks;
  for (const auto& pack : packs_.touched()) marks.push_back({pack->name, pack->bytes});
  return marks;
}

std::vector<StoredChunk> ChunkWriter::insert(Connection& connection) {
  pack_rows_ = put_pack_rows(connection, packs_);
  std::vector<StoredChunk> stored;
  stored.reserve(appended_.size());
  for (const Appended& chunk : appended_) stored.push_back(insert(connection, chunk));
  return stored;
}

StoredChunk ChunkWriter::insert(Connection& connection, const Appended& chunk) {
  const RecordHeader& header = chunk.header;
  const auto query = connection(
      "INSERT OR IGNORE INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, type, "
      "depth, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, nullif(?9, 0))",
      header.digest, pack_rows_.at(packs_.number_of(chunk.place)),
      static_cast<std::int64_t>(chunk.place.offset), std::int64_t{header.raw_bytes},
      std::int64_t{header.stored_bytes}, std::int64_t{header.codec},
      static_cast<std::int64_t>(header.type), std::int64_t{header.depth}, std::int64_t{chunk.base});
  query->run();
  if (query->changes() == 0) {
    const StoredChunk found = find_chunk(connection, header.digest).value();
    if (!found.foreign) return found;
    if (!chunk.replaces) throw ChunkVanished();  // fetched since: its bytes were not compared
    take_over(connection, found.id, chunk);
    return {found.id, header.depth};
  }
  const std::int64_t id = connection.last_id();
  if (id > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("the store is full: it has had 4294967295 chunks; use a new FLOR_HOME");
  }
  return {static_cast<std::uint32_t>(id), header.depth};
}

void ChunkWriter::take_over(Connection& connection, std::uint32_t id, const Appended& chunk) {
  const RecordHeader& header = chunk.header;
  connection(
      "UPDATE chunk SET pack = ?2, offset = ?3, raw_bytes = ?4, stored_bytes = ?5, codec = ?6, "
      "type "
      "= ?7, depth = ?8, base = nullif(?9, 0) WHERE id = ?1",
      std::int64_t{id}, pack_rows_.at(packs_.number_of(chunk.place)),
      static_cast<std::int64_t>(chunk.place.offset), std::int64_t{header.raw_bytes},
      std::int64_t{header.stored_bytes}, std::int64_t{header.codec},
      static_cast<std::int64_t>(header.type), std::int64_t{header.depth}, std::int64_t{chunk.base})
      ->run();
  connection("DELETE FROM foreign_chunk WHERE chunk = ?1", std::int64_t{id})->run();
}

void ChunkWriter::committed() {
  packs_.committed(pack_rows_);
  appended_.clear();
}

void ChunkWriter::roll_back(bool may_be_referred_to) noexcept {
  packs_.roll_back(may_be_referred_to);
  appended_.clear();
}

std::optional<StoredChunk> find_chunk(Connection& connection, const Digest& digest) {
  const auto row = connection(
      "SELECT id, depth, EXISTS (SELECT 1 FROM foreign_chunk WHERE foreign_chunk.chunk = chunk.id) "
      "FROM chunk WHERE digest = ?1",
      digest);
  if (!row->step()) return std::nullopt;
  return StoredChunk{static_cast<std::uint32_t>(row->integer(0)),
                     static_cast<std::uint8_t>(row->integer(1)), row->integer(2) != 0};
}

}  // namespace flor::store
