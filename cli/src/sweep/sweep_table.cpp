#include "sweep/sweep_table.h"

#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/telling_arguments.h"
#include "curves/series.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace flor::cli {
namespace {

constexpr std::size_t kUsualMetrics = 3;

/// A row of the table.
struct Row {
  std::size_t point = 0;
  std::vector<Field> metrics;
};

std::vector<std::string> shown_metrics(const store::Catalog& catalog,
                                       const std::vector<PointState>& states,
                                       const SweepTable& table) {
  std::vector<store::Run> runs;
  for (const PointState& state : states) {
    if (state.run) runs.push_back(*state.run);
  }
  if (table.goal) {
    // The others may still log it.
    std::erase_if(runs, [](const store::Run& run) {
      return run.state != store::RunState::finished;
    });
    const std::vector<std::string> metrics{table.goal->metric};
    if (!runs.empty()) require_metrics(catalog, runs, metrics, "flor sweep SWEEP -m METRIC:min");
    return {table.goal->text()};
  }
  std::vector<std::string> names = number_names(catalog, runs);
  if (names.size() > kUsualMetrics) names.resize(kUsualMetrics);
  return names;
}

std::vector<Row> rows_of(const store::Catalog& catalog, const std::vector<PointState>& states,
                         const std::vector<std::string>& metrics, const SweepTable& table,
                         std::int64_t now_us) {
  std::vector<Row> rows(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    rows[i].point = i;
    rows[i].metrics.resize(metrics.size());
    if (!states[i].run) continue;
    const ListedRun facts{*states[i].run, catalog.metrics(states[i].run->id), {}};
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      rows[i].metrics[m] = column_named("metric:" + metrics[m]).field(facts, now_us);
    }
  }
  if (!table.goal) return rows;
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    return sorts_before(a.metrics.front(), b.metrics.front(),
                        table.goal->order == store::ScoreOrder::max);
  });
  return rows;
}

/// Indices of the arguments that differ among the points; of all arguments if none differs.
std::vector<std::size_t> differing_arguments(const SweepPlan& plan) {
  std::vector<std::size_t> places(plan.points.front().size());
  std::iota(places.begin(), places.end(), 0);
  const auto has_same = [&](std::size_t place) {
    return std::ranges::all_of(plan.points, [&](const SweepPoint& point) {
      return place < point.size() && point[place] == plan.points.front()[place];
    });
  };
  std::vector<std::size_t> differing = places;
  std::erase_if(differing, has_same);
  return differing.empty() ? places : differing;
}

/// The value of an argument; null if the point does not have it, as with points from JSON lines.
const std::string* value_of(const SweepPoint& point, const std::string& name) {
  const auto found = std::ranges::find(point, name, &SweepPoint::value_type::first);
  return found == point.end() ? nullptr : &found->second;
}

