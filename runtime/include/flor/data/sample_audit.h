// Which samples a recorded training used, and how often: counted from the records that the samplers
// logged at the end of each epoch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor {

/// How one epoch of one sampler used its samples. Where the sampler deals out whole batches of one
/// group, all counts are of batches instead.
struct EpochAudit {
  std::uint64_t epoch = 0;     ///< number of the epoch, from 0
  std::uint64_t samples = 0;   ///< size of the data set
  std::uint64_t once = 0;      ///< used exactly once
  std::uint64_t repeated = 0;  ///< used again to fill up a share (Tail::repeat)
  std::uint64_t twice = 0;     ///< used more than once without such a reason
  std::uint64_t unused = 0;    ///< never used
  std::uint64_t world = 1;     ///< number of replicas at the end of the epoch
  /// Number of replicas whose records were given. The others are taken to have gone in step.
  std::uint64_t known = 0;
  /// How many times the epoch was shared out among replicas: 1, and 1 for each change of their
  /// number.
  std::uint64_t pieces = 1;
  /// Ranks whose record names a digest that does not match the samples of their share.
  std::vector<std::uint64_t> forged = {};
  /// Some of the samples that make the epoch inexact (used twice, or unused), at most ten.
  std::vector<std::uint64_t> examples = {};
  bool batches = false;  ///< counts are of batches
  bool allowed = false;  ///< Tail::drop: samples may stay unused

  /// Every sample was used as often as the sampler promises.
  bool exact() const { return twice == 0 && forged.empty() && (unused == 0 || allowed); }
};

/// Audits each epoch from `records`, the JSON texts that the samplers of all replicas and runs
/// logged, in the order of the runs. Texts of other kinds are ignored. Where several runs recorded
/// the same epoch, the last counts, since the training went on from it. The result is ordered by
/// epoch. Needs memory in proportion to the number of samples. Throws flor::Error where a record
/// contradicts itself.
std::vector<EpochAudit> audit_samples(std::span<const std::string> records);

}  // namespace flor
