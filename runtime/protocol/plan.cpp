#include "protocol/plan.h"

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

}  // namespace

std::vector<Epochs> parse_epoch_list(std::string_view text) {
  std::vector<Epochs> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto range = parse_range(text.substr(begin, end - begin));
    if (!range) {
      throw UsageError(
          fmt::format("'{}' is no list of epochs: write A..B (both included, counted "
                      "from 0), A, or several of these with commas",
                      text));
    }
    list.push_back(*range);
    begin = end + 1;
  }
  std::ranges::sort(list, {}, &Epochs::first);
  std::vector<Epochs> joined;
  for (const Epochs& range : list) {
    if (!joined.empty() && range.first <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
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
