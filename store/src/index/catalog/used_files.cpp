// Files that runs have read and written, and which runs that connects.
#include "database/database.h"
#include "database/rows.h"
#include "database/store_impl.h"
#include "index/catalog/labels.h"
#include "index/catalog/resume_rows.h"
#include "index/writing.h"

#include <flor/store/store.h>
#include <flor/store/used_files.h>

#include <limits>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// A kind of a later version counts as a file.
UsedKind kind_of(std::int64_t number) {
  const bool known = number >= 0 && number <= static_cast<std::int64_t>(UsedKind::query);
  return known ? static_cast<UsedKind>(number) : UsedKind::file;
}

void insert(Connection& connection, std::int64_t run, FileUse use, const UsedFile& file) {
  connection(
      "INSERT OR IGNORE INTO used_file (run, use, name, digest, source, kind, place, bytes, files, "
      "epoch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      run, static_cast<std::int64_t>(use), file.name, file.digest, file.source,
      static_cast<std::int64_t>(file.kind), file.place, static_cast<std::int64_t>(file.bytes),
      file.files, file.epoch)
      ->run();
}

std::vector<FileKin> read_kin(Query& rows) {
  std::vector<FileKin> kin;
  while (rows.step()) kin.push_back({rows.text(0), rows.text(1), rows.text(2)});
  return kin;
}

/// The time of a run that has not ended.
constexpr std::int64_t kLater = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::string_view to_string(UsedKind kind) {
  switch (kind) {
    case UsedKind::file:
      return "file";
    case UsedKind::directory:
      return "directory";
    case UsedKind::checkpoint:
      return "checkpoint";
    case UsedKind::query:
      return "query";
  }
  return "file";
}

void apply(Database& database, std::int64_t run, const InputEvent& event) {
  insert(database.connection, run, FileUse::input, event.file);
}

void apply(Database& database, std::int64_t run, const OutputEvent& event) {
  database
      .connection("DELETE FROM used_file WHERE run = ?1 AND use = ?2 AND name = ?3", run,
                  static_cast<std::int64_t>(FileUse::output), event.file.name)
      ->run();
  insert(database.connection, run, FileUse::output, event.file);
}

void forget_files_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  // Inside of an epoch: what it read before the point is not read again.
  const std::int64_t first = point.loop.empty() ? point.epoch : point.epoch + 1;
  connection("DELETE FROM used_file WHERE run = ?1 AND epoch >= ?2", run, first)->run();
}

void add_file(Store& store, std::int64_t run, const UsedFile& file) {
  Database& database = *store.impl().database;
  if (file.use == FileUse::input) return write(database, run, InputEvent{file});
  write(database, run, OutputEvent{file});
}

std::vector<UsedFile> files_of(const Store& store, std::int64_t run) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  std::vector<UsedFile> files;
  const auto rows = database.connection(
      "SELECT use, kind, name, place, bytes, files, digest, epoch, source FROM used_file WHERE run "
      "= ?1 ORDER BY use, name, epoch, digest, source",
      run);
  while (rows->step()) {
    files.push_back({rows->integer(0) == 0 ? FileUse::input : FileUse::output,
                     kind_of(rows->integer(1)), rows->text(2), rows->text(3),
                     static_cast<std::uint64_t>(rows->integer(4)), rows->integer(5),
                     rows->digest(6), rows->integer(7), rows->text(8)});
  }
  return files;
}

std::vector<FileKin> kin_of(const Store& store, std::int64_t run, const UsedFile& file,
                            std::size_t most) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto limit = static_cast<std::int64_t>(most);
  if (!file.source.empty()) {
    std::vector<FileKin> kin = read_kin(*database.connection(
        "SELECT key, experiment.name, '' FROM run JOIN experiment ON experiment.id = "
        "run.experiment WHERE key = ?1 LIMIT ?2",
        file.source, limit));
    if (kin.empty()) kin.push_back({file.source, {}, {}});
    return kin;
  }
  if (file.bytes == 0) return {};
  const bool is_input = file.use == FileUse::input;
  return read_kin(*database.connection(
      "SELECT run.key, experiment.name, used_file.name FROM used_file JOIN run ON run.id = "
      "used_file.run JOIN experiment ON experiment.id = run.experiment JOIN run AS own ON own.id = "
      "?1 WHERE digest = ?2 AND use = ?3 AND source = '' AND run.id <> own.id AND CASE ?3 WHEN 1 "
      "THEN run.started_us <= coalesce(own.finished_us, ?5) ELSE own.started_us <= "
      "coalesce(run.finished_us, ?5) END AND NOT " FLOR_IS_REMOVED(
          "run.id") "ORDER BY run.started_us DESC, run.id DESC, used_file.name LIMIT ?4",
      run, file.digest, is_input ? 1 : 0, limit, kLater));
}

std::vector<FileKin> readers_of(const Store& store, std::string_view key, std::size_t most) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  return read_kin(*database.connection(
      "SELECT run.key, experiment.name, used_file.name FROM used_file JOIN run ON run.id = "
      "used_file.run JOIN experiment ON experiment.id = run.experiment WHERE source = ?1 AND "
      "source <> '' AND run.key <> ?1 AND NOT " FLOR_IS_REMOVED(
          "run.id") "ORDER BY run.started_us DESC, run.id DESC, used_file.name LIMIT ?2",
      key, static_cast<std::int64_t>(most)));
}

}  // namespace flor::store
