// flor replay: asks a recorded run something, with every core and GPU.
#include "commands/commands.h"
#include "commands/replay_text.h"
#include "context.h"
#include "output/text.h"
#include "output/time.h"
#include "replay/coordinator.h"
#include "replay/facts.h"
#include "run_spec.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

class Replay final : public Command {
 public:
  std::string_view name() const override { return "replay"; }
  std::string_view summary() const override { return "ask a run something afterwards"; }
  std::string_view lesson() const override {
    return R"(Runs the recorded command again (or the program after --, usually the same one rebuilt with more
log statements) in several processes that share the epochs, and keeps what it logs. Nested loops are
skipped unless they are probed. What the same program has answered before is not computed again.

Examples:
  flor replay linear                          all epochs, a process for each set of cores
  flor replay linear --workers 2 --probe train
  flor replay linear --epochs 0,40..59        some of them
  flor replay linear --gpus 0,1,2,3           a process for each GPU
  flor replay linear --dry-run                who would do what, and how long it would take
  flor replay linear:81be002                  an old version, with its own code, built as needed
  flor replay 3f2a -- ./build/linear          another program than the recorded one
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "a run, or an experiment for its latest", false);
    syntax.operands("PROGRAM", program_, "after --: the program and its arguments");
    syntax.option("-w,--workers", "N", workers_, "processes; else as many as the cores allow");
    syntax.option("--gpus", "LIST", gpus_, "as 0,1: one process for each of these GPUs");
    syntax.option("-e,--epochs", "LIST", epochs_, "as A..B or 0,4..6; both ends are included");
    syntax.option("-p,--probe", "LOOP", probes_, "execute this nested loop instead of loading it");
    syntax.flag("--no-probe", no_probe_, "not even loops that the program marks as probed");
    syntax.option("--threads", "N", threads_, "threads of each process, instead of the recorded");
    syntax.flag("--strong", strong_, "walk to the epochs from the start of the run");
    syntax.flag("--again", again_, "also what has been answered before");
    syntax.flag("--own", own_, "build the version's own code, even if it is the latest");
    syntax.flag("--current", current_, "the program as it is now, even for an old version");
    syntax.option("--build", "COMMAND", build_, "what builds the version's own code");
    syntax.flag("-n,--dry-run", dry_run_, "run nothing, say what would be done");
    syntax.flag("-v,--verbose", verbose_, "show what the processes write");
  }
  int run(Context& context) override;

 private:
  int replay(Context& context) const;
  ReplayRequest request(Context& context) const;
  std::vector<Epochs> chosen_epochs(std::int64_t all, std::optional<std::int64_t> epoch) const;
  void share_cores(Context& context, ReplayRequest& request) const;
  void choose(Context& context, ReplayRequest& request, std::optional<int> threads) const;

  std::string run_, gpus_, epochs_, build_;
  std::vector<std::string> program_, probes_;
  std::optional<std::uint64_t> workers_, threads_;
  bool own_ = false, current_ = false;
  bool no_probe_ = false, strong_ = false, again_ = false, dry_run_ = false, verbose_ = false;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<Epochs> Replay::chosen_epochs(std::int64_t all,
                                          std::optional<std::int64_t> epoch) const {
  if (epoch && !epochs_.empty()) {
    throw UsageError(fmt::format("@{} and --epochs both say which epochs: give one", *epoch));
  }
  if (epoch) return detail::within_run({{*epoch, *epoch + 1}}, all);
  if (epochs_.empty()) return {{0, all}};
  try {
    return detail::within_run(detail::parse_epoch_list(epochs_), all);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--epochs {}: {}", printable(epochs_), error.what()));
  }
}

void check_probes(const std::vector<std::string>& probes,
                  const std::vector<store::LoopExecution>& executions) {
  std::set<std::string> loops;
  for (const auto& execution : executions) {
    loops.insert(execution.loop.substr(0, execution.loop.find('~')));
  }
  for (const std::string& probe : probes) {
    if (loops.contains(probe)) continue;
    const std::vector<std::string> known(loops.begin(), loops.end());
    std::string hint = did_you_mean(probe, known);
    if (hint.empty() && known.empty()) hint = ": it has none";
    throw UsageError(
        fmt::format("--probe {}: the run has no such nested loop{}", printable(probe), hint));
  }
}

void Replay::share_cores(Context& context, ReplayRequest& request) const {
  const auto cores = static_cast<std::int64_t>(cores_here().size());
  const int threads = request.launch.threads;
  const ReplayPool pool(request.facts, request.asked, 1);
  std::int64_t workers = std::max<std::int64_t>(cores / threads, 1);
  if (!request.gpus.empty()) workers = static_cast<std::int64_t>(request.gpus.size());
  if (workers_) workers = static_cast<std::int64_t>(*workers_);
  request.workers = static_cast<int>(std::min(workers, pool.pieces_at_most()));
  request.cores = core_sets(request.workers, threads);
  if (static_cast<std::int64_t>(request.workers) * threads > cores) {
    context.note(
        fmt::format("{} x {} threads (as recorded) are more than the {} core{} here: they "
                    "will be in each other's way",
                    request.workers == 1 ? "1 worker" : fmt::format("{} workers", request.workers),
                    threads, cores, cores == 1 ? "" : "s"));
  }
}

/// RUN was written as NAME:COMMIT.
bool names_version(const store::Run& run, std::string_view text) {
  text = text.substr(0, text.rfind('@'));
  const std::size_t colon = text.rfind(':');
  return colon != text.npos && text != run.start.experiment &&
         text.substr(0, colon) == run.start.experiment;
}

