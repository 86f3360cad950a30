// Which samples a recorded training used, and how often: counted from the records that the samplers
// logged at the end of each epoch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor {

/// One epoch of one sampler. Counts are of samples; of batches where batches keep to their groups.
struct EpochAudit {
  std::uint64_t epoch = 0;     ///< of the sampler, from 0
  std::uint64_t samples = 0;   ///< of the data set
  std::uint64_t once = 0;      ///< used exactly once
  std::uint64_t repeated = 0;  ///< used more than once to fill up (Tail::repeat)
  std::uint64_t twice = 0;     ///< used more than once for no such reason
  std::uint64_t unused = 0;    ///< never used
  std::uint64_t world = 1;     ///< replicas at the end of the epoch
  std::uint64_t known = 0;     ///< whose records were given; the others went in step
  std::uint64_t pieces = 1;    ///< times that the epoch was dealt anew, plus one
  /// Ranks whose consumed samples are not those that the record claims.
  std::vector<std::uint64_t> forged = {};
  /// Some of the samples counted in `twice` and `unused`, at most ten.
  std::vector<std::uint64_t> examples = {};
  bool batches = false;  ///< counts are of batches
  bool allowed = false;  ///< Tail::drop may leave some unused

  /// Every sample was used as often as the sampler promises.
  bool exact() const { return twice == 0 && forged.empty() && (unused == 0 || allowed); }
};

/// `records`: the JSON texts that the samplers of all replicas and runs logged, in the order of the
/// runs; texts of another kind are passed over. Where an epoch was recorded by several runs, the
/// last one counts: it is the one that the training went on from. Ordered by epoch. Takes memory in
/// proportion to the samples. Throws flor::Error where a record contradicts itself.
std::vector<EpochAudit> audit_samples(std::span<const std::string> records);

}  // namespace flor
