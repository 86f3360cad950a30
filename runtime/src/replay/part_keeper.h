// Keeps the findings of a replay part by part: others see the values of an epoch only when all of
// them are there, each once.
#pragma once

#include "base/outage.h"
#include "worker/assignment.h"
#include "worker/replay_findings.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace flor::detail {

/// Holds the values of a part until the part is complete, then writes them. To be used by the
/// background thread. The arguments must outlive this object. All functions may throw what the
/// catalog throws.
class PartKeeper {
 public:
  PartKeeper(Findings& findings, Assignment& assignment)
      : findings_(findings), assignment_(assignment) {}

  void hold(std::int64_t part, store::Value value);
  void complete(store::ReplayedPart part);
  /// Makes complete parts durable if `now`, or if they have waited for a while. A failed write is
  /// repeated later; only with `now`, when there is no later, it throws.
  void keep(bool now);

 private:
  void spill();
  void take_back(std::vector<CompletePart> parts);

  Findings& findings_;
  Assignment& assignment_;
  std::map<std::int64_t, std::vector<store::Value>> held_;
  std::size_t held_count_ = 0;
  std::vector<store::ReplayedPart> complete_;
  std::chrono::steady_clock::time_point kept_at_{};
  Outage outage_;
};

}  // namespace flor::detail
