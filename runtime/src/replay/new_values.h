// How far the new values of a replay are to be believed, and whether epochs are executed to verify
// them. Pure functions.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <set>
#include <vector>

namespace flor::detail {

/// All that decides about the new values of a part.
struct NewValueFacts {
  bool otherwise = false;  ///< the sources compute something else than was recorded
  bool whole = false;      ///< nothing of the part was skipped
  bool compared = false;   ///< something in the part was compared with the record
  bool proven = false;     ///< the sources show that only registered state was read
  bool plugged = false;  ///< a plug-in reads the state: the sources do not show which of it
};

/// Doubtful where the program computes otherwise; verified where the part was executed whole and
/// compared; proven where the sources show it; else unverified.
store::ValueVerdict verdict_of_new(const NewValueFacts& facts);

/// The epochs with new values that execution could still verify.
std::set<std::int64_t> open_epochs(const std::vector<store::ReplayedPart>& parts);

/// All that decides whether the end of a replay is to execute epochs again.
struct VerifyFacts {
  store::Verdict verdict = store::Verdict::verified;  ///< of the replay so far
  bool wanted = true;           ///< `--flor_verify none` was not given
  bool nothing_nested = false;  ///< all was shown from the store, and the run has no nested loops
  bool open = false;            ///< there are epochs to verify, see `open_epochs`
  bool of_rank = false;         ///< the run is one of several that trained together
  bool first_rank = false;      ///< and this process is the first of those that replay it
};

enum class VerifyStep {
  doubt,      ///< the replay differs from the record: no new value stands
  nothing,    ///< there is nothing to verify, or it is not wanted
  tell_how,   ///< one process cannot execute a rank by itself: the first one says what could
  plan,       ///< chooses epochs by their cost
};

/// The reasons in the order in which they count: a difference, a failure or a wish, the group.
VerifyStep decide(const VerifyFacts& facts);

}  // namespace flor::detail
