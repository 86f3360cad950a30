// Implements `collect`: marks needed chunks, deletes the rows of all others, then frees their
// space.
#include "maintain/collect.h"

#include "base/system_error.h"
#include "database/manifest.h"
#include "database/reserve.h"
#include "database/store_impl.h"
#include "file/file_age.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "index/announcements.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "journal/evaluation_log.h"
#include "lock/maintenance_lock.h"
#include "maintain/held_content.h"
#include "maintain/marks.h"
#include "maintain/rank_boards.h"
#include "maintain/removed_runs.h"
#include "maintain/seal_journals.h"
#include "pack/chunk_reader.h"
#include "pack/pack_rows.h"
#include "pack/pack_writer.h"
#include "retention/retention_units.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Number of rows deleted in one transaction. It takes some milliseconds, during which writers
/// wait.
constexpr std::size_t kCollectBatch = 10'000;

/// Number of runs that receive events in one transaction, whose journals are all open.
constexpr std::size_t kRunsAtOnce = 32;

/// A younger file without a row may have just been created and not locked by its writer yet.
constexpr std::chrono::hours kOrphanAge{1};

/// A pack, its file, and how much of it is needed.
struct PackUse {
  std::int64_t id = 0;
  std::string name;
  std::uint64_t committed = 0;
  std::uint64_t size = 0;   ///< bytes that the file occupies on disk
  std::uint64_t alive = 0;  ///< bytes of needed records

  bool is_dead() const { return alive == 0; }
  bool is_sparse(double share) const {
    return alive > 0 && static_cast<double>(alive) < share * static_cast<double>(size);
  }
};

/// Copies the needed records of sparse packs to new packs, pack by pack.
class Compactor {
 public:
  explicit Compactor(Database& database)
      : database_(database),
        reader_(database.paths, database.files),
        here_(database.paths, database.files, PackOrigin::here),
        elsewhere_(database.paths, database.files, PackOrigin::elsewhere) {}

  /// Copies the records, syncs them, and points the rows to them; the old file then exists but is
  /// unused. Returns the bytes written. Throws Damaged, and changes nothing, if a record is
  /// damaged.
  std::uint64_t compact(const PackUse& pack) {
    const std::vector<ChunkRow> rows = living(pack);
    PackWriter& writer = origin_of(pack) == PackOrigin::here ? here_ : elsewhere_;
    bool committing = false;
    try {
      std::vector<RecordPlace> places;
      for (const ChunkRow& row : rows) places.push_back(copy(row, writer));
      writer.sync();
      std::uint64_t written = 0;
      for (const auto& target : writer.touched()) written += target->bytes - target->committed;
      const Lock lock(database_.mutex);
      Transaction transaction(database_.connection);
      const std::vector<std::int64_t> targets = put_pack_rows(database_.connection, writer);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        move(rows[i], places[i], targets.at(writer.number_of(places[i])));
      }
      remove_pack_row(pack);
      committing = true;
      transaction.commit();
      writer.committed();
      return written;
    } catch (...) {
      writer.roll_back(committing);
      throw;
    }
  }

  std::vector<ChunkRow> living(const PackUse& pack) {
    reader_.add(pack.id, pack.name);
    const Lock lock(database_.mutex);
    std::vector<ChunkRow> rows;
    const auto query =
        database_.connection(FLOR_CHUNK_COLUMNS "WHERE pack = ?1 ORDER BY offset", pack.id);
    while (query->step()) rows.push_back(read_chunk_row(*query));
    return rows;
  }

 private:
  /// Returns the origin in the pack's header. Throws Damaged if the header is damaged, which a
  /// repair restores.
  PackOrigin origin_of(const PackUse& pack) {
    const File& file = reader_.open(pack.id);
    const auto header = read_pack_header(file);
    if (!header) throw Damaged(fmt::format("{} has a damaged header", file.path().string()));
    return header->origin;
  }

  RecordPlace copy(const ChunkRow& row, PackWriter& writer) {
    const auto payload = reader_.read(row, record_, true);
    const auto bytes = std::span<const std::byte>(record_).first<kRecordHeaderBytes>();
    const RecordHeader header = decode_record_header(bytes).value();
    if (!std::ranges::equal(encode_header(header), bytes)) {
      throw Damaged(fmt::format("{} has a header that only a newer Flor understands",
                                describe(row, reader_.path(row.pack))));
    }
    return writer.append(header, payload);
  }

  void move(const ChunkRow& row, const RecordPlace& place, std::int64_t target) {
    const auto update = database_.connection(
        "UPDATE chunk SET pack = ?2, offset = ?3 WHERE id = ?1 AND pack = ?4 AND offset = ?5",
        std::int64_t{row.id}, target, static_cast<std::int64_t>(place.offset), row.pack,
        static_cast<std::int64_t>(row.offset));
    update->run();
    if (update->changes() != 1) throw Busy("a pack changed while it was compacted: try again");
  }

  void remove_pack_row(const PackUse& pack) {
    database_.connection("DELETE FROM pack WHERE id = ?1", pack.id)->run();
  }

  Database& database_;
  PackReader reader_;
  PackWriter here_, elsewhere_;
  std::vector<std::byte> record_;
};

