// flor query: shows logged values, recorded and found in hindsight, in one table.
#include "ask/question.h"
#include "choose/run_groups.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "commands/look/query_groups.h"
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
#include <set>
#include <utility>

namespace flor::cli {
namespace {

using store::Value;

std::string index_text(std::int64_t index) {
  return index < 0 ? std::string() : fmt::format("{}", index);
}

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
  flor query loss norm --rows 'norm>100'       every row in which this holds
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
    syntax.operands("METRIC", question_.metrics, "names of logged values");
    syntax.option("--run", "RUN", question_.runs,
                  "read this run or RUN@EPOCH; may be given several times");
    syntax.option("--experiment", "NAME", question_.experiment,
                  "read every run of this experiment");
    syntax.option("--where", "CONDITION", question_.where,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.option("--rows", "CONDITION", question_.rows,
                  "show only rows in which this holds, as 'loss>10 and epoch>=2'");
    syntax.option("-c,--columns", "A,B", columns_,
                  "show these columns of flor list, as lr,tag, beside each row");
    syntax.flag("--latest", question_.latest,
                "show of rows at one place only that of the newest run");
    syntax.option("--without", "RUN", question_.without,
                  "leave this run out; may be given several times");
    groups_.declare(syntax);
    syntax.option("--epochs", "EPOCHS", question_.epochs,
                  "read only these: A..B, both included, 0-based");
    syntax.flag("--recorded", question_.recorded, "show only what the recorded runs logged");
    syntax.flag("--hindsight", question_.hindsight, "show only what replays found");
    syntax.flag("--evaluated", question_.evaluated,
                "show only what evaluators found in checkpoints");
    syntax.flag("-a,--all", question_.all,
                "show what other questions found under the same name, too");
    syntax.flag("--csv", csv_, "print comma-separated values, every digit");
    syntax.flag("--jsonl", jsonl_, "print one JSON object per row");
  }
  int run(Context& context) override;

 private:
  void check_options(const Context& context) const;
  std::vector<RunChoice> choose(Context& context) const;
  Shape shape_of(const ask::Answer& answer) const;
  void print_table(Context& context, const ask::Answer& answer) const;
  void print_csv(Context& context, const ask::Answer& answer) const;
  void print_json(Context& context, const ask::Answer& answer) const;
  void print_jsonl(Context& context, const ask::Answer& answer) const;

