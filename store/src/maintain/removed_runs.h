// Removed runs, which garbage collection drops for good.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"
#include "maintain/marks.h"

namespace flor::store {

/// Drops removed runs, and the objects that no other run has logged; adds a remark for each run
/// that stays. The caller holds the maintenance lock. Each run is dropped in one transaction;
/// before the first rank of a group, it is made durable that the whole group goes. Runs that a
/// process uses stay. While a program records, runs that have logged objects stay, because it may
/// be about to log the same ones. If the disk has no room for these events, all remaining runs
/// stay.
void drop_removed_runs(Database& database, CollectReport& report);

/// Counts the content of these runs as gone without changing anything, for a dry run.
void leave_out_removed(Database& database, Connection& connection, Marks& marks,
                       CollectReport& report);

}  // namespace flor::store
