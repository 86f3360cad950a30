// Implements `repair`: finds unreadable content, searches for other copies of it, and removes the
// rest.
#include "maintain/repair.h"

#include "database/manifest.h"
#include "database/reserve.h"
#include "database/schema.h"
#include "database/store_impl.h"
#include "file/home_files.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/writing.h"
#include "lock/maintenance_lock.h"
#include "maintain/check_chunks.h"
#include "maintain/mend_journals.h"
#include "maintain/row_finder.h"
#include "pack/pack_rows.h"
#include "pack/pack_scan.h"
#include "queue/queue_file.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

std::vector<std::byte> bytes_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

class Repairer {
 public:
  explicit Repairer(Store& store) : database_(*store.impl().database), lock_(database_) {
    if (store.impl().mode == OpenMode::read_only) {
      throw Error(fmt::format("the store {} was opened for reading only", store.home().string()));
    }
  }

  RepairReport run() {
    prepare_to_move(database_);
    {
      const auto connection = open_for_reading(database_.paths);
      ReadTransaction transaction(*connection);
      load(*connection);
      manifests_ = load_manifests(*connection);
    }
    look_at_packs();
    bad_ = examine();
    if (!bad_.empty() || something_is_missing()) look_elsewhere();
    write_headers();
    quarantine();
    apply();
    mend_journals(database_, report_);
    return std::move(report_);
  }

 private:
  void load(Connection& connection) {
    const auto packs = connection("SELECT id, name, bytes FROM pack");
    while (packs->step()) {
      PackState& pack = packs_[packs->integer(0)];
      pack.name = packs->text(1);
      pack.committed = static_cast<std::uint64_t>(packs->integer(2));
    }
    const auto chunks = connection(FLOR_CHUNK_COLUMNS "ORDER BY id");
    while (chunks->step()) {
      try {
        const ChunkRow row = read_chunk_row(*chunks);
        chunks_.emplace(row.id, row);
      } catch (const Damaged&) {
        senseless_.insert(chunks->integer(0));
      }
    }
    const auto foreign = connection("SELECT chunk FROM foreign_chunk");
    while (foreign->step()) foreign_.insert(static_cast<std::uint32_t>(foreign->integer(0)));
    known_ = chunks_;
  }

  static std::vector<StoredManifest> load_manifests(Connection& connection) {
    std::vector<StoredManifest> manifests;
    const auto checkpoints = connection(
        "SELECT checkpoint.id, kind, main_loop, iteration, loop, run.key, checkpoint.digest, "
        "layout.items, chunks FROM checkpoint JOIN run ON run.id = checkpoint.run "
        "LEFT JOIN layout ON layout.id = checkpoint.layout ORDER BY checkpoint.id");
    while (checkpoints->step()) {
      const CheckpointKey key{static_cast<CheckpointKind>(checkpoints->integer(1)),
                              checkpoints->integer(2), checkpoints->integer(3),
                              checkpoints->text(4)};
      manifests.push_back({"checkpoint", checkpoints->integer(0), describe(key),
                           checkpoints->text(5), checkpoints->digest(6),
                           bytes_of(checkpoints->blob(7)), bytes_of(checkpoints->blob(8))});
    }
    const auto objects = connection(
        "SELECT object.id, object.digest, layout.items, chunks FROM object "
        "LEFT JOIN layout ON layout.id = object.layout ORDER BY object.id");
    while (objects->step()) {
      const Digest digest = objects->digest(1);
      manifests.push_back({"object", objects->integer(0), "the logged object " + digest.hex(), "",
                           digest, bytes_of(objects->blob(2)), bytes_of(objects->blob(3))});
    }
    return manifests;
  }

  void look_at_packs() {
    for (auto& [id, pack] : packs_) {
      std::error_code error;
      const auto path = database_.paths.pack(pack.name);
      pack.size = std::filesystem::file_size(path, error);
      if (error) pack.size = 0;
      pack.origin = origin_of(id, pack);
      // index of the finding that `examine` will report first
      if (pack.size < pack.committed) pack.finding = 0;
    }
  }

