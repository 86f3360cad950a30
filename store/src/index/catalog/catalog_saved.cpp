// Functions of Catalog about saved checkpoints, the strategy of a run, and deleted checkpoints.
#include "database/database.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/writing.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

constexpr auto kSaved = static_cast<std::int64_t>(CheckpointKind::saved);

/// Returns the value to store for a score: NULL for NaN.
std::optional<double> column_of(double score) {
  return std::isnan(score) ? std::nullopt : std::optional(score);
}

/// Deletes checkpoints with the same number, name or place as the one that is saved now.
void forget_replaced(Connection& connection, std::int64_t run, const SavedCheckpoint& saved) {
  std::vector<std::pair<std::int64_t, std::string>> replaced;
  {
    const auto rows = connection(
        "SELECT number, name FROM saved WHERE run = ?1 AND (number = ?2 OR name = ?3 OR "
        "(path = ?4 AND epoch = ?5 AND step = ?6 AND inner = ?7 AND ordinal = ?8))",
        run, saved.number, saved.name, saved.place.path, saved.place.epoch, saved.place.step,
        saved.place.inner, saved.ordinal);
    while (rows->step()) replaced.emplace_back(rows->integer(0), rows->text(1));
  }
  for (const auto& [number, name] : replaced) {
    connection("DELETE FROM score WHERE run = ?1 AND number = ?2", run, number)->run();
    connection("DELETE FROM saved WHERE run = ?1 AND number = ?2", run, number)->run();
    connection(
        "DELETE FROM checkpoint WHERE run = ?1 AND kind = ?2 AND loop = ?3 AND NOT "
        "(main_loop = ?4 AND iteration = ?5 AND loop = ?6)",
        run, kSaved, name, saved.key.main_loop, saved.key.iteration, saved.key.loop)
        ->run();
    connection("DELETE FROM discarded WHERE run = ?1 AND kind = ?2 AND loop = ?3", run, kSaved,
               name)
        ->run();
  }
  if (!replaced.empty()) recount_checkpoints(connection, run);
}

void insert_score(Connection& connection, std::int64_t run, std::int64_t number,
                  std::string_view metric, double value) {
  connection("INSERT OR REPLACE INTO score (run, number, name, value) VALUES (?1, ?2, ?3, ?4)", run,
             number, metric, column_of(value))
      ->run();
}

}  // namespace

void Catalog::add_saved(std::int64_t run, const SavedCheckpoint& saved) {
  write(*database_, run, SavedEvent{saved});
}

void apply(Database& database, std::int64_t run, const SavedEvent& event) {
  Connection& connection = database.connection;
  const SavedCheckpoint& saved = event.saved;
  forget_replaced(connection, run, saved);
  connection(
      "INSERT INTO saved (run, number, name, main_loop, iteration, path, epoch, step, inner, "
      "ordinal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      run, saved.number, saved.name, saved.key.main_loop, saved.key.iteration, saved.place.path,
      saved.place.epoch, saved.place.step, saved.place.inner, saved.ordinal)
      ->run();
  for (const auto& [metric, value] : saved.scores) {
    insert_score(connection, run, saved.number, metric, value);
  }
}

void Catalog::add_score(std::int64_t run, std::int64_t number, std::string_view metric,
                        double value) {
  if (says_in_journal(*database_, run)) {
    return write(*database_, run, ScoreEvent{number, std::string(metric), value});
  }
  Writing writing(*database_);
  const bool known =
      writing.connection()("SELECT 1 FROM saved WHERE run = ?1 AND number = ?2", run, number)
          ->step();
  if (!known) {
    throw NotFound(fmt::format("the run has no saved checkpoint {} to give {} to", number, metric));
  }
  writing.add(run, ScoreEvent{number, std::string(metric), value});
  writing.commit();
}

void apply(Database& database, std::int64_t run, const ScoreEvent& event) {
  insert_score(database.connection, run, event.number, event.metric, event.value);
}

std::vector<SavedCheckpoint> Catalog::saved(std::int64_t run) const {
  const Lock lock(database_->mutex);
  const ReadTransaction transaction(database_->connection);
  std::vector<SavedCheckpoint> list;
  {
    const auto rows = database_->connection(
        "SELECT number, name, main_loop, iteration, path, epoch, step, inner, ordinal FROM saved "
        "WHERE run = ?1 ORDER BY number",
        run);
    while (rows->step()) {
      SavedCheckpoint& saved = list.emplace_back();
      saved.number = rows->integer(0);
      saved.name = rows->text(1);
      saved.key = {CheckpointKind::saved, rows->integer(2), rows->integer(3), saved.name};
      saved.place = {rows->text(4), rows->integer(5), rows->integer(6), rows->text(7)};
      saved.ordinal = rows->integer(8);
    }
  }
  const auto scores = database_->connection(
      "SELECT number, name, value FROM score WHERE run = ?1 ORDER BY number", run);
  auto next = list.begin();
  while (scores->step()) {
    while (next != list.end() && next->number < scores->integer(0)) ++next;
    if (next == list.end()) break;
    next->scores[scores->text(1)] =
        scores->is_null(2) ? std::numeric_limits<double>::quiet_NaN() : scores->real(2);
  }
  return list;
}

void Catalog::put_strategy(std::int64_t run, const CheckpointStrategy& strategy) {
  write(*database_, run, StrategyEvent{strategy});
}

void apply(Database& database, std::int64_t run, const StrategyEvent& event) {
  const CheckpointStrategy& strategy = event.strategy;
  database
      .connection(
          "INSERT OR REPLACE INTO strategy (run, num_to_keep, attribute, score_order, tie) VALUES "
          "(?1, ?2, ?3, ?4, ?5)",
          run, strategy.num_to_keep, strategy.score_attribute,
          static_cast<std::int64_t>(strategy.score_order), static_cast<std::int64_t>(strategy.tie))
      ->run();
}

std::optional<CheckpointStrategy> Catalog::strategy(std::int64_t run) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT num_to_keep, attribute, score_order, tie FROM strategy WHERE run = ?1", run);
  if (!row->step()) return std::nullopt;
  CheckpointStrategy strategy;
  if (!row->is_null(0)) strategy.num_to_keep = row->integer(0);
  strategy.score_attribute = row->text(1);
  strategy.score_order = static_cast<ScoreOrder>(row->integer(2));
  strategy.tie = static_cast<Tie>(row->integer(3));
  return strategy;
}

std::vector<DiscardedCheckpoint> Catalog::discarded(std::int64_t run) const {
  const Lock lock(database_->mutex);
  std::vector<DiscardedCheckpoint> list;
  const auto rows = database_->connection(
      "SELECT " FLOR_CHECKPOINT_COLUMNS
      ", discarded_us, collected_us FROM discarded WHERE run = ?1 ORDER BY id",
      run);
  while (rows->step()) {
    DiscardedCheckpoint& discarded = list.emplace_back();
    discarded.info = read_checkpoint(*rows);
    discarded.discarded_us = rows->integer(9);
    if (!rows->is_null(10)) discarded.collected_us = rows->integer(10);
  }
  return list;
}

}  // namespace flor::store