class Collector {
 public:
  /// `report` is continued if a full disk ended an earlier attempt.
  Collector(Database& database, bool dry_run, double compact_below, CollectReport& report)
      : database_(database), dry_run_(dry_run), compact_below_(compact_below), report_(report) {}

  void run() {
    std::optional<MaintenanceLock> lock;
    if (!dry_run_) lock.emplace(database_);
    look();
    if (!knows_all()) return;
    // The steps that free space without needing any come first.
    if (!dry_run_) settle_log();
    remove_orphans();
    if (!dry_run_) {
      // Removing the packs whose rows are already deleted makes room for deleting more rows.
      while (const auto full = try_to_sweep()) {
        const std::uint64_t freed = report_.freed;
        remove_dead_packs();
        if (report_.freed == freed) std::rethrow_exception(full);
      }
    }
    remove_dead_packs();
    if (!dry_run_) {
      remove_rank_boards(database_, report_);
      remove_names();
    }
    compact_sparse_packs();
  }

  /// Collects with an index that is discarded afterwards. Needs no space in the home, so no events
  /// are written: deleted checkpoints whose content is missing count as collected anyway.
  void run_without_room() {
    has_room_ = false;
    look();
    if (!knows_all()) return;
    remove_orphans();
    sweep();
    load_packs_again();
    remove_dead_packs();
    compact_sparse_packs();
  }

 private:
  void look() {
    report_.remarks.clear();
    report_.refused = 0;
    report_.kept_garbage = 0;
    report_.bytes_before = report_.freed;
    held_ = find_held(database_);
    if (!held_.why_locks_are_local.empty()) {
      report_.remarks.push_back(
          fmt::format("locks in {} keep out processes of this machine only ({}): what was written "
                      "within the last day is left as it is, since another machine may write it",
                      database_.paths.home.string(), held_.why_locks_are_local));
    }
    if (!dry_run_ && has_room_ && held_.unread.empty()) drop_removed_runs(database_, report_);
    {
      const auto connection = open_for_reading(database_.paths);
      ReadTransaction transaction(*connection);
      if (dry_run_) leave_out_removed(database_, *connection, marks_, report_);
      marks_.update(*connection);
      marks_.mark_all(held_.rows(*connection));
      find_discarded(*connection);
      dead_ = marks_.dead();
      packs_ = load_packs(*connection);
    }
    for (const PackUse& pack : packs_) report_.bytes_before += pack.size;
    report_.chunks = static_cast<std::int64_t>(dead_.size());
    report_.checkpoints = static_cast<std::int64_t>(discarded_.size());
  }

  /// Call it before removing or moving content, and before asking the index what a pack has.
  void before_removing() {
    if (!std::exchange(renewed_, true)) prepare_to_move(database_);
  }

  /// Returns false if a journal cannot be read, since content that it needs would be taken for
  /// garbage.
  bool knows_all() {
    if (held_.unread.empty()) return true;
    for (const std::string& line : held_.unread)
      refuse(fmt::format("nothing is collected: {}", line));
    report_.chunks = report_.checkpoints = 0;
    return false;
  }

  /// Deletes rows. Returns the error of a disk without room for that; null if all were deleted.
  std::exception_ptr try_to_sweep() {
    std::exception_ptr full;
    try {
      give_up_discarded();
      sweep();
    } catch (const std::exception& error) {
      if (!is_no_space(error)) throw;
      full = std::current_exception();
    }
    settle_log();
    load_packs_again();
    return full;
  }

