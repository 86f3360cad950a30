// Seals journals of ended writers (journal/sealing.h): a journal of many small flushes consists
// mostly of frame headers.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"

namespace flor::store {

/// Seals the journals that become at least a quarter smaller by it, of runs whose writers have all
/// ended and did not overlap in time. Call it with the maintenance lock. It may be interrupted at
/// any point: each journal then exists either as it was or sealed, and the next call does the rest.
/// Adds a remark for each journal that cannot be sealed.
void seal_journals(Database& database, CollectReport& report);

}  // namespace flor::store
