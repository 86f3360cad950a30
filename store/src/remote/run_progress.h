// How far a run has come in two catalogs: which of them is the newer one.
#pragma once

#include "sqlite.h"

#include <cstdint>
#include <set>
#include <tuple>

namespace flor::remote {

class RunProgress {
 public:
  RunProgress(store::Connection& connection, std::int64_t run);

  /// It was resumed, has more epochs, or has ended, while the other did not.
  bool is_further_than(const RunProgress& other) const;
  /// It was replayed where the other was not.
  bool has_other_replays_than(const RunProgress& other) const;
  bool is_ahead_of(const RunProgress& other) const {
    return is_further_than(other) || has_other_replays_than(other);
  }

 private:
  std::tuple<std::int64_t, std::int64_t, std::int64_t> recorded_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> replays_;
};

}  // namespace flor::remote
