// Rows of values and their summaries, for code that adds values in another way than by logging
// them. Call these functions within a transaction.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

class Connection;
struct Database;

/// Reads a row of the columns name, path, epoch, step, inner, ordinal, replay, type, value.
Value read_value(const Query& row);

/// Adds values as `Catalog::add_values` does.
void insert_values(Database& database, std::int64_t run, std::span<const Value> values);

/// Moves numbers that the run logged from rows into blocks.
void pack_values(Connection& connection, std::int64_t run);

/// Recomputes all summaries of a run from its values.
void recount_metrics(Database& database, std::int64_t run);

}  // namespace flor::store