  /// Returns the origin of a pack; if its header is damaged, the origin of its records in the
  /// index.
  PackOrigin origin_of(std::int64_t id, const PackState& pack) const {
    if (pack.size >= kPackHeaderBytes) {
      const File file(database_.files, database_.paths.pack(pack.name), O_RDONLY);
      if (const auto header = read_pack_header(file)) return header->origin;
    }
    bool is_known = false, is_foreign = false;
    for (const auto& [chunk, row] : chunks_) {
      if (row.pack != id) continue;
      is_known = true;
      is_foreign = is_foreign || foreign_.contains(chunk);
    }
    return is_known && !is_foreign ? PackOrigin::here : PackOrigin::elsewhere;
  }

  BadChunks examine() const {
    BadChunks bad;
    CheckReport report;
    report.findings.push_back({Finding::Kind::missing_pack, "its pack is missing or cut off"});
    ChunkChecker checker(database_, packs_, chunks_, bad, report);
    checker.check_rows();
    checker.read_all();
    checker.spread_to_dependents();
    return bad;
  }

  bool something_is_missing() const {
    return std::ranges::any_of(
        manifests_, [&](const auto& manifest) { return !flaw_of(manifest, chunks_).empty(); });
  }

  void look_elsewhere() {
    const PackScan scan = scan_packs();
    // Points bad rows to other records with the same content. If one of these is damaged as well,
    // the second examination finds it.
    std::vector<std::uint32_t> moved;
    for (const auto& [id, finding] : bad_) {
      const auto chunk = chunks_.find(id);
      if (chunk == chunks_.end()) continue;
      for (const FoundRecord& record : scan.find(chunk->second.digest)) {
        if (try_place(chunk->second, record)) moved.push_back(id);
      }
    }
    restored_ = RowFinder(scan, manifests_, chunks_, foreign_).find();
    if (moved.empty() && restored_.empty()) return;
    bad_ = examine();
    std::erase_if(restored_, [&](std::uint32_t id) {
      if (!bad_.contains(id)) return false;
      chunks_.erase(id);
      bad_.erase(id);
      return true;
    });
  }

  PackScan scan_packs() const {
    std::map<std::int64_t, std::vector<std::uint64_t>> offsets;
    for (const auto& [id, row] : chunks_) offsets[row.pack].push_back(row.offset);
    PackScan scan;
    for (const auto& [id, pack] : packs_) {
      if (pack.size == 0) continue;
      std::ranges::sort(offsets[id]);
      const File file(database_.files, database_.paths.pack(pack.name), O_RDONLY);
      scan.add(file, id, pack.origin, std::min(pack.size, pack.committed), offsets[id]);
    }
    return scan;
  }

  /// Points the row to another record of the same content, and returns true, if that record is
  /// readable.
  bool try_place(ChunkRow& row, const FoundRecord& record) const {
    if (record.pack == row.pack && record.offset == row.offset) return false;
    const bool is_foreign = foreign_.contains(row.id);
    if (is_foreign != (record.origin == PackOrigin::elsewhere)) return false;
    std::uint32_t base = 0;
    if (record.header.uses_base) {
      const auto same = std::ranges::find_if(
          chunks_, [&](const auto& entry) { return entry.second.digest == record.header.base; });
      if (same == chunks_.end() || bad_.contains(same->first)) return false;
      base = same->first;
    }
    const ChunkRow candidate = row_of(record, row.id, base);
    // The depth must stay the same, since chunks that build on this one would become deeper.
    if (candidate.depth != row.depth || candidate.raw_bytes != row.raw_bytes) return false;
    PackReader reader(database_.paths, database_.files);
    reader.add(record.pack, packs_.at(record.pack).name);
    std::vector<std::byte> buffer;
    try {
      reader.read(candidate, buffer, true);
    } catch (const Error&) {
      return false;
    }
    row = candidate;
    return true;
  }

  /// Rewrites damaged headers of packs, which can be computed from the packs' names.
  void write_headers() {
    for (const auto& [id, pack] : packs_) {
      if (pack.size < kPackHeaderBytes) continue;
      const auto path = database_.paths.pack(pack.name);
      const auto header = read_pack_header(File(database_.files, path, O_RDONLY));
      if (header && fmt::format("{:016x}", header->key) == pack.name) continue;
      const auto owned = own_pack(database_, path);
      if (!owned) continue;
      const std::uint64_t key = std::stoull(pack.name, nullptr, 16);
      File file(database_.files, path, O_RDWR);
      file.write_at(encode_header({.format = kFormat, .key = key, .origin = pack.origin}), 0);
      file.sync_data();
      ++report_.rewritten;
    }
  }