  void load_packs_again() {
    const auto connection = open_for_reading(database_.paths);
    ReadTransaction transaction(*connection);
    packs_ = load_packs(*connection);
  }

  /// Finds deleted checkpoints whose chunks are to be removed. A reader of a run takes a RunUse
  /// before it looks up checkpoints. So if it knows a checkpoint that is deleted in this state of
  /// the catalog, its RunUse is visible here.
  void find_discarded(Connection& connection) {
    if (!has_table(connection, "discarded")) return;
    const auto rows =
        connection("SELECT id, run, chunks FROM discarded WHERE collected_us IS NULL");
    while (rows->step()) {
      if (is_left(connection, rows->integer(1))) {
        marks_.mark_all(decode_ids(rows->blob(2)));
      } else {
        discarded_.push_back(rows->integer(0));
      }
    }
  }

  /// True if a process uses the run, or another rank of its group: checkpoints of a group are
  /// restored only together.
  bool is_left(Connection& connection, std::int64_t run) {
    if (const auto known = left_.find(run); known != left_.end()) return known->second;
    RunsTogether together{.runs = {run}};
    if (has_table(connection, "rank_run")) together = runs_together(connection, run);
    bool used = false;
    for (const std::int64_t member : together.runs) {
      const auto key = connection("SELECT key FROM run WHERE id = ?1", member);
      if (used || !key->step() || !is_used(database_, key->text_view(0))) continue;
      used = true;
      report_.remarks.push_back(fmt::format(
          "run {} is being replayed or resumed: its deleted checkpoints{} are left as they are",
          key->text_view(0), together.runs.size() > 1 ? ", and those of its other ranks," : ""));
    }
    for (const std::int64_t member : together.runs) left_[member] = used;
    return used;
  }

  /// Marks deleted checkpoints as collected before their chunks are removed, so that they cannot be
  /// restored any more. No process is restoring them now, because that needs the maintenance lock,
  /// which is held here.
  void give_up_discarded() {
    const std::int64_t now = now_us();
    std::map<std::int64_t, CollectedEvent> by_run;
    in_batches(
        discarded_.size(),
        [&](Writing& writing, std::size_t i) {
          NamedRow named = name_discarded(writing.connection(), discarded_[i]);
          if (named.run != 0) by_run[named.run].checkpoints.push_back(std::move(named.name));
          return by_run.size() < kRunsAtOnce;
        },
        [&](Connection&) { by_run.clear(); },
        [&](Writing& writing) {
          for (auto& [run, event] : by_run) {
            event.at_us = now;
            writing.add(run, event);
          }
        });
  }

  /// Deletes the rows of unneeded chunks; a chunk is deleted before its base.
  void sweep() {
    report_.chunks = 0;
    if (!dead_.empty()) before_removing();
    const auto begin = [&](Connection& connection) {
      // Includes everything committed since the marking. No other process can commit until this
      // transaction ends.
      marks_.update(connection);
      connection.execute("PRAGMA defer_foreign_keys=ON");
    };
    in_batches(
        dead_.size(),
        [&](Writing& writing, std::size_t i) {
          if (!marks_.is_alive(dead_[i])) {
            writing.connection()("DELETE FROM chunk WHERE id = ?1", std::int64_t{dead_[i]})->run();
          }
          return true;
        },
        begin);
    for (const std::uint32_t id : dead_) report_.chunks += marks_.is_alive(id) ? 0 : 1;
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    database_.connection.execute(
        "DELETE FROM layout WHERE id NOT IN "
        "(SELECT layout FROM checkpoint UNION ALL SELECT layout FROM object UNION ALL "
        "SELECT layout FROM discarded WHERE collected_us IS NULL); "
        "DELETE FROM foreign_chunk WHERE chunk NOT IN (SELECT id FROM chunk)");
    transaction.commit();
  }

