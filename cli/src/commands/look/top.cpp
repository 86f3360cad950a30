// flor top: shows the runs that are being recorded.
#include "choose/asked.h"
#include "choose/run_spec.h"
#include "choose/runs_where.h"
#include "commands/commands.h"
#include "curves/machine_use.h"
#include "lock/signs_of_life.h"
#include "output/json.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"
#include "plot/follow.h"
#include "shell/context.h"
#include "view/live_run.h"
#include "view/run_json.h"
#include "view/show_recording.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace flor::cli {
namespace {

/// Runs that have ended stay visible for ten minutes.
constexpr std::int64_t kStayUs = 10 * 60 * std::int64_t{1'000'000};
/// How many of the newest runs are searched for runs that have ended. An older run is shown as
/// ended only if an earlier view of this command showed it as running.
constexpr std::size_t kNewestLookedAt = 1000;
constexpr const char* kNothing = "nothing is being recorded: ./train --flor NAME records a run";

/// The latest sample of each measure of a machine.
using Samples = std::map<std::string, double>;

struct Snapshot {
  std::vector<LiveRun> running, ended;
  std::vector<Samples> machines;  ///< of each running one; of a group, those of its first rank
};

class Top final : public Command {
 public:
  std::string_view name() const override { return "top"; }
  std::string_view summary() const override { return "show the runs that are being recorded"; }
  std::string_view lesson() const override {
    return R"(On a terminal the view is drawn again whenever something was recorded, until Ctrl-C; elsewhere it is
printed once. The runs that ended in the last ten minutes stand below. `epochs` are the complete
ones, of as many as the argument `epochs`, or `max_epochs`, says; `left` is what those take that are
to come, at the pace of the last five. CPU, memory and GPU are the latest samples of the machine; of
several GPUs their mean. `heard` is when the run last wrote to its journal; the ranks of a group are
one line, with what the most silent of them wrote.

Examples:
  flor top                          all runs of the store
  flor top linear -m accuracy       one experiment, with this metric
  flor top --once                   as it is now
  flor top --json | jq '.running[] | {id, left_seconds}'
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("NAME", experiment_, "only runs of this experiment", false);
    syntax.option("-m,--metric", "METRIC", metric_,
                  "show this metric instead of the first that was logged");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.flag("--once", once_, "print the view once, even on a terminal");
  }
  int run(Context& context) override;

 private:
  std::vector<store::Run> candidates(Context& context, std::int64_t now_us);
  Snapshot look(Context& context, std::int64_t now_us);
  void print_tables(Context& context, const Snapshot& snapshot, std::size_t rows,
                    std::int64_t now_us) const;
  void draw(Context& context);

