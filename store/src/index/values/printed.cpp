#include "index/values/printed.h"

#include <flor/store/secrets.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

namespace flor::store {
namespace {

constexpr std::array<std::string_view, 4> kStreams{"output", "stdout", "stderr", "gap"};

/// Keys and tokens that are known by their form are not stored.
std::string without_secrets(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto found = find_secret(std::string_view(text).substr(at));
    if (!found) break;
    text.replace(at + found->at, found->size, kMasked);
    at += found->at + kMasked.size();
  }
  return text;
}

/// Parses a value of the form "MICROSECONDS STREAM BYTES"; nullopt for any other value.
std::optional<Printed> printed_of(Value&& value) {
  auto* text = std::get_if<std::string>(&value.value);
  if (!text || value.replay != 0) return std::nullopt;
  Printed printed;
  const char* const end = text->data() + text->size();
  const auto time = std::from_chars(text->data(), end, printed.time_us);
  if (time.ec != std::errc() || time.ptr == end || *time.ptr != ' ') return std::nullopt;
  const auto word = static_cast<std::size_t>(time.ptr + 1 - text->data());
  const std::size_t blank = text->find(' ', word);
  if (blank == text->npos) return std::nullopt;
  const auto stream =
      std::ranges::find(kStreams, std::string_view(*text).substr(word, blank - word));
  if (stream == kStreams.end()) return std::nullopt;
  printed.stream = static_cast<Printed::Stream>(stream - kStreams.begin());
  printed.text = text->substr(blank + 1);
  printed.place = std::move(value.place);
  printed.number = value.ordinal;
  return printed;
}

}  // namespace

std::string_view to_string(Printed::Stream stream) {
  return kStreams[static_cast<std::size_t>(stream)];
}

Value value_of(Printed printed) {
  std::string text = std::to_string(printed.time_us);
  text.append(1, ' ')
      .append(to_string(printed.stream))
      .append(1, ' ')
      .append(without_secrets(std::move(printed.text)));
  return {.name = std::string(kPrintedSeries),
          .place = std::move(printed.place),
          .ordinal = printed.number,
          .type = ValueType::text,
          .value = std::move(text)};
}

std::vector<Printed> read_printed(const Catalog& catalog, std::int64_t run,
                                  std::int64_t first_epoch, std::int64_t last_epoch) {
  std::vector<Printed> all;
  for (Value& value : catalog.values({.run = run,
                      .names = {std::string(kPrintedSeries)},
                      .first_epoch = first_epoch,
                      .last_epoch = last_epoch})) {
    if (auto printed = printed_of(std::move(value))) all.push_back(*std::move(printed));
  }
  std::ranges::stable_sort(all, {}, &Printed::number);
  return all;
}

}  // namespace flor::store
