#include "commands/look/query_groups.h"

#include "curves/series.h"
#include "curves/spread.h"
#include "index/values/value_stream.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "shell/context.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"
#include "view/run_json.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <compare>
#include <map>
#include <optional>

namespace flor::cli {
namespace {

/// Parses "4,0" into numbers, so that 10 sorts after 9.
std::vector<std::int64_t> indices_of(const std::string& inner) {
  std::vector<std::int64_t> indices;
  const char* at = inner.data();
  const char* const end = at + inner.size();
  while (at < end) {
    std::int64_t index = 0;
    at = std::from_chars(at, end, index).ptr + 1;
    indices.push_back(index);
  }
  return indices;
}

/// The place of a row's numbers in the loops. The comparison gives the order of the rows.
struct RowKey {
  std::int64_t epoch = -1;
  std::string path;
  std::int64_t step = -1;
  std::vector<std::int64_t> inner;
  std::int64_t ordinal = 0;
  std::size_t metric = 0;

  auto operator<=>(const RowKey&) const = default;
};
struct RowValue {
  std::string inner;
  Spread spread;
  std::int64_t last_run = 0;  ///< id of the run whose number was added last
};

struct GroupRows {
  RunGroup group;
  std::map<RowKey, RowValue> rows;
};

/// Numbers of values that are not part of any mean.
struct LeftOut {
  std::int64_t doubtful = 0, no_numbers = 0;
};

GroupRows read_group(const store::Store& store, RunGroup group, const GroupedQuestion& question,
                     LeftOut& left_out) {
  GroupRows result{std::move(group), {}};
  for (const store::Run& run : result.group.runs) {
    const auto take = [&](const store::Value& value) {
      const auto metric = std::ranges::find(question.metrics, value.name);
      if (metric == question.metrics.end()) {  // a doubtful value has another name than the metric
        ++left_out.doubtful;
        return;
      }
      const auto y = number(value.type, value.value);
      if (!y) {
        ++left_out.no_numbers;
        return;
      }
      RowValue& row = result.rows[{value.place.epoch, value.place.path, value.place.step,
                                   indices_of(value.place.inner), value.ordinal,
                                   static_cast<std::size_t>(metric - question.metrics.begin())}];
      if (row.last_run == run.id) return;
      row.last_run = run.id;
      row.inner = value.place.inner;
      row.spread.add(*y);
    };
    for (const auto& [asked, query] : question.runs) {
      if (asked.id != run.id) continue;
      store::each_value(store, query, [&](store::Value&& value) { take(value); });
    }
  }
  return result;
}

/// The columns that the table needs beside the numbers.
struct GroupShape {
  bool metric = false, loop = false, epoch = false, step = false, ordinal = false,
       not_finite = false;
};

class GroupPrinter {
 public:
  GroupPrinter(Context& context, const GroupedQuestion& question, std::vector<GroupRows> groups)
      : context_(context), question_(question), groups_(std::move(groups)) {
    each_row(
        [this](const GroupRows&, const RowKey& key, const RowValue&) { loops_.add(key.path); });
    std::vector<std::string> taken{"metric", "loop", "epoch", "step", "ordinal",   "runs",
                                   "n",      "mean", "min",   "max",  "deviation", "not_finite"};
    for (const GroupKey& key : keys()) taken.push_back(key.name);
    loops_.settle(
        question.form == GroupForm::table ? LoopColumns::Form::brief : LoopColumns::Form::whole,
        taken);
  }

  void print() {
    switch (question_.form) {
      case GroupForm::table:
        return print_table();
      case GroupForm::csv:
        return print_csv();
      case GroupForm::json:
        return print_json();
      case GroupForm::jsonl:
        return each_row([&](const GroupRows& group, const RowKey& key, const RowValue& row) {
          context_.out().write(compact(json_of(group.group, key, row)) + "\n");
        });
    }
  }

