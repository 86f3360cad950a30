// flor watch: evaluates each new checkpoint of a directory or of Flor's runs.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "commands/evaluate/watch_status.h"
#include "commands/evaluate/watch_stop.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "queue/open_queue.h"
#include "seats/engine_options.h"
#include "seats/places.h"
#include "shell/context.h"
#include "watch/directory_watch.h"
#include "watch/watch_coordinator.h"

#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace flor::cli {
namespace {

/// Appends metrics as "loss=0.5 n=3"; a member of an inner object is named "a.b".
void append_metrics(const Json& object, const std::string& prefix, std::string& line) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      append_metrics(value, prefix + name + ".", line);
    } else {
      const std::string text = value.is_string() ? value.get<std::string>() : compact(value);
      line += fmt::format(" {}{}={}", prefix, name, text);
    }
  }
}

class Watch final : public Command {
 public:
  std::string_view name() const override { return "watch"; }
  std::string_view summary() const override {
    return "evaluate each new checkpoint of a directory";
  }
  std::string_view lesson() const override {
    return R"(Starts an evaluation for each checkpoint that appears in DIR, as soon as it is complete, also for
those that came while no watch ran. SPEC is file.py:function or package.module.function, which is
called with the path and returns a dictionary; lib.so:symbol (flor/plugin/evaluator.h); or a program, which
gets the path for {} and prints JSON. DIR=SPEC evaluates one of the directories only. Without DIR it
helps others: it evaluates what they find. What is there when a directory is watched for the first time
is left alone, unless --existing is given. Ctrl-C stops the watch and returns unfinished jobs to the
queue. flor jobs shows results. With --experiment or --run it evaluates the checkpoints of Flor's
own runs, as they are committed; the results are metrics of the run (flor query accuracy.value).

--stop asks every watch of the store to end, on whatever machine, and waits until it has. Each
finishes its present evaluations and begins nothing; with --now that is ended, too, and goes back to the
queue. What waits in the queue stays there for the next watch. No process is killed.

Examples:
  flor watch runs/ --evaluator judge.py:accuracy
  flor watch runs/ --evaluator './judge --split test {}' --workers 4 --order newest
  flor watch runs/ --evaluator libjudge.so:judge --existing --until-idle
  flor watch a/ b/ -e a=quick.py:loss -e b=slow.py:accuracy --gpus 0,1
  flor watch -e judge.py:accuracy
  flor watch --experiment linear --evaluator judge.py:accuracy
  flor watch --status                   which watches run
  flor watch --stop                     end them after the present evaluations
  flor watch --stop --now               end them at once
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operands("DIR", directories_, "where checkpoints appear");
    syntax.option("--experiment", "NAME", experiments_,
                  "evaluate the runs of this experiment instead of a directory");
    syntax.option("--run", "RUN", runs_, "evaluate this run instead of a directory");
    syntax.option("--as", "FORM", form_,
                  "hand a run's checkpoint over as safetensors, pt or reference");
    syntax.flag("--status", status_, "show which watches run, and start none");
    syntax.flag("--stop", stop_, "end the watches of this store, and start none");
    syntax.flag("--now", stop_options_.now, "end running evaluations, too, with --stop");
    syntax.option("--wait", "SECONDS", stop_options_.wait_s,
                  "wait at most SECONDS, with --stop (default: until all have ended)");
    syntax.option("-e,--evaluator", "[DIR=]SPEC", evaluators_,
                  "evaluate with this one; may be given several times");
    syntax.option("--arguments", "JSON", arguments_, "tell the evaluator this object, too");
    syntax.option("--filter", "REGEX", filter_,
                  "take these names for checkpoints (default: .pt .pth .ckpt .safetensors .model "
                  ".state and step_5)");
    syntax.option("--marker", "NAME", marker_,
                  "take a checkpoint directory for complete when it has this file");
    syntax.flag("--existing", existing_, "evaluate what is there already, too");
    syntax.flag("--until-idle", until_idle_, "end when there is nothing left to evaluate");
    syntax.option("--patience", "SECONDS", patience_,
                  "fail, with --until-idle, once no result could be written for SECONDS "
                  "(default 60)");
    syntax.option("-w,--workers", "N", workers_,
                  "evaluate N at once with each evaluator (default 1, or one on each node)");
    syntax.option("--gpus", "LIST", gpus_,
                  "divide these GPUs among the workers, as 0,1 (default: one worker per GPU)");
    syntax.option("--queue", "URL", queue_,
                  "share jobs with other machines: redis://[[user]:password@]host:port[/db]");
    syntax.option("--order", "ORDER", order_, "evaluate in this order: fifo, newest or bisect");
    syntax.option("--timeout", "SECONDS", timeout_,
                  "end an evaluation after SECONDS (default: never)");
    syntax.option("--retries", "N", retries_, "try again N times after a failure (default 3)");
    syntax.option("--settle", "SECONDS", settle_,
                  "wait until a file of unknown format has been unchanged for SECONDS (default 2)");
    syntax.option("--watch-interval", "SECONDS", interval_,
                  "look at network file systems every SECONDS (default 5)");
    syntax.flag("--fresh", fresh_,
                "fork a process for each evaluation by a function of Python, which inherits "
                "nothing from those before it");
    syntax.flag("--poll", poll_, "poll even where the file system reports changes");
    syntax.option("--lease", "SECONDS", lease_,
                  "take a job over if its watch was silent for SECONDS (default 30)");
    engine_options_.setup(syntax, engine_);
    syntax.option("--idle", "SECONDS", idle_,
                  "free another machine after SECONDS without a job (default 60)");
    // options of Assayer, the original tool
    syntax.other_name("--directory", "name the directory alone: flor watch DIR --evaluator SPEC");
    syntax.other_name("--eval_existing", "use --existing");
    syntax.other_name("--num_eval_workers", "use --workers N");
    syntax.other_name("--regex_filter", "use --filter REGEX");
    syntax.other_name("--polling_interval",
                      "the file system tells of new checkpoints; where it cannot, use "
                      "--watch-interval SECONDS");
  }
  int run(Context& context) override;

