#include "serve/run_answers.h"

#include "choose/keep_options.h"
#include "choose/run_spec.h"
#include "curves/machine_use.h"
#include "retention/retention.h"
#include "view/printed_lines.h"
#include "view/run_json.h"
#include "view/show_facts.h"
#include "view/show_json.h"
#include "view/show_recording.h"
#include "view/show_retention.h"
#include "view/sources.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace flor::cli {
namespace {

ShownRun shown_run(const store::Store& store, std::string_view name) {
  return ShownRun::read(store, parse_whole_run(store.catalog(), name));
}

/// The rules of retention that the program itself set; without any, everything is kept.
store::KeepRules own_rules(const ShownRun& shown) {
  if (shown.strategy && shown.strategy->num_to_keep) return store::rules_of(*shown.strategy);
  return {.last = std::numeric_limits<std::int64_t>::max()};
}

std::string why_kept(const store::RetainedUnit& unit, const store::KeepRules& rules) {
  store::Decision decision = unit.decision;
  const bool everything = rules.last == std::numeric_limits<std::int64_t>::max();
  if (everything) {
    std::erase_if(decision.reasons, [](const store::Reason& reason) {
      return reason.rule == store::Reason::Rule::last;
    });
  }
  if (everything && decision.reasons.empty()) return "no rule deletes it";
  const std::string text = print_reasons(decision, rules);
  return text.empty() && !decision.kept ? "goes at the next flor keep" : text;
}

/// The reason why the checkpoints of an epoch are stored.
std::string why_stored(const ShownRun& shown, std::int64_t epoch) {
  for (const store::StorageDecision& decision : shown.decisions) {
    const bool covers = shown.epoch_of(decision.main_loop, decision.first) <= epoch &&
                        epoch <= shown.epoch_of(decision.main_loop, decision.last);
    if (covers) return reason_text(decision.reason);
  }
  return {};
}

Json unit_json(const ShownRun& shown, const store::RetainedUnit& unit,
               const store::KeepRules& rules) {
  const bool saved = unit.candidate.group == store::Candidate::Group::saved;
  Json entry = {{"epoch", saved ? Json() : Json(unit.candidate.number)},
                {"saved", json_text(unit.name)},
                {"kept", unit.decision.kept},
                {"why_stored", json_text(saved ? std::string("stored: the program saved it")
                                               : why_stored(shown, unit.candidate.number))},
                {"why_kept", json_text(why_kept(unit, rules))},
                {"scores", Json::object()},
                {"taken", json_time(unit.taken_us)},
                {"raw_bytes", unit.raw_bytes},
                {"frees_bytes", unit.frees}};
  for (std::size_t i = 0; i < rules.best.size(); ++i) {
    const store::Score& score = unit.candidate.scores[i];
    entry["scores"][rules.best[i].metric] = score ? json_number(*score) : Json();
  }
  return entry;
}

Json not_stored_json(const ShownRun& shown) {
  Json result = Json::array();
  for (const store::StorageDecision& decision : shown.decisions) {
    if (store::is_stored(decision.reason)) continue;
    result.push_back({{"first_epoch", shown.epoch_of(decision.main_loop, decision.first)},
                      {"last_epoch", shown.epoch_of(decision.main_loop, decision.last)},
                      {"reason", reason_text(decision.reason)}});
  }
  return result;
}

/// The deleted checkpoints: one entry for all those of an epoch, or for a saved checkpoint.
Json deleted_json(const ShownRun& shown) {
  Json result = Json::array();
  std::optional<std::int64_t> last;
  for (const store::DiscardedCheckpoint& discarded : shown.discarded) {
    const store::CheckpointKey& key = discarded.info.key;
    const bool saved = key.kind == store::CheckpointKind::saved;
    const std::int64_t ends = key.kind == store::CheckpointKind::boundary ? 1 : 0;
    const std::int64_t epoch = shown.epoch_of(key.main_loop, key.iteration) - ends;
    if (!saved && last == epoch) continue;
    if (!saved) last = epoch;
    result.push_back({{"epoch", saved ? Json() : Json(epoch)},
                      {"saved", saved ? json_text(key.loop) : Json()},
                      {"deleted", json_time(discarded.discarded_us)},
                      {"collected", json_time(discarded.collected_us)}});
  }
  return result;
}

/// The latest earlier run of the same experiment that was recorded from another commit.
std::optional<store::Run> version_before(const store::Catalog& catalog, const store::Run& run) {
  for (store::Run& other : catalog.runs(run.start.experiment)) {
    const bool earlier = other.id < run.id;
    if (earlier && !other.start.commit.empty() && other.start.commit != run.start.commit) {
      return std::move(other);
    }
  }
  return std::nullopt;
}

Json version_json(const store::Run& run) {
  return {{"run", run.key},
          {"experiment", run.start.experiment},
          {"commit", json_text(run.start.commit)}};
}

}  // namespace

Json run_answer(const store::Store& store, std::string_view name) {
  const ShownRun shown = shown_run(store, name);
  Json run = show_run_json(shown)["run"];
  for (const char* list : {"iterations", "nested_loops", "decisions", "stored_checkpoints",
                           "saved_checkpoints", "deleted_checkpoints"}) {
    run.erase(list);
  }
  run["has_epochs"] = !shown.iterations.empty();
  run["resume_with"] =
      shown.point ? Json(fmt::format("--flor_resume --flor_run {}", short_key(shown.run))) : Json();
  return run;
}

