#include "hindsight/one_run.h"

#include "checkpoint/elsewhere.h"
#include "choose/run_spec.h"
#include "file/home_files.h"
#include "launch/left_jobs.h"
#include "maintain/shared_view.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/plugin_file.h"
#include "replay/launch_facts.h"
#include "replay/verify_replay.h"
#include "seats/cluster_engine.h"
#include "seats/places.h"
#include "seats/seat_session.h"
#include "shell/context.h"
#include "shell/current_settings.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <filesystem>
#include <set>
#include <tuple>

namespace flor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSample = "sample";

/// Parses "sample" and "sample:N" of --epochs: the number of epochs to choose. Returns nullopt for
/// a list of epochs. Throws UsageError.
std::optional<std::int64_t> parse_sample(std::string_view text) {
  constexpr std::int64_t kUsual = 3;
  if (!text.starts_with(kSample)) return std::nullopt;
  text.remove_prefix(kSample.size());
  if (text.empty()) return kUsual;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 1, end, count);
  if (text.front() != ':' || error != std::errc() || at != end || count < 1) {
    throw UsageError(fmt::format("--epochs {}{}: expected sample:N, with N of at least 1", kSample,
                                 printable(text)));
  }
  return count;
}

/// The names of the nested loops that the run executed.
std::set<std::string> nested_loops(const std::vector<store::LoopExecution>& executions) {
  std::set<std::string> loops;
  for (const auto& execution : executions) {
    loops.insert(execution.loop.substr(0, execution.loop.find('~')));
  }
  return loops;
}

/// Parses --epochs for a run with `all` epochs.
std::vector<Epochs> epoch_list(const ReplayWish& wish, std::int64_t all,
                               const std::optional<store::Fork>& fork) {
  const std::int64_t first = fork ? fork->first() : 0;
  if (wish.epochs.empty()) return {{first, all}};
  try {
    auto epochs = detail::within_run(detail::parse_epoch_list(wish.epochs), all);
    if (fork) detail::refuse_copied(epochs, first, fork->parent);
    return epochs;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--epochs {}: {}", printable(wish.epochs), error.what()));
  }
}

std::vector<Epochs> chosen_epochs(const ReplayWish& wish, std::int64_t all,
                                  std::optional<std::int64_t> epoch,
                                  const std::optional<store::Fork>& fork) {
  if (epoch && !wish.epochs.empty()) {
    throw UsageError(fmt::format("@{} and --epochs both say which epochs: give one", *epoch));
  }
  if (!epoch) return epoch_list(wish, all, fork);
  auto epochs = detail::within_run({{*epoch, *epoch + 1}}, all);
  if (fork) detail::refuse_copied(epochs, fork->first(), fork->parent);
  return epochs;
}

void check_probes(const std::vector<std::string>& probes,
                  const std::vector<store::LoopExecution>& executions) {
  const std::set<std::string> loops = nested_loops(executions);
  for (const std::string& probe : probes) {
    if (loops.contains(probe)) continue;
    const std::vector<std::string> known(loops.begin(), loops.end());
    std::string hint = did_you_mean(probe, known);
    if (hint.empty() && known.empty()) hint = ": it has none";
    throw UsageError(
        fmt::format("--probe {}: the run has no such nested loop{}", printable(probe), hint));
  }
}

/// The runs that the processes of a worker replay: all ranks of the group, or the `wanted` one.
std::vector<store::Run> ranks_of(const store::Catalog& catalog, const store::Run& run,
                                 std::optional<std::uint64_t> wanted) {
  const auto& place = run.start.rank;
  if (!place) {
    if (wanted) {
      throw UsageError(fmt::format("--rank {}: run {} has no ranks", *wanted, short_key(run)));
    }
    return {run};
  }
  std::vector<store::Run> ranks;
  for (store::Run& rank : catalog.ranks(place->group)) {
    const auto number = static_cast<std::uint64_t>(rank.start.rank->rank);
    if (wanted && number != *wanted) continue;
    if (rank.state == store::RunState::running) {
      throw Busy(
          fmt::format("rank {} is still being recorded: replay it when it has ended", number));
    }
    ranks.push_back(std::move(rank));
  }
  if (wanted && ranks.empty()) {
    throw NotFound(
        fmt::format("--rank {}: not in the store; run {} was recorded with ranks 0 to {}", *wanted,
                    short_key(run), place->world - 1));
  }
  if (!wanted && static_cast<std::int64_t>(ranks.size()) != place->world) {
    throw NotFound(fmt::format(
        "of the {} ranks of run {} only {} are in the store: --rank R replays one alone",
        place->world, short_key(run), ranks.size()));
  }
  return ranks;
}

