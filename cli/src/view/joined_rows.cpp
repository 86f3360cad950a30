#include "view/joined_rows.h"

#include "output/values.h"
#include "view/loop_columns.h"

#include <nlohmann/json.hpp>

namespace flor::cli {

using store::Value;

Json index_json(std::int64_t index) { return index < 0 ? Json(nullptr) : Json(index); }

Json inner_json(const std::string& inner) {
  if (inner.empty()) return nullptr;
  Json indices = Json::parse("[" + inner + "]", nullptr, false);
  return indices.is_discarded() ? Json(inner) : indices;
}

Tone origin_tone(const Value& value) {
  if (value.verdict == store::ValueVerdict::doubtful) return Tone::warning;
  return value.replay != 0 || value.job != 0 ? Tone::hindsight : Tone::plain;
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
