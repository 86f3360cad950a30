// Enters results of evaluations from their logs (journal/evaluation_log.h) into the index.
#pragma once

#include "database/database.h"
#include "journal/evaluation_log.h"

#include <string>
#include <vector>

namespace flor::store {

/// Enters events that the index lacks, and those that replace older ones: the latest event of each
/// evaluation stays, in whatever order they are entered. Within a transaction of the caller.
void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events);

/// Returns the finished evaluations in the index as events with the current time.
std::vector<EvaluationEvent> known_evaluations(Connection& connection);
/// True if the logs have events that the index lacks.
bool lacks_evaluations(Database& database);
/// Enters the events that the index lacks. Adds a line to `damage` for each damage found. Within a
/// transaction of the caller.
void enter_new_evaluations(Database& database, std::vector<std::string>& damage);

// How far the database has read each log, stored in its table `evaluation_log`.
LogPositions log_positions(Connection& connection);
void put_log_positions(Connection& connection, const LogPositions& positions);

/// Returns the id of the evaluator's row, which is inserted if it is missing.
std::int64_t put_evaluator(Connection& connection, std::string_view spec, std::string_view digest);

}  // namespace flor::store
