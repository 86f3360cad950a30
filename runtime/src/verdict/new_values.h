// How far the new values of a replay can be trusted, and whether to execute epochs to verify them.
// Pure functions.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <set>
#include <vector>

namespace flor::detail {

/// The facts that decide the verdict of the new values of a part.
struct NewValueFacts {
  bool otherwise = false;  ///< the sources compute something else than in the recording
  bool whole = false;      ///< nothing of the part was skipped
  bool compared = false;   ///< something in the part was compared with the record
  bool proven = false;     ///< the sources prove that only registered state was read
  /// A plug-in reads the state, and the sources do not show which part of it.
  bool plugged = false;
};

/// Doubtful if the program computes otherwise; verified if the part was executed as a whole and
/// compared; proven if the sources prove it; else unverified.
store::ValueVerdict verdict_of_new(const NewValueFacts& facts);

/// The epochs with new values that can still be verified by execution.
std::set<std::int64_t> open_epochs(const std::vector<store::ReplayedPart>& parts);

/// The facts that decide whether epochs are executed again at the end of a replay.
struct VerifyFacts {
  store::Verdict verdict = store::Verdict::verified;  ///< verdict of the replay so far
  bool wanted = true;           ///< `--flor_verify none` was not given
  /// Everything was read from the store, and the run has no nested loops.
  bool nothing_nested = false;
  bool open = false;            ///< `open_epochs` returns some epochs
  bool of_rank = false;         ///< the run is one of several ranks
  bool first_rank = false;      ///< this process is the first of those that replay the ranks
};

enum class VerifyStep {
  doubt,      ///< the replay differs from the record: no new value counts
  nothing,    ///< nothing to verify, or the user does not want it
  /// One process cannot execute a rank by itself: the first rank says what could.
  tell_how,
  plan,       ///< choose epochs by their cost
};

/// Decides in this order: a difference, a failure or the user's wish, the group.
VerifyStep decide(const VerifyFacts& facts);

}  // namespace flor::detail
