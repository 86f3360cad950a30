// Rank boards (Paths::rank_board) that killed processes have left.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"

namespace flor::store {

/// Removes rank boards that killed processes of rank 0 have left. Their few kilobytes are not
/// counted. Adds a remark for each that cannot be removed.
void remove_rank_boards(const Database& database, CollectReport& report);

}  // namespace flor::store
