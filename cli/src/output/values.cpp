// Logged values as text and as JSON.
#include "output/values.h"

#include "output/json.h"

#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

using store::Scalar;
using store::ValueType;

Json parsed(const std::string& text) {
  Json result = Json::parse(text, nullptr, false);
  // A program may log any text as JSON; a text that does not parse stays a text.
  return result.is_discarded() ? Json(text) : result;
}

}  // namespace

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

}  // namespace flor::cli