 private:
  template <typename Visit>
  void each_row(Visit visit) const {
    for (const GroupRows& group : groups_) {
      for (const auto& [key, row] : group.rows) visit(group, key, row);
    }
  }

  GroupShape shape() const {
    GroupShape shape{.metric = question_.metrics.size() > 1};
    const std::string* path = nullptr;
    each_row([&](const GroupRows&, const RowKey& key, const RowValue& row) {
      shape.loop = shape.loop || (path && *path != key.path);
      path = &key.path;
      shape.epoch = shape.epoch || (loops_.needs_epoch() && key.epoch >= 0);
      shape.step = shape.step || (loops_.needs_step() && key.step >= 0);
      shape.ordinal = shape.ordinal || key.ordinal > 0;
      shape.not_finite = shape.not_finite || row.spread.not_finite() > 0;
    });
    return shape;
  }

  /// The keys of the groups; all groups have the same.
  const std::vector<GroupKey>& keys() const { return groups_.front().group.keys; }

  /// The runs of a group need not have the same values of iterations: numbers alone.
  static store::Place place_of(const RowKey& key, const RowValue& row) {
    return {key.path, key.epoch, key.step, row.inner};
  }

  static std::string index_of(std::int64_t index) {
    return index < 0 ? std::string() : std::to_string(index);
  }

  void print_table() const {
    const GroupShape shape = this->shape();
    std::vector<Table::Column> columns;
    for (const GroupKey& key : keys()) {
      columns.push_back({key.name, key.type == "text" ? Align::left : Align::right});
    }
    const auto column = [&](bool shown, const std::string& title, Align align = Align::right) {
      if (shown) columns.push_back({title, align});
    };
    column(shape.metric, "metric", Align::left);
    column(shape.loop, "loop", Align::left);
    column(shape.epoch, "epoch");
    column(shape.step, "step");
    for (const std::string& title : loops_.titles()) column(true, title);
    column(shape.ordinal, "ordinal");
    column(true, "runs");
    column(true, "n");
    column(shape.not_finite, "not finite");
    for (const char* title : {"mean", "deviation", "min", "max"}) column(true, title);
    Table table(std::move(columns));
    each_row([&](const GroupRows& group, const RowKey& key, const RowValue& row) {
      const auto add = [&](bool shown, const std::string& text) {
        if (shown) table.add(text);
      };
      const auto number = [](std::optional<double> value) {
        return value ? readable(*value) : std::string("-");
      };
      for (const GroupKey& one : group.group.keys) table.add(one.shown());
      add(shape.metric, question_.metrics[key.metric]);
      add(shape.loop, key.path.empty() ? "-" : loop_text(key.path));
      add(shape.epoch, index_of(key.epoch));
      add(shape.step, index_of(key.step));
      for (const auto& cell : loops_.of(0, place_of(key, row))) add(true, shown(cell));
      add(shape.ordinal, std::to_string(key.ordinal));
      add(true, std::to_string(group.group.runs.size()));
      add(true, std::to_string(row.spread.count()));
      add(shape.not_finite, std::to_string(row.spread.not_finite()));
      add(true, number(row.spread.mean()));
      add(true, number(row.spread.deviation()));
      add(true, number(row.spread.least()));
      add(true, number(row.spread.greatest()));
    });
    table.print(context_.out(), context_.style());
  }

