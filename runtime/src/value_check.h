// What a replay logs, held against what the run logged.
#pragma once

#include "verdict.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <span>
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

  /// A content that was logged now and is not in the store.
  void know(const std::string& reference, const store::Item& item,
            std::span<const std::byte> content);
  /// True: the run did not log this value. Else it is compared. `part` is what it belongs to.
  bool is_new(std::int64_t part, const store::Value& value);

 private:
  using Recorded = std::unordered_map<std::string, store::Value>;  // by identity

  const Recorded& recorded_values(std::int64_t epoch);
  void compare(std::int64_t part, const store::Value& recorded, const store::Value& replayed);
  std::string content_digest(const store::Value& value) const;

  const store::Store& store_;
  std::int64_t run_;
  Comparison& comparison_;
  std::map<std::int64_t, Recorded> recorded_;  // by epoch
  std::map<std::string, std::string> known_;   // digests of contents
};

}  // namespace flor::detail
