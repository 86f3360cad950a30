#include "verdict/verdict.h"

#include "protocol/value_text.h"
#include "state/registry.h"

#include <fmt/format.h>

#include <string_view>

namespace flor::detail {
namespace {

constexpr std::size_t kLines = 5;

}  // namespace

template <typename Change>
void Comparison::count(std::int64_t part, Change change) {
  change(all_);
  change(parts_[part]);
}

void Comparison::add(std::int64_t part, std::string line) {
  count(part, [&](Tally& tally) {
    if (tally.result.first_difference.empty()) tally.result.first_difference = line;
  });
  if (lines_.size() < kLines) lines_.push_back(std::move(line));
}

void Comparison::value(std::int64_t part, const store::Value& recorded,
                       const store::Value& replayed) {
  const std::lock_guard lock(mutex_);
  const bool same = same_value(recorded, replayed);
  count(part, [&](Tally& tally) {
    ++tally.result.values_compared;
    if (!same) ++tally.result.values_different;
  });
  if (same) return;
  add(part, fmt::format("{} at {}: recorded {}, replayed {}", value_title(replayed),
                        print_place(replayed.place), print_value(recorded), print_value(replayed)));
}

void Comparison::value_found(std::int64_t part) {
  const std::lock_guard lock(mutex_);
  count(part, [](Tally& tally) { ++tally.result.values_found; });
}

void Comparison::value_unexpected(std::int64_t part, const store::Value& replayed) {
  const std::lock_guard lock(mutex_);
  count_different(part, replayed, "not recorded, replayed");
}

void Comparison::value_missing(std::int64_t part, const store::Value& recorded) {
  const std::lock_guard lock(mutex_);
  count_different(part, recorded, "not replayed, recorded");
}

/// Formats only the lines that are shown, since there may be a million differences.
void Comparison::count_different(std::int64_t part, const store::Value& value,
                                 std::string_view what) {
  count(part, [](Tally& tally) {
    ++tally.result.values_compared;
    ++tally.result.values_different;
  });
  if (lines_.size() >= kLines && !parts_[part].result.first_difference.empty()) return;
  add(part, fmt::format("{} at {}: {} {}", value_title(value), print_place(value.place), what,
                        print_value(value)));
}

void Comparison::state(std::int64_t part, const std::string& where,
                       const std::vector<StateDifference>& differences) {
  const std::lock_guard lock(mutex_);
  count(part, [&](Tally& tally) {
    ++tally.result.states_compared;
    if (!differences.empty()) ++tally.result.states_different;
  });
  if (differences.empty()) return;
  const StateDifference& first = differences.front();
  add(part,
      fmt::format(
          "state at the {}: {}: {}{}", where, item_title(first.name), first.what,
          differences.size() > 1 ? fmt::format(" (and {} more)", differences.size() - 1) : ""));
}

void Comparison::difference(std::int64_t part, std::string what) {
  const std::lock_guard lock(mutex_);
  count(part, [](Tally& tally) { ++tally.others; });
  add(part, std::move(what));
}

void Comparison::computation_changed() {
  const std::lock_guard lock(mutex_);
  changed_ = true;
}

void Comparison::doubt(std::string why) {
  const std::lock_guard lock(mutex_);
  if (doubt_.empty()) doubt_ = std::move(why);
}

bool Comparison::is_doubted() const {
  const std::lock_guard lock(mutex_);
  return !doubt_.empty();
}

store::ReplayResult Comparison::Tally::with_verdict(bool changed, const std::string& doubt) const {
  store::ReplayResult verdict = result;
  const bool differs = result.values_different + result.states_different + others > 0;
  const bool compared = result.values_compared + result.states_compared > 0;
  verdict.verdict = differs                      ? store::Verdict::differs
                    : changed || !doubt.empty() ? store::Verdict::doubtful
                    : compared                   ? store::Verdict::verified
                                                 : store::Verdict::unverified;
  if (!doubt.empty()) {
    std::string& first = verdict.first_difference;
    first = first.empty() ? doubt : fmt::format("{}; {}", first, doubt);
  }
  return verdict;
}

store::ReplayResult Comparison::result() const {
  const std::lock_guard lock(mutex_);
  return all_.with_verdict(changed_, doubt_);
}

store::ReplayResult Comparison::take(std::int64_t part) {
  const std::lock_guard lock(mutex_);
  const store::ReplayResult result = parts_[part].with_verdict(changed_, doubt_);
  parts_.erase(part);
  return result;
}

std::vector<std::string> Comparison::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines = lines_;
  if (!doubt_.empty()) lines.push_back(doubt_);
  return lines;
}

}  // namespace flor::detail
