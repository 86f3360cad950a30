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

/// Thread-safe: values are compared in the background, states on the training thread.
class Comparison {
 public:
  /// A recorded value was logged again.
  void value(const store::Value& recorded, const store::Value& replayed);
  void value_found();
  /// The state at the end of an executed stretch was compared; `where` is "end of train, epoch 3".
  void state(const std::string& where, const std::vector<StateDifference>& differences);
  /// Something else than a value is not as recorded.
  void difference(std::string what);

  store::ReplayResult result() const;
  /// The first few differences, a line each.
  std::vector<std::string> lines() const;

 private:
  void add(std::string line);

  mutable std::mutex mutex_;
  store::ReplayResult result_;
  std::int64_t others_ = 0;
  std::vector<std::string> lines_;
};

/// Bit for bit: NaNs equal themselves, 0.0 does not equal -0.0.
bool same_value(const store::Value& a, const store::Value& b);
/// "epoch 3, train 17" or "outside the loops"
std::string print_place(const store::Place& place);
/// Shortest text that reads back as the same value; long texts are cut.
std::string print_value(const store::Value& value);

}  // namespace flor::detail