  int run_groups(Context& context);
  Json json_of(const ask::Answer& answer, const ask::RunRows& rows, std::size_t row) const;
  ask::Question question_;
  std::string columns_;
  ColumnsBesideValues beside_;
  GroupWish groups_;
  bool csv_ = false, jsonl_ = false;
};

void Query::check_options(const Context& context) const {
  question_.check();
  if (groups_.any() && (question_.latest || !columns_.empty())) {
    throw UsageError(
        "--columns and --latest are about rows of runs, and groups have none: leave "
        "out either");
  }
  if (groups_.any() && !question_.rows.empty()) {
    throw UsageError(
        "--rows chooses rows of runs, and groups have none: --where chooses the runs of a group");
  }
  if (groups_.any() && question_.all) {
    throw UsageError("--all cannot be combined with groups: means do not include other answers");
  }
  if ((csv_ ? 1 : 0) + (jsonl_ ? 1 : 0) + (context.json() ? 1 : 0) > 1) {
    throw UsageError("--csv, --json and --jsonl exclude each other: give one of them");
  }
}

/// The chosen runs. Groups without --run are of all runs of the experiment.
std::vector<RunChoice> Query::choose(Context& context) const {
  const store::Catalog& catalog = context.catalog();
  if (!groups_.any() || !question_.runs.empty()) {
    return ask::choose(
        context.store(), question_,
        [&](const std::string& text) { return parse_run(context, text); }, context.now_us());
  }
  const std::string& experiment = question_.experiment;
  if (!experiment.empty() && catalog.count_runs(experiment, 1) == 0) {
    ask::no_experiment(catalog, experiment);
  }
  RunsWanted wanted{.where = question_.where, .all_of_names = true};
  if (!experiment.empty()) wanted.words.push_back(experiment);
  std::vector<RunChoice> result;
  for (store::Run& run : choose_runs(context, wanted)) {
    if (std::ranges::find(question_.without, run.key) != question_.without.end()) continue;
    result.push_back({std::move(run), {}});
  }
  if (result.empty()) throw NotFound("--without leaves no run: give fewer of them");
  return result;
}

Json Query::json_of(const ask::Answer& answer, const ask::RunRows& rows, std::size_t row) const {
  Json result = row_json(rows.run, answer.metrics(), rows.rows(), row);
  result["loops"] = loops_json(answer.loops(), rows.run.id, *rows.rows().row(row).place);
  if (!beside_.titles().empty()) result["columns"] = beside_.json_of(rows.run.id);
  return result;
}

Shape Query::shape_of(const ask::Answer& answer) const {
  Shape shape;
  shape.runs = answer.runs().size() > 1;
  const LoopColumns& loops = answer.loops();
  const std::string* path = nullptr;
  for (const ask::RunRows& rows : answer.runs()) {
    for (const std::size_t i : rows.shown) {
      const auto& row = rows.rows().row(i);
      shape.loop = shape.loop || (path && *path != row.place->path);
      path = &row.place->path;
      // A sample of the machine has a time, and no loop that could be a column.
      const bool has_no_loop = row.place->path.empty();
      shape.epoch = shape.epoch || ((loops.needs_epoch() || has_no_loop) && row.place->epoch >= 0);
      shape.step = shape.step || ((loops.needs_step() || has_no_loop) && row.place->step >= 0);
      shape.ordinal = shape.ordinal || row.ordinal > 0;
    }
  }
  return shape;
}

void Query::print_table(Context& context, const ask::Answer& answer) const {
  const Shape shape = shape_of(answer);
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
  for (const std::string& title : answer.loops().titles()) column(true, title, Align::right);
  column(shape.ordinal, "ordinal", Align::right);
  for (const std::string& metric : answer.metrics()) column(true, metric, Align::right);
  column(true, "origin", Align::left);
  column(true, "verdict", Align::left);
  Table table(std::move(columns));
  for (const ask::RunRows& rows : answer.runs()) {
    const std::string key = short_key(rows.run);
    for (const std::size_t i : rows.shown) {
      const auto& row = rows.rows().row(i);
      const auto add = [&](bool shown, std::string_view text) {
        if (shown) table.add(text);
      };
      add(shape.runs, key);
      add(shape.runs, rows.run.start.experiment);
      for (const ColumnsBesideValues::Cell& cell : beside_.of(rows.run.id)) {
        add(true, cell.shown.empty() ? "-" : cell.shown);
      }
      add(shape.loop, row.place->path.empty() ? "-" : loop_text(row.place->path));
      add(shape.epoch, index_text(row.place->epoch));
      add(shape.step, index_text(row.place->step));
      for (const auto& cell : answer.loops().of(rows.run.id, *row.place)) add(true, shown(cell));
      add(shape.ordinal, fmt::format("{}", row.ordinal));
      const auto cells = rows.rows().cells(i);
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

void Query::print_csv(Context& context, const ask::Answer& answer) const {
  CsvWriter csv(context.out());
  for (const char* title : {"run", "experiment"}) csv.field(title);
  for (const std::string& title : beside_.titles()) csv.field(title);
  for (const char* title : {"loop", "epoch", "step"}) csv.field(title);
  for (const std::string& title : answer.loops().titles()) csv.field(title);
  csv.field("ordinal");
  for (const std::string& metric : answer.metrics()) csv.field(metric);
  csv.field("origin");
  csv.field("verdict");
  csv.end_row();
  for (const ask::RunRows& rows : answer.runs()) {
    for (const std::size_t i : rows.shown) {
      const auto& row = rows.rows().row(i);
      csv.field(rows.run.key);
      csv.field(rows.run.start.experiment);
      for (const ColumnsBesideValues::Cell& cell : beside_.of(rows.run.id)) csv.field(cell.exact);
      csv.field(loop_text(row.place->path));
      csv.field(index_text(row.place->epoch));
      csv.field(index_text(row.place->step));
      for (const auto& cell : answer.loops().of(rows.run.id, *row.place)) csv.field(exact(cell));
      csv.field(fmt::format("{}", row.ordinal));
      const auto cells = rows.rows().cells(i);
      for (const Value* value : cells) {
        csv.field(value ? exact(value->type, value->value) : std::string());
      }
      csv.field(origin_of(cells));
      csv.field(verdict_of(cells));
      csv.end_row();
    }
  }
}

void Query::print_json(Context& context, const ask::Answer& answer) const {
  Json head = document("query");
  head["metrics"] = answer.metrics();
  JsonList list(context.out(), head, "rows");
  for (const ask::RunRows& rows : answer.runs()) {
    for (const std::size_t i : rows.shown) list.add(json_of(answer, rows, i));
  }
  list.end();
}

void Query::print_jsonl(Context& context, const ask::Answer& answer) const {
  for (const ask::RunRows& rows : answer.runs()) {
    for (const std::size_t i : rows.shown) {
      context.out().write(compact(json_of(answer, rows, i)) + "\n");
    }
  }
}

int Query::run_groups(Context& context) {
  GroupedQuestion grouped{.metrics = question_.metrics, .runs = {}, .wish = groups_};
  for (const RunChoice& choice : choose(context)) {
    grouped.runs.emplace_back(choice.run, ask::queries(question_, choice).back());
  }
  grouped.form = csv_             ? GroupForm::csv
                 : jsonl_         ? GroupForm::jsonl
                 : context.json() ? GroupForm::json
                                  : GroupForm::table;
  print_groups(context, grouped);
  return 0;
}

int Query::run(Context& context) {
  check_options(context);
  const store::Catalog& catalog = context.catalog();
  // A metric that is named twice makes one column.
  std::set<std::string> met;
  std::erase_if(question_.metrics,
                [&](const std::string& name) { return !met.insert(name).second; });
  for (std::string& run : question_.without) run = parse_whole_run(context, run).key;
  if (groups_.any()) return run_groups(context);
  ask::Answer answer(context.store(), question_, choose(context), "flor query METRIC...");
  if (!columns_.empty()) {
    std::vector<store::Run> asked;
    for (const ask::RunRows& rows : answer.runs()) asked.push_back(rows.run);
    beside_ = ColumnsBesideValues(catalog, asked, columns_, context.now_us());
  }
  answer.choose_rows(question_, [&](std::int64_t run) {
    std::vector<std::string> texts;
    for (const ColumnsBesideValues::Cell& cell : beside_.of(run)) texts.push_back(cell.exact);
    return texts;
  });
  const bool whole = csv_ || jsonl_ || context.json();
  answer.read_loops(context.store(), whole ? LoopColumns::Form::whole : LoopColumns::Form::brief,
                    beside_.titles());
  if (csv_) {
    print_csv(context, answer);
  } else if (jsonl_) {
    print_jsonl(context, answer);
  } else if (context.json()) {
    print_json(context, answer);
  } else {
    if (question_.runs.empty() && question_.experiment.empty() && question_.where.empty()) {
      context.note("run " + title(answer.runs().front().run));
    }
    print_table(context, answer);
  }
  if (answer.size() == 0) {
    context.note("no values there: see 'flor show RUN' for what was logged and where");
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_query() { return std::make_unique<Query>(); }

}  // namespace flor::cli
