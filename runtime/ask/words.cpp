#include "ask/words.h"

#include "base/edit_distance.h"
#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace flor::ask {
namespace {

using store::Scalar;
using store::ValueType;

/// The text of a value whose type is textual. The catalog guarantees that type and alternative
/// agree; if they do not, the value is shown as it is.
std::string text_of(const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  return exact(std::get<double>(value));
}

nlohmann::json parsed(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string shape_of_table(const Scalar& value) {
  const nlohmann::json table = parsed(text_of(value));
  if (!table.is_object() || !table.contains("rows") || !table.contains("columns")) return "table";
  return fmt::format("table {}x{}", table["rows"].size(), table["columns"].size());
}

std::string shape_of_histogram(const Scalar& value) {
  const nlohmann::json histogram = parsed(text_of(value));
  if (!histogram.is_object() || !histogram.contains("counts")) return "histogram";
  return fmt::format("histogram of {} bins", histogram["counts"].size());
}

}  // namespace

std::string readable(double value) {
  if (std::isnan(value)) return "nan";  // without the sign that NaN may have
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6);
  return {buffer, end};
}

std::string exact(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc() ? std::string(buffer, end) : fmt::format("{}", value);
}

std::string readable(ValueType type, const Scalar& value) {
  switch (type) {
    case ValueType::boolean:
      return exact(type, value);
    case ValueType::real:
      if (const auto* real = std::get_if<double>(&value)) return readable(*real);
      return text_of(value);
    case ValueType::integer:
    case ValueType::text:
    case ValueType::json:
      return text_of(value);
    case ValueType::tensor:
      return "tensor";
    case ValueType::histogram:
      return shape_of_histogram(value);
    case ValueType::image:
      return "image";
    case ValueType::table:
      return shape_of_table(value);
  }
  return text_of(value);
}

std::string exact(ValueType type, const Scalar& value) {
  if (type == ValueType::boolean) {
    if (const auto* flag = std::get_if<std::int64_t>(&value)) return *flag ? "true" : "false";
  }
  return text_of(value);
}

std::optional<double> number(ValueType type, const Scalar& value) {
  if (type > ValueType::real) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // A third of the word may be wrong. A word that is the beginning of a candidate has the distance
  // 1.
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : store::edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto found = nearest(word, candidates);
  return found ? fmt::format(": did you mean '{}'?", store::printable(*found)) : std::string();
}

}  // namespace flor::ask