  std::string experiment_, metric_;
  std::vector<std::string> where_;
  bool once_ = false, is_redrawn_ = false;
  std::set<std::string> seen_;  ///< keys of the runs that an earlier look found running
};

/// Runs that may be running or have just ended; a group is represented by its first rank.
std::vector<store::Run> Top::candidates(Context& context, std::int64_t now_us) {
  const store::Catalog& catalog = context.catalog();
  std::vector<store::Run> runs;
  const auto add = [&](store::Run run) {
    if (run.start.rank) run = ranks_with(catalog, run).front();
    const bool is_other = !experiment_.empty() && run.start.experiment != experiment_;
    if (is_other || std::ranges::find(runs, run.id, &store::Run::id) != runs.end()) return;
    stand_for_group(catalog, run);
    runs.push_back(std::move(run));
  };
  std::set<std::string> keys = seen_;
  for (std::string& key : store::locked_runs(context.store())) keys.insert(std::move(key));
  for (const std::string& key : keys) {
    try {
      store::Run run = catalog.resolve(key);
      if (run.key == key) add(std::move(run));  // an experiment may have the name of a key
    } catch (const NotFound&) {  // the run was removed, or began after the index was read
    }
  }
  for (store::Run& run :
       catalog.runs(experiment_, kNewestLookedAt, store::RunDetail::all, store::RunRanks::first)) {
    if (run.finished_us.value_or(0) > now_us - kStayUs) add(std::move(run));
  }
  if (runs.empty()) return runs;
  try {
    keep_runs_where(catalog, runs, where_, now_us);
  } catch (const NotFound&) {
    if (!is_redrawn_) throw;
    runs.clear();  // no run has the condition's column yet
  }
  return runs;
}

Snapshot Top::look(Context& context, std::int64_t now_us) {
  Snapshot snapshot;
  for (store::Run& run : candidates(context, now_us)) {
    LiveRun live = live_run(context.store(), std::move(run), metric_, now_us);
    if (live.is_running()) {
      seen_.insert(live.run.key);
      snapshot.running.push_back(std::move(live));
    } else if (live.ended_us() > now_us - kStayUs) {
      snapshot.ended.push_back(std::move(live));
    }
  }
  std::ranges::sort(snapshot.running, std::ranges::greater(),
                    [](const LiveRun& live) { return live.run.id; });
  std::ranges::stable_sort(snapshot.ended, std::ranges::greater(), &LiveRun::ended_us);
  for (const LiveRun& live : snapshot.running) {
    snapshot.machines.push_back(
        latest_samples(context.catalog(), live.run.id, live.run.epochs - 1));
  }
  return snapshot;
}

std::string epochs_of(const LiveRun& live) {
  return live.planned ? fmt::format("{}/{}", live.run.epochs, *live.planned)
                      : fmt::format("{}", live.run.epochs);
}

std::string metric_text(const LiveRun& live) {
  if (!live.metric) return "-";
  return fmt::format("{}={}", live.metric->name, readable(live.metric->type, live.metric->last));
}

std::string ranks_text(const LiveRun& live) {
  return live.run.start.rank ? fmt::format("{}", live.run.start.rank->world) : std::string("-");
}

bool has_ranks(std::span<const LiveRun> runs) {
  return std::ranges::any_of(runs,
                             [](const LiveRun& live) { return live.run.start.rank.has_value(); });
}

template <typename Print>
std::string or_dash(const std::optional<double>& value, Print print) {
  return value ? print(*value) : std::string("-");
}

/// "87 %"; of several GPUs their mean, "4: 87 %".
std::string gpus_text(const Samples& samples) {
  Spread shares;
  for (const detail::MeasureKind& kind : main_measures()) {
    const auto sample = samples.find(kind.name);
    if (sample != samples.end() && kind.name.starts_with("gpu")) shares.add(sample->second);
  }
  if (!shares.mean()) return "-";
  const std::string share = fmt::format("{:.0f} %", *shares.mean());
  return shares.count() == 1 ? share : fmt::format("{}: {}", shares.count(), share);
}

std::string sample_text(const Samples& samples, std::string_view measure) {
  for (const detail::MeasureKind& kind : main_measures()) {
    const auto sample = samples.find(kind.name);
    if (kind.name == measure && sample != samples.end()) return measure_text(kind, sample->second);
  }
  return "-";
}

void print_running(Context& context, const Snapshot& snapshot, std::size_t rows,
                   std::int64_t now_us) {
  const auto runs = std::span(snapshot.running).first(rows);
  const bool ranks = has_ranks(runs);
  const auto machines = std::span(snapshot.machines).first(rows);
  const auto has = [&](std::string_view measure) {
    return std::ranges::any_of(machines, [&](const Samples& samples) {
      return std::ranges::any_of(
          samples, [&](const auto& sample) { return sample.first.starts_with(measure); });
    });
  };
  const bool cpu = has("cpu"), gpu = has("gpu"), memory = has("memory");
  std::vector<Table::Column> columns{{"run"}, {"experiment"}};
  if (ranks) columns.push_back({"ranks", Align::right});
  for (const char* title : {"epochs", "an epoch", "left", "recording"}) {
    columns.push_back({title, Align::right});
  }
  if (cpu) columns.push_back({"CPU", Align::right});
  if (memory) columns.push_back({"memory", Align::right});
  if (gpu) columns.push_back({"GPU", Align::right});
  columns.push_back({"metric", Align::left, true});
  columns.push_back({"heard"});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const LiveRun& live = runs[i];
    table.add(short_key(live.run));
    table.add(live.run.start.experiment);
    if (ranks) table.add(ranks_text(live));
    table.add(epochs_of(live));
    table.add(or_dash(live.pace.epoch_seconds, duration));
    table.add(or_dash(live.pace.left_seconds, remaining));
    table.add(or_dash(live.pace.overhead, [](double share) { return percent(share, 1); }));
    if (cpu) table.add(sample_text(machines[i], "cpu"));
    if (memory) table.add(sample_text(machines[i], "memory"));
    if (gpu) table.add(gpus_text(machines[i]));
    table.add(metric_text(live));
    table.add(live.sign_us == 0 ? "-" : relative(live.sign_us, now_us));
  }
  table.print(context.out(), context.style());
}

