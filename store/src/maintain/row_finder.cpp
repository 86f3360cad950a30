#include "maintain/row_finder.h"

#include "database/manifest.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>

namespace flor::store {

std::string flaw_of(const StoredManifest& manifest, const ChunkRows& chunks) try {
  const Layout layout = decode_layout(manifest.layout);
  const std::vector<std::uint32_t> ids = decode_ids(manifest.ids);
  std::vector<Digest> digests, pieces;
  std::size_t next = 0;
  for (const Block& block : layout.blocks) {
    pieces.clear();
    const std::size_t count = chunk_count(block.bytes);
    for (std::size_t i = 0; i < count; ++i, ++next) {
      if (next == ids.size()) return "it has too few chunks";
      const auto chunk = chunks.find(ids[next]);
      if (chunk == chunks.end()) {
        return fmt::format("chunk {} of {} is lost", ids[next], layout.title(block));
      }
      if (chunk->second.raw_bytes != chunk_bytes(block.bytes, i)) {
        return fmt::format("{} has a chunk of the wrong length", layout.title(block));
      }
      pieces.push_back(chunk->second.digest);
    }
    digests.push_back(item_digest(pieces));
  }
  if (next != ids.size()) return "it has too many chunks";
  if (manifest_digest(manifest.layout, digests) != manifest.digest) {
    return "its digest in the catalog is not that of its items";
  }
  return {};
} catch (const Damaged& error) {
  return error.what();
}

std::vector<std::uint32_t> RowFinder::find() {
  for (const auto& [id, row] : chunks_) {
    ids_.emplace(row.digest, id);
    next_id_ = std::max(next_id_, id + 1);
  }
  find_bases();
  collect_missing();
  if (!missing_.empty()) {
    next_id_ = std::max(next_id_, missing_.rbegin()->first + 1);
    guess();
    accept_proven();
  }
  return std::move(found_);
}

/// Finds the digests of missing bases: a record names the digest of its base, and the record's row
/// the base's id.
void RowFinder::find_bases() {
  std::vector<const ChunkRow*> rows;
  for (const auto& [id, row] : chunks_) {
    if (row.base != 0 && !chunks_.contains(row.base)) rows.push_back(&row);
  }
  std::vector<std::pair<std::uint32_t, FoundRecord>> bases;
  for (const ChunkRow* row : rows) {
    const auto record = scan_.records().find({row->pack, row->offset});
    if (record == scan_.records().end() || record->second.digest != row->digest) continue;
    const auto found = find_record(record->second.base, origin_of(row->base));
    if (found) bases.emplace_back(row->base, *found);
  }
  for (const auto& [id, record] : bases) {
    if (!chunks_.contains(id) && !ids_.contains(record.header.digest)) accept(id, record);
  }
}

void RowFinder::collect_missing() {
  for (const StoredManifest& manifest : manifests_) {
    try {
      const std::vector<std::uint32_t> ids = decode_ids(manifest.ids);
      std::size_t next = 0;
      const Layout layout = decode_layout(manifest.layout);
      for (const Block& block : layout.blocks) {
        const std::size_t count = chunk_count(block.bytes);
        for (std::size_t i = 0; i < count && next < ids.size(); ++i, ++next) {
          if (!chunks_.contains(ids[next])) missing_[ids[next]] = chunk_bytes(block.bytes, i);
        }
      }
    } catch (const Damaged&) {
      continue;  // its header tells nothing
    }
  }
}

void RowFinder::guess() {
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> known;
  for (const auto& [id, row] : chunks_) known[{row.pack, row.offset}] = id;
  auto id = missing_.begin();
  std::int64_t pack = 0;
  for (const auto& [place, header] : scan_.records()) {
    if (place.first != pack) {
      // Ids follow the order of records only within each pack.
      pack = place.first;
      id = missing_.begin();
    }
    if (const auto row = known.find(place); row != known.end()) {
      id = missing_.upper_bound(row->second);
      continue;
    }
    if (ids_.contains(header.digest)) continue;
    while (id != missing_.end() && guesses_.contains(id->first)) ++id;
    const auto next = known.upper_bound(place);
    const bool in_between = next == known.end() || next->first.first != pack ||
                            (id != missing_.end() && id->first < next->second);
    if (id == missing_.end() || !in_between || id->second != header.raw_bytes) continue;
    if (scan_.origin(pack) != origin_of(id->first)) continue;
    guesses_.emplace(id->first, FoundRecord{place.first, place.second, header, scan_.origin(pack)});
    guessed_ids_.emplace(header.digest, id->first);
    ++id;
  }
}

void RowFinder::accept_proven() {
  ChunkRows all = chunks_;
  for (const auto& [id, record] : guesses_) all.emplace(id, row_of(record, id, 0));
  for (const StoredManifest& manifest : manifests_) {
    if (!flaw_of(manifest, all).empty()) continue;
    for (const std::uint32_t id : decode_ids(manifest.ids)) {
      if (!chunks_.contains(id)) accept(id, guesses_.at(id));
    }
  }
}

std::uint32_t RowFinder::accept(std::uint32_t id, const FoundRecord& record) {
  // Added before its base, so that a circular chain ends.
  ids_.emplace(record.header.digest, id);
  const std::uint32_t base =
      record.header.uses_base ? id_of_base(record.header.base, record.origin) : 0;
  chunks_.emplace(id, row_of(record, id, base));
  found_.push_back(id);
  return id;
}

std::optional<FoundRecord> RowFinder::find_record(const Digest& digest, PackOrigin origin) const {
  for (const FoundRecord& record : scan_.find(digest)) {
    if (record.origin == PackOrigin::here || origin == PackOrigin::elsewhere) return record;
  }
  return std::nullopt;
}

std::uint32_t RowFinder::id_of_base(const Digest& digest, PackOrigin origin) {
  if (const auto known = ids_.find(digest); known != ids_.end()) return known->second;
  const auto found = find_record(digest, origin);
  const auto guessed = guessed_ids_.find(digest);
  const std::uint32_t id = guessed != guessed_ids_.end() ? guessed->second : next_id_++;
  // If no record of the base exists, the examination will find the row bad that builds on it.
  return found ? accept(id, *found) : id;
}

}  // namespace flor::store
