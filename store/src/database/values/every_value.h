// The table `every_value` in SQL: the rows of `value`, and the numbers in blocks.
#pragma once

#include "database/sqlite.h"

namespace flor::store {

/// Lets statements of this connection read `every_value`, which has the columns of `value`. Fast if
/// `series` is given; the rows of a series come in the order of the key of `value`. Its content is
/// that of rows and blocks at the moment they are read.
void add_every_value(Connection& connection);
/// The module of that table. Its context is the Connection that reads rows and blocks.
const sqlite3_module& every_value_module();

}  // namespace flor::store
