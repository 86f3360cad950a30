// flor list: lists experiments and runs, newest first.
#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/telling_arguments.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
#include "view/columns_beside_values.h"
#include "view/run_graph.h"
#include "view/run_json.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace flor::cli {
namespace {

constexpr std::string_view kDefaultColumns =
    "run,experiment,when,status,commit,epochs,size,arguments,metrics";
/// Name of the column that draws the graph.
constexpr std::string_view kGraph = "";
/// At most so many arguments get columns without being named, if their values are no wider.
constexpr std::size_t kArgumentsUnasked = 6, kWidestUnasked = 32;
/// At most so many runs are shown unless the user asks for more: printing a million lines takes a
/// minute.
constexpr std::size_t kShownUnasked = 1000;
constexpr const char* kNoRuns = "the store has no runs yet: record one with --flor NAME";

/// A column of the table: its name in -c, and how to show it.
struct ColumnWish {
  std::string name;
  std::string title = {};   ///< empty: the column's own title
  bool left = false;        ///< align to the left, although the column's default may differ
  int spare = 0;            ///< see Table::Column
  bool is_telling = false;  ///< an argument chosen because it differs, not named by the user
};

/// The columns of a listing.
struct ColumnChoice {
  std::vector<ColumnWish> columns;
  std::size_t left_out = 0;
};

/// Chooses the arguments that take the place of the word `arguments` in `names`: those that differ
/// among the runs and are not named already; with `all`, also those that do not differ or are wide.
/// With `may_spare`, commit and size are left out before the first two arguments if there is little
/// room.
ColumnChoice with_arguments(const std::vector<std::string>& names, std::span<const ListedRun> runs,
                            bool all, bool may_spare) {
  TellingArguments seen;
  for (const ListedRun& facts : runs) seen.add(facts.run.start.experiment, facts.arguments);
  ColumnChoice choice;
  std::vector<ColumnWish> wishes;
  for (const auto& argument : all ? seen.ranked() : seen.telling()) {
    const std::string name = "arg:" + argument.name;
    const auto is_asked = [&](const std::string& text) {
      return text == argument.name || text == name;
    };
    if (std::ranges::any_of(names, is_asked) && !builtin_column(argument.name)) continue;
    if (std::ranges::find(names, name) != names.end()) continue;
    const bool has_room = wishes.size() < kArgumentsUnasked && argument.widest <= kWidestUnasked;
    if (!all && !has_room) {
      ++choice.left_out;
      continue;
    }
    // The first two arguments are spared after the commit and the size.
    const auto place = static_cast<int>(wishes.size());
    const int spare = all ? 0 : place < 2 ? place + 1 : place + 3;
    wishes.push_back({name, argument_title(argument.name), argument.is_text, spare, true});
  }
  for (const std::string& name : names) {
    if (name == kDifferingArguments) {
      choice.columns.insert(choice.columns.end(), wishes.begin(), wishes.end());
      continue;
    }
    const bool may_go = may_spare && !all && !wishes.empty();
    choice.columns.push_back({.name = name,
                              .spare = !may_go            ? 0
                                       : name == "commit" ? 3
                                       : name == "size"   ? 4
                                                          : 0});
  }
  return choice;
}

/// The table of a listing, filled run by run.
class RunRows {
 public:
  /// `known`: the runs in which names of metrics and arguments are looked up. A column for ranks
  /// follows the experiment if any run has ranks, and one for tags if any run has tags.
  RunRows(ColumnChoice choice, std::span<const ListedRun> known, const char* rank,
          std::int64_t now_us)
      : now_us_(now_us), left_out_(choice.left_out) {
    std::vector<ColumnWish>& wishes = choice.columns;
    const auto at = std::ranges::find(wishes, "experiment", &ColumnWish::name);
    if (at != wishes.end()) {
      after_ = static_cast<std::size_t>(at - wishes.begin()) + 1;
      shows_tags_ = std::ranges::find(wishes, "tag", &ColumnWish::name) != wishes.end();
      wishes.insert(at + 1, {ColumnWish{rank}, ColumnWish{"tag"}});
    }
    std::vector<Table::Column> header;
    for (const ColumnWish& wish : wishes) {
      if (wish.name == kGraph) {
        graph_column_ = columns_.size();
        columns_.push_back({});
        header.push_back({});
        is_telling_.push_back(false);
        continue;
      }
      const bool unasked = after_ && columns_.size() == *after_ + 1;
      columns_.push_back(unasked           ? tag_column()
                         : wish.is_telling ? column_named(wish.name)
                                           : find_column(wish.name, known));
      const RunColumn& column = columns_.back();
      header.push_back({wish.title.empty() ? column.title : wish.title,
                        wish.left ? Align::left : column.align, column.shrinks, wish.spare});
      is_telling_.push_back(wish.is_telling);
    }
    table_.emplace(std::move(header));
  }

