// flor sweep: records a program with many combinations of its arguments.
#include "build/program_launch.h"
#include "commands/commands.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "seats/engine_options.h"
#include "seats/places.h"
#include "shell/context.h"
#include "sweep/sweep_coordinator.h"
#include "sweep/sweep_table.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace flor::cli {
namespace {

class Sweep final : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override {
    return "record a program with many combinations of arguments";
  }
  std::string_view lesson() const override {
    return R"(Records PROGRAM once for each point: each combination of the values behind
--kwargs, as flor::arg reads them. NAME=A,B is a list, NAME=1..5 are whole numbers, 'NAME="a,b",c'
has a text with a comma. With --random N points are drawn, also from ranges: lr=1e-5..1e-2:log,
dropout=0.0..0.5; the same seed draws the same. --points FILE has a point a line: CSV with a line of
names, or JSON objects.

A recording that ends before its end is resumed from its last checkpoint. Ctrl-C lets each take one
more; the same command goes on with what is not finished, and so does --resume. A point that is
finished is not recorded again. The runs have the name of the sweep as an argument: --where
sweep=SWEEP chooses them in every command. --stop-poor loss:min ends a run whose best loss is worse
than the median of what the others had on average until that epoch; it is tagged stopped-early.

Examples:
  flor sweep -- ./train --flor spirals --kwargs lr=1e-3,1e-2 hidden=256,512
  flor sweep search --random 20 -- ./train --kwargs lr=1e-5..1e-2:log hidden=64..512
  flor sweep --points points.csv --workers 4 -- python3 train.py
  flor sweep --stop-poor loss:min --after 5 -- ./train --kwargs lr=0.1,0.01,0.001,0.0001
  flor sweep --engine slurm --workers 8 --gpus-per-task 1 -- ./train --kwargs seed=1..32
  flor sweep                                 the sweeps of this store
  flor sweep search -m loss:min           its table, the smallest loss first
  flor sweep search --resume              go on with what is not finished
  flor query loss --where sweep=search --group-by hidden
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("SWEEP", sweep_, "its name (default: made of the experiment and the points)",
                   false);
    syntax.rest("PROGRAM", words_.program, "after --: the program, its arguments and --kwargs");
    syntax.option("--random", "N", words_.random, "draw N points instead of taking all", 1);
    syntax.option("--seed", "S", seed_, "draw others, with --random (default 0)");
    syntax.option("--points", "FILE", points_, "take points from a CSV file, or from JSON lines");
    syntax.flag("--resume", resume_, "continue SWEEP, whose program is known");
    syntax.option("-m,--metric", "METRIC", metric_, "rank the points by it, as loss:min");
    syntax.option("--stop-poor", "METRIC", stop_poor_,
                  "end runs early that are worse than most, as loss:min");
    syntax.option("--after", "EPOCHS", after_,
                  "give each run so many epochs first, with --stop-poor (default 1)", 1);
    syntax.option("--retries", "N", retries_,
                  "try N times in a row where a run does not get further (default 3)");
    syntax.option("-w,--workers", "N", workers_,
                  "record N at once (default: as many as the cores allow)", 1);
    syntax.option("--gpus", "LIST", gpus_, "use one process for each of these GPUs, as 0,1");
    syntax.option("--threads", "N", threads_,
                  "compute with N threads each (default: the cores are shared out)", 1);
    engine_options_.setup(syntax, engine_);
    syntax.flag("--dry-run", dry_run_, "show the points, and record nothing");
    syntax.other_name("--name", "the name is the operand: flor sweep NAME -- PROGRAM");
    syntax.other_name("--count", "use --random N");
  }
  int run(Context& context) override;

 private:
  void check_options() const;
  SweepPlan plan(Context& context);
  SweepPlan known_plan(Context& context) const;
  SweepWish wish();
  SweepTable table() const;
  void show_points(Context& context, const SweepPlan& plan) const;
  int record(Context& context, const SweepPlan& plan);

  std::string sweep_, points_, metric_, stop_poor_, gpus_;
  std::optional<std::uint64_t> seed_, after_, retries_, workers_, threads_;
  SweepWords words_;
  EngineOptions engine_options_;
  EngineWish engine_;
  bool resume_ = false, dry_run_ = false;
};

