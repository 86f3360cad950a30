// The rules of `flor keep` as people write them, and the reasons as they read them.
#pragma once

#include <flor/store/ranking.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The rules given on the command line; empty: not given.
struct KeepOptions {
  std::string last, every, under;
  std::vector<std::string> best;
  bool unscored = false;
  bool newer = false;  ///< of equal scores
};

/// Throws UsageError with the right form.
store::KeepRules parse_rules(const KeepOptions& options);

/// "20GiB", "1.5T", "500MB", "4096": bytes. K, M, G and T are powers of 1024, as KiB and so on; KB,
/// MB, GB and TB powers of 1000. Throws UsageError.
std::uint64_t parse_size(std::string_view text);

/// "3:loss:min"
std::string print_rule(const store::BestRule& rule);
/// "last 2, best 3:loss:min (rank 1)"; nothing for what no rule keeps.
std::string print_reasons(const store::Decision& decision, const store::KeepRules& rules);

}  // namespace flor::cli
