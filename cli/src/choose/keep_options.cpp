#include "choose/keep_options.h"

#include "output/terminal_text.h"
#include "retention/checkpoint_address.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace flor::cli {
namespace {

using store::BestRule, store::Decision, store::KeepRules, store::Reason;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && !text.empty() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_count(const char* flag, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto count = parse_number<std::int64_t>(text);
  if (!count) throw UsageError(fmt::format("{} {}: give a number", flag, printable(text)));
  return count;
}

/// Parses N:METRIC:min or N:METRIC:max.
BestRule parse_best(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view rest =
      colon == text.npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  const auto count = parse_number<std::int64_t>(std::string_view(text).substr(0, colon));
  auto by = store::parse_best_by(rest);
  if (!count || !by) {
    throw UsageError(fmt::format(
        "--best {}: give how many, the metric, and which of its values are good, as in 3:loss:min "
        "or 3:accuracy:max",
        printable(text)));
  }
  return {.count = *count, .metric = std::move(by->metric), .order = by->order};
}

double unit_of(std::string_view unit, bool& known) {
  constexpr std::string_view kPrefixes = "KMGT";
  known = true;
  if (unit.empty() || unit == "B") return 1;
  const char letter = unit[0] == 'k' ? 'K' : unit[0];
  const std::size_t power = kPrefixes.find(letter);
  const std::string_view rest = unit.substr(1);
  known = power != kPrefixes.npos && (rest.empty() || rest == "iB" || rest == "B");
  return std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power) + 1);
}

std::string print(const Reason& reason, const KeepRules& rules) {
  using enum Reason::Rule;
  switch (reason.rule) {
    case last:
      return fmt::format("last {}", rules.last.value_or(0));
    case every:
      return fmt::format("every {}", rules.every.value_or(0));
    case best: {
      const BestRule& rule = rules.best[reason.best];
      if (rule.implied) return fmt::format("best {} of the run's strategy", rule.metric);
      return fmt::format("best {} (rank {})", print_rule(rule), reason.rank);
    }
    case unscored:
      return fmt::format("no {} yet", rules.best[reason.best].metric);
    case resume:
      return "needed to resume";
    case newest:
      return "newest";
    case awaited:
      return "to be judged";
  }
  return "unknown";
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number<double>(text.substr(0, digits));
  bool known = false;
  const double unit = unit_of(text.substr(digits), known);
  const double size = number.value_or(0) * unit;
  constexpr double kMax = 9e18;
  if (!number || !known || !(size < kMax)) {
    throw UsageError(
        fmt::format("--under {}: give a size, as in 20GiB, 500MB or 1.5T", printable(text)));
  }
  return static_cast<std::uint64_t>(size);
}

KeepRules parse_rules(const KeepOptions& options) {
  KeepRules rules;
  rules.last = parse_count("--last", options.last);
  rules.every = parse_count("--every", options.every);
  for (const std::string& text : options.best) rules.best.push_back(parse_best(text));
  if (!options.under.empty()) rules.under = parse_size(options.under);
  rules.unscored = options.unscored;
  rules.tie = options.newer ? store::Tie::newer : store::Tie::older;
  if (!rules.empty() || rules.unscored) store::check_rules(rules);
  return rules;
}

std::string print_rule(const BestRule& rule) {
  return fmt::format("{}:{}:{}", rule.count, printable(rule.metric), store::to_string(rule.order));
}

std::string print_reasons(const Decision& decision, const KeepRules& rules) {
  std::string text;
  for (const Reason& reason : decision.reasons) {
    text += (text.empty() ? "" : ", ") + print(reason, rules);
  }
  if (decision.kept && text.empty()) return "fits";
  if (!decision.over) return text;
  return text.empty() ? "no room" : fmt::format("no room: {}", text);
}

}  // namespace flor::cli
