// Seals journals of writers that have ended: most of a journal of small flushes is frames.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"

namespace flor::store {

/// Seals the journals that become a quarter smaller by it, of runs whose writers have all ended and
/// came one after another. Call it with the maintenance lock. If it is stopped at any point, each
/// journal exists, as it was or sealed, and the next call does the rest. Journals that cannot be
/// sealed become remarks.
void seal_journals(Database& database, CollectReport& report);

}  // namespace flor::store
