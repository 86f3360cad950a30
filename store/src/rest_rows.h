// The rows of what a run is missing, and of what it writes last.
#pragma once

#include "database.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

// Within a transaction.

/// Replaces the gaps of the run.
void put_gap_rows(Connection& connection, std::int64_t run, std::span<const Gap> gaps);
void put_progress(Connection& connection, std::int64_t run, const Progress& progress);
void insert_values(Database& database, std::int64_t run, std::span<const Value> values);
void put_rest(Database& database, std::int64_t run, const UnwrittenRest& rest);
/// Epochs after the point are going to be recorded again.
void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
