// Logged values and their summaries, for code that adds values other than by logging them. Within a
// transaction of the caller.
#pragma once

#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

class Connection;
struct Database;

/// Reads the columns name, path, epoch, step, inner, ordinal, replay, type, value, in this order.
Value read_value(const Query& row);

/// Adds values as `Catalog::add_values` does.
void insert_values(Database& database, std::int64_t run, std::span<const Value> values);

/// Packs numbers that the run logged, and that lie in rows, into blocks.
void pack_values(Connection& connection, std::int64_t run);

/// Computes all summaries of a run from its values.
void recount_metrics(Database& database, std::int64_t run);

}  // namespace flor::store
