// Which of the jobs that could be tried comes next. Pure: it knows places, not databases.
#pragma once

#include "queue/jobs.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// A job as `bisect` sees it.
struct JobPlace {
  std::int64_t id = 0;
  std::int64_t priority = 0;
  bool open = false;  ///< may be tried; else it is done or running
};

/// The ids of `count` open jobs, or of all if there are fewer, in the order in which to try them.
/// `places` are all jobs of an evaluator in the order in which they were added. Among those of the
/// highest priority it takes the one that is farthest, counted in jobs, from all that are not open,
/// earlier ones first; so after the two ends it halves the longest section without an evaluation.
std::vector<std::int64_t> bisect(std::span<const JobPlace> places, std::size_t count);

}  // namespace flor::store