  void reserve(std::size_t runs) { table_->reserve(runs); }

  void add(const ListedRun& facts) {
    ranked_ = ranked_ || facts.run.start.rank;
    tagged_ = tagged_ || !facts.run.tags.empty();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i == graph_column_) {
        table_->add(graph_);
        continue;
      }
      const Field field = columns_[i].field(facts, now_us_);
      table_->add(field.text.empty() ? "-" : field.text, field.tone);
    }
  }

  /// Adds a run with its line of the graph, or a line of the graph with a text.
  void add(const GraphLine& line, const ListedRun& facts) {
    graph_ = line.text;
    add(facts);
  }
  void add(const GraphLine& line, const std::string& text) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      table_->add(i == graph_column_ ? line.text : columns_[i].title == "run" ? text : "");
    }
  }

  bool empty() const { return table_->empty(); }

  void print(Context& context) {
    if (!ranked_ && after_) table_->hide(*after_);
    if ((!tagged_ || shows_tags_) && after_) table_->hide(*after_ + 1);
    for (const std::size_t column : table_->fit(context.out().width())) {
      if (is_telling_[column]) ++left_out_;
    }
    table_->print(context.out(), context.style());
    if (left_out_ == 0) return;
    context.note(fmt::format("{} more argument{}: --all-arguments shows {}", left_out_,
                             left_out_ == 1 ? " differs" : "s differ",
                             left_out_ == 1 ? "it" : "them"));
  }

 private:
  std::int64_t now_us_;
  std::vector<RunColumn> columns_;
  std::vector<bool> is_telling_;
  std::size_t left_out_;              ///< number of differing arguments that have no column
  std::optional<std::size_t> after_;  ///< the column of ranks; the column of tags follows it
  bool ranked_ = false, tagged_ = false;
  bool shows_tags_ = false;  ///< whether the user asked for a column of tags
  std::size_t graph_column_ = SIZE_MAX;
  std::string graph_;  ///< the graph beside the run that is being added
  std::optional<Table> table_;
};

class List final : public Command {
 public:
  std::string_view name() const override { return "list"; }
  std::vector<std::string_view> aliases() const override { return {"ls"}; }
  std::string_view summary() const override { return "list experiments and runs, newest first"; }
  std::string_view lesson() const override {
    return R"(Columns are run, experiment, when, status, commit, epochs, size, raw, checkpoints, duration,
directory, message, metrics, rank, ranks, tag, note, the name of any metric (its last value;
loss:min, loss:max and loss:count are known too) and of any argument. metric:x and arg:x say which
of two is meant. Arguments that differ among the runs are columns by themselves, the most telling
first; `arguments` is their place in -c.

Examples:
  flor list                                   every run
  flor list linear -n 5                       the last five of one experiment
  flor list -c lr,loss:min --sort loss:min    which learning rate did best
  flor list -c +lr --where 'lr>=0.01 and (accuracy:max>0.9 or not status=finished)'
  flor list -c +note --where tag=good         runs that flor tag called good, with their notes
  flor show $(flor list -q -n 1)              the newest run in full
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME", experiment_, "only runs of this experiment", false);
    syntax.option("-n,--limit", "N", limit_, "show at most N runs (default 1000 in a table)");
    syntax.flag("-a,--all", all_, "show every run");
    syntax.option("-c,--columns", "A,B", columns_,
                  "show these columns beside the run; +A,B adds to the usual ones");
    syntax.flag("-g,--graph", graph_, "draw which runs were forked from which, and at which epoch");
    syntax.flag("--all-arguments", all_arguments_,
                "show every argument as a column, not only those that differ");
    syntax.option("--sort", "COLUMN", sort_,
                  "sort by this column, ascending; runs without it come last");
    syntax.flag("-r,--reverse", reverse_, "turn the order around");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr>0.01 and epochs=8'");
    syntax.flag("-q,--quiet", quiet_, "print ids only, for scripts");
    syntax.flag("--ranks", ranks_, "show a line for each rank of a group, instead of one for all");
    syntax.flag("--experiments", experiments_, "show one line per experiment");
    syntax.flag("--removed", removed_, "show the runs that flor rm has removed, and no others");
    syntax.other_name("-e", "use --experiments");
  }
  int run(Context& context) override;

