// What a replay found out about itself: every comparison with the record, and the words for it.
#pragma once

#include "restore.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace flor::detail {

/// Thread-safe: values are compared in the background, states on the training thread. `part` is
/// what the comparison belongs to, an epoch or store::part_outside(n).
class Comparison {
 public:
  /// A recorded value was logged again.
  void value(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  void value_found(std::int64_t part);
  /// The state at the end of an executed stretch was compared; `where` is "end of train, epoch 3".
  void state(std::int64_t part, const std::string& where,
             const std::vector<StateDifference>& differences);
  /// Something else than a value is not as recorded.
  void difference(std::int64_t part, std::string what);

  /// Of all parts together.
  store::ReplayResult result() const;
  /// Of one part, which is then forgotten as such.
  store::ReplayResult take(std::int64_t part);
  /// The first few differences, a line each.
  std::vector<std::string> lines() const;

 private:
  struct Tally {
    store::ReplayResult result;
    std::int64_t others = 0;
    store::ReplayResult with_verdict() const;
  };
  template <typename Change>
  void count(std::int64_t part, Change change);
  void add(std::int64_t part, std::string line);

  mutable std::mutex mutex_;
  Tally all_;
  std::map<std::int64_t, Tally> parts_;
  std::vector<std::string> lines_;
};

/// Bit for bit: NaNs equal themselves, 0.0 does not equal -0.0.
bool same_value(const store::Value& a, const store::Value& b);
/// "epoch 3, train 17" or "outside the loops"
std::string print_place(const store::Place& place);
/// Shortest text that reads back as the same value; long texts are cut.
std::string print_value(const store::Value& value);

}  // namespace flor::detail
