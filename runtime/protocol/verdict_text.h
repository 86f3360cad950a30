// The text of a replay's verdict, which the program and `flor replay` both print.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace flor::detail {

/// How many new values a replay found, by verdict.
struct FoundValues {
  std::map<store::ValueVerdict, std::int64_t> counts;
  std::set<std::int64_t> verified;  ///< the verified epochs

  void add(const store::ReplayedPart& part);
  /// Counts all values as doubtful, and no epoch as verified.
  void doubt();
  std::int64_t count() const;
};

/// For example "verified: 8 of 8 recomputed values equal the record; 8 new values (unverified;
/// verified in epoch 3)". `shown`: nothing was executed, since a plug-in only read stored state.
std::string verdict_text(const store::ReplayResult& result, const FoundValues& found, bool shown);

/// For example "epoch 3", or "epochs 0 to 2, 5".
std::string print_epochs(const std::set<std::int64_t>& epochs);

}  // namespace flor::detail