 private:
  void require_experiment(const store::Catalog& catalog) const;
  std::vector<std::string> column_names() const;
  bool needs_all() const;
  bool is_cut(const Context& context) const;
  std::size_t most(const Context& context) const;
  ListingPlan plan(Context& context) const;
  void order(std::vector<ListedRun>& runs, std::int64_t now_us) const;
  void say_nothing_found(Context& context) const;
  bool knows_columns() const;
  void print_as_read(Context& context, const ListingPlan& what, bool& has_more) const;
  RunRows rows(Context& context, std::span<const ListedRun> known) const;
  void print(Context& context, const std::vector<ListedRun>& runs) const;
  void add_graph(Context& context, const std::vector<ListedRun>& runs, RunRows& table) const;
  void print_json(Context& context, const std::vector<ListedRun>& runs) const;
  void print_experiments(Context& context, const std::vector<ListedRun>& runs) const;

  std::string experiment_, columns_, sort_;
  std::vector<std::string> where_;
  std::optional<std::uint64_t> limit_;
  bool all_arguments_ = false, graph_ = false;
  bool all_ = false, reverse_ = false, quiet_ = false, experiments_ = false, ranks_ = false;
  bool removed_ = false;
};

void List::require_experiment(const store::Catalog& catalog) const {
  if (graph_ && (!sort_.empty() || reverse_ || quiet_ || experiments_)) {
    throw UsageError(
        "--graph shows runs newest first: leave out --sort, --reverse, --quiet and "
        "--experiments");
  }
  if (experiment_.empty() || removed_) return;
  const std::vector<std::string> known = catalog.experiments();
  if (std::ranges::find(known, experiment_) != known.end()) return;
  std::string hint = did_you_mean(experiment_, known);
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", printable(experiment_), hint));
}

std::vector<std::string> List::column_names() const {
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string> names = split_columns(columns_);
  if (columns_.empty() || columns_.front() == '+') {
    const std::string more = columns_.empty() ? "" : columns_.substr(1);
    names = split_columns(fmt::format("{},{}", kDefaultColumns, more));
  }
  // A line that does not name its run would be useless.
  if (!has(names, "run")) names.insert(names.begin(), "run");
  if (all_arguments_ && !has(names, kDifferingArguments)) names.emplace_back(kDifferingArguments);
  if (graph_) names.insert(names.begin(), std::string(kGraph));
  return names;
}

/// Whether all runs must be read before the first one is shown.
bool List::needs_all() const { return !sort_.empty() || reverse_ || experiments_; }

/// Whether the listing stops after the newest runs unless the user asks for more. Output for
/// scripts is always complete.
bool List::is_cut(const Context& context) const {
  return !limit_ && !all_ && !quiet_ && !experiments_ && !context.json();
}

std::size_t List::most(const Context& context) const {
  if (is_cut(context)) return kShownUnasked;
  return limit_ && !experiments_ ? *limit_ : SIZE_MAX;
}

/// The facts of the runs to read: only those that columns, order and JSON need.
ListingPlan List::plan(Context& context) const {
  std::vector<std::string> names = column_names();
  if (quiet_ || experiments_) names.clear();
  if (!sort_.empty()) names.push_back(sort_);
  bool metrics = false, arguments = false;
  auto metric_detail = store::MetricDetail::last;
  for (const std::string& name : names) {
    arguments = arguments || name == kDifferingArguments;
    if (name == kDifferingArguments || name == kGraph) continue;
    const auto builtin = builtin_column(name);
    metrics = metrics || !builtin || builtin->needs_metrics;
    arguments = arguments || !builtin || builtin->needs_arguments;
    if (!builtin) metric_detail = store::MetricDetail::all;
  }
  if (context.json() && !experiments_) {
    metrics = arguments = true;
    metric_detail = store::MetricDetail::all;
  }
  const std::size_t most = this->most(context);
  return {.experiment = experiment_,
          // one more, to know whether there are more
          .limit = needs_all() || most == SIZE_MAX ? SIZE_MAX : most + (is_cut(context) ? 1 : 0),
          .where = where_,
          .detail = context.json() ? store::RunDetail::all : store::RunDetail::summary,
          .ranks = ranks_ ? store::RunRanks::all : store::RunRanks::first,
          .metrics = metrics,
          .arguments = arguments,
          .metric_detail = metric_detail,
          .presence = removed_ ? store::RunPresence::removed : store::RunPresence::there};
}

