// flor replay: executes a recorded run again to answer a question, on all cores and GPUs.
#include "choose/run_spec.h"
#include "commands/commands.h"
#include "hindsight/all_versions.h"
#include "hindsight/one_run.h"
#include "output/terminal_text.h"
#include "remote/far_run.h"
#include "replay/replay_text.h"
#include "retention/checkpoint_address.h"
#include "seats/engine_options.h"
#include "shell/context.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace flor::cli {
namespace {

class Replay final : public Command {
 public:
  std::string_view name() const override { return "replay"; }
  std::string_view summary() const override { return "rerun a run to get values it did not log"; }
  std::string_view lesson() const override {
    return R"(Runs the recorded command again (or the program after --, usually the same one rebuilt with more
log statements) in several processes that share the epochs, and keeps what it logs. Nested loops are
skipped unless they are probed. What the same program has answered before is not computed again.

Examples:
  flor replay linear                          all epochs, a process for each set of cores
  flor replay linear --workers 2 --probe train
  flor replay linear --epochs 0,40..59        some of them
  flor replay linear --step 0,last            of each nested loop its first and its last iteration
  flor replay linear --check                  a test: does the changed program still compute the same?
  flor replay linear --coarse                 the shape of the curve first, then the rest
  flor replay linear --gpus 0,1,2,3           a process for each GPU
  flor replay linear --plugin ./norms.so      a new metric for every epoch, from the stored states
  flor replay linear --dry-run                who would do what, and how long it would take
  flor replay linear:81be002                  an old version, with its own code, built as needed
  flor replay linear --all-versions --apply --where 'lr<0.01 and accuracy>0.9'
                                              ask old versions what the work tree now logs
  flor replay 3f2a -- ./build/linear          another program than the recorded one, or the only
                                              one that may be executed of a run from elsewhere
  flor replay linear@12 --from s3://bucket/prefix
                                              a run that is elsewhere: what it reads is fetched
  flor replay ddp --rank 0                    one rank alone, where nothing needs the others
  flor replay linear --engine slurm --workers 8 --gpus-per-task 1 --time 2:00:00
                                              on the nodes of a cluster
  flor replay linear --engine ssh:node1,node2 on machines that share the store
)";
  }
  void setup(Syntax& syntax) override {
    syntax.operand("RUN", run_, "a run, or an experiment for its latest", false);
    syntax.rest("PROGRAM", program_, "after --: the program and its arguments");
    syntax.option("-w,--workers", "N", wish_.workers,
                  "use N processes (default: as many as the cores allow)");
    syntax.option("--gpus", "LIST", wish_.gpus, "use one process for each of these GPUs, as 0,1");
    syntax.option("--epochs", "EPOCHS", wish_.epochs,
                  "replay only these: A..B, both included, 0,4..6, or sample:N");
    syntax.option("--step", "STEPS", wish_.steps,
                  "keep only values of these steps of nested loops: 0,10..20,last or sample:N");
    syntax.flag("--check", wish_.check,
                "execute all loops of a sample, and fail if the program now computes other bits");
    syntax.flag("--coarse", wish_.coarse,
                "begin with a tenth of the epochs, spread over the run, then go finer");
    syntax.option("--probe", "LOOP", wish_.probes,
                  "execute this nested loop instead of loading it");
    syntax.option("--plugin", "FILE", wish_.plugin,
                  "show the recorded states to this plug-in (docs/replay.md)");
    syntax.flag("--no-probe", wish_.no_probe, "load even loops that the program marks as probed");
    syntax.option("--threads", "N", wish_.threads,
                  "compute with N threads a process (default: as recorded)");
    syntax.option("--override", "NAME=VALUE", wish_.overrides,
                  "give the program another value of an argument such as device or workers");
    syntax.option("--rank", "R", wish_.rank,
                  "replay this rank of a group alone (default: all ranks together)");
    syntax.flag("--strong", wish_.strong, "walk to the epochs from the start of the run");
    syntax.flag("--again", wish_.again, "compute again what has been answered before");
    syntax.flag("--verify", wish_.verify,
                "execute an epoch to verify what was found, however long it takes");
    syntax.option("--verify-epochs", "N|all|none", wish_.verify_epochs,
                  "execute N epochs to verify (default: 1, if it takes no longer than the replay, "
                  "or a minute)");
    syntax.flag("--own", own_, "build the version's own code, even if it is the latest");
    syntax.flag("--current", current_, "run the program as it is now, even for an old version");
    syntax.option("--build", "COMMAND", build_, "build the version's own code with this command");
    syntax.flag("--trust", trust_,
                "execute commands of a run from elsewhere, and do not ask");
    syntax.flag("--all-versions", all_versions_,
                "ask every version of the experiment, each built anew");
    syntax.flag("--apply", apply_, "add the log statements that the work tree adds to the newest");
    syntax.option("--where", "CONDITION", where_,
                  "choose only runs for which this holds, as 'lr<0.01'");
    syntax.option("--versions", "LIST", versions_, "ask only these commits, as A..B or A,B");
    syntax.option("--hunks", "LIST", hunks_,
                  "add only these log statements, by number or by what they log: 1,norm");
    syntax.option("--from", "URL", from_,
                  "fetch what the replay reads of a run in this object store");
    engine_options_.setup(syntax, wish_.engine);
    syntax.option("--shared", "DIR", wish_.engine.shared,
                  "share this directory with the other machines, instead of the store");
    syntax.flag("--dry-run", dry_run_, "show what would be done, and run nothing");
    syntax.flag("-v,--verbose", wish_.verbose, "show what the processes write");
    syntax.other_name("-n", "use --dry-run");
    syntax.other_name("-p", "use --probe LOOP");
    syntax.other_name("-e", "use --epochs EPOCHS");
  }
  int run(Context& context) override;

 private:
  int replay(Context& context) const;
  ChosenLaunches choose(Context& context, const std::vector<store::Run>& ranks) const;

  void choose_engine();

  std::string run_, build_, versions_, hunks_, from_;
  EngineOptions engine_options_;
  std::vector<std::string> program_, where_;
  ReplayWish wish_;
  bool own_ = false, current_ = false, dry_run_ = false, all_versions_ = false, apply_ = false,
       trust_ = false;
};

