// Implements `check`: verifies everything that the catalog and the packs say about each other.
#include "database/manifest.h"
#include "database/store_impl.h"
#include "database/values/series_blocks.h"
#include "file/home_files.h"
#include "index/catalog/labels.h"
#include "index/copies/foreign_rows.h"
#include "journal/evaluation_log.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"
#include "maintain/check_chunks.h"
#include "maintain/mend_journals.h"
#include "pack/chunk_reader.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace flor::store {
namespace {

/// The parts of a row that must be checked, for a row of `checkpoint` or `object`.
struct ManifestRow {
  std::string what;  ///< its name in messages
  Digest digest;
  std::int64_t layout = 0;
  std::vector<std::byte> ids;
};

std::vector<std::byte> copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

class Checker {
 public:
  Checker(const Store& store, bool read_data)
      : database_(*store.impl().database), read_data_(read_data) {}

  CheckReport run() {
    try {
      const auto connection = open_for_reading(database_.paths);
      // Reads one state of the catalog, whatever others commit meanwhile. The content that it
      // refers to never changes in the packs.
      ReadTransaction transaction(*connection);
      check_catalog(*connection);
      load(*connection);
      check_references(*connection);
      if (has_table(*connection, "journal")) check_journal_files(*connection);
      loaded_ = true;
    } catch (const Damaged& error) {
      add(Finding::Kind::catalog, error.what());
    }
    check_queue();
    check_journals();
    check_packs();
    check_chunks();
    check_manifests();
    if (loaded_) remark_strays();
    finish();
    return std::move(report_);
  }

  /// Whether content was collected during the check, and the findings that exist only because of
  /// that and must be removed.
  struct Collected {
    bool any = false;
    std::set<std::size_t> findings;  ///< indices
  };
  Collected collected() const {
    Collected gone;
    if (!loaded_) return gone;
    const auto connection = open_for_reading(database_.paths);
    // A damaged pack or base may affect several chunks. Its finding stays as long as one of them
    // exists.
    std::set<std::size_t> present;
    const auto look = [&](bool is_there, std::size_t finding) {
      gone.any = gone.any || !is_there;
      (is_there ? present : gone.findings).insert(finding);
    };
    constexpr std::size_t kNone = SIZE_MAX;
    std::set<std::size_t> of_gone_packs;
    for (const auto& [id, pack] : packs_) {
      look((*connection)("SELECT 1 FROM pack WHERE id = ?1", id)->step(),
           pack.finding.value_or(kNone));
      // Content of a removed pack that is still needed was read and moved to another pack by the
      // collector.
      if (pack.finding && !present.contains(*pack.finding)) of_gone_packs.insert(*pack.finding);
    }
    for (const auto& [id, finding] : causes_) {
      // A chunk that had no row from the beginning was not collected but is missing.
      const auto row = chunks_.find(id);
      if (row == chunks_.end()) {
        present.insert(finding);
        continue;
      }
      // If a record was moved to another pack meanwhile, the collector was able to read it, so it
      // is sound.
      look((*connection)("SELECT 1 FROM chunk WHERE id = ?1 AND pack = ?2 AND offset = ?3",
                         std::int64_t{id}, row->second.pack,
                         static_cast<std::int64_t>(row->second.offset))
               ->step(),
           finding);
    }
    gone.findings.erase(kNone);
    std::erase_if(gone.findings, [&](std::size_t finding) {
      return present.contains(finding) && !of_gone_packs.contains(finding);
    });
    return gone;
  }

 private:
  std::size_t add(Finding::Kind kind, std::string what) {
    report_.findings.push_back({kind, std::move(what)});
    return report_.findings.size() - 1;
  }

  /// Adds the problems that SQLite finds. `name`: "the catalog".
  void check_database(Connection& connection, Finding::Kind kind, const char* name) {
    const auto problems = connection("PRAGMA integrity_check(20)");
    while (problems->step()) {
      if (problems->text_view(0) != "ok") add(kind, fmt::format("{}: {}", name, problems->text(0)));
    }
    const auto keys = connection("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check");
    while (keys->step()) {
      add(kind, fmt::format("{}: row {} of table '{}' refers to a row of '{}' that does not exist",
                            name, keys->integer(1), keys->text(0), keys->text(2)));
    }
  }

  void check_queue() {
    const std::filesystem::path file = database_.paths.queue();
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return;
    try {
      const auto connection = open_for_reading(database_.paths, file);
      ReadTransaction transaction(*connection);
      check_database(*connection, Finding::Kind::queue, "the queue");
    } catch (const Damaged& damage) {
      add(Finding::Kind::queue, damage.what());
    }
  }

