// Functions of Catalog about the parts of a run: arguments, loops, iterations, checkpoints.
#include "database/database.h"
#include "database/rows.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/writing.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

void insert(Connection& connection, std::int64_t run, const MainLoop& loop) {
  connection(
      "INSERT OR REPLACE INTO main_loop (run, ordinal, name, first_epoch, iterations, ended, "
      "broke) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      run, loop.ordinal, loop.name, loop.first_epoch, loop.iterations, loop.ended, loop.broke)
      ->run();
}

void insert(Connection& connection, std::int64_t run, const Iteration& iteration) {
  const auto query = connection(
      "INSERT OR IGNORE INTO iteration (run, main_loop, iteration, seconds, record_seconds) "
      "VALUES (?1, ?2, ?3, ?4, ?5)",
      run, iteration.main_loop, iteration.iteration, iteration.seconds, iteration.record_seconds);
  query->run();
  if (query->changes() > 0) {
    connection("UPDATE run SET epochs = epochs + 1 WHERE id = ?1", run)->run();
  } else {
    connection(
        "UPDATE iteration SET seconds = ?4, record_seconds = ?5 "
        "WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3",
        run, iteration.main_loop, iteration.iteration, iteration.seconds, iteration.record_seconds)
        ->run();
  }
}

void insert(Connection& connection, std::int64_t run, const LoopExecution& execution) {
  connection(
      "INSERT INTO execution (run, main_loop, iteration, loop, ordinal, iterations, broke, "
      "seconds) VALUES (?1, ?2, ?3, ?4, (SELECT count(*) FROM execution "
      "WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3), ?5, ?6, ?7) "
      "ON CONFLICT DO UPDATE SET iterations = excluded.iterations, broke = excluded.broke, "
      "seconds = excluded.seconds",
      run, execution.main_loop, execution.iteration, execution.loop, execution.iterations,
      execution.broke, execution.seconds)
      ->run();
}

void insert(Connection& connection, std::int64_t run, const StorageDecision& decision) {
  connection(
      "INSERT OR REPLACE INTO decision (run, main_loop, first, last, reason, cost, computed) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      run, decision.main_loop, decision.first, decision.last,
      static_cast<std::int64_t>(decision.reason), decision.cost, decision.computed)
      ->run();
}

void insert(Connection& connection, std::int64_t run, const Recording& recording) {
  connection(
      "INSERT OR REPLACE INTO recording (run, every, epsilon, materialization, computation, "
      "restore_factor, cost, computed, forced, startup, iterations, stored, waits, hurried, fast, "
      "raw) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
      run, recording.every, recording.epsilon, recording.materialization, recording.computation,
      recording.restore_factor, recording.cost, recording.computed, recording.forced,
      recording.startup, recording.iterations, recording.stored, recording.waits, recording.hurried,
      recording.fast, recording.raw)
      ->run();
}

}  // namespace

void apply(Database& database, std::int64_t run, const ProgressEvent& event) {
  Connection& connection = database.connection;
  const Progress& progress = event.progress;
  for (const MainLoop& loop : progress.loops) insert(connection, run, loop);
  for (const Iteration& iteration : progress.iterations) insert(connection, run, iteration);
  for (const LoopExecution& execution : progress.executions) insert(connection, run, execution);
  for (const StorageDecision& decision : progress.decisions) insert(connection, run, decision);
  if (progress.recording) insert(connection, run, *progress.recording);
}

bool is_stored(StorageReason reason) {
  switch (reason) {
    case StorageReason::worthwhile:
    case StorageReason::last:
    case StorageReason::end:
    case StorageReason::every:
    case StorageReason::forced:
    case StorageReason::measured:
      return true;
    default:
      return false;
  }
}

Argument Argument::recorded() const {
  Argument argument{name, type, masked_value(name, value)};
  if (argument.value != value) argument.type = "secret";
  return argument;
}

void apply(Database& database, std::int64_t run, const ArgumentEvent& event) {
  const Argument& argument = event.argument;
  database
      .connection(
          "INSERT INTO argument (run, name, ordinal, type, value) "
          "VALUES (?1, ?2, (SELECT count(*) FROM argument WHERE run = ?1), ?3, ?4) "
          "ON CONFLICT DO UPDATE SET type = excluded.type, value = excluded.value",
          run, argument.name, argument.type, argument.value)
      ->run();
}

void Catalog::add_argument(std::int64_t run, const Argument& argument) {
  write(*database_, run, ArgumentEvent{argument.recorded()});
}

void Catalog::put_main_loop(std::int64_t run, const MainLoop& loop) {
  add_progress(
      run, {.loops = {loop}, .iterations = {}, .executions = {}, .decisions = {}, .recording = {}});
}

void Catalog::add_iteration(std::int64_t run, const Iteration& iteration) {
  add_progress(
      run,
      {.loops = {}, .iterations = {iteration}, .executions = {}, .decisions = {}, .recording = {}});
}

void Catalog::add_execution(std::int64_t run, const LoopExecution& execution) {
  add_progress(
      run,
      {.loops = {}, .iterations = {}, .executions = {execution}, .decisions = {}, .recording = {}});
}

