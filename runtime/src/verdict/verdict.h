// The findings of a replay about itself: every comparison with the record, and the words for it.
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

/// Thread-safe: values are compared in the background, states on the training thread. `part`: the
/// part that the comparison belongs to, an epoch or store::part_outside(n).
class Comparison {
 public:
  /// A recorded value was logged again.
  void value(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  void value_found(std::int64_t part);
  /// The same program logged it, and the record does not have it.
  void value_unexpected(std::int64_t part, const store::Value& replayed);
  /// A recorded value of code that was executed did not come.
  void value_missing(std::int64_t part, const store::Value& recorded);
  /// The state at the end of an executed stretch was compared; `where` is "end of train, epoch 3".
  void state(std::int64_t part, const std::string& where,
             const std::vector<StateDifference>& differences);
  /// The program computes something other than was recorded, whatever is compared.
  void computation_changed();
  /// The program reads something other than was recorded: all that it computes from now on is
  /// doubtful, if nothing differs. The first reason is said with every result.
  void doubt(std::string why);
  bool is_doubted() const;
  /// Something else than a value is not as recorded.
  void difference(std::int64_t part, std::string what);

  /// The result of all parts together.
  store::ReplayResult result() const;
  /// The result of one part, which is then forgotten as such.
  store::ReplayResult take(std::int64_t part);
  /// The first few differences, a line each.
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
