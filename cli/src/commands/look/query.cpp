// flor query: shows logged values, recorded and found in hindsight, in one table.
#include "choose/run_groups.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "commands/look/query_groups.h"
#include "curves/series.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/values.h"
#include "shell/context.h"
#include "view/columns_beside_values.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace flor::cli {
namespace {

using store::Value;

std::string index_text(std::int64_t index) {
  return index < 0 ? std::string() : fmt::format("{}", index);
}

/// The requested values of one run, joined.
struct RunAnswer {
  store::Run run;
  std::vector<Value> values;
  bool some_epochs = false;
  std::vector<Join> join = {};          // exactly one; made when `values` no longer moves in memory
  std::vector<std::size_t> shown = {};  // indices of the rows to show
  const Join& rows() const { return join.front(); }
};

/// The columns that are needed to tell where values were logged.
struct Shape {
  bool runs = false, loop = false, epoch = false, step = false, ordinal = false;
};

class Query final : public Command {
 public:
  std::string_view name() const override { return "query"; }
  std::string_view summary() const override {
    return "print logged values, recorded and hindsight";
  }
  std::string_view lesson() const override {
    return R"(Without --run and --experiment: the latest run of the name last recorded in this repository, else
of the newest experiment. What was logged once per epoch is repeated beside what was logged per
step. The column `origin` says whether the recorded run logged a value, a replay found it in
hindsight, or an evaluator in the checkpoint (flor watch): its metrics are judge.accuracy and so on.
Of each loop the number of the iteration is in the column of the loop's name, and its value, if it
has one, in that of the name and _value: document and document_value. The table shows
epoch and step alone where these say as much; --csv and --json have all.
The column `verdict` says how far a value can be trusted: recorded; verified, an execution found the
same; proven by the sources; unverified; doubtful. What is doubtful has a column of its own.
The table rounds to 6 digits, --csv and --json give every digit. Tables and histograms are in --json
in full, and in 'flor show RUN@EPOCH'.

With --group-by or --over runs are taken together: at each place the number of runs that have a
finite number there, their mean, sample deviation, least and greatest; without --run, --experiment
and --where of all runs of the experiment that was last recorded here. What replays and evaluators
found counts like what was logged, doubtful values do not.

Examples:
  flor query loss accuracy                     the latest run here
  flor query loss --epochs 3..5 --run 3f2a     epochs 3, 4 and 5 of one run
  flor query accuracy --experiment linear      every run of an experiment
  flor query accuracy --where 'lr<0.01'        every run for which this holds
  flor query accuracy --over seed              means over runs that differ in their seed alone
  flor query accuracy --group-by lr            means over the runs of each learning rate
  flor query accuracy --experiment linear -c arguments,tag
                                               beside it, in what the runs differ
  flor query accuracy --experiment linear -c lr --latest
                                               the newest run of each learning rate alone
  flor query confusion --hindsight --json      only what a replay found
  flor query loss --csv > loss.csv             for a spreadsheet or pandas
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("METRIC", metrics_, "names of logged values");
    syntax.option("--run", "RUN", runs_, "read this run or RUN@EPOCH; may be given several times");
    syntax.option("--experiment", "NAME", experiment_, "read every run of this experiment");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.option("-c,--columns", "A,B", columns_,
                  "show these columns of flor list, as lr,tag, beside each row");
    syntax.flag("--latest", latest_, "show of rows at one place only that of the newest run");
    groups_.declare(syntax);
    syntax.option("--epochs", "EPOCHS", epochs_, "read only these: A..B, both included, 0-based");
    syntax.flag("--recorded", recorded_, "show only what the recorded runs logged");
    syntax.flag("--hindsight", hindsight_, "show only what replays found");
    syntax.flag("--evaluated", evaluated_, "show only what evaluators found in checkpoints");
    syntax.flag("-a,--all", all_, "show what other questions found under the same name, too");
    syntax.flag("--csv", csv_, "print comma-separated values, every digit");
    syntax.flag("--jsonl", jsonl_, "print one JSON object per row");
  }
  int run(Context& context) override;

