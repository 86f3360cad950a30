#include "protocol/verdict_text.h"

#include "protocol/plan.h"

#include <fmt/format.h>

#include <vector>

namespace flor::detail {
namespace {

using store::ValueVerdict;

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view long_word(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::verified:
      return "verified by execution";
    case ValueVerdict::proven:
      return "proven by the sources";
    default:
      return to_string(verdict);
  }
}

std::string print_found(const FoundValues& found) {
  const std::int64_t all = found.count();
  if (all == 0) return "no new values";
  std::string words;
  for (const auto& [verdict, count] : found.counts) {
    if (count == 0 || (verdict == ValueVerdict::verified && count < all)) continue;
    words += (words.empty() ? "" : "; ") + std::string(long_word(verdict));
  }
  const auto verified = found.counts.find(ValueVerdict::verified);
  if (verified != found.counts.end() && verified->second > 0 && verified->second < all) {
    words += found.verified.empty() ? fmt::format("; {} verified", verified->second)
                                    : "; verified in " + print_epochs(found.verified);
  }
  return fmt::format("{} ({})", plural(all, "new value"), words);
}

/// For example "8 of 8 recomputed values and 2 states equal the record".
std::string print_equal(const store::ReplayResult& result) {
  std::string text;
  if (result.values_compared > 0) {
    text = fmt::format("{} of {} recomputed {}", result.values_compared, result.values_compared,
                       result.values_compared == 1 ? "value" : "values");
  }
  if (result.states_compared > 0) {
    text += (text.empty() ? "" : " and ") + plural(result.states_compared, "state");
  }
  const bool one = result.values_compared + result.states_compared == 1;
  return text + (one ? " equals the record" : " equal the record");
}

}  // namespace

void FoundValues::add(const store::ReplayedPart& part) {
  if (part.result.values_found == 0) return;
  counts[part.found] += part.result.values_found;
  if (part.found == ValueVerdict::verified && part.part >= 0) verified.insert(part.part);
}

void FoundValues::doubt() {
  const std::int64_t all = count();
  counts.clear();
  if (all > 0) counts[ValueVerdict::doubtful] = all;
  verified.clear();
}

std::int64_t FoundValues::count() const {
  std::int64_t all = 0;
  for (const auto& [verdict, count] : counts) all += count;
  return all;
}

std::string print_epochs(const std::set<std::int64_t>& epochs) {
  std::vector<Epochs> ranges;
  for (const std::int64_t epoch : epochs) {
    if (!ranges.empty() && ranges.back().end == epoch) {
      ++ranges.back().end;
    } else {
      ranges.push_back({epoch, epoch + 1});
    }
  }
  return print_epochs(ranges);
}

std::string verdict_text(const store::ReplayResult& result, const FoundValues& found, bool shown) {
  const std::string values = print_found(found);
  const bool compared = result.values_compared + result.states_compared > 0;
  switch (result.verdict) {
    case store::Verdict::differs:
      return fmt::format("DIFFERS FROM THE RECORD: {} of {} values and {} of {} states; {}",
                         result.values_different, result.values_compared, result.states_different,
                         result.states_compared, values);
    case store::Verdict::doubtful:
      return fmt::format("{}{}; {}",
                         result.first_difference.empty()
                             ? "doubtful: the program computes something else than was recorded"
                             : "doubtful: " + result.first_difference,
                         compared ? ", though " + print_equal(result) : "", values);
    case store::Verdict::verified:
      return fmt::format("verified: {}; {}", print_equal(result), values);
    default:
      break;
  }
  if (shown) return fmt::format("the plug-in saw the states as they were stored; {}", values);
  return fmt::format("unverified: nothing that was recorded was computed again; {}", values);
}

}  // namespace flor::detail
