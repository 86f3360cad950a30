// Describes an evaluation, for programs and for the page.
#pragma once

#include "output/json.h"
#include "queue/jobs.h"

#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// An element of `flor jobs --json`. `spec`: of its evaluator.
Json job_json(const store::Job& job, std::string_view spec);

/// The output of an attempt.
struct AttemptLog {
  store::Lease lease;
  std::string text;
};
/// The attempts at a job that wrote a log on this machine, in order. At most the last `limit` bytes
/// of each are read.
std::vector<AttemptLog> attempt_logs(const store::Store& store, const store::Job& job,
                                     std::uint64_t limit = UINT64_MAX);

}  // namespace flor::cli