/// The main loops with as many iterations as all ranks have: if one rank was killed, others may
/// have recorded an epoch more.
std::vector<store::MainLoop> common_loops(const store::Catalog& catalog,
                                          const std::vector<store::Run>& ranks) {
  std::vector<store::MainLoop> common = catalog.main_loops(ranks.front().id);
  for (const store::Run& rank : ranks) {
    const std::vector<store::MainLoop> loops = catalog.main_loops(rank.id);
    common.resize(std::min(common.size(), loops.size()));
    for (std::size_t i = 0; i < common.size(); ++i) {
      common[i].iterations = std::min(common[i].iterations, loops[i].iterations);
      common[i].ended = common[i].ended && loops[i].ended;
    }
  }
  return common;
}

void share_seats(const ReplayWish& wish, ReplayRequest& request) {
  auto workers = static_cast<std::int64_t>(usual_seats(wish.engine));
  if (wish.workers) workers = static_cast<std::int64_t>(*wish.workers);
  const ReplayPool pool(request.facts, request.asked, 1);
  request.workers = static_cast<int>(std::min(workers, pool.pieces_at_most()));
}

void share_cores(Context& context, const ReplayWish& wish, ReplayRequest& request) {
  const auto cores = static_cast<std::int64_t>(cores_here().size());
  const int threads = request.launch.threads;
  const ReplayPool pool(request.facts, request.asked, 1);
  const auto ranks = static_cast<std::int64_t>(request.ranks.size());
  const auto gpus = static_cast<std::int64_t>(request.gpus.size());
  std::int64_t workers = std::max<std::int64_t>(cores / (threads * ranks), 1);
  if (gpus > 0) workers = std::max<std::int64_t>(gpus / ranks, 1);
  if (wish.workers) workers = static_cast<std::int64_t>(*wish.workers);
  request.workers = static_cast<int>(std::min(workers, pool.pieces_at_most()));
  const auto processes = static_cast<int>(request.workers * ranks);
  request.cores = core_sets(processes, threads);
  if (static_cast<std::int64_t>(processes) * threads > cores) {
    const std::string whom =
        request.workers == 1 ? "1 worker" : fmt::format("{} workers", request.workers);
    context.note(
        fmt::format("{}{} x {} threads (as recorded) are more than the {} core{} here: they "
                    "will be in each other's way",
                    whom, ranks > 1 ? fmt::format(" x {} ranks", ranks) : "", threads, cores,
                    cores == 1 ? "" : "s"));
  }
}

/// Removes old logs so that only those of the latest replays stay. Returns the directory for new
/// ones.
fs::path make_room_for_logs(const fs::path& home, const store::Run& run) {
  constexpr std::size_t kOldPartsKept = 20;
  const fs::path logs = home / "logs";
  std::vector<fs::directory_entry> old;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(logs, error)) old.push_back(entry);
  std::ranges::sort(old, {}, [](const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.last_write_time(unknown);
  });
  for (std::size_t i = 0; i + kOldPartsKept <= old.size(); ++i) fs::remove_all(old[i], error);
  return logs / fmt::format("replay-{}-{}", short_key(run), ::getpid());
}

/// The place of a state in the run: after an iteration of a main loop (-1: before its first one),
/// or after a nested loop in it.
struct StatePlace {
  std::int64_t main_loop = 0, iteration = 0;
  std::string loop;  ///< name of the nested loop; empty: after the iteration itself
  auto operator<=>(const StatePlace&) const = default;

