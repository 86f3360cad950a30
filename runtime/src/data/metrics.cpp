#include <flor/data/metrics.h>
#include <flor/log.h>
#include <flor/session.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <utility>

namespace flor {
namespace {

/// The texts of all ranks, exchanged as one number per character, which is enough for short texts.
std::vector<std::string> gather_texts(Group& group, const std::string& mine) {
  const auto sizes = group.all_gather(std::ssize(mine));
  const auto longest = static_cast<std::size_t>(std::ranges::max(sizes));
  std::vector<std::int64_t> padded(mine.begin(), mine.end());
  padded.resize(longest);
  const auto all = group.all_gather(padded);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    std::string& text = texts.emplace_back();
    for (std::int64_t i = 0; i < sizes[rank]; ++i) {
      text += static_cast<char>(all[rank * longest + static_cast<std::size_t>(i)]);
    }
  }
  return texts;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The smaller value; NaN if either is NaN.
double least(double a, double b) { return std::isnan(a) || a < b ? a : b; }

}  // namespace

// Metrics -----------------------------------------------------------------------------------------

const char* Metrics::to_string(Kind kind) {
  constexpr const char* kNames[] = {"sum", "mean", "min", "max"};
  return kNames[static_cast<std::size_t>(kind)];
}

double Metrics::result(const Entry& entry) {
  return entry.kind == Kind::mean ? entry.value / entry.weight : entry.value;
}

void Metrics::combine(Entry& entry, const Entry& other) {
  switch (entry.kind) {
    case Kind::sum:
    case Kind::mean:
      entry.value += other.value;
      entry.weight += other.weight;
      return;
    case Kind::min:
      entry.value = least(entry.value, other.value);
      return;
    case Kind::max:
      entry.value = -least(-entry.value, -other.value);
      return;
  }
}

void Metrics::add(std::string_view name, const Entry& entry) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    entries_.emplace(name, entry);
  } else if (found->second.kind != entry.kind) {
    throw Error(fmt::format("'{}' is a {} already: give the {} another name", name,
                            to_string(found->second.kind), to_string(entry.kind)));
  } else {
    combine(found->second, entry);
  }
}

void Metrics::sum(std::string_view name, double value) { add(name, {Kind::sum, value, 0}); }
void Metrics::min(std::string_view name, double value) { add(name, {Kind::min, value, 0}); }
void Metrics::max(std::string_view name, double value) { add(name, {Kind::max, value, 0}); }
void Metrics::mean(std::string_view name, double value, double weight) {
  if (!(weight >= 0) || std::isinf(weight)) {
    throw Error(
        fmt::format("the weight of '{}' is {}: it must be a number from 0 on", name, weight));
  }
  // With weight 0, an infinite value or NaN must not change the mean.
  add(name, {Kind::mean, weight > 0 ? value * weight : 0, weight});
}

double Metrics::operator[](std::string_view name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return result(found->second);
  std::string names;
  for (const auto& [known, entry] : entries_) names += (names.empty() ? "" : ", ") + known;
  throw NotFound(fmt::format("nothing was gathered as '{}'; there is {}", name,
                             names.empty() ? "nothing" : names));
}

std::map<std::string, double> Metrics::values() const {
  std::map<std::string, double> all;
  for (const auto& [name, entry] : entries_) all.emplace(name, result(entry));
  return all;
}

void Metrics::check_names(Group& group) const {
  std::string mine;
  for (const auto& [name, entry] : entries_) {
    mine += fmt::format("{} '{}'\n", to_string(entry.kind), name);
  }
  const std::vector<std::string> all = gather_texts(group, mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (const std::string& line : lines_of(all[rank])) {
      for (std::size_t other = 0; other < all.size(); ++other) {
        if (("\n" + all[other]).find("\n" + line + "\n") != std::string::npos) continue;
        throw Error(
            fmt::format("rank {} gathered no {}, but rank {} did: all ranks have to gather "
                        "the same",
                        other, line, rank));
      }
    }
  }
}

