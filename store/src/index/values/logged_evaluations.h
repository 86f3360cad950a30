// What became of evaluations, from their logs into the index, which has it from nowhere else.
#pragma once

#include "database/database.h"
#include "journal/evaluation_log.h"

#include <string>
#include <vector>

namespace flor::store {

/// Enters what the index does not have, or has an older word of. Of each evaluation it has the last
/// word, whatever the order in which they are entered. Within a transaction of the caller.
void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events);

/// The reverse: what the index has of evaluations that have ended, as if it were said now.
std::vector<EvaluationEvent> known_evaluations(Connection& connection);
/// Whether logs say more than the index has.
bool lacks_evaluations(Database& database);
/// Enters that. Within a transaction of the caller.
void enter_new_evaluations(Database& database, std::vector<std::string>& damage);

// Up to where a database has the logs, in its table `evaluation_log`.
LogPositions log_positions(Connection& connection);
void put_log_positions(Connection& connection, const LogPositions& positions);

/// The id of its row, which is inserted where there is none.
std::int64_t put_evaluator(Connection& connection, std::string_view spec, std::string_view digest);

}  // namespace flor::store