void List::order(std::vector<ListedRun>& runs, std::int64_t now_us) const {
  if (!sort_.empty() && !runs.empty()) {
    const auto order = listing_order(runs, find_column(sort_, runs),
                                     reverse_ ? Order::falling : Order::rising, now_us);
    std::vector<ListedRun> sorted;
    for (const std::size_t index : order) sorted.push_back(std::move(runs[index]));
    runs = std::move(sorted);
  } else if (reverse_) {
    std::ranges::reverse(runs);
  }
}

/// Where a run was forked from, and its resumptions.
struct Descent {
  std::optional<store::Fork> fork;
  std::vector<store::Resumption> resumptions;
};
Descent descent_of(const store::Catalog& catalog, const store::Run& run) {
  return {catalog.fork(run.id), catalog.resumptions(run.id)};
}

/// Adds the run and epoch that the run was forked from, and the epochs at which it was resumed.
void add_descent(const store::Catalog& catalog, const store::Run& run, Json& entry) {
  const auto [fork, resumptions] = descent_of(catalog, run);
  entry["forked_from"] = fork ? Json{{"run", fork->parent}, {"epoch", fork->epoch - 1}} : Json();
  entry["resumed_at"] = Json::array();
  for (const store::Resumption& resumption : resumptions) {
    entry["resumed_at"].push_back(resumption.point.epoch);
  }
}

void List::print_json(Context& context, const std::vector<ListedRun>& runs) const {
  TellingArguments seen;
  for (const ListedRun& facts : runs) seen.add(facts.run.start.experiment, facts.arguments);
  Json head = document("list");
  head["differing_arguments"] = Json::array();
  for (const auto& argument : seen.telling()) head["differing_arguments"].push_back(argument.name);
  JsonList list(context.out(), head, "runs");
  for (const ListedRun& facts : runs) {
    Json entry = run_json(facts.run);
    entry["arguments"] = arguments_json(facts.arguments);
    entry["metrics"] = metrics_json(facts.metrics);
    if (graph_) add_descent(context.catalog(), facts.run, entry);
    list.add(entry);
  }
  list.end();
}

void List::print_experiments(Context& context, const std::vector<ListedRun>& runs) const {
  std::vector<std::pair<const store::Run*, std::int64_t>> latest;  // and the number of its runs
  std::map<std::string_view, std::size_t> place;
  for (const ListedRun& facts : runs) {
    const auto [at, added] = place.emplace(facts.run.start.experiment, latest.size());
    if (added) latest.emplace_back(&facts.run, 0);
    ++latest[at->second].second;
  }
  if (limit_ && latest.size() > *limit_) latest.resize(*limit_);
  if (context.json()) {
    JsonList list(context.out(), document("list"), "experiments");
    for (const auto& [run, count] : latest) {
      list.add(
          {{"experiment", run->start.experiment}, {"runs", count}, {"latest", run_json(*run)}});
    }
    list.end();
    return;
  }
  Table table({{"experiment"}, {"runs", Align::right}, {"latest"}, {"when"}, {"status"}});
  for (const auto& [run, count] : latest) {
    table.add(run->start.experiment);
    table.add(fmt::format("{}", count));
    table.add(short_key(*run));
    table.add(relative(run->start.started_us, context.now_us()));
    table.add(status_text(*run), status_tone(*run));
  }
  table.print(context.out(), context.style());
}

/// Whether every column exists for all runs, so that no run must be read to check it.
bool List::knows_columns() const {
  return std::ranges::all_of(column_names(), [](const std::string& name) {
    return name == kDifferingArguments || builtin_column(name).has_value();
  });
}

/// The first runs of a long listing decide which arguments get columns.
RunRows List::rows(Context& context, std::span<const ListedRun> known) const {
  const auto first = known.first(std::min(known.size(), kShownUnasked));
  const bool usual = columns_.empty() || columns_.front() == '+';
  return {with_arguments(column_names(), first, all_arguments_, usual), known,
          ranks_ ? "rank" : "ranks", context.now_us()};
}