std::map<std::string, double> Metrics::reduced(Group& group) const {
  check_names(group);
  std::vector<std::int64_t> mine;
  for (const auto& [name, entry] : entries_) {
    mine.push_back(std::bit_cast<std::int64_t>(entry.value));
    mine.push_back(std::bit_cast<std::int64_t>(entry.weight));
  }
  const auto all = group.all_gather(mine);
  std::map<std::string, double> results;
  std::size_t at = 0;
  for (const auto& [name, entry] : entries_) {
    Entry together{entry.kind, 0, 0};
    for (std::size_t rank = 0; rank * mine.size() < all.size(); ++rank) {
      const Entry other{entry.kind, std::bit_cast<double>(all[rank * mine.size() + at]),
                        std::bit_cast<double>(all[rank * mine.size() + at + 1])};
      rank == 0 ? void(together = other) : combine(together, other);
    }
    results.emplace(name, result(together));
    at += 2;
  }
  return results;
}

std::map<std::string, double> Metrics::log_and_reset(Group& group, std::string_view prefix) {
  auto results = reduced(group);
  for (const auto& [name, value] : results) log(std::string(prefix) + name, value);
  reset();
  return results;
}

std::map<std::string, double> Metrics::log_and_reset(std::string_view prefix) {
  SoloGroup alone;
  return log_and_reset(alone, prefix);
}

void Metrics::save(const StateWriter& writer) const {
  std::vector<std::string> names;
  std::vector<std::uint8_t> kinds;
  std::vector<double> numbers;
  for (const auto& [name, entry] : entries_) {
    names.push_back(name);
    kinds.push_back(static_cast<std::uint8_t>(entry.kind));
    numbers.insert(numbers.end(), {entry.value, entry.weight});
  }
  StateTraits<decltype(names)>::save(names, writer.within("names"));
  StateTraits<decltype(kinds)>::save(kinds, writer.within("kinds"));
  StateTraits<decltype(numbers)>::save(numbers, writer.within("numbers"));
}

void Metrics::load(const StateReader& reader) {
  std::vector<std::string> names;
  std::vector<std::uint8_t> kinds;
  std::vector<double> numbers;
  StateTraits<decltype(names)>::load(names, reader.within("names"));
  StateTraits<decltype(kinds)>::load(kinds, reader.within("kinds"));
  StateTraits<decltype(numbers)>::load(numbers, reader.within("numbers"));
  if (kinds.size() != names.size() || numbers.size() != 2 * names.size() ||
      std::ranges::any_of(kinds, [](std::uint8_t kind) { return kind > 3; })) {
    throw Error("'" + reader.full_name("") + "' is not what flor::Metrics saves");
  }
  entries_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    entries_[names[i]] = {static_cast<Kind>(kinds[i]), numbers[2 * i], numbers[2 * i + 1]};
  }
}

// StepTimer ---------------------------------------------------------------------------------------

double StepTimer::mark(std::string_view name) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  auto found = std::ranges::find(marks_, name, &Mark::name);
  if (found == marks_.end()) found = marks_.insert(found, {std::string(name), 0});
  found->seconds += seconds;
  return seconds;
}

double StepTimer::step() {
  last_ = Clock::now();
  const double seconds =
      std::chrono::duration<double>(last_ - std::exchange(begin_, last_)).count();
  total_ += seconds;
  ++steps_;
  return seconds;
}

double StepTimer::seconds(std::string_view name) const {
  const auto found = std::ranges::find(marks_, name, &Mark::name);
  return found == marks_.end() ? 0 : found->seconds;
}

std::string StepTimer::summary() const {
  if (steps_ == 0) return "no step";
  const double each = 1e3 / static_cast<double>(steps_);
  std::string text = fmt::format("{:.1f} ms a step", total_ * each);
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    text +=
        fmt::format("{}{} {:.1f}", i == 0 ? ": " : ", ", marks_[i].name, marks_[i].seconds * each);
  }
  return text;
}

void StepTimer::log_and_reset(std::string_view prefix) {
  if (recording() && steps_ > 0) {
    const auto steps = static_cast<double>(steps_);
    for (const Mark& mark : marks_) log(std::string(prefix) + mark.name, mark.seconds / steps);
    log(std::string(prefix) + "step", total_ / steps);
  }
  marks_.clear();
  total_ = 0;
  steps_ = 0;
  restart();
}

}  // namespace flor
