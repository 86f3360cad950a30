// Replays that walk from stored states to others: to prove that those need not be stored, or to
// store them again.
#pragma once

#include "hindsight/one_run.h"
#include "retention/proofs.h"

#include <cstdint>
#include <optional>
#include <set>

namespace flor::cli {

class Context;

/// The outcome of `flor archive --prove`.
struct ProvenRun {
  store::WalkPlan plan;
  std::optional<RunReplay> replay;  ///< nullopt: there was nothing to prove
  std::int64_t dropped = 0;         ///< epochs whose checkpoints were deleted
  ExitStatus status() const;
};

/// Replays the run with the program that recorded it, and drops the checkpoints that the replay
/// computes again, each stretch as soon as its proof is written down. `trust`: also of a run that
/// was not recorded here. Throws UsageError if the walks cannot be as short as wished.
ProvenRun prove_run(Context& context, const store::Run& run, const store::WalkWish& wish,
                    std::optional<std::uint64_t> workers, bool trust);

/// The outcome of storing an epoch again.
struct ComputedAgain {
  RunReplay replay;
  std::int64_t stored = 0;  ///< checkpoints that are there again
};

/// Computes the deleted checkpoints of an epoch again whose content was collected, and stores those
/// that are, by their digests, the recorded ones. Returns nullopt if the epoch has none.
std::optional<ComputedAgain> compute_again(Context& context, const store::Run& run,
                                           std::int64_t epoch, bool trust);

}  // namespace flor::cli