/// Whether the user wrote RUN as NAME:COMMIT.
bool names_version(const store::Run& run, std::string_view text) {
  text = store::run_of_spec(text);
  const std::size_t colon = text.rfind(':');
  return colon != text.npos && text != run.start.experiment &&
         text.substr(0, colon) == run.start.experiment;
}

ChosenLaunches Replay::choose(Context& context, const std::vector<store::Run>& ranks) const {
  if (static_cast<int>(own_) + static_cast<int>(current_) + static_cast<int>(!program_.empty()) +
          static_cast<int>(!build_.empty()) >
      1) {
    throw UsageError(
        "--own, --current, --build and a program after -- each say which program: give one");
  }
  ChosenLaunches chosen;
  const std::optional<int> threads = wish_.threads_given();
  if (!program_.empty()) {
    for (const store::Run& rank : ranks) {
      chosen.launches.push_back(launch_of(rank, program_, threads));
    }
    return chosen;
  }
  Gate gate(context, Gate::Use::replay, trust_);
  std::vector<Permit> permits;
  for (const store::Run& rank : ranks) {
    require_program(rank);
    permits.push_back(gate.pass(rank));
  }
  ProgramChoice choice = choose_program(context, ranks.front(), permits.front(),
                                        {.command = build_,
                                         .own = own_,
                                         .current = current_ || wish_.check,
                                         .named_version = names_version(ranks.front(), run_),
                                         .dry_run = dry_run_});
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    chosen.launches.push_back(launch_of(ranks[i], choice, permits[i], threads));
  }
  chosen.as_recorded = choice.as_recorded;
  if (!choice.version) return chosen;
  chosen.sources = choice.version->built.sources.string();
  chosen.version = std::make_shared<VersionWithTree>(std::move(*choice.version));
  return chosen;
}

void Replay::choose_engine() {
  engine_options_.finish(wish_.engine);
  if (!wish_.engine.is_local()) wish_.from = from_;
}

int Replay::run(Context& context) {
  try {
    choose_engine();
    return replay(context);
  } catch (const BuildError& error) {
    context.note(error.what());
    print_build_error(context, error);
    return static_cast<int>(error.status());
  }
}

int Replay::replay(Context& context) const {
  if (wish_.check && (all_versions_ || own_ || !build_.empty() || !wish_.plugin.empty() ||
                      wish_.no_probe || !wish_.verify_epochs.empty() || wish_.verify)) {
    throw UsageError(
        "--check executes the program as it is now, with all loops: leave out "
        "--all-versions, --own, --build, --plugin, --no-probe, --verify and --verify-epochs");
  }
  std::string spec = run_;
  std::optional<FarRun> far;
  if (!from_.empty()) {
    if (all_versions_ || dry_run_ || run_.empty()) {
      throw UsageError(
          "--from fetches one run, which is named: leave out --all-versions and --dry-run");
    }
    // NAME may mean another run in this store than in the object store.
    far.emplace(context, run_, from_);
    spec = far->key() + run_.substr(store::run_of_spec(run_).size());
  }
  if (all_versions_) {
    if (!program_.empty() || own_ || current_) {
      throw UsageError(
          "--all-versions builds each version's own code: leave out --own, --current "
          "and a program after --");
    }
    return replay_all_versions(context, {.experiment = run_,
                                         .versions = versions_,
                                         .where = where_,
                                         .hunks = hunks_,
                                         .build = build_,
                                         .apply = apply_,
                                         .trust = trust_,
                                         .dry_run = dry_run_,
                                         .replay = wish_});
  }
  if (apply_ || !where_.empty() || !versions_.empty() || !hunks_.empty()) {
    throw UsageError("--apply, --where, --versions and --hunks belong to --all-versions");
  }
  std::optional<std::int64_t> epoch;
  store::Run run;
  if (run_.empty()) {
    run = run_to_replay(context, program_);
  } else {
    RunChoice choice = run_to_replay(context, spec, program_);
    run = std::move(choice.run);
    epoch = choice.epoch;
  }
  if (!dry_run_)
    context.store_to_change();  // fails before anything is printed if the store cannot
                                // be written
  ReplayWish wish = wish_;
  if (wish.check && wish.epochs.empty() && !epoch) wish.epochs = "sample";
  ReplayRequest request = replay_request(context, run, epoch, wish,
                                         [&](const auto& ranks) { return choose(context, ranks); });
  if (dry_run_) {
    const auto missing = parts_to_do(context.catalog(), request);
    const Simulation plan = simulate(request.facts, request.facts, missing, request.workers,
                                     Reach::any, request.epoch_order);
    print_plan(context, request, missing, plan);
    return static_cast<int>(ExitStatus::done);
  }
  if (far) far->keep();
  const RunReplay replay = replay_run(context, std::move(request));
  if (far) far->note(context);
  print_summary(context, replay.request, replay.outcome, replay.summary);
  if (wish_.check && replay.compared_nothing() && !replay.outcome.interrupted) {
    context.note(
        "nothing was compared: no value was logged in these epochs, and the states at their ends "
        "are not stored: choose others with --epochs, or record with --flor_every 1");
  }
  return static_cast<int>(replay.status());
}

}  // namespace

std::unique_ptr<Command> make_replay() { return std::make_unique<Replay>(); }

}  // namespace flor::cli