  /// Saves what is left of the records that the catalog is about to forget.
  void quarantine() {
    for (const auto& [id, finding] : bad_) {
      const auto known = known_.find(id);
      if (known == known_.end()) continue;
      const auto pack = packs_.find(known->second.pack);
      if (pack == packs_.end() || pack->second.size <= known->second.offset) continue;
      keep_record(pack->second, known->second);
    }
    if (!report_.quarantined.empty()) {
      sync_directory(database_.files, database_.paths.quarantine());
    }
  }

  void keep_record(const PackState& pack, const ChunkRow& row) {
    std::vector<std::byte> bytes(kRecordHeaderBytes + row.stored_bytes);
    const File from(database_.files, database_.paths.pack(pack.name), O_RDONLY);
    bytes.resize(from.read_at(bytes, row.offset));
    make_quarantine(database_.paths);
    const auto path =
        database_.paths.quarantine() / fmt::format("{}-{}.record", pack.name, row.offset);
    File to(database_.files, path, O_RDWR | O_CREAT | O_TRUNC, kInHome);
    to.write_at(bytes, 0);
    to.sync_data();
    report_.quarantined.push_back(path.string());
  }

  void apply() {
    Writing writing(database_);
    Connection& connection = writing.connection();
    connection.execute("PRAGMA defer_foreign_keys=ON");
    put_rows(connection);
    for (const auto& [id, finding] : bad_) chunks_.erase(id);
    add_new_rows(connection);
    drop_manifests(writing);
    repair_layouts(connection);
    for (const auto& [id, finding] : bad_) remove_chunk(connection, id);
    for (const std::int64_t id : senseless_) remove_chunk(connection, id);
    trim_packs(connection);
    writing.commit();
  }

  void put_rows(Connection& connection) {
    for (const auto& [id, row] : chunks_) {
      const auto before = known_.find(id);
      if (bad_.contains(id)) continue;
      if (before != known_.end()) {
        if (before->second.pack == row.pack && before->second.offset == row.offset) continue;
        connection("DELETE FROM chunk WHERE id = ?1", std::int64_t{id})->run();
        ++report_.relocated;
      } else {
        ++report_.restored;
      }
      connection(
          "INSERT INTO chunk (id, digest, pack, offset, raw_bytes, stored_bytes, codec, type, "
          "depth, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, nullif(?10, 0))",
          std::int64_t{id}, row.digest, row.pack, static_cast<std::int64_t>(row.offset),
          std::int64_t{row.raw_bytes}, std::int64_t{row.stored_bytes}, std::int64_t{row.codec},
          static_cast<std::int64_t>(row.type), std::int64_t{row.depth}, std::int64_t{row.base})
          ->run();
      put_origin(connection, id, packs_.at(row.pack).origin);
    }
  }

  /// Adds rows that other processes have committed since the examination. They were just written,
  /// so they count as sound unless they build on bad ones.
  void add_new_rows(Connection& connection) {
    const auto rows = connection(FLOR_CHUNK_COLUMNS "ORDER BY id");
    while (rows->step()) {
      if (senseless_.contains(rows->integer(0))) continue;
      const ChunkRow row = read_chunk_row(*rows);
      if (bad_.contains(row.id) || chunks_.contains(row.id)) continue;
      if (row.base != 0 && bad_.contains(row.base)) {
        bad_.emplace(row.id, bad_.at(row.base));
      } else {
        chunks_.emplace(row.id, row);
      }
    }
  }

  void drop_manifests(Writing& writing) {
    Connection& connection = writing.connection();
    for (const StoredManifest& manifest : load_manifests(connection)) {
      const std::string flaw = flaw_of(manifest, chunks_);
      if (flaw.empty()) continue;
      if (manifest.table == std::string_view("checkpoint")) {
        // Entered as deleted, so that a copy of the checkpoint in an object store stays there and
        // can be fetched.
        const NamedRow named = name_checkpoint(connection, manifest.id);
        discard_checkpoints(writing, std::span(&manifest.id, 1));
        writing.add(named.run, CollectedEvent{now_us(), {named.name}});
      } else {
        connection("DELETE FROM " + manifest.table + " WHERE id = ?1", manifest.id)->run();
      }
      report_.dropped.push_back({manifest.what, manifest.run, flaw});
    }
    // Recomputed for all runs, because a wrong count is damage, too.
    connection(
        "UPDATE run SET "
        "checkpoints = (SELECT count(*) FROM checkpoint WHERE run = run.id), "
        "raw_bytes = (SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = run.id) "
        "WHERE checkpoints <> (SELECT count(*) FROM checkpoint WHERE run = run.id)")
        ->run();
  }

