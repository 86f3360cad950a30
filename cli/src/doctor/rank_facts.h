// Facts that each rank of a job tells of itself before a training, and faults of them together.
#pragma once

#include "doctor/doctor_findings.h"
#include "output/json.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

struct RankFacts {
  std::int64_t rank = 0;
  std::string host;
  std::string flor, libraries;     ///< "0.1.0"; "libgit2 1.5.1, SQLite 3.40.1, zstd 1.5.4"
  std::string torch, blas;         ///< empty where there is none
  std::string repository, commit;  ///< root of the work tree, HEAD; empty without one
  /// The GPU that CUDA_VISIBLE_DEVICES and LOCAL_RANK leave to it; empty without one.
  std::string gpu, gpu_name;
  /// The least by which its clock differs from rank 0's, in seconds; below 0: it is late.
  double clock_seconds = 0;
  bool respects_lock = true;  ///< it did not get a lock that rank 0 held
  double written_bytes = 0;   ///< a second, while all ranks wrote to the home
};

/// Those of this process, without what only the meeting tells.
RankFacts facts_of_this_rank(std::int64_t rank);

/// A finding of each question, over all ranks; those that did not come are `missing`.
void examine_ranks(std::span<const RankFacts> ranks, std::span<const std::int64_t> missing,
                   Findings& findings);

Json rank_json(const RankFacts& facts);
/// Throws Error for bytes that are no facts.
RankFacts rank_of_json(const Json& json);

}  // namespace flor::cli
