#include "replay/replay_text.h"

#include "choose/run_spec.h"
#include "output/json.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "replay/launch_facts.h"
#include "shell/context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace flor::cli {
namespace {

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::set<std::int64_t> keys(const std::map<std::int64_t, store::ReplayedPart>& parts) {
  std::set<std::int64_t> result;
  for (const auto& [part, value] : parts) result.insert(part);
  return result;
}

std::string print_pieces(const std::vector<Epochs>& pieces) {
  std::set<std::int64_t> parts;
  for (const Epochs& piece : pieces) {
    for (std::int64_t epoch = piece.first; epoch < piece.end; ++epoch) parts.insert(epoch);
  }
  return parts.empty() ? "nothing" : print_parts(parts);
}

std::string print_workers(const ReplayRequest& request) {
  const std::string threads = request.launch.threads == 1
                                  ? "one thread each"
                                  : fmt::format("{} threads each", request.launch.threads);
  std::string where;
  if (!request.gpus.empty()) {
    where = fmt::format(", GPUs {}", fmt::join(request.gpus, ","));
  } else if (!request.cores.empty() && !request.cores.front().empty()) {
    std::vector<int> cores;
    for (const auto& set : request.cores) cores.insert(cores.end(), set.begin(), set.end());
    where = fmt::format(", on core{} {}", cores.size() == 1 ? "" : "s", fmt::join(cores, ","));
  }
  const std::string ranks =
      request.ranks.size() > 1 ? fmt::format(" of {} ranks", request.ranks.size()) : "";
  return fmt::format("{}{}, {}{}", request.workers, ranks, threads, where);
}

/// ", step 12 alone"; empty if no steps were chosen.
std::string print_chosen(const ReplayRequest& request) {
  const detail::StepChoice& steps = request.order.steps;
  return steps.empty() ? std::string() : fmt::format(", {} alone", detail::print_steps(steps));
}

Json steps_json(const ReplayRequest& request) {
  const detail::StepChoice& steps = request.order.steps;
  return steps.empty() ? Json() : Json(steps.text());
}

void print_json(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                const ReplaySummary& summary) {
  Json result = document("replay");
  result["run"] = request.run.key;
  result["experiment"] = request.run.start.experiment;
  result["replay"] = outcome.replay > 0 ? Json(outcome.replay) : Json();
  result["program"] = json_text(request.launch.program);
  result["program_reason"] = json_text(request.launch.why);
  result["workers"] = request.workers;
  result["ranks"] = request.ranks.size();
  result["steps"] = steps_json(request);
  result["seconds"] = outcome.seconds;
  result["estimated_seconds"] = summary.estimate;
  const auto epochs = [](const auto& parts) {
    Json list = Json::array();
    for (const auto& entry : parts) {
      if (entry.first >= 0) list.push_back(entry.first);
    }
    return list;
  };
  result["replayed"] = epochs(outcome.done);
  result["answered_before"] = epochs(outcome.earlier);
  result["failed"] = epochs(outcome.failed);
  Json missing = Json::array();
  for (const std::int64_t part : outcome.missing) {
    if (part >= 0) missing.push_back(part);
  }
  result["missing"] = missing;
  result["interrupted"] = outcome.interrupted;
  Json nested = Json::object();
  for (const auto& [name, count] : outcome.work.nested) {
    nested[name] = {{"skipped", count.skipped}, {"executed", count.executed}, {"why", count.why}};
  }
  result["nested_loops"] = nested;
  result["checkpoints_loaded"] = outcome.work.restored;
  result["bytes_loaded"] = outcome.work.restored_bytes;
  result["epochs_passed"] = outcome.work.caught_up;
  result["verdict"] = std::string(to_string(summary.total.verdict));
  result["values_compared"] = summary.total.values_compared;
  result["values_different"] = summary.total.values_different;
  result["states_compared"] = summary.total.states_compared;
  result["states_different"] = summary.total.states_different;
  result["values_found"] = summary.total.values_found;
  Json verdicts = Json::object();
  for (const auto& [verdict, count] : summary.found.counts) {
    verdicts[std::string(to_string(verdict))] = count;
  }
  result["verdicts_of_new_values"] = verdicts;
  result["verified_epochs"] = summary.found.verified;
  result["differences"] = summary.differences;
  print(context.out(), result);
}

}  // namespace

std::string verdict_text(const ReplaySummary& summary, bool shown) {
  return detail::verdict_text(summary.total, summary.found, shown);
}

ReplaySummary summarize(const ReplayRequest&, const ReplayOutcome& outcome, double estimate) {
  ReplaySummary summary;
  summary.estimate = estimate;
  for (const auto* parts : {&outcome.earlier, &outcome.done}) {
    for (const auto& [number, part] : *parts) {
      add(summary.total, part.result);
      summary.found.add(part);
      constexpr std::size_t kShown = 5;
      if (part.result.verdict == store::Verdict::differs && summary.differences.size() < kShown) {
        summary.differences.push_back(part.result.first_difference);
      }
    }
  }
  if (summary.total.verdict == store::Verdict::differs) summary.found.doubt();
  return summary;
}