  void check_catalog(Connection& connection) {
    check_database(connection, Finding::Kind::catalog, "the catalog");
    const auto counts = connection(
        "SELECT key, checkpoints, (SELECT count(*) FROM checkpoint WHERE run = run.id) AS found "
        "FROM run WHERE checkpoints <> found");
    while (counts->step()) {
      add(Finding::Kind::catalog,
          fmt::format("the catalog: run {} counts {} checkpoints, but has {}", counts->text(0),
                      counts->integer(1), counts->integer(2)));
    }
    find_unreadable_texts(connection, [&](std::string_view key, const std::string& flaw) {
      const auto removed =
          connection("SELECT 1 FROM run WHERE key = ?1 AND id IN " FLOR_REMOVED_RUNS, key);
      if (has_table(connection, "label") && removed->step()) return;
      add(Finding::Kind::unreadable,
          fmt::format("run {}: {}: `flor rm {}` removes the run", key, flaw, key.substr(0, 8)));
    });
  }

  /// Checks that the files of journals exist; their events are read later.
  void check_journal_files(Connection& connection) {
    const auto rows = connection(
        "SELECT run.key, writer, bytes, frames, closed FROM journal JOIN run ON run.id = "
        "journal.run "
        "ORDER BY run, writer");
    while (rows->step()) {
      const auto path =
          journal_in(database_.paths.run(rows->text_view(0)) / std::to_string(rows->integer(1)));
      known_journals_[path] = {.end = {static_cast<std::uint64_t>(rows->integer(2)),
                                       static_cast<std::uint64_t>(rows->integer(3))},
                               .closed = rows->integer(4)};
      std::error_code error;
      // If the copy exists, its reader reports the missing journal.
      if (std::filesystem::exists(path, error) || std::filesystem::exists(copy_path(path), error)) {
        continue;
      }
      add(Finding::Kind::journal,
          fmt::format("the journal {} is missing: the catalog alone has what it said",
                      path.string()));
    }
  }

  void load(Connection& connection) {
    const auto runs = connection("SELECT count(*) FROM run");
    if (runs->step()) report_.runs = runs->integer(0);
    const auto packs = connection("SELECT id, name, bytes FROM pack ORDER BY id");
    while (packs->step()) {
      PackState& pack = packs_[packs->integer(0)];
      pack.name = packs->text(1);
      pack.committed = static_cast<std::uint64_t>(packs->integer(2));
    }
    const auto chunks = connection(FLOR_CHUNK_COLUMNS "ORDER BY id");
    while (chunks->step()) load_chunk(*chunks);
    const auto layouts = connection("SELECT id, items, digest FROM layout");
    while (layouts->step()) {
      if (digest_of(layouts->blob(1)) != layouts->digest(2)) {
        add(Finding::Kind::catalog,
            fmt::format("the catalog: layout {} does not have its digest", layouts->integer(0)));
      }
      layouts_.emplace(layouts->integer(0), copy(layouts->blob(1)));
    }
    const auto checkpoints = connection(
        "SELECT kind, main_loop, iteration, loop, run.key, digest, layout, chunks "
        "FROM checkpoint JOIN run ON run.id = checkpoint.run ORDER BY checkpoint.id");
    while (checkpoints->step()) {
      const CheckpointKey key{static_cast<CheckpointKind>(checkpoints->integer(0)),
                              checkpoints->integer(1), checkpoints->integer(2),
                              checkpoints->text(3)};
      manifests_.push_back({describe(key, checkpoints->text_view(4)), checkpoints->digest(5),
                            checkpoints->integer(6), copy(checkpoints->blob(7))});
    }
    report_.checkpoints = static_cast<std::int64_t>(manifests_.size());
    const auto objects = connection("SELECT digest, layout, chunks FROM object ORDER BY id");
    while (objects->step()) {
      const Digest digest = objects->digest(0);
      manifests_.push_back({"the logged object " + digest.hex(), digest, objects->integer(1),
                            copy(objects->blob(2))});
    }
  }

  void load_chunk(const Query& query) {
    ++report_.chunks;
    try {
      const ChunkRow row = read_chunk_row(query);
      chunks_.emplace(row.id, row);
    } catch (const Damaged& error) {
      bad_.emplace(static_cast<std::uint32_t>(query.integer(0)),
                   add(Finding::Kind::catalog, error.what()));
    }
  }