  /// Calls `change` for each number below `count`, many of them in one transaction, or fewer if the
  /// disk has no room for that. `begin` and `finish` are called at the beginning and end of each
  /// transaction. A transaction also ends after a number for which `change` returned false.
  void in_batches(std::size_t count, const std::function<bool(Writing&, std::size_t)>& change,
                  const std::function<void(Connection&)>& begin = {},
                  const std::function<void(Writing&)>& finish = {}) {
    constexpr std::size_t kLeast = 16;
    std::size_t batch = kCollectBatch;
    for (std::size_t next = 0; next < count;) {
      const Lock lock(database_.mutex);
      Connection& connection = database_.connection;
      if (batch < kCollectBatch) connection.truncate_log();
      const std::size_t end = std::min(count, next + batch);
      try {
        Writing writing(database_);
        if (begin) begin(connection);
        std::size_t i = next;
        while (i < end && change(writing, i++)) continue;
        if (finish) finish(writing);
        writing.commit();
        next = i;
      } catch (const std::exception& error) {
        if (!is_no_space(error) || batch <= kLeast) throw;
        batch = std::max(kLeast, std::min(batch, end - next) / 8);
      }
    }
  }

  /// Overwrites pages that a failed commit may have left in the write-ahead log, because a crash
  /// would make that commit effective. After this commit the files that it refers to are certainly
  /// garbage. Any change is suitable, but it must change something to be written.
  void settle_log() {
    const Lock lock(database_.mutex);
    database_.connection.truncate_log();
    std::error_code error;
    const std::filesystem::path log = database_.paths.catalog().string() + "-wal";
    // If there is no log, the catalog may have a rollback journal.
    if (std::filesystem::file_size(log, error) == 0 && !error) return;
    Transaction transaction(database_.connection);
    database_.connection.execute(
        "INSERT OR REPLACE INTO repository (root, experiment, used_us) VALUES ('', '', 0);"
        "DELETE FROM repository WHERE root = ''");
    transaction.commit();
  }

  std::vector<PackUse> load_packs(Connection& connection) const {
    std::map<std::int64_t, PackUse> by_id;
    const auto packs = connection("SELECT id, name, bytes FROM pack");
    while (packs->step()) {
      PackUse& pack = by_id[packs->integer(0)];
      pack.id = packs->integer(0);
      pack.name = packs->text(1);
      pack.committed = static_cast<std::uint64_t>(packs->integer(2));
      try {
        const File file(database_.files, database_.paths.pack(pack.name), O_RDONLY);
        pack.size = file.size_on_disk();
      } catch (const Error&) {
        pack.size = 0;
      }
    }
    const auto chunks = connection("SELECT id, pack, stored_bytes FROM chunk");
    while (chunks->step()) {
      const auto id = static_cast<std::uint32_t>(chunks->integer(0));
      if (dry_run_ && !marks_.is_alive(id)) continue;
      const auto pack = by_id.find(chunks->integer(1));
      if (pack == by_id.end()) continue;
      pack->second.alive += kRecordHeaderBytes + static_cast<std::uint64_t>(chunks->integer(2));
    }
    std::vector<PackUse> result;
    for (auto& [id, pack] : by_id) result.push_back(std::move(pack));
    return result;
  }

  void remove_dead_packs() {
    for (const PackUse& pack : packs_) {
      if (!pack.is_dead()) continue;
      const auto path = database_.paths.pack(pack.name);
      std::error_code error;
      const bool is_there = std::filesystem::exists(path, error);
      const auto file = own(path);
      if (is_there && !file) {
        leave(pack, "is being written");
        continue;
      }
      if (!dry_run_) {
        before_removing();
        if (!remove_row_of_dead(pack) || !unlink(path)) continue;
      }
      ++report_.packs_removed;
      report_.freed += pack.size;
    }
  }

  /// Returns false if a writer has added chunks to the pack after the packs were loaded.
  bool remove_row_of_dead(const PackUse& pack) {
    const Lock lock(database_.mutex);
    Transaction transaction(database_.connection);
    const auto query = database_.connection(
        "DELETE FROM pack WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM chunk WHERE pack = ?1)",
        pack.id);
    query->run();
    const bool removed = query->changes() == 1;
    transaction.commit();
    return removed;
  }

