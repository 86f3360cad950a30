// flor list: experiments and runs, newest first.
#include "choose/listing.h"
#include "choose/run_facts.h"
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "shell/context.h"
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
    "run,experiment,when,status,commit,epochs,size,metrics";
/// So many runs are shown unasked: to print a million lines takes a minute.
constexpr std::size_t kShownUnasked = 1000;
constexpr const char* kNoRuns = "the store has no runs yet: record one with --flor NAME";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    if (const auto part = text.substr(0, comma); !part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// The table of a listing, filled run by run.
class RunRows {
 public:
  /// `known` is where the names of metrics and arguments are looked for; the built-in ones need
  /// none. A column `rank` follows the experiment if any run has one, and so do tags.
  RunRows(std::vector<std::string> names, std::span<const ListedRun> known, const char* rank,
          std::int64_t now_us)
      : now_us_(now_us) {
    if (const auto at = std::ranges::find(names, "experiment"); at != names.end()) {
      after_ = static_cast<std::size_t>(at - names.begin()) + 1;
      shows_tags_ = std::ranges::find(names, "tag") != names.end();
      names.insert(at + 1, {rank, "tag"});
    }
    std::vector<Table::Column> header;
    for (const std::string& name : names) {
      const bool unasked = after_ && columns_.size() == *after_ + 1;
      columns_.push_back(unasked ? tag_column() : find_column(name, known));
      header.push_back({columns_.back().title, columns_.back().align, columns_.back().shrinks});
    }
    table_.emplace(std::move(header));
  }

  void reserve(std::size_t runs) { table_->reserve(runs); }

  void add(const ListedRun& facts) {
    ranked_ = ranked_ || facts.run.start.rank;
    tagged_ = tagged_ || !facts.run.tags.empty();
    for (const RunColumn& column : columns_) {
      const Field field = column.field(facts, now_us_);
      table_->add(field.text.empty() ? "-" : field.text, field.tone);
    }
  }

  bool empty() const { return table_->empty(); }

  void print(Context& context) {
    if (!ranked_ && after_) table_->hide(*after_);
    if ((!tagged_ || shows_tags_) && after_) table_->hide(*after_ + 1);
    table_->print(context.out(), context.style());
  }

 private:
  std::int64_t now_us_;
  std::vector<RunColumn> columns_;
  std::optional<std::size_t> after_;  ///< the column of ranks; that of tags follows it
  bool ranked_ = false, tagged_ = false;
  bool shows_tags_ = false;  ///< in a column that was asked for
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
of two is meant.

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
    syntax.option("--sort", "COLUMN", sort_,
                  "sort by this column, ascending; runs without it come last");
    syntax.flag("-r,--reverse", reverse_, "turn the order around");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr>0.01 and epochs=8'");
    syntax.flag("-q,--quiet", quiet_, "print ids only, for scripts");
    syntax.flag("--ranks", ranks_, "show a line for each rank of a group, instead of one for all");
    syntax.flag("--experiments", experiments_, "show one line an experiment");
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
  RunRows rows(Context& context, std::span<const ListedRun> known) const;
  void print(Context& context, const std::vector<ListedRun>& runs) const;
  void print_json(Context& context, const std::vector<ListedRun>& runs) const;
  void print_experiments(Context& context, const std::vector<ListedRun>& runs) const;

  std::string experiment_, columns_, sort_;
  std::vector<std::string> where_;
  std::optional<std::uint64_t> limit_;
  bool all_ = false, reverse_ = false, quiet_ = false, experiments_ = false, ranks_ = false;
  bool removed_ = false;
};

void List::require_experiment(const store::Catalog& catalog) const {
  if (experiment_.empty() || removed_) return;
  const std::vector<std::string> known = catalog.experiments();
  if (std::ranges::find(known, experiment_) != known.end()) return;
  std::string hint = did_you_mean(experiment_, known);
  if (hint.empty()) hint = ": 'flor list --experiments' names them all";
  throw NotFound(fmt::format("no experiment '{}'{}", printable(experiment_), hint));
}

std::vector<std::string> List::column_names() const {
  if (columns_.empty()) return split(kDefaultColumns);
  if (columns_.front() == '+')
    return split(fmt::format("{},{}", kDefaultColumns, columns_.substr(1)));
  std::vector<std::string> names = split(columns_);
  // A line without its run would be useless.
  if (std::ranges::find(names, "run") == names.end()) names.insert(names.begin(), "run");
  return names;
}

/// Whether all runs have to be looked at before the first is shown.
bool List::needs_all() const { return !sort_.empty() || reverse_ || experiments_; }

/// Whether only the newest runs are shown unless more are asked for: those that scripts read are
/// always whole.
bool List::is_cut(const Context& context) const {
  return !limit_ && !all_ && !quiet_ && !experiments_ && !context.json();
}

std::size_t List::most(const Context& context) const {
  if (is_cut(context)) return kShownUnasked;
  return limit_ && !experiments_ ? *limit_ : SIZE_MAX;
}

/// To read the runs, and of each no more than the columns need.
ListingPlan List::plan(Context& context) const {
  std::vector<std::string> names = column_names();
  if (quiet_ || experiments_) names.clear();
  if (!sort_.empty()) names.push_back(sort_);
  bool metrics = false, arguments = false;
  auto metric_detail = store::MetricDetail::last;
  for (const std::string& name : names) {
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
          // Reads one more, to see whether there are more.
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

void List::print_json(Context& context, const std::vector<ListedRun>& runs) const {
  JsonList list(context.out(), document("list"), "runs");
  for (const ListedRun& facts : runs) {
    Json entry = run_json(facts.run);
    entry["arguments"] = arguments_json(facts.arguments);
    entry["metrics"] = metrics_json(facts.metrics);
    list.add(entry);
  }
  list.end();
}

void List::print_experiments(Context& context, const std::vector<ListedRun>& runs) const {
  std::vector<std::pair<const store::Run*, std::int64_t>> latest;  // and the number of runs
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

/// Whether the columns are the same whatever the runs have.
bool List::knows_columns() const {
  return std::ranges::all_of(
      column_names(), [](const std::string& name) { return builtin_column(name).has_value(); });
}

RunRows List::rows(Context& context, std::span<const ListedRun> known) const {
  return {column_names(), known, ranks_ ? "rank" : "ranks", context.now_us()};
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

int List::run(Context& context) {
  require_experiment(context.catalog());
  const ListingPlan what = plan(context);
  const std::size_t most = this->most(context);
  bool has_more = false;
  if (!needs_all() && !quiet_ && !context.json() && knows_columns()) {
    // A long listing costs least when no run is kept but its line.
    RunRows table = rows(context, {});
    table.reserve(context.catalog().count_runs(experiment_, most));
    std::size_t shown = 0;
    each_listed(context.store(), what, context.now_us(), [&](ListedRun& facts) {
      has_more = shown == most;
      if (shown++ < most) table.add(facts);
    });
    table.empty() ? say_nothing_found(context) : table.print(context);
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
    for (const ListedRun& facts : runs) table.add(facts);
    table.print(context);
  }
}

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace flor::cli