  void check_references(Connection& connection) {
    find_damaged_blocks(connection,
                        [&](std::string&& line) { add(Finding::Kind::catalog, std::move(line)); });
    constexpr auto kTensor = static_cast<std::int64_t>(ValueType::tensor);
    constexpr auto kImage = static_cast<std::int64_t>(ValueType::image);
    const std::set<std::string> elsewhere = absent_objects(connection);
    std::int64_t absent = 0;
    const auto rows = connection(
        "SELECT run.key, series.name, value FROM value JOIN series ON series.id = value.series "
        "JOIN run ON run.id = series.run WHERE value.type IN (?1, ?2) "
        "AND value NOT IN (SELECT lower(hex(digest)) FROM object)",
        kTensor, kImage);
    while (rows->step()) {
      if (elsewhere.contains(rows->text(2))) {
        ++absent;
        continue;
      }
      add(Finding::Kind::orphan,
          fmt::format("'{}' of run {} was logged as the object {}, which does not exist",
                      rows->text(1), rows->text(0), rows->text(2)));
    }
    if (absent == 0) return;
    report_.remarks.push_back(
        fmt::format("{} of runs that were fetched in part {} only where the runs came from: `flor "
                    "fetch` brings {}",
                    absent == 1 ? "1 logged object" : fmt::format("{} logged objects", absent),
                    absent == 1 ? "is" : "are", absent == 1 ? "it" : "them"));
  }

  /// Returns digests of objects that were not fetched with their runs.
  static std::set<std::string> absent_objects(Connection& connection) {
    std::set<std::string> absent;
    if (!has_table(connection, "absent_object")) return absent;
    const auto rows = connection("SELECT digest FROM absent_object");
    while (rows->step()) absent.insert(rows->digest(0).hex());
    return absent;
  }

  bool is_without_copy(const std::filesystem::path& journal) const {
    std::error_code error;
    return !std::filesystem::exists(copy_path(journal), error) && !error &&
           std::filesystem::exists(journal, error) && !is_written(database_.files, journal) &&
           !has_no_beginning(database_.files, journal);
  }

  void check_journals() {
    std::int64_t without_copy = 0;
    for (const std::string& run : find_runs(database_.paths)) {
      for (const FoundJournal& found : find_journals(database_.paths, run)) {
        try {
          JournalReader reader(database_.files, found.path, {});
          while (reader.next()) continue;
          for (const std::string& line : reader.damage()) add(Finding::Kind::journal, line);
          if (lacks_end(reader, found.path, known_journals_[found.path]) &&
              !is_written(database_.files, found.path)) {
            add(Finding::Kind::journal,
                fmt::format("the end of the journal {} is lost: the catalog alone has what it said",
                            found.path.string()));
          }
        } catch (const Error& error) {
          add(Finding::Kind::journal, error.what());
        }
        for (const std::string& line : damage_of_copy(database_.files, found.path)) {
          add(Finding::Kind::journal, line);
        }
        without_copy += is_without_copy(found.path);
      }
    }
    if (without_copy > 0) {
      report_.remarks.push_back(fmt::format(
          "{} without a copy: `flor fsck --repair` makes it",
          without_copy == 1 ? "a journal is" : fmt::format("{} journals are", without_copy)));
    }
    std::vector<std::string> damage;
    LogPositions all;
    read_evaluations(database_.files, database_.paths, all, damage);
    for (const std::string& line : damage) add(Finding::Kind::journal, line);
  }

  void check_packs() {
    report_.packs = static_cast<std::int64_t>(packs_.size());
    for (auto& [id, pack] : packs_) {
      const std::filesystem::path path = database_.paths.pack(pack.name);
      std::error_code error;
      pack.size = std::filesystem::file_size(path, error);
      if (!error && pack.size >= kPackHeaderBytes) check_pack_header(path, pack, error);
      if (error) {
        pack.size = 0;
        pack.finding =
            add(Finding::Kind::missing_pack,
                fmt::format("the pack {} is missing ({})", path.string(), error.message()));
      } else if (pack.size < pack.committed) {
        pack.finding = add(Finding::Kind::damaged_chunk,
                           fmt::format("the pack {} is cut off: it has {} of {} bytes",
                                       path.string(), pack.size, pack.committed));
      }
    }
  }

  /// `error` is set if the pack was removed after its size was read.
  void check_pack_header(const std::filesystem::path& path, const PackState& pack,
                         std::error_code& error) {
    std::array<std::byte, kPackHeaderBytes> bytes{};
    try {
      File(database_.files, path, O_RDONLY).read_at(bytes, 0);
    } catch (const Error&) {
      if (std::filesystem::exists(path, error)) throw;
      error = std::make_error_code(std::errc::no_such_file_or_directory);
      return;
    }
    const auto header = decode_pack_header(bytes);
    if (!header || fmt::format("{:016x}", header->key) != pack.name) {
      add(Finding::Kind::damaged_chunk,
          fmt::format("the header of the pack {} is damaged", path.string()));
    }
  }

  void check_chunks() {
    ChunkChecker checker(database_, packs_, chunks_, bad_, report_);
    checker.check_rows();
    if (read_data_) checker.read_all();
    causes_ = bad_;
    checker.spread_to_dependents();
  }

