#include "index/catalog/checkpoint_rows.h"

#include "index/writing.h"

#include <fmt/core.h>

#include <map>
#include <utility>

namespace flor::store {

CheckpointInfo read_checkpoint(const Query& row) {
  CheckpointInfo info;
  info.id = row.integer(0);
  info.key.kind = static_cast<CheckpointKind>(row.integer(1));
  info.key.main_loop = row.integer(2);
  info.key.iteration = row.integer(3);
  info.key.loop = row.text(4);
  info.raw_bytes = static_cast<std::uint64_t>(row.integer(5));
  info.stored_bytes = static_cast<std::uint64_t>(row.integer(6));
  info.created_us = row.integer(7);
  info.digest = row.digest(8);
  return info;
}

namespace {

NamedRow name_row(Connection& connection, const char* table, std::int64_t id) {
  const auto row = connection(
      fmt::format("SELECT run, kind, main_loop, iteration, loop, digest FROM {} WHERE id = ?1",
                  table),
      id);
  if (!row->step()) return {};
  return {row->integer(0),
          {{static_cast<CheckpointKind>(row->integer(1)), row->integer(2), row->integer(3),
            row->text(4)},
           row->digest(5)}};
}

/// Calls `use` with the id of each row of the table that matches one of the names.
template <typename Use>
void each_named(Connection& connection, const char* table, std::int64_t run,
                std::span<const CheckpointName> names, const Use& use) {
  const std::string sql = fmt::format(
      "SELECT id FROM {} WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 AND iteration = ?4 AND "
      "loop = ?5 AND digest = ?6",
      table);
  for (const CheckpointName& name : names) {
    std::vector<std::int64_t> ids;
    {
      const auto rows =
          connection(sql, run, static_cast<std::int64_t>(name.key.kind), name.key.main_loop,
                     name.key.iteration, name.key.loop, name.digest);
      while (rows->step()) ids.push_back(rows->integer(0));
    }
    for (const std::int64_t id : ids) use(id);
  }
}

}  // namespace

NamedRow name_checkpoint(Connection& connection, std::int64_t id) {
  return name_row(connection, "checkpoint", id);
}
NamedRow name_discarded(Connection& connection, std::int64_t id) {
  return name_row(connection, "discarded", id);
}

void discard_checkpoints(Writing& writing, std::span<const std::int64_t> ids) {
  std::map<std::int64_t, DiscardEvent> by_run;
  for (const std::int64_t id : ids) {
    NamedRow named = name_checkpoint(writing.connection(), id);
    if (named.run != 0) by_run[named.run].checkpoints.push_back(std::move(named.name));
  }
  for (auto& [run, event] : by_run) {
    event.at_us = now_us();
    writing.add(run, event);
  }
}

void apply(Database& database, std::int64_t run, const DiscardEvent& event) {
  Connection& connection = database.connection;
  each_named(connection, "checkpoint", run, event.checkpoints, [&](std::int64_t id) {
    connection("INSERT OR REPLACE INTO discarded (" FLOR_DISCARDED_COLUMNS
               ", discarded_us) SELECT " FLOR_DISCARDED_COLUMNS
               ", ?2 FROM checkpoint WHERE id = ?1",
               id, event.at_us)
        ->run();
    connection("DELETE FROM checkpoint WHERE id = ?1", id)->run();
  });
  recount_checkpoints(connection, run);
}

void note_return(Connection& connection, std::int64_t run, const CheckpointName& name) {
  each_named(connection, "discarded", run, std::span(&name, 1), [&](std::int64_t id) {
    connection("DELETE FROM discarded WHERE id = ?1", id)->run();
  });
}

void apply(Database& database, std::int64_t run, const ProofEvent& event) {
  database
      .connection("INSERT INTO proof (run, replay, event) VALUES (?1, ?2, ?3)", run, event.replay,
                  Bytes(encode_event(0, event)))
      ->run();
}

void apply(Database& database, std::int64_t run, const UndiscardEvent& event) {
  Connection& connection = database.connection;
  each_named(connection, "discarded", run, event.checkpoints, [&](std::int64_t id) {
    // A checkpoint taken again at the same place has another id, and is not replaced.
    connection("INSERT OR IGNORE INTO checkpoint (" FLOR_DISCARDED_COLUMNS
               ") SELECT " FLOR_DISCARDED_COLUMNS " FROM discarded WHERE id = ?1",
               id)
        ->run();
    connection("DELETE FROM discarded WHERE id = ?1", id)->run();
  });
  recount_checkpoints(connection, run);
}

void apply(Database& database, std::int64_t run, const CollectedEvent& event) {
  Connection& connection = database.connection;
  each_named(connection, "discarded", run, event.checkpoints, [&](std::int64_t id) {
    connection("UPDATE discarded SET collected_us = ?2, chunks = x'', layout = 0 WHERE id = ?1", id,
               event.at_us)
        ->run();
  });
}

void apply(Database& database, std::int64_t run, const ArchivedEvent& event) {
  database
      .connection("UPDATE run SET stored_bytes = max(0, stored_bytes - ?2) WHERE id = ?1", run,
                  static_cast<std::int64_t>(event.saved_bytes))
      ->run();
}

void recount_checkpoints(Connection& connection, std::int64_t run) {
  connection(
      "UPDATE run SET "
      "checkpoints = (SELECT count(*) FROM checkpoint WHERE run = ?1), "
      "raw_bytes = (SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = ?1) "
      "WHERE id = ?1",
      run)
      ->run();
}

}  // namespace flor::store
