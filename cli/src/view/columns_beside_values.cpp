#include "view/columns_beside_values.h"

#include "choose/asked.h"
#include "choose/telling_arguments.h"
#include "output/time.h"
#include "output/values.h"
#include "view/run_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace flor::cli {
namespace {

/// The argument that this column shows for the run; null if it shows something else.
const store::Argument* argument_in(const ListedRun& facts, std::string_view name) {
  constexpr std::string_view kPrefix = "arg:";
  const bool is_named = name.starts_with(kPrefix);
  if (is_named) name.remove_prefix(kPrefix.size());
  if (!is_named && (builtin_column(name) ||
                    std::ranges::find(facts.metrics, name, &store::MetricSummary::name) !=
                        facts.metrics.end())) {
    return nullptr;
  }
  const auto found = std::ranges::find(facts.arguments, name, &store::Argument::name);
  return found == facts.arguments.end() ? nullptr : &*found;
}

Json number_json(double value) {
  constexpr double kExact = 1LL << std::numeric_limits<double>::digits;
  const bool is_whole = std::trunc(value) == value && std::abs(value) < kExact;
  return is_whole ? Json(static_cast<std::int64_t>(value)) : json_number(value);
}

ColumnsBesideValues::Cell cell_of(const ListedRun& facts, const RunColumn& column,
                                  const std::string& name, std::int64_t now_us) {
  const Field field = column.field(facts, now_us);
  if (field.text.empty()) return {};
  if (const store::Argument* argument = argument_in(facts, name)) {
    return {field.text, argument->value, argument_json(*argument)};
  }
  if (name == "when") {
    const std::string time = rfc3339(facts.run.start.started_us);
    return {field.text, time, time};
  }
  if (field.number) return {field.text, exact(*field.number), number_json(*field.number)};
  return {field.text, field.text, field.text};
}

}  // namespace

std::vector<std::string> split_columns(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    if (const auto part = text.substr(0, comma); !part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

ColumnsBesideValues::ColumnsBesideValues(const store::Catalog& catalog,
                                         std::span<const store::Run> runs, std::string_view text,
                                         std::int64_t now_us) {
  std::vector<ListedRun> listed;
  TellingArguments seen;
  for (const store::Run& run : runs) {
    listed.push_back({run, catalog.metrics(run.id), catalog.arguments(run.id)});
    seen.add(run.start.experiment, listed.back().arguments);
  }
  std::vector<std::string> names;
  for (std::string& name : split_columns(text)) {
    if (name != kDifferingArguments) {
      names.push_back(std::move(name));
      continue;
    }
    for (const auto& argument : seen.telling()) names.push_back("arg:" + argument.name);
  }
  for (const std::string& name : names) {
    const RunColumn column = find_column(name, listed);
    titles_.push_back(column.title);
    for (const ListedRun& facts : listed) {
      cells_[facts.run.id].push_back(cell_of(facts, column, name, now_us));
    }
  }
}

const std::vector<ColumnsBesideValues::Cell>& ColumnsBesideValues::of(std::int64_t run) const {
  static const std::vector<Cell> kNone;
  const auto found = cells_.find(run);
  return found == cells_.end() ? kNone : found->second;
}

Json ColumnsBesideValues::json_of(std::int64_t run) const {
  Json result = Json::object();
  const std::vector<Cell>& cells = of(run);
  for (std::size_t i = 0; i < cells.size(); ++i) result[titles_[i]] = cells[i].json;
  return result;
}

}  // namespace flor::cli
