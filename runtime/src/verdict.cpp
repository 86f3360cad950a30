#include "verdict.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>

namespace flor::detail {
namespace {

constexpr std::size_t kLines = 5;

std::string_view last_component(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

bool same_value(const store::Value& a, const store::Value& b) {
  if (a.type != b.type || a.value.index() != b.value.index()) return false;
  if (const double* x = std::get_if<double>(&a.value)) {
    return std::bit_cast<std::uint64_t>(*x) ==
           std::bit_cast<std::uint64_t>(std::get<double>(b.value));
  }
  return a.value == b.value;
}

std::string print_place(const store::Place& place) {
  if (place.path.empty()) return "outside the loops";
  const std::string_view path = place.path;
  std::string text = fmt::format("{} {}", path.substr(0, path.find('/')), place.epoch);
  if (place.step >= 0) {
    std::string_view nested = path.substr(path.find('/') + 1);
    nested = nested.substr(0, nested.find('/'));
    text += fmt::format(", {} {}", nested, place.step);
  }
  if (!place.inner.empty()) text += fmt::format(", {} {}", last_component(path), place.inner);
  return text;
}

std::string print_value(const store::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
    return value.type == store::ValueType::boolean ? (*integer ? "true" : "false")
                                                   : fmt::format("{}", *integer);
  }
  if (const auto* real = std::get_if<double>(&value.value)) return fmt::format("{}", *real);
  const std::string& text = std::get<std::string>(value.value);
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? fmt::format("'{}'", text)
                               : fmt::format("'{}...'", text.substr(0, kShown));
}

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
  add(part, fmt::format("{} at {}: recorded {}, replayed {}", replayed.name,
                        print_place(replayed.place), print_value(recorded), print_value(replayed)));
}

void Comparison::value_found(std::int64_t part) {
  const std::lock_guard lock(mutex_);
  count(part, [](Tally& tally) { ++tally.result.values_found; });
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
          "state at the {}: {}: {}{}", where, first.name, first.what,
          differences.size() > 1 ? fmt::format(" (and {} more)", differences.size() - 1) : ""));
}

void Comparison::difference(std::int64_t part, std::string what) {
  const std::lock_guard lock(mutex_);
  count(part, [](Tally& tally) { ++tally.others; });
  add(part, std::move(what));
}

store::ReplayResult Comparison::Tally::with_verdict() const {
  store::ReplayResult verdict = result;
  const bool differs = result.values_different + result.states_different + others > 0;
  const bool compared = result.values_compared + result.states_compared > 0;
  verdict.verdict = differs    ? store::Verdict::differs
                    : compared ? store::Verdict::exact
                               : store::Verdict::unchecked;
  return verdict;
}

store::ReplayResult Comparison::result() const {
  const std::lock_guard lock(mutex_);
  return all_.with_verdict();
}

store::ReplayResult Comparison::take(std::int64_t part) {
  const std::lock_guard lock(mutex_);
  const store::ReplayResult result = parts_[part].with_verdict();
  parts_.erase(part);
  return result;
}

std::vector<std::string> Comparison::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

}  // namespace flor::detail
