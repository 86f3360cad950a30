#include "export/value_rows.h"

#include "index/values/value_stream.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/values.h"
#include "view/joined_rows.h"
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
  CsvRows(Output& out, const ColumnsBesideValues& beside) : csv_(out), beside_(beside) {
    for (const char* title : {"run", "experiment"}) csv_.field(title);
    for (const std::string& title : beside.titles()) csv_.field(title);
    for (const char* title : {"metric", "loop", "epoch", "step", "inner", "ordinal", "type",
                              "value", "origin", "verdict"}) {
      csv_.field(title);
    }
    csv_.end_row();
  }
  void add(const store::Run& run, const Value& value) {
    csv_.field(run.key);
    csv_.field(run.start.experiment);
    for (const ColumnsBesideValues::Cell& cell : beside_.of(run.id)) csv_.field(cell.exact);
    csv_.field(value.name);
    csv_.field(value.place.path);
    csv_.field(index_text(value.place.epoch));
    csv_.field(index_text(value.place.step));
    csv_.field(value.place.inner);
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
};

Json value_json(const store::Run& run, const Value& value, const ColumnsBesideValues& beside) {
  Json result{{"run", run.key},
              {"experiment", run.start.experiment},
              {"metric", value.name},
              {"loop", json_text(value.place.path)},
              {"epoch", index_json(value.place.epoch)},
              {"step", index_json(value.place.step)},
              {"inner", inner_json(value.place.inner)},
              {"ordinal", value.ordinal},
              {"type", std::string(store::to_string(value.type))},
              {"value", to_json(value.type, value.value)},
              {"origin", std::string(origin_of(value))},
              {"verdict", std::string(verdict_of(value))}};
  if (!beside.titles().empty()) result["columns"] = beside.json_of(run.id);
  return result;
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
  if (format == RowFormat::csv) csv.emplace(out, question.beside);
  if (format == RowFormat::json) json.emplace(out, head_of(store.catalog(), runs), "values");
  std::int64_t count = 0;
  for (const store::Run& run : runs) {
    store::each_value(store, value_query(run, question), [&](Value&& value) {
      ++count;
      if (csv) {
        csv->add(run, value);
      } else if (json) {
        json->add(value_json(run, value, question.beside));
      } else {
        out.write(compact(value_json(run, value, question.beside)) + "\n");
      }
    });
  }
  if (json) json->end();
  return count;
}

}  // namespace flor::cli