  void check_manifests() {
    for (const ManifestRow& row : manifests_) {
      try {
        check_manifest(row);
      } catch (const Damaged& error) {
        add(Finding::Kind::damaged_checkpoint,
            fmt::format("{} is lost: {}", row.what, error.what()));
      }
    }
  }

  void check_manifest(const ManifestRow& row) {
    const auto layout = layouts_.find(row.layout);
    if (layout == layouts_.end()) throw Damaged("its layout is missing in the catalog");
    const std::vector<std::uint32_t> ids = decode_ids(row.ids);
    std::vector<std::size_t> causes;
    for (const std::uint32_t id : ids) {
      if (const auto bad = bad_.find(id); bad != bad_.end()) {
        causes.push_back(bad->second);
      } else if (!chunks_.contains(id)) {
        causes.push_back(
            bad_.emplace(id, add(Finding::Kind::missing_chunk,
                                 fmt::format("chunk {} is missing in the catalog", id)))
                .first->second);
      }
    }
    std::sort(causes.begin(), causes.end());
    causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
    for (const std::size_t cause : causes) lost_[cause].push_back(row.what);
    if (!causes.empty()) return;
    std::vector<SizedChunk> chunks;
    for (const std::uint32_t id : ids) {
      chunks.push_back({chunks_.at(id).digest, chunks_.at(id).raw_bytes});
    }
    check_content(layout->second, chunks, row.digest);
  }

  /// Adds remarks on bytes that nothing refers to: leftovers of killed writers.
  void remark_strays() {
    std::map<std::string, const PackState*> by_name;
    for (const auto& [id, pack] : packs_) by_name.emplace(pack.name, &pack);
    for_each_pack(database_.paths, [&](const std::filesystem::path& pack) {
      if (is_being_written(pack)) return;
      const auto known = by_name.find(pack.stem().string());
      std::error_code error;
      const std::uint64_t size = std::filesystem::file_size(pack, error);
      if (error) return;
      const std::uint64_t used = known == by_name.end() ? 0 : known->second->committed;
      if (size > used) {
        report_.remarks.push_back(fmt::format("{} bytes at the end of {} belong to no checkpoint",
                                              size - used, pack.string()));
      }
    });
  }

  bool is_being_written(const std::filesystem::path& path) const {
    try {
      const File file(database_.files, path, O_RDONLY);
      return ::flock(file.descriptor(), LOCK_SH | LOCK_NB) != 0;
    } catch (const Error&) {
      return true;  // removed in the meantime
    }
  }

  /// Adds to each finding the checkpoints and objects lost by it.
  void finish() {
    constexpr std::size_t kNamed = 8;
    for (std::size_t i = 0; i < report_.findings.size(); ++i) {
      Finding& finding = report_.findings[i];
      if (finding.kind == Finding::Kind::catalog && !lost_.contains(i)) continue;
      if (finding.kind == Finding::Kind::damaged_checkpoint ||
          finding.kind == Finding::Kind::orphan || finding.kind == Finding::Kind::journal ||
          finding.kind == Finding::Kind::queue || finding.kind == Finding::Kind::unreadable) {
        continue;
      }
      const auto lost = lost_.find(i);
      if (lost == lost_.end()) {
        finding.what += "; nothing is lost by it";
        continue;
      }
      finding.what += "; lost: ";
      for (std::size_t n = 0; n < std::min(kNamed, lost->second.size()); ++n) {
        finding.what += (n ? ", " : "") + lost->second[n];
      }
      if (lost->second.size() > kNamed) {
        finding.what += fmt::format(" and {} more", lost->second.size() - kNamed);
      }
      finding.lost = std::move(lost->second);
    }
  }

  const Database& database_;
  bool read_data_;
  bool loaded_ = false;  ///< true if the whole catalog could be read
  CheckReport report_;
  std::map<std::int64_t, PackState> packs_;
  std::map<std::filesystem::path, KnownJournal> known_journals_;
  ChunkRows chunks_;
  BadChunks bad_;
  BadChunks causes_;  ///< chunks of `bad_` except those that are bad only because of their bases
  std::unordered_map<std::int64_t, std::vector<std::byte>> layouts_;
  std::vector<ManifestRow> manifests_;
  std::map<std::size_t, std::vector<std::string>> lost_;  ///< by index of the finding
};

}  // namespace

CheckReport check(const Store& store, bool read_data) {
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    Checker checker(store, read_data);
    CheckReport report = checker.run();
    if (report.findings.empty()) return report;
    const auto [any, gone] = checker.collected();
    if (any && i < kTries) continue;
    // If collectors are always active, the last attempt still reports the findings that are
    // certain.
    for (auto index = gone.rbegin(); index != gone.rend(); ++index) {
      report.findings.erase(report.findings.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    return report;
  }
}

}  // namespace flor::store