  void compact_sparse_packs() {
    Compactor compactor(database_);
    std::ranges::sort(packs_, {}, &PackUse::alive);  // those that need the least space first
    bool first = true;
    for (const PackUse& pack : packs_) {
      if (pack.is_dead()) continue;
      if (!pack.is_sparse(compact_below_)) {
        if (pack.size > pack.alive + kPackHeaderBytes) {
          report_.kept_garbage += pack.size - pack.alive - kPackHeaderBytes;
        }
        continue;
      }
      const auto path = database_.paths.pack(pack.name);
      const auto file = own(path);
      if (!file) {
        leave(pack, "is being written");
        continue;
      }
      std::uint64_t written = pack.alive + (first ? kPackHeaderBytes : 0);
      if (!dry_run_) {
        before_removing();
        try {
          if (!has_room_for_copy(pack)) {
            free_in_place(compactor, pack);
            continue;
          }
          written = compactor.compact(pack);
        } catch (const Error& error) {
          if (is_no_space(error)) {
            free_in_place(compactor, pack);
          } else {
            const bool is_damaged = error.status() == ExitStatus::damaged;
            refuse(fmt::format("{} is not compacted: {}{}", path.string(), error.what(),
                               is_damaged ? ": run `flor fsck --repair`" : ""));
          }
          continue;
        }
        if (!unlink(path)) continue;
      }
      first = false;
      ++report_.packs_compacted;
      report_.freed += pack.size - std::min(pack.size, written);
    }
  }

  /// True if there is room on the disk for a copy of the pack's needed part, and for the rows.
  bool has_room_for_copy(const PackUse& pack) {
    constexpr std::uint64_t kForRows = std::uint64_t{256} << 10;
    return has_room_ &&
           database_.files.available(database_.paths.packs().c_str()) >= pack.alive + kForRows;
  }

  /// Turns unneeded records into holes, which needs no disk space. A reader that still has their
  /// rows finds zeros, and looks the rows up again.
  void free_in_place(Compactor& compactor, const PackUse& pack) {
    File file(database_.files, database_.paths.pack(pack.name), O_RDWR);
    std::uint64_t begin = kPackHeaderBytes;
    bool done = true;
    const auto free = [&](std::uint64_t end) {
      if (end > begin) done = done && file.punch_hole(begin, end - begin);
    };
    for (const ChunkRow& row : compactor.living(pack)) {
      free(row.offset);
      begin = row.offset + kRecordHeaderBytes + row.stored_bytes;
    }
    free(file.size());
    const std::uint64_t left = file.size_on_disk();
    if (!done || left >= pack.size) return leave_for_room(pack);
    ++report_.packs_compacted;
    report_.freed += pack.size - left;
  }

  void leave_for_room(const PackUse& pack) {
    report_.kept_garbage += pack.size - std::min(pack.size, pack.alive);
    refuse(
        fmt::format("{} is not compacted: the disk has no room for a copy of the {} bytes that are "
                    "alive; free as many, then run flor gc again",
                    database_.paths.pack(pack.name).string(), pack.alive));
  }

  /// Locks a pack. Returns null if a recording needs it, or has written to it after `held_` was
  /// determined, so that journals name content that the index does not know.
  std::unique_ptr<File> own(const std::filesystem::path& pack) const {
    const std::string name = pack.stem().string();
    if (held_.holds(name)) return nullptr;
    auto file = own_pack(database_, pack);
    return file && file->size() == held_.settled.at(name) ? std::move(file) : nullptr;
  }

  /// Removes files without a row, and bytes beyond the part of a pack that the catalog knows.
  void remove_orphans() {
    std::vector<std::filesystem::path> paths;
    for_each_pack(database_.paths, [&](const auto& pack) { paths.push_back(pack); });
    std::ranges::sort(paths);
    for (const auto& path : paths) remove_orphan(path);
  }

  void remove_orphan(const std::filesystem::path& path) {
    if (!was_changed_before(path, file_time_ago(kOrphanAge))) return;
    if (const auto file = own(path)) remove_orphan(path, *file);
  }

  void remove_orphan(const std::filesystem::path& path, const File& file) {
    // Read while the file is locked, so that no process can give it a row.
    const auto committed = committed_bytes(path.stem().string());
    const std::uint64_t size = file.size();
    const std::uint64_t used = committed.value_or(0);
    if (committed && size <= used) return;
    if (database_.paths.shared && !dry_run_ && !renewed_) {
      before_removing();
      return remove_orphan(path, file);  // asks again
    }
    if (!committed) {
      if (!dry_run_ && !unlink(path)) return;
      ++report_.orphans_removed;
      report_.bytes_before += size;
      report_.freed += size;
      return;
    }
    const auto pack = std::ranges::find(packs_, path.stem().string(), &PackUse::name);
    // Packs that are removed or copied lose these bytes anyway.
    if (pack == packs_.end() || pack->is_dead() || pack->is_sparse(compact_below_)) return;
    if (!dry_run_ && !File(database_.files, path, O_RDWR).truncate(used)) return;
    report_.freed += size - used;
    pack->size = used;
  }

