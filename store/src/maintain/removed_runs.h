// Removed runs, which a collection of garbage drops.
#pragma once

#include "database/database.h"
#include "maintain/collect.h"
#include "maintain/marks.h"

namespace flor::store {

/// Drops removed runs, with the objects that no other run has logged; a remark for each that stays.
/// The caller has the maintenance lock. Each run goes in one transaction, and that a group goes is
/// durable before its first rank does. Runs stay that a process uses; and where a program records,
/// those that have logged objects: it may be about to log the same. Where the disk has no room to
/// say so, all that are left stay.
void drop_removed_runs(Database& database, CollectReport& report);

/// Counts the content of these runs as gone, and changes nothing.
void leave_out_removed(Database& database, Connection& connection, Marks& marks,
                       CollectReport& report);

}  // namespace flor::store
