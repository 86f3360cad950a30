// Collects every comparison of a replay with the record, and describes the result.
#pragma once

#include "snapshot/restore.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// The comparisons that a replay has made so far. Thread-safe: values are compared in the
/// background, states on the training thread. `part` is the part to which the comparison belongs:
/// an epoch, or store::part_outside(n).
class Comparison {
 public:
  /// Compares a recorded value with the value that was logged again.
  void value(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  void value_found(std::int64_t part);
  /// Notes a value that the record lacks although the recorded program itself logged it.
  void value_unexpected(std::int64_t part, const store::Value& replayed);
  /// Notes that a recorded value of code that was executed did not come.
  void value_missing(std::int64_t part, const store::Value& recorded);
  /// Notes a comparison of the state at the end of an executed stretch. `where` is, for example,
  /// "end of train, epoch 3".
  void state(std::int64_t part, const std::string& where,
             const std::vector<StateDifference>& differences);
  /// Notes that the program computes something else than in the recording, whatever the comparisons
  /// show.
  void computation_changed();
  /// Notes that the program reads something else than was recorded: everything that it computes
  /// from now on is doubtful, unless it differs. Every result says the first reason.
  void doubt(std::string why);
  bool is_doubted() const;
  /// Notes a difference from the record that is not in a value.
  void difference(std::int64_t part, std::string what);

  /// The result of all parts together.
  store::ReplayResult result() const;
  /// The result of one part. It is no longer available for that part afterwards.
  store::ReplayResult take(std::int64_t part);
  /// The first few differences, one line each.
  std::vector<std::string> lines() const;

 private:
  struct Tally {
    store::ReplayResult result;
    std::int64_t others = 0;
    store::ReplayResult with_verdict(bool changed, const std::string& doubt) const;
  };
  template <typename Change>
  void count(std::int64_t part, Change change);
  void add(std::int64_t part, std::string line);
  void count_different(std::int64_t part, const store::Value& value, std::string_view what);

  mutable std::mutex mutex_;
  bool changed_ = false;
  std::string doubt_;  // empty: none
  Tally all_;
  std::map<std::int64_t, Tally> parts_;
  std::vector<std::string> lines_;
};

}  // namespace flor::detail
