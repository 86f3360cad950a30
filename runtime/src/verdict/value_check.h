// Compares the values that a replay logs with the recorded ones.
#pragma once

#include "verdict/verdict.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::detail {

/// Where the program is known to be the recorded one, so that it logs exactly the recorded values:
/// in the epochs before `until`, and outside the main loops. A recording that was killed may have
/// lost values of its last epoch, so `until` can exclude that.
struct SameProgram {
  bool inside = false, outside = false;
  std::int64_t until = INT64_MAX;
  bool at(std::int64_t epoch) const { return epoch < 0 ? outside : inside && epoch < until; }
};

/// Nested loops of an iteration that were executed, each with the number of iterations.
using ExecutedLoops = std::map<std::string, std::int64_t>;
inline constexpr std::int64_t kAllSteps = INT64_MAX;

/// Compares logged values with the recorded ones, and finds recorded values that did not come. Not
/// thread-safe: to be used by the thread that keeps the values.
class ValueCheck {
 public:
  /// `store` and `comparison` must outlive this object.
  ValueCheck(const store::Store& store, std::int64_t run, Comparison& comparison,
             SameProgram same_program)
      : store_(store), run_(run), comparison_(comparison), same_program_(same_program) {}

  /// Tells the content of a value that was logged and is not in the store, by its reference.
  void know(const std::string& reference, const store::Item& item,
            std::span<const std::byte> content);
  /// Returns true if the recorded run did not log this value. If it did, compares the two values
  /// for `part` and returns false. `plugged`: a plug-in logged the value, and the recorded program
  /// had none.
  bool is_new(std::int64_t part, const store::Value& value, bool plugged);
  /// Compares the value for `part` if the recorded run logged it. For values that are not asked
  /// for.
  void compare_known(std::int64_t part, const store::Value& value, bool plugged);
  /// True for the value of an iteration if the record of the epoch has none: an earlier Flor, which
  /// kept no values of iterations, may have recorded it.
  bool was_left_out(const store::Value& value);
  /// Notes a value that this process does not keep, since another process does.
  void pass(const store::Value& value);
  /// Called when an epoch of this main loop is complete. `executed` are its nested loops that were
  /// not skipped. `outside`: what lies outside of its nested loops was compared, too.
  void end_epoch(std::int64_t epoch, const std::string& main_loop, const ExecutedLoops& executed,
                 bool outside = true);
  /// Called when an epoch is complete without having been executed.
  void forget(std::int64_t epoch) { recorded_.erase(epoch); }
  /// Called when everything that the record has outside the loops was executed.
  void end_outside(std::int64_t part);

 private:
  struct Known {
    store::Value value;
    bool came = false;
  };
  using Recorded = std::unordered_map<std::string, Known>;  // by identity

  /// Compares the value if it was recorded, and else returns false.
  bool is_known(std::int64_t part, const store::Value& value, bool plugged);
  Recorded& recorded_values(std::int64_t epoch);
  void report_missing(std::int64_t part, std::vector<const store::Value*> missing);
  void compare(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  std::string content_digest(const store::Value& value) const;

  const store::Store& store_;
  std::int64_t run_;
  Comparison& comparison_;
  SameProgram same_program_;
  std::map<std::int64_t, Recorded> recorded_;  // by epoch
  std::int64_t at_once_ = 1;                   // how many epochs of values are read at once
  std::map<std::string, std::string> known_;   // by reference: digests of contents
  std::set<std::int64_t> with_iterations_;     // epochs whose record has values of iterations
};

}  // namespace flor::detail
