#include "view/joined_rows.h"

#include "output/values.h"
#include "view/loop_columns.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {

using store::Value;

Json index_json(std::int64_t index) { return index < 0 ? Json(nullptr) : Json(index); }

Json inner_json(const std::string& inner) {
  if (inner.empty()) return nullptr;
  Json indices = Json::parse("[" + inner + "]", nullptr, false);
  return indices.is_discarded() ? Json(inner) : indices;
}

std::string_view origin_of(const Value& value) {
  if (value.job != 0) return "evaluated";
  return value.replay == 0 ? "recorded" : "hindsight";
}

bool is_doubtful_of(std::string_view name, std::string_view metric) {
  return name.starts_with(metric) && name.substr(metric.size()).starts_with(" (doubtful, replay ");
}

std::string_view verdict_of(const Value& value) {
  return value.job != 0 ? "evaluated" : store::to_string(value.verdict);
}

std::string verdict_of(std::span<const Value* const> cells) {
  std::string text;
  for (const std::string_view verdict :
       {"recorded", "verified", "proven", "unverified", "doubtful", "evaluated"}) {
    const bool any = std::ranges::any_of(
        cells, [&](const Value* value) { return value && verdict_of(*value) == verdict; });
    if (!any) continue;
    if (!text.empty()) text += '+';
    text += verdict;
  }
  return text.empty() ? "recorded" : text;
}

Tone origin_tone(const Value& value) {
  if (value.verdict == store::ValueVerdict::doubtful) return Tone::warning;
  return value.replay != 0 || value.job != 0 ? Tone::hindsight : Tone::plain;
}

std::string origin_of(std::span<const Value* const> cells) {
  std::string text;
  for (const std::string_view origin : {"recorded", "hindsight", "evaluated"}) {
    const bool any = std::ranges::any_of(
        cells, [&](const Value* value) { return value && origin_of(*value) == origin; });
    if (!any) continue;
    if (!text.empty()) text += '+';
    text += origin;
  }
  return text.empty() ? "recorded" : text;
}

Json row_json(const store::Run& run, std::span<const std::string> names, const Join& join,
              std::size_t index) {
  const auto& row = join.row(index);
  const auto cells = join.cells(index);
  Json values = Json::object(), origins = Json::object(), verdicts = Json::object();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i]) continue;
    values[names[i]] = to_json(cells[i]->type, cells[i]->value);
    origins[names[i]] = std::string(origin_of(*cells[i]));
    verdicts[names[i]] = std::string(verdict_of(*cells[i]));
  }
  return {{"run", run.key},
          {"experiment", run.start.experiment},
          {"loop", json_text(loop_text(row.place->path))},
          {"epoch", index_json(row.place->epoch)},
          {"step", index_json(row.place->step)},
          {"inner", inner_json(row.place->inner)},
          {"ordinal", row.ordinal},
          {"values", std::move(values)},
          {"origins", std::move(origins)},
          {"origin", origin_of(cells)},
          {"verdicts", std::move(verdicts)},
          {"verdict", verdict_of(cells)}};
}

}  // namespace flor::cli