Json epochs_answer(const store::Store& store, std::string_view name) {
  const ShownRun shown = shown_run(store, name);
  Json epochs = Json::array();
  std::size_t next = 0;  // iterations and executions are both ordered by epoch
  for (const store::Iteration& iteration : shown.iterations) {
    Json loops = Json::array();
    const auto place = std::pair(iteration.main_loop, iteration.iteration);
    for (; next < shown.executions.size(); ++next) {
      const store::LoopExecution& execution = shown.executions[next];
      const auto other = std::pair(execution.main_loop, execution.iteration);
      if (other > place) break;
      if (other < place) continue;
      loops.push_back({{"loop", execution.loop},
                       {"iterations", execution.iterations},
                       {"broke", execution.broke},
                       {"seconds", json_number(execution.seconds)}});
    }
    epochs.push_back({{"epoch", shown.epoch_of(iteration.main_loop, iteration.iteration)},
                      {"main_loop", shown.loop_name(iteration.main_loop)},
                      {"seconds", json_number(iteration.seconds)},
                      {"flor_seconds", json_number(iteration.record_seconds)},
                      {"loops", std::move(loops)}});
  }
  return {{"epochs", std::move(epochs)}};
}

Json checkpoints_answer(const store::Store& store, std::string_view name) {
  const ShownRun shown = shown_run(store, name);
  const store::KeepRules rules = own_rules(shown);
  const store::RetentionReport report = store::plan_retention(store, shown.run.id, rules);
  Json checkpoints = Json::array();
  for (const store::RetainedUnit& unit : report.units) {
    checkpoints.push_back(unit_json(shown, unit, report.rules));
  }
  return {{"strategy", json_text(strategy_text(shown))},
          {"recording", recording_json(shown)},
          {"stored_bytes", report.before},
          {"checkpoints", std::move(checkpoints)},
          {"not_stored", not_stored_json(shown)},
          {"deleted", deleted_json(shown)}};
}

Json printed_answer(const store::Store& store, std::string_view run, std::string_view grep,
                    std::size_t limit) {
  PrintedQuestion question;
  if (!grep.empty()) question.grep = Pattern("grep", grep);
  const std::vector<PrintedLine> lines =
      printed_lines(store, parse_whole_run(store.catalog(), run), question);
  Json shown = Json::array();
  for (std::size_t i = lines.size() - std::min(limit, lines.size()); i < lines.size(); ++i) {
    shown.push_back(line_json(lines[i]));
  }
  return {{"lines", std::move(shown)}, {"total", lines.size()}};
}

Json machine_answer(const store::Store& store, std::string_view run) {
  const store::Catalog& catalog = store.catalog();
  const MachineUse use =
      machine_use(catalog, parse_whole_run(catalog, run).id, detail::measure_kinds());
  Json measures = Json::array();
  for (const detail::MeasureKind& kind : detail::measure_kinds()) {
    const Spread* const spread = use.find(kind.name);
    if (!spread || !spread->mean()) continue;
    measures.push_back({{"name", kind.name},
                        {"unit", to_string(kind.unit)},
                        {"mean", *spread->mean()},
                        {"min", *spread->least()},
                        {"max", *spread->greatest()}});
  }
  return {{"samples", use.samples()}, {"measures", std::move(measures)}};
}

Json compare_answer(const store::Store& store, const std::vector<std::string>& names) {
  const store::Catalog& catalog = store.catalog();
  Json runs = Json::array();
  for (const std::string& name : names) {
    const store::Run run = parse_whole_run(catalog, name);
    Json entry = run_json(run);
    entry["command"] = run.start.command.words();
    entry["arguments"] = arguments_json(catalog.arguments(run.id));
    entry["metrics"] = metrics_json(catalog.metrics(run.id));
    entry["environment"] = run.start.environment;
    runs.push_back(std::move(entry));
  }
  return {{"runs", std::move(runs)}};
}

Json sources_answer(const store::Store& store, std::string_view a, std::string_view b) {
  const store::Catalog& catalog = store.catalog();
  const store::Run to = parse_whole_run(catalog, b);
  std::optional<store::Run> from;
  if (a.empty()) {
    from = version_before(catalog, to);
  } else {
    from = parse_whole_run(catalog, a);
  }
  Json result = {{"from", from ? version_json(*from) : Json()}, {"to", version_json(to)}};
  std::string remark;
  if (!from) {
    remark = to.start.commit.empty() ? "it was recorded without git"
                                     : "it is the first version of its experiment";
  }
  Sources sources([&](const std::string& text) { remark = text; });
  constexpr int kLines = 3;
  const SourceChange change =
      from ? source_change(sources, to, from->start.commit, to.start.commit, kLines)
           : SourceChange{};
  if (from && !change.known && remark.empty()) remark = "one of them was recorded without git";
  result["known"] = change.known;
  result["changes"] = changes_json(change.changes);
  result["patch"] = change.patch;
  result["remark"] = json_text(remark);
  return result;
}

}  // namespace flor::cli
