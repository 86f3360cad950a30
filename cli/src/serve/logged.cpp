#include "serve/logged.h"

#include "choose/run_spec.h"
#include "export/png_image.h"
#include "output/values.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace flor::cli {
namespace {

using store::Value;
using store::ValueType;

bool is_number(ValueType type) { return type <= ValueType::real; }

Json object_json(const store::Store& store, ValueType type, const std::string& reference) {
  try {
    const store::Item item = store::read_object(store, reference).item;
    if (type == ValueType::image && item.sizes.size() == 3) {
      return {{"object", reference},
              {"height", item.sizes[0]},
              {"width", item.sizes[1]},
              {"channels", item.sizes[2]}};
    }
    return {{"object", reference}, {"type", to_string(item.type)}, {"sizes", item.sizes}};
  } catch (const Error& error) {
    return {{"lost", error.what()}};
  }
}

Json item_json(const store::Store& store, const LoopColumns& loops, std::int64_t run,
               const Value& value) {
  const bool object = value.type == ValueType::image || value.type == ValueType::tensor;
  const auto* reference = std::get_if<std::string>(&value.value);
  return {{"epoch", value.place.epoch < 0 ? Json() : Json(value.place.epoch)},
          {"step", value.place.step < 0 ? Json() : Json(value.place.step)},
          {"loop", json_text(loop_text(value.place.path))},
          {"inner", json_text(value.place.inner)},
          {"where", json_text(loops.text_of(run, value.place))},
          {"ordinal", value.ordinal},
          {"origin", std::string(origin_of(value))},
          {"verdict", std::string(verdict_of(value))},
          {"value", object && reference ? object_json(store, value.type, *reference)
                                        : to_json(value.type, value.value)}};
}

}  // namespace

Json logged_names(const store::Store& store, std::string_view run_name) {
  const store::Run run = parse_whole_run(store.catalog(), run_name);
  Json names = Json::array();
  for (const store::MetricSummary& metric : store.catalog().metrics(run.id)) {
    if (is_number(metric.type)) continue;
    names.push_back({{"name", metric.name},
                     {"type", std::string(store::to_string(metric.type))},
                     {"count", metric.count}});
  }
  return {{"names", std::move(names)}};
}

Json logged_values(const store::Store& store, std::string_view run_name, std::string_view name,
                   std::size_t limit) {
  const store::Run run = parse_whole_run(store.catalog(), run_name);
  store::ValueQuery query{.run = run.id, .names = {std::string(name)}};
  query.evaluated = true;
  std::vector<Value> values = store.catalog().values(query);
  if (values.empty()) {
    throw NotFound(fmt::format("run {} has logged nothing as '{}'", title(run), name));
  }
  const ValueType type = values.back().type;
  std::erase_if(values, [&](const Value& value) { return value.type != type; });
  const std::size_t count = std::min(std::max<std::size_t>(limit, 2), values.size());
  Json items = Json::array();
  LoopColumns loops;
  loops.read(store, run);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (values.size() - 1) / (count - 1);
    items.push_back(item_json(store, loops, run.id, values[at]));
  }
  return {{"name", std::string(name)},
          {"type", std::string(store::to_string(type))},
          {"total", values.size()},
          {"items", std::move(items)}};
}

std::string picture_png(const store::Store& store, std::string_view object) {
  const store::Object found = store::read_object(store, object);
  const std::vector<std::int64_t>& sizes = found.item.sizes;
  if (sizes.size() != 3 || found.item.type != store::ElementType::u8) {
    throw NotFound("what this refers to is no picture");
  }
  return encoded_png(found.content, sizes[0], sizes[1], sizes[2]);
}

}  // namespace flor::cli