void print_plan(Context& context, const ReplayRequest& request,
                const std::set<std::int64_t>& missing, const Simulation& plan) {
  const Simulation alone = simulate(request.facts, request.facts, missing, 1);
  if (context.json()) {
    Json result = document("replay");
    result["run"] = request.run.key;
    result["dry_run"] = true;
    result["program"] = json_text(request.launch.program);
    result["program_reason"] = json_text(request.launch.why);
    result["command"] = store::RecordedCommand(request.launch.command).words();
    result["directory"] = request.launch.directory;
    result["workers"] = request.workers;
    result["ranks"] = request.ranks.size();
    result["steps"] = steps_json(request);
    result["threads"] = request.launch.threads;
    result["estimated_seconds"] = plan.seconds;
    result["estimated_seconds_alone"] = alone.seconds;
    Json pieces = Json::array();
    for (const auto& list : plan.pieces) {
      Json own = Json::array();
      for (const Epochs& piece : list) own.push_back({piece.first, piece.end - 1});
      pieces.push_back(own);
    }
    result["pieces"] = pieces;
    return print(context.out(), result);
  }
  Output& out = context.out();
  out.write(fmt::format(
      "would replay run {}: {}{}{}{}{}\n", title(request.run), print_parts(request.asked),
      print_chosen(request),
      request.order.probes.empty()
          ? std::string()
          : fmt::format(", stepping into {}",
                        printable(fmt::format("{}", fmt::join(request.order.probes, ", ")))),
      request.order.plugin.empty() ? std::string()
                                   : fmt::format(", for {}", printable(detail::described_probes(
                                                                 {}, request.order.plugin, {}))),
      request.order.instead.arguments.empty()
          ? std::string()
          : fmt::format(", with {} instead of what was recorded",
                        printable(request.order.instead.shown_arguments()))));
  out.write(fmt::format("  command    {}\n",
                        printable(store::RecordedCommand(request.launch.command).text())));
  out.write(
      fmt::format("  program    {} ({})\n", printable(request.launch.shown), request.launch.why));
  out.write(fmt::format("  directory  {}\n", printable(request.launch.directory)));
  out.write(fmt::format("  workers    {}\n", print_workers(request)));
  if (missing.size() < request.asked.size()) {
    std::set<std::int64_t> known;
    for (const std::int64_t part : request.asked) {
      if (!missing.contains(part)) known.insert(part);
    }
    out.write(fmt::format("  answered   {}, by an earlier replay\n", print_parts(known)));
  }
  const auto waves =
      waves_of(request.facts, {missing.lower_bound(0), missing.end()}, request.epoch_order);
  if (waves.size() > 1) {
    out.write(fmt::format("  first      {}\n", print_parts(waves.front())));
  }
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    out.write(fmt::format("  worker {}   {}\n", i, print_pieces(plan.pieces[i])));
  }
  out.write(fmt::format("  estimate   {}; {} with one worker\n", duration(plan.seconds),
                        duration(alone.seconds)));
}

void print_summary(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                   const ReplaySummary& summary) {
  if (context.json()) return print_json(context, request, outcome, summary);
  Output& out = context.out();
  if (outcome.replay == 0 && outcome.missing.empty()) {
    out.write(
        fmt::format("run {}: {}{} answered before, nothing to do (--again computes it again)\n",
                    title(request.run), print_parts(request.asked),
                    print_chosen(request) + (request.order.steps.empty() ? "" : ",")));
  } else {
    const std::set<std::int64_t> done = keys(outcome.done);
    out.write(fmt::format(
        "replayed run {}: {}{} in {} with {}, estimated {}\n", title(request.run),
        done.empty() ? "nothing" : print_parts(done), print_chosen(request),
        duration(outcome.seconds),
        plural(request.workers, "worker") + (request.ranks.size() > 1
                                                 ? fmt::format(" of {} ranks", request.ranks.size())
                                                 : std::string()),
        duration(summary.estimate)));
    const auto line = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) out.write(fmt::format("  {:<9}  {}\n", name, text));
    };
    line("nested", printable(detail::print_nested(outcome.work.nested)));
    line("loaded", fmt::format("{}, {}", plural(outcome.work.restored, "checkpoint"),
                               bytes(outcome.work.restored_bytes)));
    if (outcome.work.caught_up > 0) {
      line("on the way", fmt::format("{} executed again to get to others",
                                     plural(outcome.work.caught_up, "epoch")));
    }
    if (!outcome.earlier.empty()) {
      line("before", print_parts(keys(outcome.earlier)) + ", not computed again");
    }
    for (const auto& [part, why] : outcome.failed) {
      line("failed",
           fmt::format("{}: {}", part < 0 ? "outside the loops" : fmt::format("epoch {}", part),
                       printable(why)));
    }
    if (!outcome.missing.empty()) line("missing", print_parts(outcome.missing));
    if (!outcome.failed.empty()) line("logs", printable(request.logs.string()));
  }
  for (const std::string& difference : summary.differences) {
    out.write(fmt::format("differs: {}\n", printable(difference)));
  }
  for (const std::string& line : summary.verification) out.write(printable(line) + "\n");
  out.write(verdict_text(summary, request.order.shows_what_is_stored()) + "\n");
}

}  // namespace flor::cli