  /// Corrects digests of layouts. The remaining rows refer to sound layouts only. So if a layout
  /// does not match its digest, either the digest is wrong, or no row needs the layout.
  void repair_layouts(Connection& connection) {
    std::vector<std::pair<std::int64_t, Digest>> wrong;
    const auto layouts = connection("SELECT id, items, digest FROM layout");
    while (layouts->step()) {
      const Digest digest = digest_of(layouts->blob(1));
      if (layouts->blob(2).size() != digest.bytes.size() || layouts->digest(2) != digest) {
        wrong.emplace_back(layouts->integer(0), digest);
      }
    }
    for (const auto& [id, digest] : wrong) {
      const auto same = connection("SELECT id FROM layout WHERE digest = ?1", digest);
      if (same->step()) {
        const std::int64_t other = same->integer(0);
        for (const std::string table : {"checkpoint", "discarded", "object"}) {
          connection("UPDATE " + table + " SET layout = ?2 WHERE layout = ?1", id, other)->run();
        }
      }
      connection(
          "DELETE FROM layout WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoint "
          "WHERE layout = ?1) AND NOT EXISTS (SELECT 1 FROM object WHERE layout = ?1) "
          "AND NOT EXISTS (SELECT 1 FROM discarded WHERE layout = ?1 AND collected_us IS NULL)",
          id)
          ->run();
      connection("UPDATE layout SET digest = ?2 WHERE id = ?1", id, digest)->run();
    }
  }

  void remove_chunk(Connection& connection, std::int64_t id) {
    const auto query = connection("DELETE FROM chunk WHERE id = ?1", id);
    query->run();
    report_.removed += query->changes();
  }

  /// Corrects the rows of packs that lost their ends or are missing.
  void trim_packs(Connection& connection) {
    for (const auto& [id, pack] : packs_) {
      if (!pack.finding) continue;
      if (pack.size == 0) {
        connection(
            "DELETE FROM pack WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM chunk WHERE pack = ?1)",
            id)
            ->run();
      } else if (own_pack(database_, database_.paths.pack(pack.name))) {
        connection("UPDATE pack SET bytes = ?2 WHERE id = ?1", id,
                   static_cast<std::int64_t>(pack.size))
            ->run();
      }
    }
  }

  Database& database_;
  MaintenanceLock lock_;
  std::map<std::int64_t, PackState> packs_;
  ChunkRows known_;   ///< as the catalog has them
  ChunkRows chunks_;  ///< as they will be after the repair
  std::set<std::int64_t> senseless_;
  std::set<std::uint32_t> foreign_;  ///< ids of chunks whose records came from elsewhere
  std::vector<StoredManifest> manifests_;
  BadChunks bad_;
  std::vector<std::uint32_t> restored_;
  RepairReport report_;
};

}  // namespace

std::string LostContent::text() const {
  return fmt::format("{}{}{}: {}", what, run.empty() ? "" : " of run ", run, why);
}

void doubt_index(const Store& store) {
  const Database& database = *store.impl().database;
  const auto connection = open_for_reading(database.paths);
  const auto problems = (*connection)("PRAGMA integrity_check(1)");
  if (problems->step() && problems->text_view(0) != "ok") remember_damage(database.paths.catalog());
  doubt_queue(database);
}

RepairReport repair(Store& store) {
  Database& database = *store.impl().database;
  RepairReport report = with_reserve(database, [&] { return Repairer(store).run(); });
  std::error_code error;
  // Rebuilds the queue if it is damaged, and makes it log events again that mended logs have lost.
  if (std::filesystem::exists(database.paths.queue(), error)) queue_of(database, QueueUse::change);
  return report;
}

}  // namespace flor::store
