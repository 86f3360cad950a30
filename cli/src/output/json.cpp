// JSON as docs/cli.md specifies it.
#include "output/json.h"

#include "output/time.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace flor::cli {
namespace {

constexpr auto kReplace = Json::error_handler_t::replace;

}  // namespace

Json document(std::string_view command) {
  return Json{{"schema_version", kSchemaVersion}, {"command", std::string(command)}};
}

std::string compact(const Json& value) { return value.dump(-1, ' ', false, kReplace); }

Json json_time(std::optional<std::int64_t> time_us) {
  return time_us ? Json(rfc3339(*time_us)) : Json(nullptr);
}

Json json_text(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

void print(Output& out, const Json& document) {
  out.write(document.dump(2, ' ', false, kReplace));
  out.write("\n");
}

JsonList::JsonList(Output& out, const Json& head, std::string_view field) : out_(out) {
  // The head is not empty, so its text ends in "\n}"; the brace is written after the list.
  std::string text = head.dump(2, ' ', false, kReplace);
  text.resize(text.size() - 2);
  out_.write(text);
  out_.write(",\n  " + compact(Json(field)) + ": [");
}

void JsonList::add(const Json& element) {
  out_.write(first_ ? "\n    " : ",\n    ");
  out_.write(compact(element));
  first_ = false;
}

void JsonList::end() { out_.write(first_ ? "]\n}\n" : "\n  ]\n}\n"); }

}  // namespace flor::cli
