// The wording of a replay's result; the program and `flor replay` print the same.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace flor::detail {

/// The new values of a replay, by their verdicts.
struct FoundValues {
  std::map<store::ValueVerdict, std::int64_t> counts;
  std::set<std::int64_t> verified;  ///< epochs

  void add(const store::ReplayedPart& part);
  /// Nothing of it stands.
  void doubt();
  std::int64_t count() const;
};

/// "verified: 8 of 8 recomputed values equal the record; 8 new values (unverified; verified in
/// epoch 3)". `shown`: nothing was executed, since a plug-in saw stored state.
std::string verdict_text(const store::ReplayResult& result, const FoundValues& found, bool shown);

/// "epoch 3", "epochs 0 to 2, 5"
std::string print_epochs(const std::set<std::int64_t>& epochs);

}  // namespace flor::detail
