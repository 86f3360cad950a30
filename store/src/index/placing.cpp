#include "index/placing.h"

#include "database/manifest.h"
#include "pack/chunk_reader.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace flor::store {

void Placing::expect(const char* table, std::int64_t id, const std::vector<Digest>& chunks,
                     bool own) {
  expected_.push_back({table, id, chunks, own});
}

void Placing::know(const std::vector<PackMark>& packs, bool own) {
  for (const PackMark& pack : packs) {
    std::uint64_t& bytes = packs_[pack.name];
    bytes = std::max(bytes, pack.bytes);
    if (own) own_.insert(pack.name);
  }
}

/// Their headers alone are read. Packs that no event names are those of `flor gc` and `flor
/// archive`.
void Placing::scan() {
  scanned_ = true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(database_.paths.packs(), error)) {
    if (!Paths::is_pack(entry.path())) continue;
    names_.push_back(entry.path().stem().string());
    try {
      const File file(database_.files, entry.path(), O_RDONLY);
      const auto known = packs_.find(names_.back());
      const std::uint64_t bytes =
          known == packs_.end() ? file.size() : std::min(file.size(), known->second);
      found_.add(file, static_cast<std::int64_t>(names_.size()), bytes, {});
    } catch (const Error&) {
      // What cannot be read now is not given up; what is gone is.
      if (std::error_code gone; std::filesystem::exists(entry.path(), gone)) throw;
    }
  }
}

