#include "pack/chunk_writer.h"

#include "pack/pack_rows.h"

namespace flor::store {

void ChunkWriter::append(std::span<const NewChunk> chunks) {
  encoder_.encode(chunks, [this](const NewChunk& chunk, const EncodedChunk& encoded) {
    Appended& appended = appended_.emplace_back();
    appended.header = encoded.header;
    if (encoded.header.uses_base) appended.base = chunk.base->chunk.id;
    appended.own = !encoded.header.uses_base || chunk.base->chunk.own;
    appended.replaces = chunk.replaces;
    appended.place = packs_.append(encoded.header, encoded.payload);
  });
}

std::vector<PackMark> ChunkWriter::marks() const {
  std::vector<PackMark> marks;
  for (const auto& pack : packs_.in_use()) marks.push_back({pack->name, pack->bytes});
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
  const auto found = find_chunk(connection, header.digest);
  if (found && (!found->foreign || origin_ == PackOrigin::elsewhere)) return *found;
  if (found && !chunk.replaces) throw ChunkVanished();  // the content was fetched meanwhile
  const std::uint32_t id = put_chunk_row(
      connection, found ? found->id : 0, header, origin_,
      {.pack = pack_rows_.at(packs_.number_of(chunk.place)), .offset = chunk.place.offset},
      chunk.base);
  return {id, header.depth, origin_ == PackOrigin::elsewhere, chunk.own};
}

std::vector<StoredChunk> ChunkWriter::appended() const {
  std::vector<StoredChunk> stored;
  stored.reserve(appended_.size());
  for (const Appended& chunk : appended_) {
    stored.push_back({0, chunk.header.depth, origin_ == PackOrigin::elsewhere, chunk.own});
  }
  return stored;
}

void ChunkWriter::forget_filled() {
  const OpenPack* pack = packs_.present();
  const auto now = pack ? std::optional(pack->key) : std::nullopt;
  if (now != present_pack_) present_.clear();
  present_pack_ = now;
}

std::optional<StoredChunk> ChunkWriter::find_present(const Digest& digest) {
  forget_filled();
  const auto known = present_.find(digest);
  return known != present_.end() ? std::optional(known->second) : std::nullopt;
}

void ChunkWriter::committed() {
  forget_filled();
  const std::vector<StoredChunk> stored = appended();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (appended_[i].place.pack->key == present_pack_)
      present_.insert_or_assign(appended_[i].header.digest, stored[i]);
  }
  packs_.committed();
  appended_.clear();
}

void ChunkWriter::roll_back(bool may_be_referred_to) noexcept {
  packs_.roll_back(may_be_referred_to);
  appended_.clear();
}

void ChunkWriter::abandon() noexcept {
  packs_.abandon();
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
