// Verifies the findings of a replay that skipped nested loops: a second process, the verifier,
// executes whole epochs, and both must find the same values, bit for bit.
#pragma once

#include "protocol/plan.h"
#include "protocol/protocol.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// How long the epochs took in the recording, in seconds.
struct EpochTimes {
  std::vector<double> seconds;  ///< to execute an epoch
  /// Seconds to execute an epoch, and before it the epochs that lead to it.
  std::vector<double> with_way;
  double startup = 0;            ///< until the first epoch begins
  /// Seconds to start, reach the epoch and execute it.
  double of(std::int64_t epoch) const {
    return startup + with_way.at(static_cast<std::size_t>(epoch));
  }
};
/// `walks`: every epoch can be reached only from the first one.
EpochTimes epoch_times(const store::Catalog& catalog, const store::Run& run, bool walks);

struct VerifyPlan {
  std::vector<Epochs> epochs;
  double seconds = 0;     ///< about how long they take
  bool too_long = false;  ///< do not execute them unless the user asks
};
/// Chooses epochs to verify from `candidates`, the epochs with findings: the cheapest one, provided
/// that it takes no longer than the replay did (`replayed` seconds), or than a minute. If there is
/// time, also the epoch before it, which verifies the state that one epoch leaves to the next.
VerifyPlan plan_verification(const EpochTimes& times, const std::set<std::int64_t>& candidates,
                             const VerifyWish& wish, double replayed);

/// The order for the verifier, made from the order of the replay.
WorkerOrder verifying_order(WorkerOrder order, const std::set<std::string>& nested_loops);

/// The conversation of `flor replay` with the verifier: which line gets which answers.
class VerifierTalk {
 public:
  VerifierTalk(std::int64_t replay, std::vector<Epochs> epochs)
      : replay_(replay), pieces_(std::move(epochs)) {}

  /// Takes a line from the verifier, and returns the answers to it.
  std::vector<std::string> heed(const WorkerLine& line);
  const std::map<std::int64_t, store::ReplayedPart>& done() const { return done_; }
  const std::vector<store::Value>& values(std::int64_t epoch) const;
  /// True if all epochs were executed.
  bool complete() const;

 private:
  std::int64_t replay_;
  std::vector<Epochs> pieces_;
  std::size_t next_ = 0;
  std::map<std::int64_t, store::ReplayedPart> done_;
  std::map<std::int64_t, std::vector<store::Value>> values_;
};

/// Describes the first difference between the values of the replay, which skipped loops, and those
/// of the verifier, which executed them; empty if there is none.
std::string first_disagreement(const std::vector<store::Value>& skipped,
                               const std::vector<store::Value>& executed);

struct Verification {
  std::set<std::int64_t> epochs;  ///< in which both found the same values
  std::string disagreement;       ///< the first one; empty if there is none
};
/// Compares the verifier's findings with those of `replays`, and enters the result in the catalog.
Verification note_verification(store::Catalog& catalog, std::int64_t run,
                               const std::set<std::int64_t>& replays, const VerifierTalk& talk);

/// The notice to print before verifying; empty if it takes only a moment.
std::string verifying_notice(const VerifyPlan& plan);

/// Says why new values of ranks stay unverified, and which replay would verify them. `loops` are
/// all nested loops of the run.
std::string verifying_ranks_hint(const store::Run& run, const std::set<std::string>& loops);

/// Says how long verifying would take, and which option asks for it.
std::string verifying_hint(const store::Run& run, const VerifyPlan& plan);

}  // namespace flor::detail
