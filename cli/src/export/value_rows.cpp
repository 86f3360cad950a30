#include "export/value_rows.h"

#include "curves/series.h"
#include "index/values/value_stream.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/values.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"
#include "view/run_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace flor::cli {
namespace {

using store::Value;

std::string index_text(std::int64_t index) { return index < 0 ? "" : fmt::format("{}", index); }

class CsvRows {
 public:
  CsvRows(Output& out, const ColumnsBesideValues& beside, const LoopColumns& loops)
      : csv_(out), beside_(beside), loops_(loops) {
    for (const char* title : {"run", "experiment"}) csv_.field(title);
    for (const std::string& title : beside.titles()) csv_.field(title);
    for (const char* title : {"metric", "loop", "epoch", "step"}) csv_.field(title);
    for (const std::string& title : loops.titles()) csv_.field(title);
    for (const char* title : {"ordinal", "type", "value", "origin", "verdict"}) csv_.field(title);
    csv_.end_row();
  }
  void add(const store::Run& run, const Value& value) {
    csv_.field(run.key);
    csv_.field(run.start.experiment);
    for (const ColumnsBesideValues::Cell& cell : beside_.of(run.id)) csv_.field(cell.exact);
    csv_.field(value.name);
    csv_.field(loop_text(value.place.path));
    csv_.field(index_text(value.place.epoch));
    csv_.field(index_text(value.place.step));
    for (const auto& cell : loops_.of(run.id, value.place)) csv_.field(exact(cell));
    csv_.field(fmt::format("{}", value.ordinal));
    csv_.field(store::to_string(value.type));
    csv_.field(exact(value.type, value.value));
    csv_.field(origin_of(value));
    csv_.field(verdict_of(value));
    csv_.end_row();
  }

 private:
  CsvWriter csv_;
  const ColumnsBesideValues& beside_;
  const LoopColumns& loops_;
};

Json value_json(const store::Run& run, const Value& value, const ColumnsBesideValues& beside,
                const LoopColumns& loops) {
  Json result{{"run", run.key},
              {"experiment", run.start.experiment},
              {"metric", value.name},
              {"loop", json_text(loop_text(value.place.path))},
              {"epoch", index_json(value.place.epoch)},
              {"step", index_json(value.place.step)},
              {"inner", inner_json(value.place.inner)},
              {"ordinal", value.ordinal},
              {"type", std::string(store::to_string(value.type))},
              {"value", to_json(value.type, value.value)},
              {"origin", std::string(origin_of(value))},
              {"verdict", std::string(verdict_of(value))},
              {"loops", loops_json(loops, run.id, value.place)}};
  if (!beside.titles().empty()) result["columns"] = beside.json_of(run.id);
  return result;
}

/// Returns the loops around the values, which a header names before any value is read.
LoopColumns loops_around(const store::Store& store, std::span<const store::Run> runs,
                         const ExportQuestion& question) {
  LoopColumns loops;
  for (const store::Run& run : runs) {
    loops.read(store, run);
    std::vector<std::string> metrics = question.metrics;
    if (metrics.empty()) metrics = metric_names(store.catalog(), std::span(&run, 1));
    for (const std::string& path : store::value_paths(store, run.id, metrics)) loops.add(path);
    // Evaluators find values at checkpoints.
    for (const auto& loop : store.catalog().main_loops(run.id)) loops.add(loop.name);
    for (const auto& saved : store.catalog().saved(run.id)) loops.add(saved.place.path);
  }
  std::vector<std::string> taken{"run",     "experiment", "metric", "loop",   "epoch",  "step",
                                 "ordinal", "type",       "value",  "origin", "verdict"};
  const std::vector<std::string>& beside = question.beside.titles();
  taken.insert(taken.end(), beside.begin(), beside.end());
  loops.settle(LoopColumns::Form::whole, taken);
  return loops;
}

/// The beginning of the JSON document: the runs, which precede the values.
Json head_of(const store::Catalog& catalog, std::span<const store::Run> runs) {
  Json head = document("export");
  head["runs"] = Json::array();
  for (const store::Run& run : runs) {
    Json entry = run_json(run);
    entry["arguments"] = arguments_json(catalog.arguments(run.id));
    head["runs"].push_back(std::move(entry));
  }
  return head;
}

}  // namespace

store::ValueQuery value_query(const store::Run& run, const ExportQuestion& question) {
  store::ValueQuery query{.run = run.id, .names = question.metrics};
  query.first_epoch = question.first_epoch;
  query.last_epoch = question.last_epoch;
  query.evaluated = true;
  return query;
}

std::int64_t write_value_rows(const store::Store& store, std::span<const store::Run> runs,
                              const ExportQuestion& question, RowFormat format, Output& out) {
  std::optional<CsvRows> csv;
  std::optional<JsonList> json;
  const LoopColumns loops = loops_around(store, runs, question);
  if (format == RowFormat::csv) csv.emplace(out, question.beside, loops);
  if (format == RowFormat::json) json.emplace(out, head_of(store.catalog(), runs), "values");
  std::int64_t count = 0;
  for (const store::Run& run : runs) {
    store::each_value(store, value_query(run, question), [&](Value&& value) {
      ++count;
      if (csv) {
        csv->add(run, value);
      } else if (json) {
        json->add(value_json(run, value, question.beside, loops));
      } else {
        out.write(compact(value_json(run, value, question.beside, loops)) + "\n");
      }
    });
  }
  if (json) json->end();
  return count;
}

}  // namespace flor::cli
