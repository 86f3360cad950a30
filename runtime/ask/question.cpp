#include "ask/question.h"

#include "ask/listing.h"
#include "ask/metric_names.h"
#include "ask/words.h"
#include "base/text.h"
#include "index/values/value_stream.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>

namespace flor::ask {
namespace {

using store::Value;

std::vector<store::Run> runs_of(const std::vector<RunChoice>& choices) {
  std::vector<store::Run> runs;
  for (const RunChoice& choice : choices) runs.push_back(choice.run);
  return runs;
}

[[noreturn]] void too_many(std::int64_t most) {
  throw Error(
      fmt::format("the answer has more than {} values: ask for fewer runs, names or epochs", most));
}

/// Doubtful values have a name of their own.
bool is_left_out(const Question& question, const Value& value) {
  return !question.doubtful &&
         std::ranges::find(question.metrics, value.name) == question.metrics.end();
}

/// An estimate first, since the values need not be read for it.
void check_size(const store::Store& store, const Question& question,
                const std::vector<RunChoice>& choices) {
  std::int64_t count = 0;
  for (const RunChoice& choice : choices) {
    for (const store::MetricSummary& metric : store.catalog().metrics(choice.run.id)) {
      if (std::ranges::find(question.metrics, metric.name) == question.metrics.end()) continue;
      count += std::min(metric.count, question.values_max);
      if (count > question.values_max) break;
    }
  }
  if (count <= question.values_max) return;
  count = 0;
  for (const RunChoice& choice : choices) {
    for (const store::ValueQuery& query : queries(question, choice)) {
      store::each_value(store, query, [&](const Value& value) {
        if (is_left_out(question, value)) return;
        if (++count > question.values_max) too_many(question.values_max);
      });
    }
  }
}

}  // namespace

void Question::check() const {
  if (!runs.empty() && !experiment.empty()) {
    throw UsageError("--run and --experiment exclude each other: give one of them");
  }
  if ((recorded ? 1 : 0) + (hindsight ? 1 : 0) + (evaluated ? 1 : 0) > 1) {
    throw UsageError(
        "--recorded, --hindsight and --evaluated exclude each other: leave them out for all "
        "values");
  }
  if (!epochs.empty()) parse_epochs(epochs);
}

void no_experiment(const store::Catalog& catalog, const std::string& name) {
  std::string hint = did_you_mean(name, catalog.experiments());
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", store::printable(name), hint));
}

std::vector<RunChoice> choose(const store::Store& store, const Question& question,
                              const ParseRun& parse, std::int64_t now_us) {
  const store::Catalog& catalog = store.catalog();
  std::vector<RunChoice> choices;
  for (const std::string& text : question.runs) choices.push_back(parse(text));
  const auto add = [&](store::Run& run) { choices.push_back({std::move(run), {}}); };
  const bool is_open = choices.empty() && question.experiment.empty();
  if (!question.experiment.empty()) {
    for (store::Run& run : catalog.runs(question.experiment)) add(run);
    if (choices.empty()) no_experiment(catalog, question.experiment);
  } else if (is_open && !question.where.empty()) {  // the index finds them faster
    each_listed(
        store,
        {.where = question.where, .detail = store::RunDetail::all, .ranks = store::RunRanks::all},
        now_us, [&](ListedRun& facts) { add(facts.run); });
  } else if (is_open) {
    choices.push_back({default_run(catalog, question.without), {}});
  }
  std::erase_if(choices, [&](const RunChoice& choice) {
    return std::ranges::find(question.without, choice.run.key) != question.without.end();
  });
  if (!is_open && !question.where.empty()) {
    std::vector<store::Run> runs = runs_of(choices);
    keep_runs_where(catalog, runs, question.where, now_us);
    std::erase_if(choices, [&](const RunChoice& choice) {
      return std::ranges::find(runs, choice.run.id, &store::Run::id) == runs.end();
    });
  }
  if (!choices.empty()) return choices;
  if (!question.where.empty()) none_meets(question.where);
  throw NotFound(fmt::format("there is no run of {} but the one that asks: record one before",
                             question.experiment.empty()
                                 ? std::string("that name")
                                 : fmt::format("'{}'", store::printable(question.experiment))));
}

std::vector<store::ValueQuery> queries(const Question& question, const RunChoice& choice) {
  store::ValueQuery query;
  query.run = choice.run.id;
  query.names = question.metrics;
  query.recorded = !question.hindsight && !question.evaluated;
  query.hindsight = !question.recorded && !question.evaluated;
  query.evaluated = !question.recorded && !question.hindsight;
  query.others = question.all;
  if (question.epochs.empty() && !choice.epoch) return {query};
  store::ValueQuery outside = query;
  outside.first_epoch = outside.last_epoch = -1;
  const EpochRange range =
      choice.epoch ? EpochRange{*choice.epoch, *choice.epoch} : parse_epochs(question.epochs);
  query.first_epoch = range.first;
  query.last_epoch = range.last;
  return {outside, query};
}

Answer::Answer(const store::Store& store, const Question& question,
               const std::vector<RunChoice>& choices, std::string_view how) {
  const store::Catalog& catalog = store.catalog();
  require_metrics(catalog, runs_of(choices), question.metrics, how);
  if (question.values_max < INT64_MAX) check_size(store, question, choices);
  std::set<std::string> met, apart;
  for (const std::string& name : question.metrics) {
    if (met.insert(name).second) metrics_.push_back(name);
  }
  for (const RunChoice& choice : choices) {
    // Values logged outside of all loops belong to each epoch: they are repeated in its rows, but
    // have no row of their own.
    RunRows rows{choice.run, {}, !question.epochs.empty() || choice.epoch};
    for (const store::ValueQuery& query : queries(question, choice)) {
      std::ranges::move(catalog.values(query), std::back_inserter(rows.values));
    }
    // Before the values are joined: else they would divide the places of others, and be the newest.
    std::erase_if(rows.values, [&](const Value& value) { return is_left_out(question, value); });
    for (const Value& value : rows.values) {
      if (!met.contains(value.name)) apart.insert(value.name);
    }
    runs_.push_back(std::move(rows));
  }
  metrics_.insert(metrics_.end(), apart.begin(), apart.end());
  for (RunRows& rows : runs_) {
    rows.join.emplace_back(metrics_, rows.values);
    if (rows.some_epochs) rows.join.front().drop_outside_loops();
  }
}

std::size_t Answer::size() const {
  std::size_t size = 0;
  for (const RunRows& rows : runs_) size += rows.shown.size();
  return size;
}

/// The cell of a row that a condition compares. A metric comes before a place of its name.
Field Answer::field_of(const RunRows& rows, std::size_t row, const std::string& column) const {
  const auto metric = std::ranges::find(metrics_, column);
  if (metric != metrics_.end()) {
    const auto cells = rows.rows().cells(row);
    const Value* value = cells[static_cast<std::size_t>(metric - metrics_.begin())];
    if (!value) return {.text = {}, .number = {}};
    return {.text = exact(value->type, value->value), .number = number(value->type, value->value)};
  }
  const auto& at = rows.rows().row(row);
  const std::int64_t index = column == "epoch"  ? at.place->epoch
                             : column == "step" ? at.place->step
                                                : at.ordinal;
  if (index < 0) return {.text = {}, .number = {}};
  return {.text = fmt::format("{}", index), .number = static_cast<double>(index)};
}

void Answer::check_columns(const Condition& condition) const {
  std::vector<std::string> known = metrics_;
  known.insert(known.end(), {"epoch", "step", "ordinal"});
  for (const std::string& column : condition.columns()) {
    if (std::ranges::find(known, column) != known.end()) continue;
    std::string hint = did_you_mean(column, known);
    if (hint.empty()) hint = ": ask for it, too";
    throw UsageError(fmt::format("the rows have no column '{}'{}", store::printable(column), hint));
  }
}

void Answer::choose_rows(const Question& question, const Beside& beside) {
  const bool latest = question.latest;
  std::optional<Condition> condition;
  if (!question.rows.empty()) check_columns(condition.emplace(question.rows));
  std::vector<RunRows*> newest_first;
  for (RunRows& rows : runs_) newest_first.push_back(&rows);
  std::ranges::stable_sort(newest_first, std::ranges::greater(), [](const RunRows* rows) {
    return std::pair(rows->run.start.started_us, rows->run.id);
  });
  using Key = std::tuple<std::vector<std::string>, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::int64_t> run_of;
  for (RunRows* rows : newest_first) {
    const std::vector<std::string> alike =
        latest ? beside(rows->run.id) : std::vector<std::string>();
    for (std::size_t i = 0; i < rows->rows().size(); ++i) {
      if (latest) {
        const auto& row = rows->rows().row(i);
        std::vector<std::string> texts{rows->run.start.experiment, row.place->path,
                                       row.place->inner};
        texts.insert(texts.end(), alike.begin(), alike.end());
        const Key key{std::move(texts), row.place->epoch, row.place->step, row.ordinal};
        if (run_of.emplace(key, rows->run.id).first->second != rows->run.id) continue;
      }
      const auto field = [&](const std::string& column) { return field_of(*rows, i, column); };
      if (!condition || condition->holds(field)) rows->shown.push_back(i);
    }
  }
}

void Answer::read_loops(const store::Store& store, LoopColumns::Form form,
                        const std::vector<std::string>& taken) {
  for (const RunRows& rows : runs_) {
    loops_.read(store, rows.run);
    for (const std::size_t i : rows.shown) loops_.add(rows.rows().row(i).place->path);
  }
  std::vector<std::string> titles{"run",  "experiment", "loop",   "epoch",
                                  "step", "ordinal",    "origin", "verdict"};
  titles.insert(titles.end(), taken.begin(), taken.end());
  titles.insert(titles.end(), metrics_.begin(), metrics_.end());
  loops_.settle(form, titles);
}

}  // namespace flor::ask
