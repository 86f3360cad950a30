// The table `every_value` in SQL: what `value` has, and the numbers that lie in blocks.
#pragma once

#include "database/sqlite.h"

namespace flor::store {

/// From now on statements of this connection may read `every_value`, which has the columns of
/// `value`. Fast where `series` is given; those of a series come in the order of the key of
/// `value`. Its rows are those that rows and blocks have when they are read.
void add_every_value(Connection& connection);
/// The module of that table. Its context is the Connection that reads what lies in the tables.
const sqlite3_module& every_value_module();

}  // namespace flor::store