 private:
  WatchPlan plan(Context& context) const;
  std::vector<store::CheckpointScope> scopes(Context& context) const;
  std::vector<std::filesystem::path> directories(Context& context) const;
  WatchPlan::Judge judge(std::string_view text,
                         const std::vector<std::filesystem::path>& directories) const;
  GroupPlan group() const;
  EngineWish engine(Handover handover) const;
  void print(Context& context, const JobEvent& event) const;
  int stop(Context& context) const;

  std::vector<std::string> directories_, experiments_, runs_, evaluators_;
  std::string filter_ = kDefaultFilter, marker_, order_ = "fifo", arguments_, gpus_, queue_;
  std::string form_ = "safetensors";
  std::string timeout_, settle_, interval_, lease_, patience_, idle_;
  EngineOptions engine_options_;
  EngineWish engine_;
  std::optional<std::uint64_t> workers_, retries_;
  bool fresh_ = false, existing_ = false, until_idle_ = false, poll_ = false, status_ = false,
       stop_ = false;
  StopOptions stop_options_;
};

store::JobOrder parse_order(const std::string& text) {
  if (text == "fifo") return store::JobOrder::fifo;
  if (text == "newest") return store::JobOrder::newest;
  if (text == "bisect") return store::JobOrder::bisect;
  throw UsageError(fmt::format("--order {}: it is fifo, newest or bisect", printable(text)));
}

std::chrono::milliseconds parse_seconds(const char* option, const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  // 1e9 seconds are 30 years
  if (text.empty() || *end != '\0' || !(seconds > 0) || seconds > 1e9) {
    throw UsageError(
        fmt::format("{} {}: give a number of seconds, e.g. 0.5", option, printable(text)));
  }
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1000)));
}

std::filesystem::path absolute_directory(const std::string& directory) {
  std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

/// The arguments as compact JSON, because their text is part of a job's identity.
std::string parse_arguments(const std::string& text) {
  if (text.empty()) return {};
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) {
    throw UsageError(fmt::format(
        "--arguments {}: give a JSON object, e.g. '{{\"split\": \"test\"}}'", printable(text)));
  }
  return compact(value);
}