void print_ended(Context& context, std::span<const LiveRun> runs, std::int64_t now_us) {
  const bool ranks = has_ranks(runs);
  std::vector<Table::Column> columns{{"run"}, {"experiment"}};
  if (ranks) columns.push_back({"ranks", Align::right});
  columns.insert(columns.end(),
                 {{"epochs", Align::right}, {"status"}, {"metric", Align::left, true}, {"ended"}});
  Table table(std::move(columns));
  for (const LiveRun& live : runs) {
    table.add(short_key(live.run));
    table.add(live.run.start.experiment);
    if (ranks) table.add(ranks_text(live));
    table.add(epochs_of(live));
    table.add(status_text(live.run), status_tone(live.run));
    table.add(metric_text(live));
    table.add(relative(live.ended_us(), now_us));
  }
  table.print(context.out(), context.style());
}

/// Prints at most `rows` rows, running runs first.
void Top::print_tables(Context& context, const Snapshot& snapshot, std::size_t rows,
                       std::int64_t now_us) const {
  const std::size_t running = std::min(rows, snapshot.running.size());
  const std::size_t ended = std::min(rows - running, snapshot.ended.size());
  if (running > 0) print_running(context, snapshot, running, now_us);
  if (running > 0 && ended > 0) context.out().write("\n");
  if (ended > 0) print_ended(context, std::span(snapshot.ended).first(ended), now_us);
  const std::size_t more = snapshot.running.size() + snapshot.ended.size() - running - ended;
  if (more > 0) context.out().write(fmt::format("and {} more\n", more));
}

Json live_json(const LiveRun& live) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json result = run_json(live.run);
  result["planned_epochs"] = live.planned ? Json(*live.planned) : Json();
  result["epoch_seconds"] = number(live.pace.epoch_seconds);
  result["left_seconds"] = live.is_running() ? number(live.pace.left_seconds) : Json();
  result["overhead"] = number(live.pace.overhead);
  result["metric"] = live.metric ? Json(live.metric->name) : Json();
  result["value"] = live.metric ? to_json(live.metric->type, live.metric->last) : Json();
  result["heard"] = live.sign_us == 0 ? Json() : json_time(live.sign_us);
  return result;
}

void print_json(Context& context, const Snapshot& snapshot) {
  Json result = document("top");
  result["running"] = result["ended"] = Json::array();
  for (std::size_t i = 0; i < snapshot.running.size(); ++i) {
    Json live = live_json(snapshot.running[i]);
    const Samples& machine = snapshot.machines[i];
    live["machine"] = machine.empty() ? Json() : Json(machine);
    result["running"].push_back(std::move(live));
  }
  for (const LiveRun& live : snapshot.ended) result["ended"].push_back(live_json(live));
  print(context.out(), result);
}

/// Draws over the last view in a single write, so that nothing flickers.
void Top::draw(Context& context) {
  constexpr int kOtherLines = 4;  // two titles, an empty line between the tables, and a line for
                                  // the prompt
  const std::int64_t now = now_us();
  const Snapshot snapshot = look(context, now);
  context.out().write("\x1b[2J\x1b[H");
  if (snapshot.running.empty()) context.out().write(fmt::format("{}\n", kNothing));
  const int rows = std::max(1, context.out().height() - kOtherLines);
  print_tables(context, snapshot, static_cast<std::size_t>(rows), now);
  context.out().flush();
}

int Top::run(Context& context) {
  for (const std::string& text : where_)
    (void)Condition(text);  // refuses a malformed condition at
                            // once
  if (!experiment_.empty() && context.catalog().count_runs(experiment_, 1) == 0) {
    std::string hint = did_you_mean(experiment_, context.catalog().experiments());
    if (hint.empty()) hint = ": 'flor list --experiments' names them all";
    throw NotFound(fmt::format("no experiment '{}'{}", printable(experiment_), hint));
  }
  if (once_ || context.json() || !context.out().is_terminal()) {
    const Snapshot snapshot = look(context, context.now_us());
    if (context.json()) {
      print_json(context, snapshot);
    } else {
      print_tables(context, snapshot, SIZE_MAX, context.now_us());
      if (snapshot.running.empty()) context.note(kNothing);
    }
    return 0;
  }
  is_redrawn_ = true;
  context.out().write("\x1b[?25l");
  const auto show_cursor = [&] {
    context.out().write("\x1b[?25h");
    context.out().flush();
  };
  try {
    follow(context.store(), [&] {
      draw(context);
      return true;
    });
  } catch (...) {
    show_cursor();
    throw;
  }
  show_cursor();
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_top() { return std::make_unique<Top>(); }

}  // namespace flor::cli
