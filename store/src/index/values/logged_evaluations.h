// What became of evaluations, from their logs into the index.
#pragma once

#include "database/sqlite.h"
#include "journal/evaluation_log.h"

#include <vector>

namespace flor::store {

/// Enters what the index does not have, or has an older word of. Within a transaction of the
/// caller.
void enter_evaluations(Connection& connection, const std::vector<EvaluationEvent>& events);

/// The reverse: what the index has of evaluations that have ended, as if it were said now.
std::vector<EvaluationEvent> known_evaluations(Connection& connection);

}  // namespace flor::store
