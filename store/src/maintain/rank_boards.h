// Boards of ranks (Paths::rank_board) that killed processes have left.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"

namespace flor::store {

/// Removes leftovers of killed processes of rank 0: a few kilobytes, which are not counted. What
/// cannot be removed is remarked on.
void remove_rank_boards(const Database& database, CollectReport& report);

}  // namespace flor::store