void List::add_graph(Context& context, const std::vector<ListedRun>& runs, RunRows& table) const {
  std::map<std::string_view, std::int64_t> ids;
  for (const ListedRun& facts : runs) ids[facts.run.key] = facts.run.id;
  std::vector<Descent> descents;
  std::vector<GraphNode> nodes;
  for (const ListedRun& facts : runs) {
    const Descent& descent = descents.emplace_back(descent_of(context.catalog(), facts.run));
    GraphNode node{.id = facts.run.id, .resumptions = descent.resumptions.size()};
    constexpr std::int64_t kElsewhere = 0;  // no run has this id
    if (descent.fork) {
      const auto parent = ids.find(descent.fork->parent);
      node.parent = parent == ids.end() ? kElsewhere : parent->second;
    }
    nodes.push_back(node);
  }
  std::size_t resumption = 0;
  for (const GraphLine& line : draw_graph(nodes)) {
    const Descent& descent = descents[line.node];
    switch (line.kind) {
      case GraphLine::Kind::run:
        resumption = descent.resumptions.size();
        table.add(line, runs[line.node]);
        break;
      case GraphLine::Kind::resumed:
        table.add(line,
                  fmt::format("epoch {}, resumed", descent.resumptions[--resumption].point.epoch));
        break;
      case GraphLine::Kind::forked:
        table.add(line, fmt::format("epoch {} of {}", descent.fork->epoch - 1,
                                    descent.fork->parent.substr(0, short_key(runs[0].run).size())));
        break;
      case GraphLine::Kind::join:
        table.add(line, std::string());
    }
  }
}

void List::say_nothing_found(Context& context) const {
  if (limit_ == 0) return;
  if (removed_) {
    return context.note(fmt::format("no run{} is removed, or the last flor gc has freed it",
                                    experiment_.empty() ? "" : " of " + printable(experiment_)));
  }
  const bool is_empty = context.catalog().count_runs(experiment_, 1) == 0;
  context.note(is_empty || where_.empty() ? kNoRuns : "no run meets the conditions");
}

/// Prints each run as it is read. A long listing takes the least memory if only its lines are kept.
void List::print_as_read(Context& context, const ListingPlan& what, bool& has_more) const {
  const std::size_t most = this->most(context);
  std::vector<ListedRun> first;
  std::optional<RunRows> table;
  const std::size_t expected = context.catalog().count_runs(experiment_, most);
  const auto begin_table = [&] {
    table.emplace(rows(context, first));
    table->reserve(expected);
    for (const ListedRun& facts : first) table->add(facts);
    first.clear();
  };
  std::size_t shown = 0;
  each_listed(context.store(), what, context.now_us(), [&](ListedRun& facts) {
    has_more = shown == most;
    if (shown++ >= most) return;
    if (table) return table->add(facts);
    first.push_back(std::move(facts));
    if (first.size() == kShownUnasked) begin_table();
  });
  if (!table) begin_table();
  table->empty() ? say_nothing_found(context) : table->print(context);
}

int List::run(Context& context) {
  require_experiment(context.catalog());
  const ListingPlan what = plan(context);
  const std::size_t most = this->most(context);
  bool has_more = false;
  if (!needs_all() && !quiet_ && !graph_ && !context.json() && knows_columns()) {
    print_as_read(context, what, has_more);
  } else {
    std::vector<ListedRun> runs = read_listing(context.store(), what, context.now_us());
    order(runs, context.now_us());
    has_more = runs.size() > most;
    if (has_more) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(most), runs.end());
    print(context, runs);
  }
  if (has_more && is_cut(context)) {
    context.note(fmt::format("{} runs are shown, and there are {}: --all shows every run", most,
                             sort_.empty() && !reverse_ ? "older ones" : "more"));
  }
  return 0;
}

void List::print(Context& context, const std::vector<ListedRun>& runs) const {
  if (quiet_) {
    for (const ListedRun& facts : runs) context.out().write(facts.run.key + "\n");
  } else if (experiments_) {
    print_experiments(context, runs);
  } else if (context.json()) {
    print_json(context, runs);
  } else if (runs.empty()) {
    say_nothing_found(context);
  } else {
    RunRows table = rows(context, runs);
    if (graph_) {
      add_graph(context, runs, table);
    } else {
      for (const ListedRun& facts : runs) table.add(facts);
    }
    table.print(context);
  }
}

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace flor::cli
