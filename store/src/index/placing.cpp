#include "index/placing.h"

#include "database/manifest.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "lock/maintenance_lock.h"
#include "pack/chunk_reader.h"
#include "pack/chunk_writer.h"
#include "pack/pack_rows.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

namespace flor::store {
namespace {

std::uint64_t end_of(const FoundRecord& record) {
  return record.offset + kRecordHeaderBytes + record.header.stored_bytes;
}

}  // namespace

void Placing::expect(const char* table, std::int64_t id, const std::vector<Digest>& chunks,
                     PackOrigin origin) {
  expected_[{table, id}] = {table, id, chunks, origin};
}

void Placing::know(const std::vector<PackMark>& packs, PackOrigin origin) {
  for (const PackMark& pack : packs) {
    std::uint64_t& bytes = named_[pack.name];
    bytes = std::max(bytes, pack.bytes);
    if (origin == PackOrigin::here) own_.insert(pack.name);
  }
}

/// Returns where a pack came from. If its header is damaged, it counts as written here only if a
/// recording of this home names it.
PackOrigin Placing::origin_of(const std::string& pack, const File& file) const {
  if (const auto header = read_pack_header(file)) return header->origin;
  return own_.contains(pack) ? PackOrigin::here : PackOrigin::elsewhere;
}

const Placing::Pack& Placing::pack_of(const FoundRecord& record) const {
  return packs_.at(static_cast<std::size_t>(record.pack - 1));
}

/// True if a process may be writing the pack. Otherwise the pack is locked until `pack` is closed.
bool Placing::is_being_written(const File& pack) const {
  if (!lock_file(pack.descriptor(), LOCK_SH | LOCK_NB)) return true;
  return is_recent(pack.path()) && !why_locks_are_local(database_).empty();
}

/// True if an event says that the pack has the record.
bool Placing::is_vouched_for(const FoundRecord& record) const {
  const auto known = named_.find(pack_of(record).name);
  return known != named_.end() && end_of(record) <= known->second;
}

/// True if the writer of the pack may take the record back, since it has not committed it as far as
/// is known. An index that lists such a record instead of a lasting one would take the lasting one
/// for garbage.
bool Placing::may_go(const FoundRecord& record) const {
  return pack_of(record).is_written && !is_vouched_for(record);
}

/// Finds the records in a part of a pack by reading only their headers.
void Placing::scan(const std::string& pack, std::uint64_t from, std::optional<std::uint64_t> to) {
  const std::filesystem::path path = database_.paths.pack(pack);
  try {
    const File file(database_.files, path, O_RDONLY);
    // Asked before the size: a writer that takes records back unlocks the file afterwards. The lock
    // is kept until they are read, so that no writer begins meanwhile.
    const bool is_written = is_being_written(file);
    if (!is_linked(file.descriptor())) return;
    const std::uint64_t end = std::min(to.value_or(file.size()), file.size());
    const auto [number, is_new] =
        numbers_.emplace(pack, static_cast<std::int64_t>(packs_.size()) + 1);
    if (is_new) packs_.push_back({.name = pack, .origin = origin_of(pack, file)});
    Pack& known = packs_.at(static_cast<std::size_t>(number->second - 1));
    const bool goes_on = known.from <= from && from <= known.to;
    if (goes_on) from = known.to;
    found_.add(file, number->second, known.origin, end, {}, from);
    if (!goes_on) known.from = from;
    known.to = std::max(known.to, end);
    known.size = file.size();
    known.is_written = known.is_written || is_written;
  } catch (const Error&) {
    // A pack that exists but cannot be read at the moment must not be treated as gone.
    if (std::error_code gone; std::filesystem::exists(path, gone)) throw;
  }
}

/// Scans the packs that events name, each from the end of the part that the index knows.
void Placing::scan_named() {
  for (const auto& [pack, bytes] : named_) {
    const auto row = database_.connection("SELECT bytes FROM pack WHERE name = ?1", pack);
    const std::uint64_t had = row->step() ? static_cast<std::uint64_t>(row->integer(0)) : 0;
    if (had < bytes) scan(pack, std::max<std::uint64_t>(had, kPackHeaderBytes), bytes);
  }
}

/// Scans all packs. Needed because no event names the packs of `flor gc`, `flor archive` and `flor
/// fetch`, and because a chunk may lie in the pack of a run that is entered later.
void Placing::scan_all() {
  has_all_ = true;
  for_each_pack(database_.paths, [this](const std::filesystem::path& pack) {
    scan(pack.stem().string(), kPackHeaderBytes, std::nullopt);
  });
}

bool Placing::is_sound(const FoundRecord& record) {
  try {
    PackReader reader(database_.paths, database_.files);
    reader.add(record.pack, pack_of(record).name);
    std::vector<std::byte> buffer;
    const std::uint32_t any = record.header.uses_base ? 1 : 0;
    reader.read(row_of(record, 0, any), buffer, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::int64_t Placing::row_of_pack(std::int64_t number, std::uint64_t bytes) {
  const Pack& pack = packs_.at(static_cast<std::size_t>(number - 1));
  const auto known = named_.find(pack.name);
  // The pack may be shorter than that, because records at its end that another index did not need
  // may have been cut off.
  if (known != named_.end()) bytes = std::max(bytes, std::min(known->second, pack.size));
  return put_pack_row(database_.connection, pack.name, bytes);
}

std::optional<std::uint32_t> Placing::id_of(const Digest& digest, PackOrigin origin,
                                            unsigned depth_end) {
  auto known = known_.find(digest);
  if (known == known_.end()) {
    const auto row = find_chunk(database_.connection, digest);
    if (row) known = known_.emplace(digest, *row).first;
  }
  const bool has_row = known != known_.end();
  const bool is_foreign = has_row && origin == PackOrigin::here && known->second.foreign;
  if (!has_row || is_foreign || known->second.depth >= depth_end ||
      has_shallower(digest, origin, known->second.depth)) {
    // May call this function again, for the base.
    const auto placed = place(digest, origin, depth_end, has_row ? known->second.id : 0);
    if (placed) {
      known_.insert_or_assign(digest, *placed);
    } else if (!has_row || is_foreign) {
      return std::nullopt;
    }
    known = known_.find(digest);
  }
  if (known->second.depth >= depth_end) return std::nullopt;
  return known->second.id;
}

/// True if there is a record of the content at a smaller depth. A recording builds on its own
/// record of a content, so that one must be used; `flor archive`, which did not know it, may have
/// stored a deeper one for another run.
bool Placing::has_shallower(const Digest& digest, PackOrigin origin, unsigned depth) const {
  return std::ranges::any_of(found_.find(digest), [&](const FoundRecord& record) {
    return record.header.depth < depth && !may_go(record) &&
           (origin == PackOrigin::elsewhere || record.origin == PackOrigin::here);
  });
}

/// Chooses a record of the digest for a row. Records written here come first, because a fetched one
/// may have been forged. Among equals the one with the smallest depth comes first: chunks that
/// build on any of them are deeper than it. A record that no event confirms is decoded and
/// verified, because a crash may have left it incomplete; it comes last while its pack is written.
std::optional<StoredChunk> Placing::place(const Digest& digest, PackOrigin origin,
                                          unsigned depth_end, std::uint32_t row) {
  if (const auto placed = place_among(digest, origin, depth_end, row)) return placed;
  if (has_all_) return std::nullopt;
  scan_all();
  return place_among(digest, origin, depth_end, row);
}

std::optional<StoredChunk> Placing::place_among(const Digest& digest, PackOrigin origin,
                                                unsigned depth_end, std::uint32_t row) {
  std::vector<FoundRecord> records = found_.find(digest);
  std::ranges::sort(records, {}, [&](const FoundRecord& record) {
    return std::tuple(record.origin, may_go(record), record.header.depth, !is_vouched_for(record),
                      std::string_view(pack_of(record).name), record.offset);
  });
  for (const FoundRecord& record : records) {
    if (record.header.depth >= depth_end) continue;
    if (origin == PackOrigin::here && record.origin != PackOrigin::here) break;
    if (!is_vouched_for(record) && !is_sound(record)) continue;
    if (const auto placed = put(record, row)) return placed;
  }
  return std::nullopt;
}

std::optional<StoredChunk> Placing::put(const FoundRecord& record, std::uint32_t row) {
  const RecordHeader& header = record.header;
  std::optional<std::uint32_t> base;
  if (header.uses_base) {
    base = id_of(header.base, record.origin, header.depth);
    if (!base) return std::nullopt;
  }
  const RowPlace place{.pack = row_of_pack(record.pack, end_of(record)), .offset = record.offset};
  const std::uint32_t id =
      put_chunk_row(database_.connection, row, header, record.origin, place, base.value_or(0));
  return StoredChunk{id, header.depth, record.origin == PackOrigin::elsewhere};
}

/// Enters a checkpoint as deleted and collected, so that a copy of it can be fetched from
/// elsewhere.
std::string Placing::give_up(const Expected& expected) {
  Connection& connection = database_.connection;
  if (expected.table == "object") {
    const auto row = connection("SELECT digest FROM object WHERE id = ?1", expected.id);
    if (!row->step()) return {};
    const std::string digest = row->digest(0).hex();
    connection("DELETE FROM object WHERE id = ?1", expected.id)->run();
    return fmt::format("the logged object {} is lost: the packs lack some of it", digest);
  }
  const auto row = connection(
      "SELECT kind, main_loop, iteration, loop, run.key, run.id FROM checkpoint JOIN run ON run.id "
      "= run WHERE checkpoint.id = ?1",
      expected.id);
  if (!row->step()) return {};
  const CheckpointKey key{static_cast<CheckpointKind>(row->integer(0)), row->integer(1),
                          row->integer(2), row->text(3)};
  const std::string what = describe(key, row->text_view(4));
  connection(
      "INSERT OR REPLACE INTO discarded (id, run, kind, main_loop, iteration, loop, created_us, "
      "raw_bytes, stored_bytes, digest, layout, chunks, discarded_us, collected_us) SELECT id, "
      "run, "
      "kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, 0, x'', ?2, "
      "?2 FROM checkpoint WHERE id = ?1",
      expected.id, now_us())
      ->run();
  connection("DELETE FROM checkpoint WHERE id = ?1", expected.id)->run();
  connection(
      "UPDATE run SET checkpoints = (SELECT count(*) FROM checkpoint WHERE run = ?1), raw_bytes = "
      "(SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = ?1) WHERE id = ?1",
      row->integer(5))
      ->run();
  return fmt::format("{} is lost: the packs lack some of it", what);
}

/// Returns the table that now has the row; empty if it is gone. A checkpoint that was deleted but
/// not collected is in `discarded` under the same id.
std::string Placing::table_of(const Expected& expected) {
  const auto is_in = [&](const std::string& name, const char* further) {
    return database_
        .connection(fmt::format("SELECT 1 FROM {} WHERE id = ?1{}", name, further), expected.id)
        ->step();
  };
  if (is_in(expected.table, "")) return expected.table;
  if (expected.table != "checkpoint" || !is_in("discarded", " AND collected_us IS NULL")) return {};
  return "discarded";
}

/// Places content recorded here first, so that no record from elsewhere takes its row.
void Placing::place_all() {
  for (const PackOrigin origin : {PackOrigin::here, PackOrigin::elsewhere}) {
    for (const auto& [place, expected] : expected_) {
      if (expected.origin != origin) continue;
      for (const Digest& digest : expected.chunks) id_of(digest, origin);
    }
  }
}

void Placing::enter(const Expected& expected, std::vector<std::string>& lost) {
  Connection& connection = database_.connection;
  std::vector<std::uint32_t> ids;
  for (const Digest& digest : expected.chunks) {
    const auto id = id_of(digest, expected.origin);
    if (!id) break;
    ids.push_back(*id);
  }
  if (ids.size() == expected.chunks.size()) {
    const std::vector<std::byte> bytes = encode_ids(ids);
    connection(fmt::format("UPDATE {} SET chunks = ?2 WHERE id = ?1", expected.table), expected.id,
               Bytes(bytes))
        ->run();
  } else if (expected.table == "discarded") {
    connection(
        "UPDATE discarded SET collected_us = discarded_us, layout = 0, chunks = x'' WHERE id = ?1",
        expected.id)
        ->run();
  } else if (std::string what = give_up(expected); !what.empty()) {
    lost.push_back(std::move(what));
  }
}

std::vector<std::string> Placing::finish() {
  std::vector<std::string> lost;
  for (auto& [place, expected] : expected_) expected.table = table_of(expected);
  std::erase_if(expected_, [](const auto& entry) { return entry.second.table.empty(); });
  scan_named();
  place_all();
  for (const auto& [place, expected] : expected_) enter(expected, lost);
  expected_.clear();
  return lost;
}

}  // namespace flor::store
