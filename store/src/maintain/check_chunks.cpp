#include "maintain/check_chunks.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

namespace flor::store {

ChunkChecker::ChunkChecker(const Database& database, const std::map<std::int64_t, PackState>& packs,
                           const ChunkRows& chunks, BadChunks& bad, CheckReport& report)
    : packs_(packs),
      chunks_(chunks),
      bad_(bad),
      report_(report),
      reader_(database.paths, database.files) {
  for (const auto& [id, pack] : packs_) reader_.add(id, pack.name);
}

void ChunkChecker::add(std::uint32_t chunk, Finding::Kind kind, std::string what) {
  report_.findings.push_back({kind, std::move(what)});
  bad_.emplace(chunk, report_.findings.size() - 1);
}

void ChunkChecker::check_rows() {
  for (const auto& [id, row] : chunks_) check_row(row);
  for (auto& [base, dependents] : dependents_) std::sort(dependents.begin(), dependents.end());
}

void ChunkChecker::check_row(const ChunkRow& row) {
  const auto pack = packs_.find(row.pack);
  if (pack == packs_.end()) {
    add(row.id, Finding::Kind::catalog,
        fmt::format("the catalog: chunk {} lies in a pack that is not in the catalog", row.id));
    return;
  }
  const std::uint64_t end = row.offset + kRecordHeaderBytes + row.stored_bytes;
  if (pack->second.finding && end > pack->second.size) {
    bad_.emplace(row.id, *pack->second.finding);
  } else if (end > pack->second.committed) {
    add(row.id, Finding::Kind::catalog,
        fmt::format("the catalog: chunk {} lies beyond the end of its pack", row.id));
  }
  if (row.base == 0) return;
  const auto base = chunks_.find(row.base);
  if (base == chunks_.end()) {
    if (bad_.contains(row.base)) {
      dependents_[row.base].push_back(row.id);
    } else {
      add(row.id, Finding::Kind::missing_chunk,
          fmt::format("chunk {} builds upon chunk {}, which is missing", row.id, row.base));
    }
  } else if (base->second.depth >= row.depth || base->second.raw_bytes != row.raw_bytes) {
    add(row.id, Finding::Kind::catalog,
        fmt::format("the catalog: chunk {} does not fit its base {}", row.id, row.base));
  } else {
    dependents_[row.base].push_back(row.id);
  }
}

void ChunkChecker::read_all() {
  std::vector<const ChunkRow*> whole;
  for (const auto& [id, row] : chunks_) {
    if (row.base == 0) whole.push_back(&row);
  }
  std::sort(whole.begin(), whole.end(), [](const ChunkRow* a, const ChunkRow* b) {
    return std::tie(a->pack, a->offset) < std::tie(b->pack, b->offset);
  });
  // A chain is no longer than its depth, which is one byte.
  scratch_.bases.resize(256);
  for (const ChunkRow* row : whole) read_tree(*row, {}, true, 0);
}

void ChunkChecker::read_tree(const ChunkRow& row, std::span<const std::byte> base,
                             bool base_is_good, std::size_t level) {
  scratch_.bases[level].resize(row.raw_bytes);
  const std::span<std::byte> raw(scratch_.bases[level]);
  const bool is_good = read_one(row, base, base_is_good, raw);
  const auto dependents = dependents_.find(row.id);
  if (dependents == dependents_.end()) return;
  for (const std::uint32_t id : dependents->second) {
    read_tree(chunks_.at(id), raw, is_good, level + 1);
  }
}

bool ChunkChecker::read_one(const ChunkRow& row, std::span<const std::byte> base, bool base_is_good,
                            std::span<std::byte> raw) {
  if (bad_.contains(row.id)) return false;
  try {
    const auto payload = reader_.read(row, scratch_.record, true);
    report_.bytes_read += kRecordHeaderBytes + payload.size();
    if (!base_is_good) return false;  // `spread_to_dependents` marks it with the base's finding
    decode(scratch_.codec, row.codec, row.type, payload, base, raw);
    if (digest_of(raw) == row.digest) return true;
    add(row.id, Finding::Kind::damaged_chunk,
        fmt::format("{} is damaged: its content does not have its digest",
                    describe(row, reader_.path(row.pack))));
  } catch (const Error& error) {
    const std::string place = describe(row, reader_.path(row.pack));
    const std::string what = error.what();
    add(row.id, Finding::Kind::damaged_chunk,
        what.starts_with(place) ? what : fmt::format("{} cannot be read: {}", place, what));
  }
  return false;
}

void ChunkChecker::spread_to_dependents() {
  std::vector<std::uint32_t> causes;
  for (const auto& [id, finding] : bad_) causes.push_back(id);
  while (!causes.empty()) {
    const std::uint32_t cause = causes.back();
    causes.pop_back();
    const auto dependents = dependents_.find(cause);
    if (dependents == dependents_.end()) continue;
    for (const std::uint32_t id : dependents->second) {
      if (bad_.emplace(id, bad_.at(cause)).second) causes.push_back(id);
    }
  }
}

}  // namespace flor::store
