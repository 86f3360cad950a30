#include "retention/removal.h"

#include "database/manifest.h"
#include "database/store_impl.h"
#include "index/catalog/labels.h"
#include "index/writing.h"
#include "lock/maintenance_lock.h"
#include "retention/chunk_sizes.h"
#include "retention/retention_units.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>

#include <string>
#include <unordered_set>

namespace flor::store {
namespace {

/// Returns the runs and all other ranks of their groups.
std::set<std::int64_t> with_ranks(Connection& connection, std::span<const std::int64_t> runs) {
  std::set<std::int64_t> all;
  for (const std::int64_t run : runs) {
    for (const std::int64_t member : runs_together(connection, run).runs) all.insert(member);
  }
  return all;
}

std::string key_to_remove(Connection& connection, std::int64_t run) {
  const auto row = connection("SELECT key FROM run WHERE id = ?1", run);
  if (row->step()) return row->text(0);
  throw NotFound("the run is not in the store any more: `flor list` shows what there is");
}

std::string short_form(const std::string& key) { return key.substr(0, 8); }

}  // namespace

ContentOfRuns content_of(Connection& connection, const std::set<std::int64_t>& runs) {
  ContentOfRuns content;
  for (const std::int64_t run : runs) {
    const auto rows = connection("SELECT id FROM checkpoint WHERE run = ?1", run);
    while (rows->step()) content.checkpoints.insert(rows->integer(0));
  }
  std::unordered_set<std::string> named;
  for (const std::int64_t run : runs) {
    const auto rows = connection(
        "SELECT DISTINCT value FROM series JOIN value ON value.series = series.id WHERE series.run "
        "= ?1 AND type IN (5, 7)",
        run);
    while (rows->step()) named.insert(rows->text(0));
  }
  if (named.empty()) return content;  // spares reading all values of the store
  {
    const auto rows = connection(
        "SELECT DISTINCT value, run FROM value JOIN series ON series.id = value.series WHERE type "
        "IN (5, 7)");
    while (rows->step()) {
      if (!runs.contains(rows->integer(1))) named.erase(rows->text(0));
    }
  }
  const auto rows = connection("SELECT id, digest FROM object");
  while (rows->step()) {
    if (named.contains(rows->digest(1).hex())) content.objects.insert(rows->integer(0));
  }
  return content;
}

RemovalReport plan_removal(const Store& store, std::span<const std::int64_t> runs) {
  const auto connection = open_for_reading(store.impl().database->paths);
  const ReadTransaction transaction(*connection);
  const std::set<std::int64_t> all = with_ranks(*connection, runs);
  const ContentOfRuns content = content_of(*connection, all);
  const ChunkSizes sizes(*connection);
  ChunkUse use(sizes);
  std::vector<std::uint32_t> gone;
  const auto look = [&](const char* sql, const std::set<std::int64_t>& going) {
    const auto rows = (*connection)(sql);
    while (rows->step()) {
      const std::vector<std::uint32_t> ids = decode_ids(rows->blob(1));
      if (going.contains(rows->integer(0))) {
        gone.insert(gone.end(), ids.begin(), ids.end());
      } else {
        for (const std::uint32_t id : ids) use.need_for_good(id);
      }
    }
  };
  look("SELECT id, chunks FROM checkpoint", content.checkpoints);
  look("SELECT id, chunks FROM object", content.objects);
  for (const std::uint32_t id : gone) use.need(id);
  return {.runs = static_cast<std::int64_t>(all.size()),
          .checkpoints = static_cast<std::int64_t>(content.checkpoints.size()),
          .freed = use.exclusive()};
}

void remove_runs(Store& store, std::span<const std::int64_t> runs) {
  Database& database = *store.impl().database;
  std::vector<RunLock> locks;  // prevent the runs from being resumed meanwhile
  {
    const std::lock_guard lock(database.mutex);
    for (const std::int64_t run : with_ranks(database.connection, runs)) {
      const std::string key = key_to_remove(database.connection, run);
      auto own = store.lock_run(key);
      if (!own) {
        throw Busy(fmt::format("run {} is being recorded, and is not removed: wait for its end, or "
                               "end its process",
                               short_form(key)));
      }
      if (is_used(database, key)) {
        throw Busy(fmt::format(
            "run {} is being replayed, resumed or evaluated, and is not removed: wait for the end",
            short_form(key)));
      }
      locks.push_back(*std::move(own));
    }
  }
  Writing writing(database);
  for (const std::int64_t run : runs) say_label(writing, run, LabelKind::removed, "", kRemoved);
  writing.commit();
}

void bring_back(Store& store, std::int64_t run) {
  Database& database = *store.impl().database;
  // Prevents that a garbage collection drops the run at the same time.
  const MaintenanceLock maintenance(database);
  Writing writing(database);
  const std::string key = key_to_remove(writing.connection(), run);
  if (label_of(writing.connection(), run, LabelKind::removed) == kBeingDropped) {
    throw NotFound(fmt::format(
        "run {} cannot come back: `flor gc` was about to free its group when it was ended",
        short_form(key)));
  }
  say_label(writing, run, LabelKind::removed, "", "");
  writing.commit();
}

}  // namespace flor::store
