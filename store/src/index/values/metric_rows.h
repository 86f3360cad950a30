// Logged values and their summaries, for what adds values otherwise than by logging them. Within a
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

/// As `Catalog::add_values` does.
void insert_values(Database& database, std::int64_t run, std::span<const Value> values);

/// Numbers that the run logged, and that lie in rows, become blocks.
void pack_values(Connection& connection, std::int64_t run);

/// Computes all summaries of a run from its values.
void recount_metrics(Database& database, std::int64_t run);

}  // namespace flor::store
