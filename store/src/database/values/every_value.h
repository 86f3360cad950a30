// The SQL table `every_value`: all values of the index, those in rows of `value` and those in
// blocks.
#pragma once

#include "database/sqlite.h"

namespace flor::store {

/// Lets statements of this connection read `every_value`, which has the columns of `value`. Queries
/// are fast if they fix `series`; a series' rows are then returned in the order of the key of
/// `value`. A query sees the rows and blocks at the moment it reads them.
void add_every_value(Connection& connection);
/// The virtual table module of `every_value`. Its context is the Connection that reads rows and
/// blocks.
const sqlite3_module& every_value_module();

}  // namespace flor::store