void Catalog::add_progress(std::int64_t run, const Progress& progress) {
  write(*database_, run, ProgressEvent{progress});
}

void apply(Database& database, std::int64_t run, const ForgetEvent& event) {
  Connection& connection = database.connection;
  for (const CheckpointKey& key : event.checkpoints) {
    connection(
        "DELETE FROM checkpoint WHERE run = ?1 AND kind = ?2 AND main_loop = ?3 "
        "AND iteration = ?4 AND loop = ?5",
        run, static_cast<std::int64_t>(key.kind), key.main_loop, key.iteration, key.loop)
        ->run();
  }
  recount_checkpoints(connection, run);
}

void Catalog::drop_checkpoints(std::int64_t run, std::span<const CheckpointKey> keys) {
  write(*database_, run, ForgetEvent{{keys.begin(), keys.end()}});
}

std::vector<Argument> Catalog::arguments(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<Argument> arguments;
  const auto rows = database_->connection(
      "SELECT name, type, value FROM argument WHERE run = ?1 ORDER BY ordinal", run);
  while (rows->step()) arguments.push_back({rows->text(0), rows->text(1), rows->text(2)});
  return arguments;
}

std::vector<MainLoop> Catalog::main_loops(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<MainLoop> loops;
  const auto rows = database_->connection(
      "SELECT ordinal, name, first_epoch, iterations, ended, broke FROM main_loop "
      "WHERE run = ?1 ORDER BY ordinal",
      run);
  while (rows->step()) {
    loops.push_back({rows->integer(0), rows->text(1), rows->integer(2), rows->integer(3),
                     rows->integer(4) != 0, rows->integer(5) != 0});
  }
  return loops;
}

std::vector<Iteration> Catalog::iterations(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<Iteration> iterations;
  const auto rows = database_->connection(
      "SELECT main_loop, iteration, seconds, record_seconds FROM iteration "
      "WHERE run = ?1 ORDER BY main_loop, iteration",
      run);
  while (rows->step()) {
    iterations.push_back({rows->integer(0), rows->integer(1), rows->real(2), rows->real(3)});
  }
  return iterations;
}

std::vector<LoopExecution> Catalog::executions(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<LoopExecution> executions;
  const auto rows = database_->connection(
      "SELECT main_loop, iteration, loop, iterations, broke, seconds FROM execution "
      "WHERE run = ?1 ORDER BY main_loop, iteration, ordinal",
      run);
  while (rows->step()) {
    executions.push_back({rows->integer(0), rows->integer(1), rows->text(2), rows->integer(3),
                          rows->integer(4) != 0, rows->real(5)});
  }
  return executions;
}

std::vector<StorageDecision> Catalog::decisions(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<StorageDecision> decisions;
  const auto rows = database_->connection(
      "SELECT main_loop, first, last, reason, cost, computed FROM decision "
      "WHERE run = ?1 ORDER BY main_loop, first",
      run);
  while (rows->step()) {
    decisions.push_back({rows->integer(0), rows->integer(1), rows->integer(2),
                         static_cast<StorageReason>(rows->integer(3)), rows->real(4),
                         rows->real(5)});
  }
  return decisions;
}

std::optional<Recording> Catalog::recording(std::int64_t run) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT every, epsilon, materialization, computation, restore_factor, cost, computed, "
      "forced, startup, iterations, stored, waits, hurried, fast, raw FROM recording "
      "WHERE run = ?1",
      run);
  if (!row->step()) return std::nullopt;
  return Recording{.every = row->integer(0),
                   .epsilon = row->real(1),
                   .materialization = row->real(2),
                   .computation = row->real(3),
                   .restore_factor = row->real(4),
                   .cost = row->real(5),
                   .computed = row->real(6),
                   .forced = row->real(7),
                   .startup = row->real(8),
                   .iterations = row->integer(9),
                   .stored = row->integer(10),
                   .waits = row->integer(11),
                   .hurried = row->integer(12),
                   .fast = row->integer(13),
                   .raw = row->integer(14)};
}

std::vector<CheckpointInfo> Catalog::checkpoints(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<CheckpointInfo> checkpoints;
  const auto rows = database_->connection(
      "SELECT " FLOR_CHECKPOINT_COLUMNS " FROM checkpoint WHERE run = ?1 ORDER BY id", run);
  while (rows->step()) checkpoints.push_back(read_checkpoint(*rows));
  return checkpoints;
}

std::optional<CheckpointInfo> Catalog::checkpoint(std::int64_t run,
                                                  const CheckpointKey& key) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection("SELECT " FLOR_CHECKPOINT_COLUMNS
                                         " FROM checkpoint WHERE run = ?1 AND kind = ?2 AND "
                                         "main_loop = ?3 AND iteration = ?4 AND loop = ?5",
                                         run, static_cast<std::int64_t>(key.kind), key.main_loop,
                                         key.iteration, key.loop);
  if (!row->step()) return std::nullopt;
  return read_checkpoint(*row);
}

}  // namespace flor::store