bool Placing::is_sound(const FoundRecord& record) {
  try {
    PackReader reader(database_.paths, database_.files);
    reader.add(record.pack, names_.at(static_cast<std::size_t>(record.pack - 1)));
    std::vector<std::byte> buffer;
    const std::uint32_t any = record.header.uses_base ? 1 : 0;
    reader.read(row_of(record, 0, any), buffer, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::int64_t Placing::row_of_pack(std::int64_t number, std::uint64_t bytes) {
  const std::string& name = names_.at(static_cast<std::size_t>(number - 1));
  const auto known = packs_.find(name);
  if (known != packs_.end()) bytes = std::max(bytes, known->second);
  Connection& connection = database_.connection;
  std::int64_t& row = rows_[number];
  if (row == 0) {
    connection("INSERT OR IGNORE INTO pack (name, bytes, created_us) VALUES (?1, 0, ?2)", name,
               now_us())
        ->run();
    const auto found = connection("SELECT id FROM pack WHERE name = ?1", name);
    found->step();
    row = found->integer(0);
  }
  connection("UPDATE pack SET bytes = max(bytes, ?2) WHERE id = ?1", row,
             static_cast<std::int64_t>(bytes))
      ->run();
  return row;
}

std::optional<std::uint32_t> Placing::id_of(const Digest& digest,
                                            std::optional<std::uint8_t> depth) {
  auto known = ids_.find(digest);
  if (known == ids_.end()) {
    std::optional<std::uint32_t> id;
    {
      const auto row = database_.connection("SELECT id FROM chunk WHERE digest = ?1", digest);
      if (row->step()) id = static_cast<std::uint32_t>(row->integer(0));
    }
    if (!id) id = place(digest, depth);  // which may ask the same of a base
    if (!id) return std::nullopt;
    known = ids_.emplace(digest, *id).first;
  }
  if (depth) {
    const auto row = database_.connection("SELECT depth FROM chunk WHERE id = ?1",
                                          std::int64_t{known->second});
    if (!row->step() || row->integer(0) != *depth) return std::nullopt;
  }
  return known->second;
}

/// Where a digest has several records, one that a recording of this home wrote comes first: what
/// was fetched may have been made to collide with it. A record that no event vouches for, a
/// collection or an archive wrote; unless a crash left it half-written.
std::optional<std::uint32_t> Placing::place(const Digest& digest,
                                            std::optional<std::uint8_t> depth) {
  if (!scanned_) scan();
  std::vector<FoundRecord> records = found_.find(digest);
  const auto rank = [&](const FoundRecord& record) {
    const std::string& name = names_.at(static_cast<std::size_t>(record.pack - 1));
    return own_.contains(name) ? 0 : packs_.contains(name) ? 1 : 2;
  };
  std::ranges::stable_sort(records, {}, rank);
  for (const FoundRecord& record : records) {
    if (depth && record.header.depth != *depth) continue;
    if (rank(record) == 2 && !is_sound(record)) continue;
    if (const auto id = put(record)) return id;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Placing::put(const FoundRecord& record) {
  const RecordHeader& header = record.header;
  std::optional<std::uint32_t> base;
  if (header.uses_base) {
    if (header.depth == 0) return std::nullopt;
    base = id_of(header.base, static_cast<std::uint8_t>(header.depth - 1));
    if (!base) return std::nullopt;
  }
  Connection& connection = database_.connection;
  const std::uint64_t end = record.offset + kRecordHeaderBytes + header.stored_bytes;
  connection(
      "INSERT INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, type, depth, base) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, nullif(?9, 0))",
      header.digest, row_of_pack(record.pack, end), static_cast<std::int64_t>(record.offset),
      std::int64_t{header.raw_bytes}, std::int64_t{header.stored_bytes}, std::int64_t{header.codec},
      static_cast<std::int64_t>(header.type), std::int64_t{header.depth},
      std::int64_t{base.value_or(0)})
      ->run();
  const std::int64_t id = connection.last_id();
  if (id > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("the store is full: it has had 4294967295 chunks; use a new FLOR_HOME");
  }
  placed_.insert(static_cast<std::uint32_t>(id));
  return static_cast<std::uint32_t>(id);
}

/// As a checkpoint that was deleted and collected: a copy of it elsewhere may be fetched.
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

/// A recording of this home has compared the bytes of what it names.
void Placing::mark_origin(const std::vector<std::uint32_t>& ids, bool own) {
  for (const std::uint32_t id : ids) {
    if (own) {
      placed_.erase(id);
      database_.connection("DELETE FROM foreign_chunk WHERE chunk = ?1", std::int64_t{id})->run();
    } else if (placed_.contains(id)) {
      database_
          .connection("INSERT OR IGNORE INTO foreign_chunk (chunk) VALUES (?1)", std::int64_t{id})
          ->run();
    }
  }
}

/// The table that has the row now; empty if it is gone. A checkpoint may have been deleted since,
/// and not collected: it has the same number.
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

/// Two writers at once leave records of one content at different depths, of which one has the row.
/// Those that are there at one depth alone say which of them their bases need, so they come first.
void Placing::place_all() {
  std::vector<std::pair<std::size_t, Digest>> order;
  for (const Expected& expected : expected_) {
    for (const Digest& digest : expected.chunks) {
      if (database_.connection("SELECT 1 FROM chunk WHERE digest = ?1", digest)->step()) continue;
      if (!scanned_) scan();
      std::set<std::uint8_t> depths;
      for (const FoundRecord& record : found_.find(digest)) depths.insert(record.header.depth);
      order.emplace_back(depths.size(), digest);
    }
  }
  std::ranges::stable_sort(order, {}, &std::pair<std::size_t, Digest>::first);
  for (const auto& one : order) id_of(one.second);
}

std::vector<std::string> Placing::finish() {
  std::vector<std::string> lost;
  Connection& connection = database_.connection;
  for (Expected& expected : expected_) expected.table = table_of(expected);
  std::erase_if(expected_, [](const Expected& expected) { return expected.table.empty(); });
  place_all();
  for (const Expected& expected : expected_) {
    std::vector<std::uint32_t> ids;
    for (const Digest& digest : expected.chunks) {
      const auto id = id_of(digest);
      if (!id) break;
      ids.push_back(*id);
    }
    if (ids.size() < expected.chunks.size()) {
      if (expected.table == "discarded") {
        connection(
            "UPDATE discarded SET collected_us = discarded_us, layout = 0, chunks = x'' WHERE id = "
            "?1",
            expected.id)
            ->run();
      } else if (std::string what = give_up(expected); !what.empty()) {
        lost.push_back(std::move(what));
      }
      continue;
    }
    mark_origin(ids, expected.own);
    const std::vector<std::byte> bytes = encode_ids(ids);
    connection(fmt::format("UPDATE {} SET chunks = ?2 WHERE id = ?1", expected.table), expected.id,
               Bytes(bytes))
        ->run();
  }
  expected_.clear();
  return lost;
}

}  // namespace flor::store
