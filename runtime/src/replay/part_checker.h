// Values that a replay logs, compared with the record and kept part by part: each part with the
// verdict of its new values.
#pragma once

#include "replay/new_values.h"
#include "replay/part_keeper.h"
#include "session/journal.h"
#include "verdict/value_check.h"
#include "verdict/verdict.h"
#include "worker/assignment.h"
#include "worker/replay_findings.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Belongs to the background thread; once that has been drained, the session's thread may ask for
/// `failure`, `parts` and `findings`. Values must be given before the part that they belong to is
/// completed.
///
/// The first failure of the store ends it: from then on it keeps nothing, so that no part is said
/// to be complete that is not. No function throws, except those that take a value: theirs is to be
/// handed to `fail`.
class PartChecker {
 public:
  /// Called once, with the first failure.
  using OnFailure = std::function<void(const std::string& why)>;

  /// `comparison` and `assignment` must outlive it. `facts`: those about all new values of this
  /// replay, whatever part they are in.
  PartChecker(std::unique_ptr<Findings> findings, Assignment& assignment,
              std::unique_ptr<ValueCheck> values, Comparison& comparison, NewValueFacts facts,
              OnFailure on_failure);

  /// A logged content; returns the reference that stands for it in values. `handed`: it is not in
  /// this process's store.
  std::string take_content(const LoggedContent& logged, bool handed);
  /// A value of this process's parts: compared, and kept if the record has none there. `plugged`: a
  /// plug-in logged it.
  void take_value(std::int64_t part, store::Value value, bool plugged);
  /// A value of another process's part.
  void pass(const store::Value& value) { values_->pass(value); }

  /// All values of the epoch were given; `executed`: its nested loops that were not skipped. Values
  /// of the record that did not come are differences.
  void end_epoch(std::int64_t epoch, const std::string& main_loop,
                 const std::set<std::string>& executed);
  /// All values outside the loops were given, up to the end of the record.
  void end_outside(std::int64_t part);
  /// What is logged from now on does not follow from the record.
  void doubt();
  /// The epoch was answered from the store.
  void forget(std::int64_t epoch);

  /// The part is complete, with all comparisons that were made for it. `whole`: nothing of it was
  /// skipped.
  void complete(std::int64_t part, bool whole, double seconds);
  /// Makes complete parts durable: all `now`, or else those that have waited for a while.
  void keep(bool now);
  void fail(std::string_view why);

  /// The number of each value among those of its name and place.
  Ordinals& ordinals() { return ordinals_; }
  /// Why nothing more was kept; empty if all was.
  const std::string& failure() const { return failure_; }
  /// The complete parts, in the order of their completion.
  const std::vector<store::ReplayedPart>& parts() const { return parts_; }
  Findings& findings() { return *findings_; }

 private:
  template <typename Call>
  void guard(const Call& call);

  std::unique_ptr<Findings> findings_;
  std::unique_ptr<ValueCheck> values_;
  Comparison& comparison_;
  NewValueFacts facts_;
  OnFailure on_failure_;
  PartKeeper keeper_;
  Ordinals ordinals_;
  std::string failure_;
  std::vector<store::ReplayedPart> parts_;
};

}  // namespace flor::detail
