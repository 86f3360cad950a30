#include "protocol/plan.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace flor::detail {

std::optional<std::int64_t> parse_epoch(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value < INT64_MAX ? std::optional(value) : std::nullopt;
}

namespace {

std::optional<Epochs> parse_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) {
    const auto epoch = parse_epoch(text);
    return epoch ? std::optional(Epochs{*epoch, *epoch + 1}) : std::nullopt;
  }
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  if (first.empty() && last.empty()) return std::nullopt;
  Epochs range{0, INT64_MAX};
  if (!first.empty()) {
    const auto epoch = parse_epoch(first);
    if (!epoch) return std::nullopt;
    range.first = *epoch;
  }
  if (!last.empty()) {
    const auto epoch = parse_epoch(last);
    if (!epoch) return std::nullopt;
    range.end = *epoch + 1;
  }
  return range.empty() ? std::nullopt : std::optional(range);
}

/// The words of a list, without the commas between them.
std::vector<std::string_view> words_of_list(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<Epochs> joined(std::vector<Epochs> list) {
  std::ranges::sort(list, {}, &Epochs::first);
  std::vector<Epochs> result;
  for (const Epochs& range : list) {
    if (!result.empty() && range.first <= result.back().end) {
      result.back().end = std::max(result.back().end, range.end);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

constexpr std::string_view kSampleOfSteps = "sample:", kLastStep = "last";

/// The index of part `part` (from 1) of `parts` into which so many iterations are divided: each
/// part is represented by its last iteration.
std::int64_t end_of_part(std::int64_t part, std::int64_t parts, std::int64_t iterations) {
  const std::int64_t size = iterations / parts, rest = iterations % parts;
  return part * size + (part * rest) / parts - 1;
}

}  // namespace

std::vector<Epochs> parse_epoch_list(std::string_view text) {
  std::vector<Epochs> list;
  for (const std::string_view word : words_of_list(text)) {
    const auto range = parse_range(word);
    if (!range) {
      throw UsageError(
          fmt::format("'{}' is no list of epochs: write A..B (both included, counted "
                      "from 0), A, or several of these with commas",
                      text));
    }
    list.push_back(*range);
  }
  return joined(std::move(list));
}

StepChoice StepChoice::parse(std::string_view text) {
  StepChoice choice;
  const auto refuse = [&] {
    throw UsageError(fmt::format(
        "'{}' is no list of steps: write A..B (both included, counted from 0), A, last, "
        "or several of these with commas; or sample:N",
        text));
  };
  if (text.starts_with(kSampleOfSteps)) {
    constexpr std::int64_t kSampleMax = 1'000'000;
    choice.sample = parse_epoch(text.substr(kSampleOfSteps.size())).value_or(0);
    if (choice.sample < 1 || choice.sample > kSampleMax) refuse();
    return choice;
  }
  for (const std::string_view word : words_of_list(text)) {
    const auto range = parse_range(word);
    if (range) {
      choice.ranges.push_back(*range);
    } else if (word == kLastStep) {
      choice.last = true;
    } else {
      refuse();
    }
  }
  choice.ranges = joined(std::move(choice.ranges));
  return choice;
}

bool StepChoice::has(std::int64_t step, std::int64_t iterations) const {
  if (step < 0) return false;
  const bool named = std::ranges::any_of(
      ranges, [&](const Epochs& range) { return step >= range.first && step < range.end; });
  if (named || iterations < 0 || step >= iterations) return named;
  if (last && step == iterations - 1) return true;
  if (sample == 0) return false;
  if (sample >= iterations) return true;
  // The first part that ends at or after the step.
  std::int64_t part = std::max<std::int64_t>(1, sample * step / iterations);
  while (end_of_part(part, sample, iterations) < step) ++part;
  return end_of_part(part, sample, iterations) == step;
}

std::int64_t StepChoice::end_in(std::int64_t iterations) const {
  if (iterations <= 0) return 0;
  if (last || sample > 0) return iterations;
  std::int64_t end = 0;
  for (const Epochs& range : ranges) {
    if (range.first < iterations) end = std::min(range.end, iterations);
  }
  return end;
}

std::string StepChoice::text() const {
  if (sample > 0) return fmt::format("{}{}", kSampleOfSteps, sample);
  std::string list;
  for (const Epochs& range : ranges) {
    list += fmt::format("{}{}", list.empty() ? "" : ",", range.first);
    if (range.end == INT64_MAX) {
      list += "..";
    } else if (range.count() > 1) {
      list += fmt::format("..{}", range.end - 1);
    }
  }
  if (last) list += fmt::format("{}{}", list.empty() ? "" : ",", kLastStep);
  return list;
}

std::string print_steps(const StepChoice& choice) {
  if (choice.sample > 0) {
    return fmt::format("{} {} of each loop, spread over it", choice.sample,
                       choice.sample == 1 ? "step" : "steps");
  }
  std::string list;
  for (const Epochs& range : choice.ranges) {
    list += fmt::format("{} {}", list.empty() ? "" : ",", range.first);
    if (range.end == INT64_MAX) {
      list += " and later";
    } else if (range.count() > 1) {
      list += fmt::format(" to {}", range.end - 1);
    }
  }
  if (list.empty()) return "the last step";
  const bool one = choice.ranges.size() == 1 && choice.ranges.front().count() == 1 && !choice.last;
  return fmt::format("{}{}{}", one ? "step" : "steps", list,
                     choice.last ? " and the last one" : "");
}

void require_steps(const StepChoice& choice, const std::vector<store::LoopExecution>& executions) {
  if (choice.empty()) return;
  const store::LoopExecution* longest = nullptr;
  for (const store::LoopExecution& execution : executions) {
    if (choice.end_in(execution.iterations) > 0) return;
    if (!longest || execution.iterations > longest->iterations) longest = &execution;
  }
  if (!longest || longest->iterations == 0) {
    throw UsageError("no nested loop of the run has an iteration: leave it out");
  }
  throw UsageError(
      fmt::format("no nested loop of the run has such a step: the longest, {}, has 0..{}",
                  longest->loop, longest->iterations - 1));
}

std::vector<Epochs> within_run(std::vector<Epochs> list, std::int64_t epochs) {
  for (Epochs& range : list) {
    const std::int64_t last = range.end == INT64_MAX ? range.first : range.end - 1;
    if (last >= epochs) {
      throw UsageError(epochs == 0 ? "the run has no complete epoch"
                                   : fmt::format("the run has no epoch {}: its epochs are 0..{}",
                                                 last, epochs - 1));
    }
    range.end = std::min(range.end, epochs);
  }
  return list;
}

void refuse_copied(const std::vector<Epochs>& list, std::int64_t first, std::string_view parent) {
  if (list.empty() || list.front().first >= first) return;
  throw UsageError(
      fmt::format("{} of this run {} copied from run {}, which it was forked from: replay that run",
                  print_epochs(Epochs{0, first}), first == 1 ? "is" : "are", parent.substr(0, 8)));
}

std::int64_t count_of(const std::vector<Epochs>& list) {
  std::int64_t count = 0;
  for (const Epochs& range : list) count += range.count();
  return count;
}

std::string print_epochs(Epochs epochs) {
  if (epochs.empty()) return "no epoch";
  if (epochs.count() == 1) return fmt::format("epoch {}", epochs.first);
  return fmt::format("epochs {} to {}", epochs.first, epochs.end - 1);
}

std::string print_epochs(const std::vector<Epochs>& list) {
  if (list.empty()) return "no epoch";
  if (list.size() == 1) return print_epochs(list.front());
  std::string text = "epochs";
  for (const Epochs& range : list) {
    text += fmt::format("{} {}", &range == &list.front() ? "" : ",", range.first);
    if (range.count() > 1) text += fmt::format(" to {}", range.end - 1);
  }
  return text;
}

Epochs segment_of(std::int64_t epochs, std::int64_t segment, std::int64_t segments) {
  const std::int64_t size = epochs / segments;
  const std::int64_t larger = epochs % segments;  // so many segments have one epoch more
  const std::int64_t first = segment * size + std::min(segment, larger);
  return {first, first + size + (segment < larger ? 1 : 0)};
}

Epochs part_of_loop(Epochs segment, std::int64_t first, std::int64_t iterations) {
  const Epochs part{std::max<std::int64_t>(segment.first - first, 0),
                    std::min(segment.end - first, iterations)};
  return part.empty() ? Epochs{} : part;
}

std::optional<std::int64_t> start_boundary(const std::set<std::int64_t>& stored,
                                           std::int64_t target, bool strong) {
  const auto after = stored.upper_bound(target);
  if (after == stored.begin()) return std::nullopt;
  return strong ? *stored.begin() : *std::prev(after);
}

VerifyWish VerifyWish::parse(std::string_view flag, std::string_view text) {
  if (text == "all") return {.count = {}, .all = true};
  if (text == "none") return {.count = 0};
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    throw UsageError(fmt::format("{} {}: expected a number of epochs, all, or none", flag, text));
  }
  return {.count = count};
}

}  // namespace flor::detail