std::vector<std::string> shown_arguments(const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const std::size_t place : differing_arguments(plan)) {
    names.push_back(plan.points.front()[place].first);
  }
  for (const SweepPoint& point : plan.points) {
    for (const auto& [name, value] : point) {
      const bool everywhere = value_of(plan.points.front(), name) != nullptr;
      if (!everywhere && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void print_text(Context& context, const SweepPlan& plan, const std::vector<PointState>& states,
                const std::vector<std::string>& metrics, const std::vector<Row>& rows) {
  const std::vector<std::string> arguments = shown_arguments(plan);
  std::vector<Table::Column> columns{{.title = "run"},
                                     {.title = "status", .shrinks = true},
                                     {.title = "epochs", .align = Align::right}};
  for (const std::string& name : arguments) {
    const bool is_metric_too = std::ranges::find(metrics, name) != metrics.end();
    columns.push_back({.title = printable(is_metric_too ? "arg:" + name : argument_title(name)),
                       .align = Align::right});
  }
  for (const std::string& name : metrics) {
    columns.push_back({.title = printable(name), .align = Align::right});
  }
  Table table(std::move(columns));
  for (const Row& row : rows) {
    const PointState& state = states[row.point];
    table.add(state.run ? short_key(*state.run) : "-");
    table.add(state.text(), state.run && !state.stopped ? status_tone(*state.run) : Tone::plain);
    table.add(state.run ? std::to_string(state.run->epochs) : "");
    for (const std::string& name : arguments) {
      const std::string* value = value_of(plan.points[row.point], name);
      table.add(value ? *value : "");
    }
    for (const Field& field : row.metrics) table.add(field.text, field.tone);
  }
  table.print(context.out(), context.style());
}

void print_json(Context& context, const SweepPlan& plan, const std::vector<PointState>& states,
                const std::vector<std::string>& metrics, const std::vector<Row>& rows) {
  Json result = document("sweep");
  result["sweep"] = plan.name;
  result["experiment"] = json_text(plan.experiment);
  result["points"] = Json::array();
  for (const Row& row : rows) {
    const PointState& state = states[row.point];
    Json point;
    point["run"] = state.run ? Json(state.run->key) : Json();
    point["status"] = state.text();
    point["done"] = state.is_done();
    point["epochs"] = state.run ? Json(state.run->epochs) : Json();
    point["arguments"] = Json::object();
    for (const auto& [name, value] : plan.points[row.point]) point["arguments"][name] = value;
    point["metrics"] = Json::object();
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const Field& field = row.metrics[m];
      point["metrics"][metrics[m]] = field.number ? json_number(*field.number) : Json();
    }
    result["points"].push_back(std::move(point));
  }
  print(context.out(), result);
}

}  // namespace

void print_sweep(Context& context, const store::Store& store, const SweepPlan& plan,
                 const std::vector<PointState>& states, const SweepTable& table) {
  const store::Catalog& catalog = store.catalog();
  const std::vector<std::string> metrics = shown_metrics(catalog, states, table);
  const std::vector<Row> rows = rows_of(catalog, states, metrics, table, context.now_us());
  if (context.json()) return print_json(context, plan, states, metrics, rows);
  print_text(context, plan, states, metrics, rows);
}

std::string count_states(const std::vector<PointState>& states) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const PointState& state : states) {
    const std::string text = state.run && !state.stopped
                                 ? std::string(store::to_string(state.run->state))
                                 : state.text();
    const auto found =
        std::ranges::find(counts, text, &std::pair<std::string, std::int64_t>::first);
    if (found == counts.end()) {
      counts.emplace_back(text, 1);
    } else {
      ++found->second;
    }
  }
  std::ranges::sort(counts);
  std::string line = counted(static_cast<std::int64_t>(states.size()), "point") + ":";
  for (const auto& [text, count] : counts) {
    line += fmt::format("{} {} {}", line.ends_with(':') ? "" : ",", count, text);
  }
  return line;
}

ExitStatus print_sweeps(Context& context, const store::Store& store) {
  ExitStatus status = ExitStatus::done;
  Table table(
      {{.title = "sweep"}, {.title = "experiment"}, {.title = "when"}, {.title = "points"}});
  Json result = document("sweep");
  result["sweeps"] = Json::array();
  for (const std::string& name : sweep_names(store)) {
    std::optional<SweepPlan> plan;
    try {
      plan = read_plan(store, name);
    } catch (const Error& error) {  // the other sweeps are still shown
      context.note(error.what());
      status = error.status();
    }
    if (!plan) continue;
    const std::vector<PointState> states = point_states(store, *plan);
    table.add(name);
    table.add(plan->experiment);
    table.add(relative(plan->made_us, context.now_us()));
    table.add(count_states(states));
    const auto done = std::ranges::count_if(states, &PointState::is_done);
    result["sweeps"].push_back({{"sweep", name},
                                {"experiment", json_text(plan->experiment)},
                                {"made", json_time(plan->made_us)},
                                {"points", states.size()},
                                {"done", done}});
  }
  if (context.json()) {
    print(context.out(), result);
    return status;
  }
  if (table.empty()) {
    if (status != ExitStatus::done) return status;
    throw NotFound(
        "there is no sweep in this store: 'flor sweep -- ./train --kwargs lr=0.01,0.1' begins one");
  }
  table.print(context.out(), context.style());
  return status;
}

}  // namespace flor::cli
