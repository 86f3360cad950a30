// Brings results of evaluations from their logs into the index, which has no other source.
#pragma once

#include "database/database.h"
#include "journal/evaluation_log.h"

#include <string>
#include <vector>

namespace flor::store {

/// Enters events that the index lacks, or that replace older ones. It keeps the latest of each
/// evaluation, whatever the order of entering. Within a transaction of the caller.
void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events);

/// The reverse: evaluations in the index that have ended, as events of this moment.
std::vector<EvaluationEvent> known_evaluations(Connection& connection);
/// True if logs have events that the index lacks.
bool lacks_evaluations(Database& database);
/// Enters those events. Within a transaction of the caller.
void enter_new_evaluations(Database& database, std::vector<std::string>& damage);

// Positions up to which a database has the logs, in its table `evaluation_log`.
LogPositions log_positions(Connection& connection);
void put_log_positions(Connection& connection, const LogPositions& positions);

/// The id of the evaluator's row, which is inserted if there is none.
std::int64_t put_evaluator(Connection& connection, std::string_view spec, std::string_view digest);

}  // namespace flor::store