/// Makes the directories that do not exist: the watch may be started before the training that
/// writes to them.
std::vector<std::filesystem::path> Watch::directories(Context& context) const {
  std::vector<std::filesystem::path> paths;
  for (const std::string& directory : directories_) {
    std::filesystem::path path = absolute_directory(directory);
    if (make_watched_directory(path)) {
      context.note(fmt::format("{} was not there yet: made", printable(path.string())));
    }
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  }
  return paths;
}

GroupPlan Watch::group() const {
  GroupPlan group;
  group.gpus = parse_gpus(gpus_);
  if (!timeout_.empty()) group.timeout = parse_seconds("--timeout", timeout_);
  const std::uint64_t nodes = engine_.slurm.nodes.value_or(1);
  const std::uint64_t workers =
      workers_.value_or(std::max<std::uint64_t>({1, nodes, group.gpus.size()}));
  if (workers < 1 || workers > 1000) {
    throw UsageError("--workers: give a number from 1 to 1000");
  }
  group.workers = static_cast<std::size_t>(workers);
  return group;
}

EngineWish Watch::engine(Handover handover) const {
  EngineWish engine = engine_;
  engine_options_.finish(engine);
  if (engine.is_local()) {
    if (!idle_.empty()) throw UsageError("--idle belongs to --engine slurm, ssh: or run:");
    return engine;
  }
  if (!gpus_.empty()) {
    throw UsageError("flor watch: --gpus are those of this machine: say --gres or --gpus-per-task");
  }
  // Other machines cannot open the store: it may lie on a file system where that would damage it.
  if (handover == Handover::reference) {
    throw UsageError(
        "flor watch: with --engine an evaluator gets a file, --as safetensors or pt: the store is "
        "this machine's");
  }
  return engine;
}

/// Parses "SPEC", or "DIR=SPEC" where DIR is one of the watched directories.
WatchPlan::Judge Watch::judge(std::string_view text,
                              const std::vector<std::filesystem::path>& directories) const {
  WatchPlan::Judge judge{.group = group()};
  if (const std::size_t equals = text.find('='); equals != text.npos && equals > 0) {
    const auto directory = absolute_directory(std::string(text.substr(0, equals)));
    if (std::ranges::find(directories, directory) != directories.end()) {
      judge.directory = directory;
      text.remove_prefix(equals + 1);
    }
  }
  judge.group.evaluator = parse_evaluator(text);
  judge.group.evaluator.fresh = fresh_;
  return judge;
}

std::vector<store::CheckpointScope> Watch::scopes(Context& context) const {
  std::vector<store::CheckpointScope> scopes;
  for (const std::string& name : experiments_) scopes.push_back({.experiment = name});
  for (const std::string& run : runs_) {
    scopes.push_back({.experiment = {}, .run = parse_whole_run(context, run).key});
  }
  if (!scopes.empty() && !directories_.empty()) {
    throw UsageError("flor watch: directories and runs need a watch each: name either");
  }
  // Jobs for runs name runs of this store, which a watch with another store would look up in its
  // own.
  if (!scopes.empty() && !queue_.empty()) {
    throw UsageError(
        "flor watch: the checkpoints of runs lie in this store, which watches elsewhere do not "
        "have: leave out --queue, or watch a directory");
  }
  return scopes;
}

/// Throws UsageError if the text holds a secret, because the store would keep it.
void refuse_secrets(const std::string& option, const std::string& text) {
  const std::string masked = store::masked(text);
  if (masked == text) return;
  throw UsageError(
      fmt::format("{} {}: a secret would be kept in the store: hand it over in the "
                  "environment of flor watch",
                  option, printable(masked)));
}

