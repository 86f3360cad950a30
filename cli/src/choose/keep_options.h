// Parses the rules of `flor keep`, and prints them and the reasons for which checkpoints are kept.
#pragma once

#include <flor/store/keep_rules.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The rules on the command line; an empty member was not given.
struct KeepOptions {
  std::string last, every, under;
  std::vector<std::string> best;
  bool unscored = false;
  bool newer = false;  ///< of equal scores keep the newer
};

/// Throws UsageError with the right form if a rule is malformed.
store::KeepRules parse_rules(const KeepOptions& options);

/// Parses "20GiB", "1.5T", "500MB", "4096" as bytes. K, M, G, T and KiB to TiB are powers of 1024;
/// KB, MB, GB and TB are powers of 1000. Throws UsageError.
std::uint64_t parse_size(std::string_view text);

/// The rule as the user writes it: "3:loss:min".
std::string print_rule(const store::BestRule& rule);
/// "last 2, best 3:loss:min (rank 1)"; empty for a checkpoint that no rule keeps.
std::string print_reasons(const store::Decision& decision, const store::KeepRules& rules);

}  // namespace flor::cli