  void remove_names() {
    // On a shared home other indexes must be rebuilt for this, so it is done only for many
    // announcements.
    constexpr std::size_t kManyNames = 2000;
    if (database_.paths.shared && !renewed_) {
      if (find_announcements(database_.paths).size() < kManyNames) return;
      before_removing();
    }
    try {
      remove_debris(database_);
    } catch (const Error&) {
      // They take hardly any space, and the next collection removes them.
    }
  }

  std::optional<std::uint64_t> committed_bytes(const std::string& name) {
    const Lock lock(database_.mutex);
    const auto row = database_.connection("SELECT bytes FROM pack WHERE name = ?1", name);
    if (!row->step()) return std::nullopt;
    return static_cast<std::uint64_t>(row->integer(0));
  }

  /// Deletes a file. If it stays, adds a remark and returns false; nothing refers to it, and a
  /// later collection will delete it.
  bool unlink(const std::filesystem::path& path) {
    if (database_.files.unlink(path.c_str()) == 0 || errno == ENOENT) return true;
    refuse(
        fmt::format("cannot remove {}: {}", path.string(), std::generic_category().message(errno)));
    return false;
  }

  /// Adds a remark on garbage that cannot be freed. Collection continues with other garbage.
  void refuse(std::string why) {
    ++report_.refused;
    report_.remarks.push_back(std::move(why));
  }

  void leave(const PackUse& pack, const char* why) {
    report_.kept_garbage += pack.size - std::min(pack.size, pack.alive);
    report_.remarks.push_back(
        fmt::format("{} {}: it is left as it is", database_.paths.pack(pack.name).string(), why));
  }

  Database& database_;
  bool dry_run_;
  double compact_below_;
  bool has_room_ = true;
  bool renewed_ = false;
  Marks marks_;
  std::vector<std::uint32_t> dead_;
  std::map<std::int64_t, bool> left_;    ///< by run: whether its deleted checkpoints stay for now
  std::vector<std::int64_t> discarded_;  ///< ids of deleted checkpoints
  std::vector<PackUse> packs_;
  HeldContent held_;
  CollectReport& report_;
};

/// Seals journals and joins logs of evaluations. If that fails they stay as they are, and the space
/// that was freed stays free.
void join_logs(Database& database, CollectReport& report) {
  try {
    // The lock is needed because an index rebuilt meanwhile would miss journals and logs that were
    // replaced.
    const MaintenanceLock lock(database);
    seal_journals(database, report);
    if (find_evaluation_logs(database.paths).size() <= kEvaluationLogsMax) return;
    join_evaluation_logs(database.files, database.paths);
  } catch (const Error& error) {
    report.remarks.push_back(
        fmt::format("journals were not sealed, nor logs of evaluations joined: {}", error.what()));
    if (!is_no_space(error)) ++report.refused;
  }
}

}  // namespace

CollectReport collect(const Store& store, bool dry_run, double compact_below) {
  if (!dry_run && store.impl().mode == OpenMode::read_only) {
    throw Error(fmt::format("the store {} was opened for reading only", store.home().string()));
  }
  Database& database = *store.impl().database;
  CollectReport report;
  const auto run = [&] { Collector(database, dry_run, compact_below, report).run(); };
  if (dry_run) {
    run();
  } else {
    with_reserve(database, run);
    join_logs(database, report);
  }
  return report;
}

bool free_without_index(const Paths& paths, Filesystem& filesystem) {
  const RemakingLock lock(filesystem, paths, "catalog");
  // The index of a shared home is on another disk, so removing it frees no space here.
  if (paths.shared || !put_index_aside(paths)) return false;
  const IndexElsewhere index(paths, filesystem);
  Database database(index.paths(), OpenMode::existing, filesystem);
  CollectReport report;
  Collector(database, false, kTightShare, report).run_without_room();
  std::fprintf(stderr,
               "flor: the disk of %s is full, and the store has no catalog: %llu bytes of garbage "
               "were freed to make it again\n",
               paths.home.c_str(), static_cast<unsigned long long>(report.freed));
  return report.freed > 0;
}

}  // namespace flor::store