  bool is_behind(const StatePlace& other) const {
    return std::tie(main_loop, iteration) > std::tie(other.main_loop, other.iteration);
  }
  bool is_within(const std::vector<store::MainLoop>& loops) const {
    const auto ordinal = static_cast<std::size_t>(main_loop);
    return ordinal < loops.size() && iteration < loops[ordinal].iterations;
  }
};
using Stored = std::set<StatePlace>;

/// The places of the states that a rank has stored.
Stored states_of(const store::Catalog& catalog, std::int64_t run) {
  Stored stored;
  for (const store::CheckpointInfo& info : store::reachable_checkpoints(catalog, run)) {
    const store::CheckpointKey& key = info.key;
    const bool boundary = key.kind == store::CheckpointKind::boundary;
    if (!boundary && key.kind != store::CheckpointKind::loop_end) continue;
    if (key.loop.ends_with("@begin")) continue;
    stored.insert({key.main_loop, key.iteration - (boundary ? 1 : 0), key.loop});
  }
  return stored;
}

bool all_have(const std::vector<Stored>& ranks, const StatePlace& place) {
  return std::ranges::all_of(ranks, [&](const Stored& stored) { return stored.contains(place); });
}

/// Shortens the loops to what all ranks can replay. A rank that was killed may have recorded
/// progress without the state that the other ranks have stored. After the last boundary that all
/// ranks have, only states that all have are replayed.
void leave_out_unstored(const std::vector<Stored>& ranks, std::vector<store::MainLoop>& loops) {
  Stored some;
  for (const Stored& stored : ranks) some.insert(stored.begin(), stored.end());
  StatePlace last{-1, -1, {}};
  for (const StatePlace& place : some) {
    if (place.loop.empty() && all_have(ranks, place)) last = place;
  }
  const auto first = std::ranges::find_if(some, [&](const StatePlace& place) {
    return place.is_behind(last) && !all_have(ranks, place);
  });
  if (first == some.end()) return;
  const auto ordinal = static_cast<std::size_t>(first->main_loop);
  if (ordinal >= loops.size() || first->iteration >= loops[ordinal].iterations) return;
  const bool begun = first->iteration >= 0;
  loops.resize(ordinal + (begun ? 1 : 0));
  if (!begun) return;
  loops.back().iterations = first->iteration;
  loops.back().ended = false;
}

/// The main loops, as far as all ranks can be replayed together.
std::vector<store::MainLoop> replayable_loops(const store::Catalog& catalog,
                                              const std::vector<store::Run>& ranks) {
  std::vector<store::MainLoop> loops = common_loops(catalog, ranks);
  if (ranks.size() < 2) return loops;
  const bool whole = std::ranges::all_of(
      ranks, [](const store::Run& rank) { return rank.state == store::RunState::finished; });
  if (whole) return loops;
  std::vector<Stored> stored;
  for (const store::Run& rank : ranks) stored.push_back(states_of(catalog, rank.id));
  leave_out_unstored(stored, loops);
  return loops;
}

}  // namespace

void check_wish(const ReplayWish& wish) {
  if (!wish.engine.is_local() && !wish.gpus.empty()) {
    throw UsageError(
        "--gpus names GPUs of this machine: on others --gres or --gpus-per-task asks for them");
  }
  if (wish.workers && (*wish.workers == 0 || *wish.workers > 4096)) {
    throw UsageError(fmt::format("--workers {}: expected 1 to 4096", *wish.workers));
  }
  if (wish.threads && (*wish.threads == 0 || *wish.threads > 4096)) {
    throw UsageError(fmt::format("--threads {}: expected 1 to 4096", *wish.threads));
  }
  if (!parse_sample(wish.epochs)) (void)epoch_list(wish, INT64_MAX, {});
  (void)wish.verification();
  (void)wish.instead();
  if (!wish.chosen_steps().empty() && !wish.plugin.empty() && wish.probes.empty() && !wish.strong) {
    throw UsageError(
        "--step chooses steps of loops that are executed, and for a plug-in alone none is: add "
        "--probe LOOP");
  }
}

