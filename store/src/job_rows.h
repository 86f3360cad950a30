// What the two halves of JobQueue share.
#pragma once

#include "database.h"

#include <flor/store/jobs.h>

#include <string>

namespace flor::store {

/// Tells the coordinators of all processes that the queue has changed. Losing it would cost them
/// time, no job: so it does not fail.
void ring(const Database& database);

/// What `read_job` reads of `job` joined with `job_result`; the result follows.
inline constexpr const char* kJobColumns =
    "id, job.token, content, evaluator, arguments, path, priority, state, attempts, owner, "
    "added_us, "
    "due_us, leased_us, lease_until_us, finished_us, message";
Job read_job(const Query& row);

/// Inside a transaction.
void put_sightings(Connection& connection, const std::vector<Sighting>& sightings);

}  // namespace flor::store
