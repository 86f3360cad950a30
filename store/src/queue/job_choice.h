// Chooses the job to try next. Pure functions that know the jobs' places, not the database.
#pragma once

#include "queue/job_queue.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// A job, as far as `bisect` needs it.
struct JobPlace {
  std::int64_t id = 0;
  std::int64_t priority = 0;
  bool open = false;  ///< true if it may be tried; false if it is done or running
};

/// Returns the ids of `count` open jobs (all if there are fewer) in the order in which to try them.
/// `places` are all jobs of an evaluator in the order in which they were added. Among the jobs with
/// the highest priority it repeatedly takes the one with the greatest distance, counted in jobs,
/// from all jobs that are not open; of equals the earlier one. So it takes both ends first, and
/// then halves the longest stretch without an evaluation.
std::vector<std::int64_t> bisect(std::span<const JobPlace> places, std::size_t count);

}  // namespace flor::store