 private:
  void check_options(const Context& context) const;
  std::vector<RunChoice> choose(Context& context) const;
  std::vector<RunChoice> choose_where(Context& context) const;
  [[noreturn]] void no_experiment(const store::Catalog& catalog) const;
  std::vector<store::ValueQuery> questions(const RunChoice& choice) const;
  RunAnswer ask(const store::Catalog& catalog, const RunChoice& choice) const;
  void join(std::vector<RunAnswer>& answers);
  Shape shape_of(const std::vector<RunAnswer>& answers) const;
  void print_table(Context& context, const std::vector<RunAnswer>& answers) const;
  void print_csv(Context& context, const std::vector<RunAnswer>& answers) const;
  void print_json(Context& context, const std::vector<RunAnswer>& answers) const;
  void print_jsonl(Context& context, const std::vector<RunAnswer>& answers) const;

  int run_groups(Context& context);
  void choose_rows(std::vector<RunAnswer>& answers) const;
  void read_loops(const store::Store& store, const std::vector<RunAnswer>& answers, bool whole);
  Json json_of(const RunAnswer& answer, std::size_t row) const;
  std::vector<std::string> metrics_, runs_, where_;
  std::string columns_;
  bool latest_ = false;
  ColumnsBesideValues beside_;
  LoopColumns loops_;
  GroupWish groups_;
  std::string experiment_, epochs_;
  bool recorded_ = false, hindsight_ = false, evaluated_ = false, all_ = false, csv_ = false,
       jsonl_ = false;
};

void Query::check_options(const Context& context) const {
  if (!runs_.empty() && !experiment_.empty()) {
    throw UsageError("--run and --experiment exclude each other: give one of them");
  }
  if ((recorded_ ? 1 : 0) + (hindsight_ ? 1 : 0) + (evaluated_ ? 1 : 0) > 1) {
    throw UsageError(
        "--recorded, --hindsight and --evaluated exclude each other: leave them out for all "
        "values");
  }
  if (groups_.any() && (latest_ || !columns_.empty())) {
    throw UsageError(
        "--columns and --latest are about rows of runs, and groups have none: leave "
        "out either");
  }
  if (groups_.any() && all_) {
    throw UsageError("--all cannot be combined with groups: means do not include other answers");
  }
  if ((csv_ ? 1 : 0) + (jsonl_ ? 1 : 0) + (context.json() ? 1 : 0) > 1) {
    throw UsageError("--csv, --json and --jsonl exclude each other: give one of them");
  }
}

void Query::no_experiment(const store::Catalog& catalog) const {
  const auto known = catalog.experiments();
  std::string hint = did_you_mean(experiment_, known);
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", printable(experiment_), hint));
}

/// The chosen runs: those that meet the conditions, of the experiment or of the whole store.
std::vector<RunChoice> Query::choose_where(Context& context) const {
  const store::Catalog& catalog = context.catalog();
  RunsWanted wanted{.where = where_, .ranks = store::RunRanks::all};
  if (!experiment_.empty()) {
    if (catalog.count_runs(experiment_, 1) == 0) no_experiment(catalog);
    wanted.words.push_back(experiment_);
  }
  std::vector<RunChoice> result;
  for (store::Run& run : choose_runs(context, wanted)) result.push_back({std::move(run), {}});
  return result;
}

std::vector<RunChoice> Query::choose(Context& context) const {
  const store::Catalog& catalog = context.catalog();
  std::vector<RunChoice> result;
  if (groups_.any() && runs_.empty()) {
    if (!experiment_.empty() && catalog.count_runs(experiment_, 1) == 0) no_experiment(catalog);
    RunsWanted wanted{.where = where_, .all_of_names = true};
    if (!experiment_.empty()) wanted.words.push_back(experiment_);
    for (store::Run& run : choose_runs(context, wanted)) result.push_back({std::move(run), {}});
    return result;
  }
  for (const std::string& text : runs_) result.push_back(parse_run(context, text));
  if (runs_.empty() && !where_.empty()) return choose_where(context);
  if (!experiment_.empty()) {
    for (store::Run& run : catalog.runs(experiment_)) result.push_back({std::move(run), {}});
    if (result.empty()) no_experiment(catalog);
  }
  if (!where_.empty()) {
    std::vector<store::Run> runs;
    for (const RunChoice& choice : result) runs.push_back(choice.run);
    keep_runs_where(catalog, runs, where_, context.now_us());
    std::erase_if(result, [&](const RunChoice& choice) {
      return std::ranges::find(runs, choice.run.id, &store::Run::id) == runs.end();
    });
    if (result.empty()) none_meets(where_);
  }
  if (result.empty()) result.push_back({default_run(catalog), {}});
  return result;
}

/// The queries for a run. If values outside of loops need a query of their own, it comes first.
std::vector<store::ValueQuery> Query::questions(const RunChoice& choice) const {
  store::ValueQuery query;
  query.run = choice.run.id;
  query.names = metrics_;
  query.recorded = !hindsight_ && !evaluated_;
  query.hindsight = !recorded_ && !evaluated_;
  query.evaluated = !recorded_ && !hindsight_;
  query.others = all_;
  if (epochs_.empty() && !choice.epoch) return {query};
  store::ValueQuery outside = query;
  outside.first_epoch = outside.last_epoch = -1;
  const EpochRange range =
      choice.epoch ? EpochRange{*choice.epoch, *choice.epoch} : parse_epochs(epochs_);
  query.first_epoch = range.first;
  query.last_epoch = range.last;
  return {outside, query};
}

RunAnswer Query::ask(const store::Catalog& catalog, const RunChoice& choice) const {
  // Values logged outside of all loops belong to each epoch: they are repeated in its rows, but
  // have no row of their own.
  RunAnswer answer{choice.run, {}, !epochs_.empty() || choice.epoch};
  for (const store::ValueQuery& query : questions(choice)) {
    std::vector<Value> values = catalog.values(query);
    answer.values.insert(answer.values.end(), std::make_move_iterator(values.begin()),
                         std::make_move_iterator(values.end()));
  }
  return answer;
}

/// Joins the values of each run. Names of doubtful values become columns after the requested ones.
void Query::join(std::vector<RunAnswer>& answers) {
  std::set<std::string> met(metrics_.begin(), metrics_.end()), apart;
  for (const RunAnswer& answer : answers) {
    for (const Value& value : answer.values) {
      if (!met.contains(value.name)) apart.insert(value.name);
    }
  }
  metrics_.insert(metrics_.end(), apart.begin(), apart.end());
  for (RunAnswer& answer : answers) {
    answer.join.emplace_back(metrics_, answer.values);
    if (answer.some_epochs) answer.join.front().drop_outside_loops();
  }
}

/// Chooses the rows to show: all of them, or of the rows with the same key only that of the newest
/// run.
void Query::choose_rows(std::vector<RunAnswer>& answers) const {
  std::vector<RunAnswer*> newest_first;
  for (RunAnswer& answer : answers) newest_first.push_back(&answer);
  std::ranges::stable_sort(newest_first, std::ranges::greater(), [](const RunAnswer* answer) {
    return std::pair(answer->run.start.started_us, answer->run.id);
  });
  using Key = std::tuple<std::vector<std::string>, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::int64_t> run_of;
  for (RunAnswer* answer : newest_first) {
    for (std::size_t i = 0; i < answer->rows().size(); ++i) {
      if (latest_) {
        const auto& row = answer->rows().row(i);
        std::vector<std::string> texts{answer->run.start.experiment, row.place->path,
                                       row.place->inner};
        for (const auto& cell : beside_.of(answer->run.id)) texts.push_back(cell.exact);
        const Key key{std::move(texts), row.place->epoch, row.place->step, row.ordinal};
        if (run_of.emplace(key, answer->run.id).first->second != answer->run.id) continue;
      }
      answer->shown.push_back(i);
    }
  }
}

void Query::read_loops(const store::Store& store, const std::vector<RunAnswer>& answers,
                       bool whole) {
  for (const RunAnswer& answer : answers) {
    loops_.read(store, answer.run);
    for (const std::size_t i : answer.shown) loops_.add(answer.rows().row(i).place->path);
  }
  std::vector<std::string> taken{"run",  "experiment", "loop",   "epoch",
                                 "step", "ordinal",    "origin", "verdict"};
  for (const auto& more : {beside_.titles(), metrics_}) {
    taken.insert(taken.end(), more.begin(), more.end());
  }
  loops_.settle(whole ? LoopColumns::Form::whole : LoopColumns::Form::brief, taken);
}

Json Query::json_of(const RunAnswer& answer, std::size_t row) const {
  Json result = row_json(answer.run, metrics_, answer.rows(), row);
  result["loops"] = loops_.json_of(answer.run.id, *answer.rows().row(row).place);
  if (!beside_.titles().empty()) result["columns"] = beside_.json_of(answer.run.id);
  return result;
}

Shape Query::shape_of(const std::vector<RunAnswer>& answers) const {
  Shape shape;
  shape.runs = answers.size() > 1;
  const std::string* path = nullptr;
  for (const RunAnswer& answer : answers) {
    for (const std::size_t i : answer.shown) {
      const auto& row = answer.rows().row(i);
      shape.loop = shape.loop || (path && *path != row.place->path);
      path = &row.place->path;
      // A sample of the machine has a time, and no loop that could be a column.
      const bool has_no_loop = row.place->path.empty();
      shape.epoch = shape.epoch || ((loops_.needs_epoch() || has_no_loop) && row.place->epoch >= 0);
      shape.step = shape.step || ((loops_.needs_step() || has_no_loop) && row.place->step >= 0);
      shape.ordinal = shape.ordinal || row.ordinal > 0;
    }
  }
  return shape;
}

void Query::print_table(Context& context, const std::vector<RunAnswer>& answers) const {
  const Shape shape = shape_of(answers);
  std::vector<Table::Column> columns;
  const auto column = [&](bool shown, std::string title, Align align) {
    if (shown) columns.push_back({std::move(title), align, false});
  };
  column(shape.runs, "run", Align::left);
  column(shape.runs, "experiment", Align::left);
  for (const std::string& title : beside_.titles()) column(true, title, Align::right);
  column(shape.loop, "loop", Align::left);
  column(shape.epoch, "epoch", Align::right);
  column(shape.step, "step", Align::right);
  for (const std::string& title : loops_.titles()) column(true, title, Align::right);
  column(shape.ordinal, "ordinal", Align::right);
  for (const std::string& metric : metrics_) column(true, metric, Align::right);
  column(true, "origin", Align::left);
  column(true, "verdict", Align::left);
  Table table(std::move(columns));
  for (const RunAnswer& answer : answers) {
    const std::string key = short_key(answer.run);
    for (const std::size_t i : answer.shown) {
      const auto& row = answer.rows().row(i);
      const auto add = [&](bool shown, std::string_view text) {
        if (shown) table.add(text);
      };
      add(shape.runs, key);
      add(shape.runs, answer.run.start.experiment);
      for (const ColumnsBesideValues::Cell& cell : beside_.of(answer.run.id)) {
        add(true, cell.shown.empty() ? "-" : cell.shown);
      }
      add(shape.loop, row.place->path.empty() ? "-" : loop_text(row.place->path));
      add(shape.epoch, index_text(row.place->epoch));
      add(shape.step, index_text(row.place->step));
      for (const LoopColumns::Cell& cell : loops_.of(answer.run.id, *row.place)) {
        add(true, cell.shown);
      }
      add(shape.ordinal, fmt::format("{}", row.ordinal));
      const auto cells = answer.rows().cells(i);
      for (const Value* value : cells) {
        table.add(value ? readable(value->type, value->value) : "-",
                  value ? origin_tone(*value) : Tone::plain);
      }
      table.add(origin_of(cells));
      table.add(verdict_of(cells));
    }
  }
  if (!table.empty()) table.print(context.out(), context.style());
}

void Query::print_csv(Context& context, const std::vector<RunAnswer>& answers) const {
  CsvWriter csv(context.out());
  for (const char* title : {"run", "experiment"}) csv.field(title);
  for (const std::string& title : beside_.titles()) csv.field(title);
  for (const char* title : {"loop", "epoch", "step"}) csv.field(title);
  for (const std::string& title : loops_.titles()) csv.field(title);
  csv.field("ordinal");
  for (const std::string& metric : metrics_) csv.field(metric);
  csv.field("origin");
  csv.field("verdict");
  csv.end_row();
  for (const RunAnswer& answer : answers) {
    for (const std::size_t i : answer.shown) {
      const auto& row = answer.rows().row(i);
      csv.field(answer.run.key);
      csv.field(answer.run.start.experiment);
      for (const ColumnsBesideValues::Cell& cell : beside_.of(answer.run.id)) csv.field(cell.exact);
      csv.field(loop_text(row.place->path));
      csv.field(index_text(row.place->epoch));
      csv.field(index_text(row.place->step));
      for (const LoopColumns::Cell& cell : loops_.of(answer.run.id, *row.place)) {
        csv.field(cell.exact);
      }
      csv.field(fmt::format("{}", row.ordinal));
      const auto cells = answer.rows().cells(i);
      for (const Value* value : cells) {
        csv.field(value ? exact(value->type, value->value) : std::string());
      }
      csv.field(origin_of(cells));
      csv.field(verdict_of(cells));
      csv.end_row();
    }
  }
}

void Query::print_json(Context& context, const std::vector<RunAnswer>& answers) const {
  Json head = document("query");
  head["metrics"] = metrics_;
  JsonList list(context.out(), head, "rows");
  for (const RunAnswer& answer : answers) {
    for (const std::size_t i : answer.shown) list.add(json_of(answer, i));
  }
  list.end();
}

void Query::print_jsonl(Context& context, const std::vector<RunAnswer>& answers) const {
  for (const RunAnswer& answer : answers) {
    for (const std::size_t i : answer.shown) {
      context.out().write(compact(json_of(answer, i)) + "\n");
    }
  }
}

int Query::run_groups(Context& context) {
  GroupedQuestion question{.metrics = metrics_, .runs = {}, .wish = groups_};
  for (const RunChoice& choice : choose(context)) {
    question.runs.emplace_back(choice.run, questions(choice).back());
  }
  question.form = csv_             ? GroupForm::csv
                  : jsonl_         ? GroupForm::jsonl
                  : context.json() ? GroupForm::json
                                   : GroupForm::table;
  print_groups(context, question);
  return 0;
}

int Query::run(Context& context) {
  check_options(context);
  if (!epochs_.empty()) parse_epochs(epochs_);
  const store::Catalog& catalog = context.catalog();
  // A metric that is named twice makes one column.
  std::set<std::string> met;
  std::erase_if(metrics_, [&](const std::string& name) { return !met.insert(name).second; });
  if (groups_.any()) return run_groups(context);
  const std::vector<RunChoice> runs = choose(context);
  std::vector<store::Run> asked;
  for (const RunChoice& choice : runs) asked.push_back(choice.run);
  // A metric that none of the runs has is an error, and so is a query without metrics.
  require_metrics(catalog, asked, metrics_, "flor query METRIC...");
  std::vector<RunAnswer> answers;
  std::size_t rows = 0;
  for (const RunChoice& choice : runs) answers.push_back(ask(catalog, choice));
  join(answers);
  if (!columns_.empty()) beside_ = ColumnsBesideValues(catalog, asked, columns_, context.now_us());
  choose_rows(answers);
  read_loops(context.store(), answers, csv_ || jsonl_ || context.json());
  for (const RunAnswer& answer : answers) rows += answer.shown.size();
  if (csv_) {
    print_csv(context, answers);
  } else if (jsonl_) {
    print_jsonl(context, answers);
  } else if (context.json()) {
    print_json(context, answers);
  } else {
    if (runs_.empty() && experiment_.empty() && where_.empty())
      context.note("run " + title(answers.front().run));
    print_table(context, answers);
  }
  if (rows == 0) context.note("no values there: see 'flor show RUN' for what was logged and where");
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_query() { return std::make_unique<Query>(); }

}  // namespace flor::cli