detail::StepChoice ReplayWish::chosen_steps() const {
  if (steps.empty()) return {};
  try {
    return detail::StepChoice::parse(steps);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--step: {}", printable(error.what())));
  }
}

detail::Instead ReplayWish::instead() const {
  detail::Instead instead{.threads = threads_given(), .arguments = {}};
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos) {
      throw UsageError(fmt::format("--override {}: expected NAME=VALUE, as device=cpu", text));
    }
    instead.arguments[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return instead;
}

detail::VerifyWish ReplayWish::verification() const {
  if (!verify_epochs.empty()) return detail::VerifyWish::parse("--verify-epochs", verify_epochs);
  return verify ? detail::VerifyWish{.count = 1} : detail::VerifyWish{};
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

namespace {

/// Makes the request from the launches that `choose` returned for the ranks.
ReplayRequest request_for(const std::vector<store::Run>& ranks, ChosenLaunches chosen) {
  std::vector<ReplayedRank> all;
  for (std::size_t i = 0; i < ranks.size(); ++i) all.push_back({ranks[i], chosen.launches.at(i)});
  ReplayRequest request(std::move(all));
  request.order.as_recorded = chosen.as_recorded;
  request.order.sources = std::move(chosen.sources);
  request.version = std::move(chosen.version);
  return request;
}

std::vector<std::string> probes_of(const ReplayWish& wish) {
  std::vector<std::string> probes;
  for (const std::string& words : wish.probes) {
    for (std::string& probe : split_list(words)) probes.push_back(std::move(probe));
  }
  return probes;
}

/// Throws Damaged if the run, which may come from another machine, claims far more epochs than it
/// has.
void check_count(const store::Catalog& catalog, const store::Run& run, std::int64_t epochs) {
  constexpr std::int64_t kWithoutRows = 100'000, kPerRow = 10;
  const std::int64_t rows = std::ssize(catalog.iterations(run.id));
  if (epochs <= kWithoutRows + kPerRow * rows) return;
  throw Damaged(fmt::format("run {} counts {} epochs, and has {}: `flor rm {}` removes it",
                            short_key(run), epochs, rows, short_key(run)));
}

/// The number of epochs that all ranks have completed.
std::int64_t complete_epochs(const store::Catalog& catalog, const std::vector<store::Run>& ranks) {
  std::int64_t all = 0;
  for (const store::MainLoop& loop : replayable_loops(catalog, ranks)) all += loop.iterations;
  check_count(catalog, ranks.front(), all);
  return all;
}

/// The epochs and other parts that the options ask for, at least one.
std::set<std::int64_t> parts_asked(const store::Catalog& catalog,
                                   const std::vector<store::Run>& ranks,
                                   std::optional<std::int64_t> epoch, const ReplayWish& wish) {
  const std::vector<store::MainLoop> loops = replayable_loops(catalog, ranks);
  const std::int64_t all = complete_epochs(catalog, ranks);
  const auto fork = catalog.fork(ranks.front().id);
  auto asked = parts_of(loops, chosen_epochs(wish, all, epoch, fork), fork ? fork->first() : 0);
  if (asked.empty()) {
    throw NotFound(fmt::format("run {} has no complete epoch: there is nothing to replay",
                               short_key(ranks.front())));
  }
  return asked;
}

/// Sets the remaining fields of the workers' order.
void fill_order(const store::Store& store, const ReplayWish& wish, ReplayRequest& request) {
  request.order.run = request.run.key;
  request.order.home = store.home().string();
  request.order.no_probe = wish.no_probe;
  request.order.strong = wish.strong;
  request.order.alone = wish.rank.has_value();
  request.order.instead = wish.instead();
  request.order.steps = wish.chosen_steps();
  const bool loads_alone = request.order.shows_what_is_stored();
  if (loads_alone) expect_loads_alone(request.facts);
  if (!loads_alone && request.order.steps.empty()) return;
  std::erase_if(request.asked, [](std::int64_t part) { return part < 0; });
}

/// Replaces the parts of `wish` that depend on the run: the loops of a check, and the epochs of a
/// sample.
ReplayWish resolved(const store::Catalog& catalog, const std::vector<store::Run>& ranks,
                    ReplayWish wish) {
  const store::Run& run = ranks.front();
  if (wish.check) {
    for (const std::string& loop : nested_loops(catalog.executions(run.id))) {
      wish.probes.push_back(loop);
    }
    wish.again = true;
    wish.verify_epochs = "none";
  }
  const auto count = parse_sample(wish.epochs);
  if (!count) return wish;
  const std::int64_t end = complete_epochs(catalog, ranks);
  const auto fork = catalog.fork(run.id);
  std::set<std::int64_t> all;
  for (auto i = fork ? fork->first() : 0; i < end; ++i) all.insert(i);
  wish.epochs = fmt::format(
      "{}", fmt::join(sample_of(replay_facts(catalog, run, {}), std::move(all), *count), ","));
  return wish;
}

}  // namespace

ReplayRequest replay_request(
    Context& context, const store::Run& run, std::optional<std::int64_t> epoch,
    const ReplayWish& asked_for,
    const std::function<ChosenLaunches(const std::vector<store::Run>&)>& choose) {
  const store::Catalog& catalog = context.catalog();
  if (run.state == store::RunState::running) {
    throw Busy(
        fmt::format("run {} is still being recorded: replay it when it has ended", short_key(run)));
  }
  check_wish(asked_for);
  const std::vector<store::Run> ranks = ranks_of(catalog, run, asked_for.rank);
  const ReplayWish wish = resolved(catalog, ranks, asked_for);
  const std::vector<std::string> probes = probes_of(wish);
  const std::vector<store::LoopExecution> executions = catalog.executions(ranks.front().id);
  check_probes(probes, executions);
  const detail::StepChoice steps = wish.chosen_steps();
  try {
    detail::require_steps(steps, executions);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--step {}: {}", steps.text(), printable(error.what())));
  }
  for (const store::Run& rank : ranks) {
    detail::check_overrides(catalog, rank, wish.instead(),
                            current_settings().get("overridable").value);
  }
  std::set<std::int64_t> asked = parts_asked(catalog, ranks, epoch, wish);
  std::optional<detail::PluginFile> plugin;
  if (!wish.plugin.empty()) plugin = detail::read_plugin_file(wish.plugin);
  ReplayRequest request = request_for(ranks, choose(ranks));
  request.asked = std::move(asked);
  request.order.probes = probes;
  if (plugin) {
    request.order.plugin = plugin->path.string();
    request.order.plugin_digest = plugin->digest;
  }
  request.facts = replay_facts(catalog, request.run, request.order.probes, steps);
  request.gpus = split_list(wish.gpus);
  fill_order(context.store(), wish, request);
  request.again = wish.again;
  request.check = wish.check;
  request.epoch_order = wish.coarse ? EpochOrder::coarse : EpochOrder::fastest;
  request.verify = wish.verification();
  request.verbose = wish.verbose;
  request.engine = wish.engine;
  request.from = wish.from;
  request.epochs = wish.epochs.empty() && epoch ? std::to_string(*epoch) : wish.epochs;
  if (wish.engine.is_local()) {
    share_cores(context, wish, request);
  } else {
    share_seats(wish, request);
  }
  return request;
}

std::set<std::int64_t> parts_to_do(const store::Catalog& catalog, const ReplayRequest& request) {
  if (request.again) return request.asked;
  std::set<std::int64_t> missing;
  for (const auto& [run, launch] : request.ranks) {
    std::set<std::int64_t> parts = request.asked;
    const std::string question =
        detail::question_of(launch.digest, launch.arguments, request.order);
    for (const auto& part : catalog.replayed(run.id, question)) parts.erase(part.part);
    missing.merge(parts);
  }
  return missing;
}

ExitStatus RunReplay::status() const {
  if (outcome.interrupted) return ExitStatus::interrupted;
  if (!outcome.failed.empty() || !outcome.missing.empty()) {
    const bool some = !outcome.done.empty() || !outcome.earlier.empty();
    return some ? ExitStatus::partly_done : ExitStatus::failed;
  }
  if (summary.total.verdict == store::Verdict::differs) return ExitStatus::differs;
  return request.check && compared_nothing() ? ExitStatus::failed : ExitStatus::done;
}

bool RunReplay::compared_nothing() const {
  return summary.total.values_compared + summary.total.states_compared == 0;
}

namespace {

/// Merges what the workers of a killed `flor replay` completed.
void recover(Context& context, store::Store& store, const ReplayRequest& request) {
  const std::int64_t merged =
      recover_sessions(store, sessions_in(store, request.engine), [](const fs::path& directory) {
        cancel_left_jobs(directory, directory.filename().string());
      });
  if (merged == 0) return;
  context.note(fmt::format("{} that a killed replay had computed {} merged",
                           merged == 1 ? "1 part" : fmt::format("{} parts", merged),
                           merged == 1 ? "was" : "were"));
}

/// The work for seats on other machines, which read a snapshot of the store and hand in their
/// findings.
Work work_of(const ReplayRequest& request, const fs::path& store) {
  Work work;
  work.patience = cluster_patience();
  work.from = request.from;
  work.run = request.run.key;
  work.epochs = request.epochs;
  for (const ReplayedRank& rank : request.ranks) {
    detail::WorkerOrder order = request.order;
    order.run = rank.run.key;
    order.home = store.string();
    order.hands_in = true;
    order.cores.clear();
    work.ranks.push_back({rank.launch, order, rank.run.start.rank});
  }
  return work;
}

void make_logs(const ReplayRequest& request) { store::require_directory_in_home(request.logs); }

ReplayOutcome coordinate(store::Store& store, ReplayRequest& request, Progress& progress,
                         EpochVerifier& verifier) {
  if (request.engine.is_local() && !store::is_on_network(store.home())) {
    make_logs(request);
    const auto engine = local_engine(request);
    return Coordinator(store, request, *engine, progress, &verifier).run();
  }
  SeatSession session(store, request, sessions_in(store, request.engine));
  if (request.engine.is_local()) {  // no other process may write to the store
    request.order.home = session.snapshot().string();
    request.order.hands_in = true;
    make_logs(request);
    const auto engine = local_engine(request);
    return Coordinator(store, request, *engine, progress, &verifier).run();
  }
  session.write_work(work_of(request, session.snapshot()));
  // Signals are blocked from this point on: one between the start of a job and that of the object
  // that cancels it would leave the job running.
  const StopSignals signals;
  const auto engine = cluster_engine(session, request.engine, request, progress);
  return Coordinator(store, request, *engine, progress).run();
}

}  // namespace

RunReplay replay_run(Context& context, ReplayRequest request) {
  const auto missing = parts_to_do(context.catalog(), request);
  const double estimate = simulate(request.facts, request.facts, missing, request.workers,
                                   Reach::any, request.epoch_order)
                              .seconds;
  context.note(fmt::format("replaying run {} with {} ({})", title(request.run),
                           printable(request.launch.shown), request.launch.why));
  store::Store& store = context.store_to_change();
  request.logs = make_room_for_logs(store.home(), request.run);
  Progress progress(!context.json() && ::isatty(2) == 1);
  recover(context, store, request);
  RunReplay replay{std::move(request), {}, {}};
  EpochVerifier verifier(store, replay.request, progress);
  replay.outcome = coordinate(store, replay.request, progress, verifier);
  if (const std::string& why = replay.outcome.gave_up; !why.empty()) {
    if (replay.outcome.replay == 0) throw Error(why);
    context.note(why + "; what was computed is kept, and the same command goes on");
  }
  replay.summary = summarize(replay.request, replay.outcome, estimate);
  const ReplayOutcome& outcome = replay.outcome;
  if (outcome.replay > 0 && outcome.failed.empty() && outcome.missing.empty()) {
    for (const RankOutcome& rank : outcome.ranks) {
      store::ReplayResult result;
      for (const auto& [number, part] : rank.parts) add(result, part.result);
      result.finished_us = now_us();
      store.catalog().finish_replay(rank.replay, result);
    }
  }
  verifier.conclude(replay.outcome, replay.summary);
  return replay;
}

}  // namespace flor::cli