SweepAxis read_rows(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw NotFound(fmt::format("cannot read {}", printable(file)));
  return parse_rows(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

void Sweep::check_options() const {
  const bool begins = !words_.program.empty();
  if (resume_ && begins) {
    throw UsageError("--resume goes on with a program that is known: leave out what is after --");
  }
  if (resume_ && sweep_.empty()) {
    throw UsageError("--resume: which sweep? 'flor sweep' lists them: flor sweep SWEEP --resume");
  }
  if (!begins && (words_.random || !points_.empty())) {
    throw UsageError("--random and --points say points for the program after --: name it");
  }
  if (seed_ && !words_.random) throw UsageError("--seed belongs to --random");
  if (after_ && stop_poor_.empty()) throw UsageError("--after belongs to --stop-poor");
  if (!begins && !resume_ && (workers_ || !gpus_.empty() || !stop_poor_.empty())) {
    throw UsageError("nothing would be recorded: add --resume, or a program after --");
  }
}

SweepPlan Sweep::known_plan(Context& context) const {
  if (auto plan = read_plan(context.store(), sweep_)) return *std::move(plan);
  const auto names = sweep_names(context.store());
  throw NotFound(fmt::format("no sweep '{}'{}", printable(sweep_), did_you_mean(sweep_, names)));
}

/// The stored plan of the sweep that is to be continued, or a new plan.
SweepPlan Sweep::plan(Context& context) {
  if (words_.program.empty()) return known_plan(context);
  words_.name = sweep_;
  words_.seed = seed_.value_or(0);
  if (!points_.empty()) words_.rows = read_rows(points_);
  SweepPlan wanted = make_plan(words_, std::filesystem::current_path(), context.now_us());
  if (dry_run_) return wanted;
  const store::Store& store = context.store_to_change(store::OpenMode::create);
  auto known = read_plan(store, wanted.name);
  if (!known) {
    write_plan(store, wanted);
    return wanted;
  }
  if (known->is_same(wanted)) return *std::move(known);
  throw UsageError(
      fmt::format("sweep {} has other points, or another program: give this one another name, or "
                  "go on with that one: flor sweep {} --resume",
                  wanted.name, wanted.name));
}

SweepWish Sweep::wish() {
  SweepWish wish;
  wish.gpus = parse_gpus(gpus_);
  const auto cores = std::max<std::size_t>(cores_here().size(), 1);
  const char* given = std::getenv("OMP_NUM_THREADS");
  std::size_t threads = threads_.value_or(given ? std::strtoul(given, nullptr, 10) : 0);
  const bool local = engine_.is_local();
  std::size_t workers = workers_.value_or(wish.gpus.size());
  if (workers == 0) {
    workers = local ? std::max<std::size_t>(cores / std::max<std::size_t>(threads, 1), 1)
                    : usual_seats(engine_);
  }
  if (threads > 0 && engine_.kind == EngineWish::Kind::slurm) {
    for (auto* options : {&engine_.slurm.sbatch, &engine_.slurm.srun}) {
      options->insert(options->begin(), fmt::format("--cpus-per-task={}", threads));
    }
  }
  if (threads == 0 && local) threads = std::max<std::size_t>(cores / workers, 1);
  wish.workers = workers;
  wish.order.threads = static_cast<int>(threads);
  if (!stop_poor_.empty()) {
    wish.order.stop = {.goal = Goal::parse("--stop-poor", stop_poor_), .after = after_.value_or(1)};
  }
  if (retries_) wish.retries = *retries_;
  return wish;
}

SweepTable Sweep::table() const {
  const std::string& goal = metric_.empty() ? stop_poor_ : metric_;
  if (goal.empty()) return {};
  return {.goal = Goal::parse(metric_.empty() ? "--stop-poor" : "--metric", goal)};
}

void Sweep::show_points(Context& context, const SweepPlan& plan) const {
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    std::string line;
    for (const std::string& word : plan.beginning(i)) {
      line += fmt::format("{}{}", line.empty() ? "" : " ", shell_word(word));
    }
    context.out().write(printable(line) + "\n");
  }
}

int Sweep::record(Context& context, const SweepPlan& plan) {
  const store::Store& store = context.store_to_change();
  SweepWish wish = this->wish();
  SweepCoordinator coordinator(store, plan, engine_, std::move(wish),
                               [&](const std::string& text) { context.note(text); });
  if (coordinator.has_work()) {
    context.note(fmt::format("sweep {}: {}", plan.name, count_states(point_states(store, plan))));
  }
  coordinator.run();
  const std::vector<PointState> states = point_states(store, plan);
  print_sweep(context, store, plan, states, table());
  context.note(fmt::format("sweep {}: {}", plan.name, count_states(states)));
  if (coordinator.was_interrupted()) {
    context.note(fmt::format("flor sweep {} --resume goes on", plan.name));
    return static_cast<int>(ExitStatus::interrupted);
  }
  const bool all = std::ranges::all_of(states, &PointState::is_done);
  return static_cast<int>(all ? ExitStatus::done : ExitStatus::partly_done);
}

int Sweep::run(Context& context) {
  check_options();
  engine_options_.finish(engine_);
  if (!engine_.is_local() && !gpus_.empty()) {
    throw UsageError("flor sweep: --gpus are those of this machine: say --gres or --gpus-per-task");
  }
  const SweepTable shown = table();
  if (sweep_.empty() && words_.program.empty()) {
    return static_cast<int>(print_sweeps(context, context.store()));
  }
  const SweepPlan plan = this->plan(context);
  if (dry_run_) {
    show_points(context, plan);
    return static_cast<int>(ExitStatus::done);
  }
  if (!words_.program.empty() || resume_) return record(context, plan);
  const std::vector<PointState> states = point_states(context.store(), plan);
  print_sweep(context, context.store(), plan, states, shown);
  context.note(fmt::format("sweep {}: {}", plan.name, count_states(states)));
  return static_cast<int>(ExitStatus::done);
}

}  // namespace

std::unique_ptr<Command> make_sweep() { return std::make_unique<Sweep>(); }

}  // namespace flor::cli