  void print_csv() const {
    CsvWriter csv(context_.out());
    for (const GroupKey& key : keys()) csv.field(key.name);
    for (const char* title : {"metric", "loop", "epoch", "step"}) csv.field(title);
    for (const std::string& title : loops_.titles()) csv.field(title);
    for (const char* title :
         {"ordinal", "runs", "n", "not_finite", "mean", "deviation", "min", "max"}) {
      csv.field(title);
    }
    csv.end_row();
    each_row([&](const GroupRows& group, const RowKey& key, const RowValue& row) {
      const auto number = [](std::optional<double> value) {
        return value ? exact(*value) : std::string();
      };
      for (const GroupKey& one : group.group.keys) csv.field(one.value.value_or(""));
      csv.field(question_.metrics[key.metric]);
      csv.field(loop_text(key.path));
      csv.field(index_of(key.epoch));
      csv.field(index_of(key.step));
      for (const auto& cell : loops_.of(0, place_of(key, row))) csv.field(exact(cell));
      csv.field(std::to_string(key.ordinal));
      csv.field(std::to_string(group.group.runs.size()));
      csv.field(std::to_string(row.spread.count()));
      csv.field(std::to_string(row.spread.not_finite()));
      csv.field(number(row.spread.mean()));
      csv.field(number(row.spread.deviation()));
      csv.field(number(row.spread.least()));
      csv.field(number(row.spread.greatest()));
      csv.end_row();
    });
  }

  static Json keys_json(const RunGroup& group) {
    Json result = Json::object();
    for (const GroupKey& key : group.keys) {
      result[key.name] = key.value ? argument_json({key.name, key.type, *key.value}) : Json();
    }
    return result;
  }

  Json json_of(const RunGroup& group, const RowKey& key, const RowValue& row) const {
    Json result{{"group", keys_json(group)},
                {"runs", group.runs.size()},
                {"metric", question_.metrics[key.metric]},
                {"loop", loop_text(key.path)},
                {"epoch", index_json(key.epoch)},
                {"step", index_json(key.step)},
                {"inner", inner_json(row.inner)},
                {"ordinal", key.ordinal},
                {"loops", loops_json(loops_, 0, place_of(key, row))}};
    result.update(spread_json(row.spread));
    return result;
  }

  void print_json() const {
    Json head = document("query");
    head["metrics"] = question_.metrics;
    head["groups"] = Json::array();
    for (const GroupRows& group : groups_) {
      Json ids = Json::array();
      for (const store::Run& run : group.group.runs) ids.push_back(run.key);
      head["groups"].push_back({{"group", keys_json(group.group)}, {"runs", std::move(ids)}});
    }
    JsonList list(context_.out(), head, "rows");
    each_row([&](const GroupRows& group, const RowKey& key, const RowValue& row) {
      list.add(json_of(group.group, key, row));
    });
    list.end();
  }

  Context& context_;
  const GroupedQuestion& question_;
  std::vector<GroupRows> groups_;
  LoopColumns loops_;
};

}  // namespace

void print_groups(Context& context, const GroupedQuestion& question) {
  std::vector<store::Run> runs;
  for (const auto& [run, query] : question.runs) {
    if (std::ranges::find(runs, run.id, &store::Run::id) == runs.end()) runs.push_back(run);
  }
  require_metrics(context.catalog(), runs, question.metrics, "flor query METRIC...");
  std::vector<RunGroup> chosen = group_runs(context.catalog(), runs, question.wish);
  const std::string lone = lone_runs(chosen, question.wish);
  LeftOut left_out;
  std::vector<GroupRows> groups;
  bool is_empty = true;
  for (RunGroup& group : chosen) {
    groups.push_back(read_group(context.store(), std::move(group), question, left_out));
    is_empty = is_empty && groups.back().rows.empty();
  }
  if (is_empty && left_out.no_numbers > 0) {
    throw NotFound(
        "these values are histograms, tables or texts, which have no mean: flor query without "
        "groups "
        "shows them");
  }
  GroupPrinter(context, question, std::move(groups)).print();
  if (is_empty) context.note("no values there: see 'flor show RUN' for what was logged and where");
  if (!lone.empty()) context.note(lone);
  if (left_out.no_numbers > 0) {
    context.note(fmt::format("left out: {} that {} no number",
                             counted(left_out.no_numbers, "value"),
                             left_out.no_numbers == 1 ? "is" : "are"));
  }
  if (left_out.doubtful > 0) {
    context.note(fmt::format("left out: {}, which flor query without groups shows",
                             counted(left_out.doubtful, "doubtful value")));
  }
}

}  // namespace flor::cli
