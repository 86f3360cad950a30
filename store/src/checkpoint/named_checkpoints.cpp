#include "checkpoint/named_checkpoints.h"

#include "database/store_impl.h"
#include "file/home_files.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/catalog/labels.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// The boundary before the first iteration of a loop has no name; its epoch is NULL.
#define FLOR_NAMED_COLUMNS                                                                  \
  "point.id, point.kind, point.main_loop, point.iteration, point.loop, point.raw_bytes, "   \
  "point.stored_bytes, point.created_us, point.digest, run.key, experiment.name, version, " \
  "CASE WHEN point.iteration > 0 THEN first_epoch + point.iteration - 1 END "
#define FLOR_NAMED_TABLES                                                                  \
  "AS point JOIN run ON run.id = point.run JOIN experiment ON experiment.id = experiment " \
  "LEFT JOIN main_loop ON main_loop.run = point.run AND ordinal = point.main_loop "

std::optional<NamedCheckpoint> read_named(const Query& row) {
  NamedCheckpoint named{.info = read_checkpoint(row),
                        .reference = {},
                        .run = row.text(9),
                        .experiment = row.text(10),
                        .commit = row.text(11),
                        .epoch = {}};
  if (named.info.key.kind == CheckpointKind::saved) {
    named.saved = named.info.key.loop;
    named.reference = named.run + "@" + named.saved;
  } else {
    if (row.is_null(12)) return std::nullopt;
    named.epoch = row.integer(12);
    named.reference = fmt::format("{}@{}", named.run, *named.epoch);
  }
  return named;
}

/// Returns the newest row of a table with this name.
std::optional<NamedCheckpoint> find_in(Connection& connection, const char* table,
                                       std::string_view key, std::string_view place) {
  std::optional<std::int64_t> epoch(0);
  const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), *epoch);
  if (error != std::errc() || end != place.data() + place.size()) epoch.reset();
  const auto rows =
      connection(fmt::format("SELECT " FLOR_NAMED_COLUMNS "FROM {} " FLOR_NAMED_TABLES
                             "WHERE run.key = ?1 AND ((point.kind = 0 AND point.iteration > 0 AND "
                             "first_epoch + point.iteration - 1 = ?2) OR (point.kind = 3 AND "
                             "point.loop = ?3)) ORDER BY point.id DESC LIMIT 1",
                             table),
                 key, epoch, place);
  return rows->step() ? read_named(*rows) : std::nullopt;
}

void check_present(Connection& connection, std::string_view key) {
  const auto row =
      connection("SELECT 1 FROM run WHERE key = ?1 AND " FLOR_IS_REMOVED("run.id"), key);
  if (!row->step()) return;
  throw NotFound(
      fmt::format("run {0} was removed: `flor rm {0} --undo` brings it back", key.substr(0, 8)));
}

void touch(const std::filesystem::path& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace

std::vector<NamedCheckpoint> named_checkpoints(const Store& store, const CheckpointScope& scope,
                                               std::int64_t after) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto rows =
      database.connection("SELECT " FLOR_NAMED_COLUMNS "FROM checkpoint " FLOR_NAMED_TABLES
                          "LEFT JOIN rank_run ON rank_run.run = run.id "
                          "WHERE point.id > ?1 AND point.kind IN (0, 3) AND "
                          "((?2 = '' AND run.key = ?3) OR (experiment.name = ?2 AND coalesce(rank, "
                          "0) = 0)) AND NOT " FLOR_IS_REMOVED("run.id") "ORDER BY point.id",
                          after, scope.experiment, scope.run);
  std::vector<NamedCheckpoint> all;
  while (rows->step()) {
    if (auto named = read_named(*rows)) all.push_back(*std::move(named));
  }
  return all;
}

NamedCheckpoint find_checkpoint(const Store& store, std::string_view reference) {
  const std::size_t at = reference.find('@');
  if (at == reference.npos) {
    throw NotFound(fmt::format("'{}' names no checkpoint: KEY@EPOCH does", reference));
  }
  const std::string_view key = reference.substr(0, at), place = reference.substr(at + 1);
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const ReadTransaction transaction(database.connection);
  check_present(database.connection, key);
  if (auto named = find_in(database.connection, "checkpoint", key, place)) return *named;
  // Once `collected_us` is set, the content is gone, or about to go (see `collect`).
  if (auto named = find_in(database.connection,
                           "(SELECT * FROM discarded WHERE collected_us IS NULL)", key, place)) {
    named->deleted = true;
    return *named;
  }
  const auto gone = find_in(database.connection, "discarded", key, place);
  if (gone && gone->epoch) {
    throw NotFound(fmt::format(
        "the checkpoint {} is gone: it was deleted, `flor keep {}@{} --undo` computes it again",
        reference, key.substr(0, 8), place));
  }
  throw NotFound(fmt::format(
      "the checkpoint {} is gone: it was deleted, or its run went on before it", reference));
}

std::optional<NamedCheckpoint> find_content(const Store& store, const Digest& content) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto rows = database.connection(
      "SELECT " FLOR_NAMED_COLUMNS "FROM checkpoint " FLOR_NAMED_TABLES
      "WHERE point.digest = ?1 AND point.kind IN (0, 3) AND NOT " FLOR_IS_REMOVED(
          "run.id") "ORDER BY point.id DESC",
      content);
  while (rows->step()) {
    if (auto named = read_named(*rows)) return named;
  }
  return std::nullopt;
}

std::int64_t running(const Store& store, const CheckpointScope& scope) {
  const Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto rows = store.impl().database->connection(
      "SELECT run.key FROM run JOIN experiment ON experiment.id = experiment WHERE "
      "finished_us IS NULL AND ((?1 = '' AND run.key = ?2) OR experiment.name = ?1)",
      scope.experiment, scope.run);
  std::int64_t count = 0;
  while (rows->step()) count += is_locked(database, rows->text_view(0)) ? 1 : 0;
  return count;
}

std::filesystem::path checkpoint_bell(const Store& store) {
  const std::filesystem::path path = store.impl().database->paths.checkpoint_bell();
  const int descriptor = open_in_home(path, O_WRONLY | O_CREAT);
  if (descriptor < 0) throw_system_error("create", path, errno);
  ::close(descriptor);
  return path;
}

void hang_journal_bell(const Store& store) noexcept {
  const int descriptor =
      open_in_home(store.impl().database->paths.journal_bell(), O_WRONLY | O_CREAT);
  if (descriptor >= 0) ::close(descriptor);
}

void ring_checkpoint(const Database& database) { touch(database.paths.checkpoint_bell()); }

void ring(const Database& database) { touch(database.paths.journal_bell()); }

}  // namespace flor::store
