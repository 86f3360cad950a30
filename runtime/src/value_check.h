// What a replay logs, held against what the run logged.
#pragma once

#include "verdict.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace flor::detail {

/// Not thread-safe: belongs to the thread that keeps the values.
class ValueCheck {
 public:
  /// `store` and `comparison` must outlive it.
  ValueCheck(const store::Store& store, std::int64_t run, Comparison& comparison)
      : store_(store), run_(run), comparison_(comparison) {}

  /// Compares the values that the run logged, too, and returns those that it did not.
  std::vector<store::Value> new_among(std::vector<store::Value> values);

 private:
  using Recorded = std::unordered_map<std::string, store::Value>;  // by identity

  const Recorded& recorded_values(std::int64_t epoch);
  void compare(const store::Value& recorded, const store::Value& replayed);
  std::string content_digest(const store::Value& value) const;

  const store::Store& store_;
  std::int64_t run_;
  Comparison& comparison_;
  std::map<std::int64_t, Recorded> recorded_;  // by epoch
};

}  // namespace flor::detail
