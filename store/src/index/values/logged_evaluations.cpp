#include "index/values/logged_evaluations.h"

#include "database/database.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace flor::store {
namespace {

/// An evaluation in the index.
struct KnownEvaluation {
  std::int64_t id = 0;
  bool ended = false;  ///< otherwise it waited when the queue was in the index
  bool fetched = false;
  EvaluationEvent said = {};  ///< only the fields that tell which of two counts
};

std::optional<KnownEvaluation> find(Connection& connection, const EvaluationEvent& event,
                                    std::int64_t evaluator) {
  const auto row = connection(
      "SELECT id, finished_us IS NOT NULL, EXISTS (SELECT 1 FROM fetched_result WHERE "
      "fetched_result.job = job.id), due_us, state, job.token, coalesce(json, message) FROM job "
      "LEFT JOIN job_result ON job_result.job = job.id WHERE content = ?1 AND evaluator = ?2 AND "
      "arguments = ?3",
      event.content, evaluator, event.arguments);
  if (!row->step()) return std::nullopt;
  KnownEvaluation known{
      .id = row->integer(0), .ended = row->integer(1) != 0, .fetched = row->integer(2) != 0};
  known.said.at_us = row->integer(3);
  known.said.end = static_cast<EvaluationEnd>(row->integer(4));
  known.said.token = row->integer(5);
  known.said.text = row->text(6);
  return known;
}

/// Writes a row, which keeps its id. A forgotten evaluation stays, without a result: an older event
/// about it may be read later.
void put_evaluation(Connection& connection, const EvaluationEvent& event, std::int64_t evaluator,
                    const std::optional<KnownEvaluation>& known) {
  if (known) {
    connection("DELETE FROM job_result WHERE job = ?1", known->id)->run();
    connection("DELETE FROM fetched_result WHERE job = ?1", known->id)->run();
  }
  const bool done = event.end == EvaluationEnd::done;
  connection(
      "INSERT INTO job (content, evaluator, arguments, path, priority, state, attempts, token, "
      "owner, added_us, due_us, finished_us, message) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9, ?10, ?9, ?11) "
      "ON CONFLICT (content, evaluator, arguments) DO UPDATE SET path = ?4, priority = ?5, "
      "state = ?6, attempts = ?7, token = ?8, owner = '', due_us = ?10, finished_us = ?9, "
      "message = ?11",
      event.content, evaluator, event.arguments, event.path, event.priority,
      static_cast<std::int64_t>(event.end), event.attempts, event.token, event.finished_us,
      event.at_us, done ? std::string() : event.text)
      ->run();
  if (!done) return;
  connection(
      "INSERT INTO job_result (job, token, json) SELECT id, ?4, ?5 FROM job WHERE content = ?1 AND "
      "evaluator = ?2 AND arguments = ?3",
      event.content, evaluator, event.arguments, event.token, event.text)
      ->run();
}

/// Enters an evaluation made here, which replaces those that came with runs.
void enter_own(Connection& connection, const EvaluationEvent& event, std::int64_t evaluator) {
  const auto known = find(connection, event, evaluator);
  const bool replaces = !known || !known->ended ||
                        (known->fetched && event.end != EvaluationEnd::forgotten) ||
                        counts_before(event, known->said);
  if (replaces) put_evaluation(connection, event, evaluator, known);
}

/// Enters a result that came with a run. If there is one already, that stays; equal ones count for
/// both runs.
void enter_fetched(Connection& connection, const EvaluationEvent& event, std::int64_t evaluator) {
  // The run was removed since, or never came.
  if (!connection("SELECT 1 FROM run WHERE key = ?1", event.run)->step()) return;
  const auto known = find(connection, event, evaluator);
  const bool was_forgotten = known && known->ended && known->said.end == EvaluationEnd::forgotten;
  if (!known || (was_forgotten && known->said.at_us < event.at_us)) {
    put_evaluation(connection, event, evaluator, known);
  } else if (!known->fetched || known->said.text != event.text) {
    return;
  }
  connection(
      "INSERT OR IGNORE INTO fetched_result (job, run) SELECT id, ?4 FROM job WHERE content = ?1 "
      "AND evaluator = ?2 AND arguments = ?3",
      event.content, evaluator, event.arguments, event.run)
      ->run();
}

}  // namespace

void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events) {
  for (const EvaluationEvent& event : events) {
    const std::int64_t evaluator = put_evaluator(connection, event.spec, event.digest);
    event.run.empty() ? enter_own(connection, event, evaluator)
                      : enter_fetched(connection, event, evaluator);
  }
}

bool lacks_evaluations(Database& database) {
  return differ_from(database.paths, log_positions(database.connection));
}

void enter_new_evaluations(Database& database, std::vector<std::string>& damage) {
  LogPositions read = log_positions(database.connection);
  if (!differ_from(database.paths, read)) return;
  enter_evaluations(database.connection,
                    read_evaluations(database.files, database.paths, read, damage));
  put_log_positions(database.connection, read);
}

LogPositions log_positions(Connection& connection) {
  LogPositions positions;
  const auto rows = connection("SELECT name, bytes, frames FROM evaluation_log");
  while (rows->step()) {
    positions[rows->text(0)] = {static_cast<std::uint64_t>(rows->integer(1)),
                                static_cast<std::uint64_t>(rows->integer(2))};
  }
  return positions;
}

void put_log_positions(Connection& connection, const LogPositions& positions) {
  for (const auto& [name, at] : log_positions(connection)) {
    if (positions.contains(name)) continue;
    connection("DELETE FROM evaluation_log WHERE name = ?1", name)->run();
  }
  for (const auto& [name, at] : positions) {
    connection(
        "INSERT INTO evaluation_log (name, bytes, frames) VALUES (?1, ?2, ?3) ON CONFLICT (name) "
        "DO "
        "UPDATE SET bytes = ?2, frames = ?3",
        name, static_cast<std::int64_t>(at.bytes), static_cast<std::int64_t>(at.frames))
        ->run();
  }
}

std::vector<EvaluationEvent> known_evaluations(Connection& connection) {
  std::vector<EvaluationEvent> known;
  const auto rows = connection(
      "SELECT content, spec, digest, arguments, state, path, priority, attempts, job.token, "
      "coalesce(json, message), coalesce(finished_us, 0), coalesce(fetched_result.run, '') "
      "FROM job JOIN evaluator ON evaluator.id = job.evaluator "
      "LEFT JOIN job_result ON job_result.job = job.id "
      "LEFT JOIN fetched_result ON fetched_result.job = job.id WHERE state IN (3, 4, 5)");
  while (rows->step()) {
    EvaluationEvent& event = known.emplace_back();
    event.at_us = now_us();
    event.content = rows->digest(0);
    event.spec = rows->text(1);
    event.digest = rows->text(2);
    event.arguments = rows->text(3);
    event.end = static_cast<EvaluationEnd>(rows->integer(4));
    event.path = rows->text(5);
    event.priority = rows->integer(6);
    event.attempts = rows->integer(7);
    event.token = rows->integer(8);
    event.text = rows->text(9);
    event.finished_us = rows->integer(10);
    event.run = rows->text(11);
  }
  return known;
}

std::int64_t put_evaluator(Connection& connection, std::string_view spec, std::string_view digest) {
  connection("INSERT OR IGNORE INTO evaluator (spec, digest) VALUES (?1, ?2)", spec, digest)->run();
  const auto row =
      connection("SELECT id FROM evaluator WHERE spec = ?1 AND digest = ?2", spec, digest);
  row->step();
  return row->integer(0);
}

}  // namespace flor::store