void Replay::choose(Context& context, ReplayRequest& request, std::optional<int> threads) const {
  if (static_cast<int>(own_) + static_cast<int>(current_) + static_cast<int>(!program_.empty()) +
          static_cast<int>(!build_.empty()) >
      1) {
    throw UsageError(
        "--own, --current, --build and a program after -- each say which program: give one");
  }
  if (!program_.empty()) {
    request.launch = launch_of(request.run, program_, threads);
    return;
  }
  ProgramChoice choice = choose_program(context, request.run,
                                        {.command = build_,
                                         .own = own_,
                                         .current = current_,
                                         .named_version = names_version(request.run, run_),
                                         .dry_run = dry_run_});
  request.launch = launch_of(request.run, choice, threads);
  request.order.as_recorded = choice.as_recorded;
  if (!choice.version) return;
  request.order.sources = choice.version->built.sources.string();
  request.version = std::make_shared<VersionWithTree>(std::move(*choice.version));
}

ReplayRequest Replay::request(Context& context) const {
  const store::Catalog& catalog = context.catalog();
  ReplayRequest request;
  std::optional<std::int64_t> epoch;
  if (run_.empty()) {
    request.run = default_run(catalog);
  } else {
    RunChoice choice = parse_run(catalog, run_);
    request.run = std::move(choice.run);
    epoch = choice.epoch;
  }
  if (request.run.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is still being recorded: replay it when it has ended",
                           short_key(request.run)));
  }
  if (workers_ && (*workers_ == 0 || *workers_ > 4096)) {
    throw UsageError(fmt::format("--workers {}: expected 1 to 4096", *workers_));
  }
  if (threads_ && (*threads_ == 0 || *threads_ > 4096)) {
    throw UsageError(fmt::format("--threads {}: expected 1 to 4096", *threads_));
  }
  for (const std::string& words : probes_) {
    for (std::string& probe : split(words)) request.order.probes.push_back(std::move(probe));
  }
  check_probes(request.order.probes, catalog.executions(request.run.id));
  const std::vector<store::MainLoop> loops = catalog.main_loops(request.run.id);
  std::int64_t all = 0;
  for (const store::MainLoop& loop : loops) all += loop.iterations;
  request.asked = parts_of(loops, chosen_epochs(all, epoch));
  if (request.asked.empty()) {
    throw NotFound(fmt::format("run {} has no complete epoch: there is nothing to replay",
                               short_key(request.run)));
  }
  const auto threads = threads_ ? std::optional(static_cast<int>(*threads_)) : std::nullopt;
  choose(context, request, threads);
  request.facts = replay_facts(catalog, request.run, request.order.probes);
  request.gpus = split(gpus_);
  request.order.run = request.run.key;
  request.order.home = context.store().home().string();
  request.order.no_probe = no_probe_;
  request.order.strong = strong_;
  request.order.threads = threads;
  request.again = again_;
  request.verbose = verbose_;
  share_cores(context, request);
  return request;
}

/// What of it has been answered is left out.
std::set<std::int64_t> to_do(const store::Catalog& catalog, const ReplayRequest& request) {
  std::set<std::int64_t> parts = request.asked;
  if (request.again) return parts;
  const std::string question =
      detail::question_of(request.launch.digest, request.launch.arguments, request.order);
  for (const auto& part : catalog.replayed(request.run.id, question)) parts.erase(part.part);
  return parts;
}

/// The logs of the last replays are kept.
fs::path make_room_for_logs(const fs::path& home, const store::Run& run) {
  constexpr std::size_t kKept = 20;
  const fs::path logs = home / "logs";
  std::vector<fs::directory_entry> old;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(logs, error)) old.push_back(entry);
  std::ranges::sort(old, {}, [](const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.last_write_time(unknown);
  });
  for (std::size_t i = 0; i + kKept <= old.size(); ++i) fs::remove_all(old[i], error);
  return logs / fmt::format("replay-{}-{}", short_key(run), ::getpid());
}

int Replay::run(Context& context) {
  try {
    return replay(context);
  } catch (const BuildError& error) {
    context.note(error.what());
    print_build_error(context, error);
    return static_cast<int>(error.status());
  }
}

int Replay::replay(Context& context) const {
  ReplayRequest asked = request(context);
  const std::set<std::int64_t> missing = to_do(context.catalog(), asked);
  const Simulation plan = simulate(asked.facts, asked.facts, missing, asked.workers);
  if (dry_run_) {
    print_plan(context, asked, missing, plan);
    return static_cast<int>(ExitStatus::done);
  }
  context.note(fmt::format("replaying run {} with {} ({})", title(asked.run),
                           printable(asked.launch.program), asked.launch.why));
  store::Store& store = context.store_to_change();
  asked.logs = make_room_for_logs(store.home(), asked.run);
  Progress progress(!context.json() && ::isatty(2) == 1);
  Coordinator coordinator(store, asked, progress);
  const ReplayOutcome outcome = coordinator.run();
  const ReplaySummary summary = summarize(asked, outcome, plan.seconds);
  if (outcome.replay > 0 && outcome.failed.empty() && outcome.missing.empty()) {
    store::ReplayResult result = summary.total;
    result.finished_us = now_us();
    store.catalog().finish_replay(outcome.replay, result);
  }
  print_summary(context, asked, outcome, summary);
  if (outcome.interrupted) return static_cast<int>(ExitStatus::interrupted);
  if (!outcome.failed.empty() || !outcome.missing.empty()) {
    const bool some = !outcome.done.empty() || !outcome.earlier.empty();
    return static_cast<int>(some ? ExitStatus::partly_done : ExitStatus::failed);
  }
  return static_cast<int>(summary.total.verdict == store::Verdict::differs ? ExitStatus::differs
                                                                           : ExitStatus::done);
}

}  // namespace

std::unique_ptr<Command> make_replay() { return std::make_unique<Replay>(); }

}  // namespace flor::cli
