// Verifies the findings of a replay that skipped nested loops: another process executes whole
// epochs, and both must find the same, bit for bit.
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

/// The recorded times of the epochs.
struct EpochTimes {
  std::vector<double> seconds;  ///< of executing it
  std::vector<double> with_way;  ///< of executing it and the epochs that lead to it
  double startup = 0;            ///< until the first epoch begins
  /// Seconds to reach it and to execute it.
  double of(std::int64_t epoch) const {
    return startup + with_way.at(static_cast<std::size_t>(epoch));
  }
};
/// `walks`: every epoch is reached from the first one.
EpochTimes epoch_times(const store::Catalog& catalog, const store::Run& run, bool walks);

struct VerifyPlan {
  std::vector<Epochs> epochs;
  double seconds = 0;     ///< that they take, about
  bool too_long = false;  ///< nothing is to be executed unless it is asked for
};
/// The cheapest of the epochs with findings, `candidates`, where they take no longer than the
/// replay took, `replayed`, or a minute. If there is room, the epoch before it, too: this shows the
/// state that one epoch leaves to the next.
VerifyPlan plan_verification(const EpochTimes& times, const std::set<std::int64_t>& candidates,
                             const VerifyWish& wish, double replayed);

/// The order for a worker that executes epochs: `order` is that of the replay.
WorkerOrder verifying_order(WorkerOrder order, const std::set<std::string>& nested_loops);

/// The side of `flor replay` in a conversation with such a worker.
class VerifierTalk {
 public:
  VerifierTalk(std::int64_t replay, std::vector<Epochs> epochs)
      : replay_(replay), pieces_(std::move(epochs)) {}

  /// The answers to a line of the worker's.
  std::vector<std::string> heed(const WorkerLine& line);
  const std::map<std::int64_t, store::ReplayedPart>& done() const { return done_; }
  const std::vector<store::Value>& values(std::int64_t epoch) const;
  /// All epochs were executed.
  bool complete() const;

 private:
  std::int64_t replay_;
  std::vector<Epochs> pieces_;
  std::size_t next_ = 0;
  std::map<std::int64_t, store::ReplayedPart> done_;
  std::map<std::int64_t, std::vector<store::Value>> values_;
};

/// Where the skipped way and the execution do not find the same; empty if they do.
std::string first_disagreement(const std::vector<store::Value>& skipped,
                               const std::vector<store::Value>& executed);

struct Verification {
  std::set<std::int64_t> epochs;  ///< in which both found the same
  std::string disagreement;       ///< the first one; empty if there is none
};
/// Compares the findings of the verifier with those of these replays, and enters the result.
Verification note_verification(store::Catalog& catalog, std::int64_t run,
                               const std::set<std::int64_t>& replays, const VerifierTalk& talk);

/// The notice before it begins; empty where it is over in a moment.
std::string verifying_notice(const VerifyPlan& plan);

/// Why new values of ranks stay unverified, and which replay would verify them: `loops` are all
/// nested loops of the run.
std::string verifying_ranks_hint(const store::Run& run, const std::set<std::string>& loops);

/// Says how long verifying would take, and which option asks for it.
std::string verifying_hint(const store::Run& run, const VerifyPlan& plan);

}  // namespace flor::detail