WatchPlan Watch::plan(Context& context) const {
  if (evaluators_.empty()) {
    throw UsageError("flor watch: name a directory, and say what judges (--evaluator SPEC)");
  }
  WatchPlan plan;
  plan.directories = directories(context);
  plan.scopes = scopes(context);
  plan.handover = parse_handover(form_);
  refuse_secrets("--arguments", arguments_);
  for (const std::string& text : evaluators_) {
    refuse_secrets("--evaluator", text);
    WatchPlan::Judge judge = this->judge(text, plan.directories);
    const bool of_files = !plan.directories.empty() || plan.handover == Handover::safetensors;
    if (!of_files) judge.group.evaluator.form = form_;
    const auto same = [&](const WatchPlan::Judge& other) {
      return other.group.evaluator.text() == judge.group.evaluator.text();
    };
    if (std::ranges::any_of(plan.judges, same)) {
      throw UsageError(
          fmt::format("--evaluator {} is given twice: for two directories use two "
                      "watches",
                      printable(text)));
    }
    plan.judges.push_back(std::move(judge));
  }
  plan.arguments = parse_arguments(arguments_);
  plan.finding.filter = Pattern("--filter", filter_);
  plan.finding.marker = marker_;
  plan.finding.only_poll = poll_;
  if (!settle_.empty()) plan.finding.settle = parse_seconds("--settle", settle_);
  if (!interval_.empty()) plan.finding.poll = parse_seconds("--watch-interval", interval_);
  if (!lease_.empty()) plan.lease = parse_seconds("--lease", lease_);
  plan.order = parse_order(order_);
  plan.engine = engine(plan.handover);
  if (!idle_.empty()) plan.idle = parse_seconds("--idle", idle_);
  if (retries_) {
    plan.retries.attempts =
        static_cast<std::int64_t>(std::min<std::uint64_t>(*retries_, 1'000'000'000)) + 1;
  }
  plan.existing = existing_;
  plan.until_idle = until_idle_;
  if (!patience_.empty()) plan.patience = parse_seconds("--patience", patience_);
  return plan;
}

void Watch::print(Context& context, const JobEvent& event) const {
  constexpr const char* kWords[] = {"done", "failed", "dead"};
  const char* const word = kWords[static_cast<int>(event.kind)];
  if (context.json()) {
    Json line{{"job", event.job}, {"state", word}, {"path", json_text(event.path)}};
    line["seconds"] = json_number(event.seconds);
    if (event.kind == JobEvent::Kind::done) {
      line["result"] = Json::parse(event.text, nullptr, false);
    } else {
      line["message"] = json_text(event.text);
    }
    context.out().write(compact(line) + "\n");
  } else {
    std::string text = event.kind == JobEvent::Kind::done ? "" : ": " + event.text;
    if (event.kind == JobEvent::Kind::done) {
      append_metrics(Json::parse(event.text, nullptr, false), "", text);
    }
    context.out().write(fmt::format("{} {} {}{} ({})\n", event.job, word,
                                    printable(shown_path(event.path)), printable(text),
                                    duration(event.seconds)));
  }
  context.out().flush();
}

int Watch::stop(Context& context) const {
  if (status_) throw UsageError("flor watch: --status and --stop exclude each other");
  if (!directories_.empty() || !evaluators_.empty() || !runs_.empty() || !experiments_.empty()) {
    throw UsageError(
        "flor watch --stop ends every watch of the store and takes no DIR, --evaluator, --run or "
        "--experiment: flor watch --stop [--now] [--wait SECONDS]");
  }
  return stop_watches(context, stop_options_);
}

int Watch::run(Context& context) {
  if (stop_) return stop(context);
  if (stop_options_.now || stop_options_.wait_s) {
    throw UsageError("--now and --wait belong to flor watch --stop");
  }
  if (status_) {
    const bool elsewhere = !queue_.empty();
    print_watch_status(
        context, *open_queue(elsewhere ? context.store_to_change() : context.store(), queue_));
    return static_cast<int>(ExitStatus::done);
  }
  // Blocked in all threads, because these signals are received through a descriptor.
  sigset_t stopping;
  ::sigemptyset(&stopping);
  ::sigaddset(&stopping, SIGINT);
  ::sigaddset(&stopping, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &stopping, nullptr);
  WatchPlan wanted = plan(context);
  store::Store& store = context.store_to_change(store::OpenMode::create);
  const auto queue = open_queue(store, queue_);
  WatchCoordinator coordinator(
      store, *queue, std::move(wanted), [&](const JobEvent& event) { print(context, event); },
      [&](const std::string& note) { context.note(note); });
  return static_cast<int>(coordinator.run());
}

}  // namespace

std::unique_ptr<Command> make_watch() { return std::make_unique<Watch>(); }

}  // namespace flor::cli
