// Compares the values that a replay logs with those that the run logged.
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

/// Says where the program is the recorded one, so that it logs exactly the recorded values: in the
/// epochs before `until`, and outside the main loops. A process that was killed may have lost
/// values of its last epoch.
struct SameProgram {
  bool inside = false, outside = false;
  std::int64_t until = INT64_MAX;
  bool at(std::int64_t epoch) const { return epoch < 0 ? outside : inside && epoch < until; }
};

/// Not thread-safe: belongs to the thread that keeps the values.
class ValueCheck {
 public:
  /// `store` and `comparison` must outlive it.
  ValueCheck(const store::Store& store, std::int64_t run, Comparison& comparison,
             SameProgram same_program)
      : store_(store), run_(run), comparison_(comparison), same_program_(same_program) {}

  /// A content that was logged now and is not in the store.
  void know(const std::string& reference, const store::Item& item,
            std::span<const std::byte> content);
  /// True: the run did not log this value. Else it is compared. `part`: the part that it belongs
  /// to. `plugged`: a plug-in logged it, which the recorded program had not.
  bool is_new(std::int64_t part, const store::Value& value, bool plugged);
  /// True for the value of an iteration where the epoch has none: a Flor that did not keep any may
  /// have recorded it.
  bool was_left_out(const store::Value& value);
  /// A value that is not kept, since another process keeps it.
  void pass(const store::Value& value);
  /// An epoch of this main loop is complete; `executed`: its nested loops that were not skipped.
  void end_epoch(std::int64_t epoch, const std::string& main_loop,
                 const std::set<std::string>& executed);
  /// An epoch is complete that was not executed.
  void forget(std::int64_t epoch) { recorded_.erase(epoch); }
  /// All that the record has outside the loops was executed.
  void end_outside(std::int64_t part);

 private:
  struct Known {
    store::Value value;
    bool came = false;
  };
  using Recorded = std::unordered_map<std::string, Known>;  // by identity

  Recorded& recorded_values(std::int64_t epoch);
  void report_missing(std::int64_t part, std::vector<const store::Value*> missing);
  void compare(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  std::string content_digest(const store::Value& value) const;

  const store::Store& store_;
  std::int64_t run_;
  Comparison& comparison_;
  SameProgram same_program_;
  std::map<std::int64_t, Recorded> recorded_;  // by epoch
  std::int64_t at_once_ = 1;                   // epochs
  std::map<std::string, std::string> known_;   // digests of contents
  std::set<std::int64_t> with_iterations_;     // epochs whose record has values of iterations
};

}  // namespace flor::detail
