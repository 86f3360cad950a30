// Compares the values that a replay logs with the record, and keeps them part by part (a part is an
// epoch, or a section outside the main loops), with the verdict of each part's new values.
#pragma once

#include "verdict/new_values.h"
#include "replay/part_keeper.h"
#include "session/journal.h"
#include "verdict/value_check.h"
#include "verdict/verdict.h"
#include "worker/assignment.h"
#include "worker/replay_findings.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::detail {

/// Compares and keeps the values of a replay. To be used by the background thread. When that has
/// been drained, the session's thread may call `failure`, `parts` and `findings`. All values of a
/// part must be given before it is completed.
///
/// After the first failure of the store it keeps nothing more, so that no incomplete part is
/// reported as complete. Only functions that take a value throw; the caller passes what they throw
/// to `fail`.
class PartChecker {
 public:
  /// Called once, with the first failure.
  using OnFailure = std::function<void(const std::string& why)>;

  /// `comparison` and `assignment` must outlive this object. `facts` are those that hold for all
  /// new values of this replay.
  PartChecker(std::unique_ptr<Findings> findings, Assignment& assignment,
              std::unique_ptr<ValueCheck> values, Comparison& comparison, NewValueFacts facts,
              OnFailure on_failure);

  /// Takes the content of a logged value, and returns the reference that stands for it. `handed`:
  /// the content is sent to `flor replay` instead of written to this process's store.
  std::string take_content(const LoggedContent& logged, bool handed);
  /// The same for the content of a value that is not asked for: it is compared, and not stored.
  std::string know_content(const LoggedContent& logged);
  /// Takes a value of a part of this process: compares it, and keeps it if the record has none
  /// there. `plugged`: a plug-in logged it.
  void take_value(std::int64_t part, store::Value value, bool plugged);
  /// Compares a value that is not asked for, and does not keep it.
  void compare_value(std::int64_t part, const store::Value& value, bool plugged) {
    values_->compare_known(part, value, plugged);
  }
  /// Takes a value of a part that belongs to another process.
  void pass(const store::Value& value) { values_->pass(value); }

  /// Called when all values of the epoch were given. `executed`: its nested loops that were not
  /// skipped. `outside`: those outside of its nested loops were given, too. Recorded values that
  /// did not come count as differences.
  void end_epoch(std::int64_t epoch, const std::string& main_loop, const ExecutedLoops& executed,
                 bool outside);
  /// Called when all values outside the loops were given, up to the end of the record.
  void end_outside(std::int64_t part);
  /// Called when the epoch was answered from the store.
  void forget(std::int64_t epoch);

  /// Called when the part is complete, with all of its comparisons. `whole`: nothing in it was
  /// skipped.
  void complete(std::int64_t part, bool whole, double seconds);
  /// Called before `complete`, with the checkpoints that the part has computed again.
  void reproduced(std::vector<store::CheckpointName> names) { reproduced_ = std::move(names); }
  /// Makes complete parts durable: all of them if `now`, else those that have waited for a while.
  void keep(bool now);
  /// Tells the assignment, with each `keep`, what is proven in this process, whose facts these are.
  void prove_in(std::map<std::string, std::string> environment) {
    environment_ = std::move(environment);
  }
  void fail(std::string_view why);

  /// The number of each value among the values with the same name and place.
  Ordinals& ordinals() { return ordinals_; }
  /// Why nothing more was kept; empty if there was no failure.
  const std::string& failure() const { return failure_; }
  /// The complete parts, in the order in which they were completed.
  const std::vector<store::ReplayedPart>& parts() const { return parts_; }
  Findings& findings() { return *findings_; }

 private:
  template <typename Call>
  void guard(const Call& call);
  void note_proof(const store::ReplayResult& result);

  std::unique_ptr<Findings> findings_;
  std::unique_ptr<ValueCheck> values_;
  Comparison& comparison_;
  Assignment& assignment_;
  NewValueFacts facts_;
  OnFailure on_failure_;
  PartKeeper keeper_;
  Ordinals ordinals_;
  std::string failure_;
  std::vector<store::ReplayedPart> parts_;
  std::optional<std::map<std::string, std::string>> environment_;  // null: nothing is proven here
  std::vector<store::CheckpointName> reproduced_, proven_;
  bool walk_broke_ = false;  // something differed, so that nothing after it is proven
};

}  // namespace flor::detail
