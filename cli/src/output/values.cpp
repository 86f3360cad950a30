// Logged values as text and as JSON.
#include "output/values.h"

#include "output/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace flor::cli {
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

Json parsed(const std::string& text) {
  Json result = Json::parse(text, nullptr, false);
  // A program may log any text as JSON; a text that does not parse stays a text.
  return result.is_discarded() ? Json(text) : result;
}

std::string shape_of_table(const Scalar& value) {
  const Json table = parsed(text_of(value));
  if (!table.is_object() || !table.contains("rows") || !table.contains("columns")) return "table";
  return fmt::format("table {}x{}", table["rows"].size(), table["columns"].size());
}

std::string shape_of_histogram(const Scalar& value) {
  const Json histogram = parsed(text_of(value));
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

Json to_json(ValueType type, const Scalar& value) {
  if (type == ValueType::boolean) {
    if (const auto* flag = std::get_if<std::int64_t>(&value)) return *flag != 0;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return json_number(*real);
  const auto& text = std::get<std::string>(value);
  switch (type) {
    case ValueType::json:
    case ValueType::histogram:
    case ValueType::table:
      return parsed(text);
    case ValueType::tensor:
    case ValueType::image:
      return Json{{"object", text}};
    default:
      return text;
  }
}

std::optional<double> number(ValueType type, const Scalar& value) {
  if (type > ValueType::real) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

}  // namespace flor::cli
