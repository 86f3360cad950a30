// Describes evaluations as JSON, for programs and for the page.
#pragma once

#include "output/json.h"
#include "queue/job_queue.h"

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// An element of `flor jobs --json`. `spec`: the specification of its evaluator.
Json job_json(const store::Job& job, std::string_view spec);

/// The output of one attempt at a job.
struct AttemptLog {
  store::Lease lease;
  std::string text;
};
/// The logs that attempts at a job wrote on this machine, in order. Of each, at most the last
/// `limit` bytes are read.
std::vector<AttemptLog> attempt_logs(const store::Store& store, const store::Job& job,
                                     std::uint64_t limit = UINT64_MAX);

}  // namespace flor::cli
