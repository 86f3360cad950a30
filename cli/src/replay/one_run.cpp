#include "replay/one_run.h"

#include "context.h"
#include "output/text.h"
#include "output/time.h"
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

std::vector<Epochs> chosen_epochs(const ReplayWish& wish, std::int64_t all,
                                  std::optional<std::int64_t> epoch) {
  if (epoch && !wish.epochs.empty()) {
    throw UsageError(fmt::format("@{} and --epochs both say which epochs: give one", *epoch));
  }
  if (epoch) return detail::within_run({{*epoch, *epoch + 1}}, all);
  if (wish.epochs.empty()) return {{0, all}};
  try {
    return detail::within_run(detail::parse_epoch_list(wish.epochs), all);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--epochs {}: {}", printable(wish.epochs), error.what()));
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

void share_cores(Context& context, const ReplayWish& wish, ReplayRequest& request) {
  const auto cores = static_cast<std::int64_t>(cores_here().size());
  const int threads = request.launch.threads;
  const ReplayPool pool(request.facts, request.asked, 1);
  std::int64_t workers = std::max<std::int64_t>(cores / threads, 1);
  if (!request.gpus.empty()) workers = static_cast<std::int64_t>(request.gpus.size());
  if (wish.workers) workers = static_cast<std::int64_t>(*wish.workers);
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

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

ReplayRequest replay_request(Context& context, const store::Run& run,
                             std::optional<std::int64_t> epoch, const ReplayWish& wish,
                             const std::function<void(ReplayRequest&)>& choose) {
  const store::Catalog& catalog = context.catalog();
  ReplayRequest request;
  request.run = run;
  if (request.run.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is still being recorded: replay it when it has ended",
                           short_key(request.run)));
  }
  if (wish.workers && (*wish.workers == 0 || *wish.workers > 4096)) {
    throw UsageError(fmt::format("--workers {}: expected 1 to 4096", *wish.workers));
  }
  if (wish.threads && (*wish.threads == 0 || *wish.threads > 4096)) {
    throw UsageError(fmt::format("--threads {}: expected 1 to 4096", *wish.threads));
  }
  for (const std::string& words : wish.probes) {
    for (std::string& probe : split_list(words)) request.order.probes.push_back(std::move(probe));
  }
  check_probes(request.order.probes, catalog.executions(request.run.id));
  const std::vector<store::MainLoop> loops = catalog.main_loops(request.run.id);
  std::int64_t all = 0;
  for (const store::MainLoop& loop : loops) all += loop.iterations;
  request.asked = parts_of(loops, chosen_epochs(wish, all, epoch));
  if (request.asked.empty()) {
    throw NotFound(fmt::format("run {} has no complete epoch: there is nothing to replay",
                               short_key(request.run)));
  }
  choose(request);
  request.facts = replay_facts(catalog, request.run, request.order.probes);
  request.gpus = split_list(wish.gpus);
  request.order.run = request.run.key;
  request.order.home = context.store().home().string();
  request.order.no_probe = wish.no_probe;
  request.order.strong = wish.strong;
  request.order.threads = wish.threads_given();
  request.again = wish.again;
  request.verbose = wish.verbose;
  share_cores(context, wish, request);
  return request;
}

std::set<std::int64_t> parts_to_do(const store::Catalog& catalog, const ReplayRequest& request) {
  std::set<std::int64_t> parts = request.asked;
  if (request.again) return parts;
  const std::string question =
      detail::question_of(request.launch.digest, request.launch.arguments, request.order);
  for (const auto& part : catalog.replayed(request.run.id, question)) parts.erase(part.part);
  return parts;
}

ExitStatus RunReplay::status() const {
  if (outcome.interrupted) return ExitStatus::interrupted;
  if (!outcome.failed.empty() || !outcome.missing.empty()) {
    const bool some = !outcome.done.empty() || !outcome.earlier.empty();
    return some ? ExitStatus::partly_done : ExitStatus::failed;
  }
  return summary.total.verdict == store::Verdict::differs ? ExitStatus::differs : ExitStatus::done;
}

RunReplay replay_run(Context& context, ReplayRequest request) {
  const auto missing = parts_to_do(context.catalog(), request);
  const double estimate = simulate(request.facts, request.facts, missing, request.workers).seconds;
  context.note(fmt::format("replaying run {} with {} ({})", title(request.run),
                           printable(request.launch.program), request.launch.why));
  store::Store& store = context.store_to_change();
  request.logs = make_room_for_logs(store.home(), request.run);
  Progress progress(!context.json() && ::isatty(2) == 1);
  Coordinator coordinator(store, request, progress);
  RunReplay replay{std::move(request), coordinator.run(), {}};
  replay.summary = summarize(replay.request, replay.outcome, estimate);
  const ReplayOutcome& outcome = replay.outcome;
  if (outcome.replay > 0 && outcome.failed.empty() && outcome.missing.empty()) {
    store::ReplayResult result = replay.summary.total;
    result.finished_us = now_us();
    store.catalog().finish_replay(outcome.replay, result);
  }
  return replay;
}

}  // namespace flor::cli
