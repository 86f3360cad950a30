// The JSON of flor show.
#include "view/show_json.h"

#include "output/values.h"
#include "view/joined_rows.h"
#include "view/loop_columns.h"
#include "view/run_json.h"
#include "view/show_files.h"
#include "view/show_recording.h"
#include "view/show_retention.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

Json checkpoint_json(const ShownRun& shown, const store::CheckpointInfo& info) {
  std::string kind(store::to_string(info.key.kind));
  std::ranges::replace(kind, ' ', '_');
  return {{"kind", std::move(kind)},
          {"main_loop", shown.loop_name(info.key.main_loop)},
          {"iteration", info.key.iteration},
          {"epoch", shown.epoch_of(info.key.main_loop, info.key.iteration)},
          {"loop", json_text(info.key.loop)},
          {"raw_bytes", info.raw_bytes},
          {"stored_bytes", info.stored_bytes},
          {"created", json_time(info.created_us)},
          {"digest", info.digest.hex()}};
}

Json iteration_json(const ShownRun& shown, const store::Iteration& iteration) {
  return {{"epoch", shown.epoch_of(iteration.main_loop, iteration.iteration)},
          {"main_loop", shown.loop_name(iteration.main_loop)},
          {"iteration", iteration.iteration},
          {"seconds", json_number(iteration.seconds)},
          {"flor_seconds", json_number(iteration.record_seconds)}};
}

Json execution_json(const ShownRun& shown, const store::LoopExecution& execution) {
  return {{"epoch", shown.epoch_of(execution.main_loop, execution.iteration)},
          {"loop", execution.loop},
          {"iterations", execution.iterations},
          {"broke", execution.broke},
          {"seconds", json_number(execution.seconds)}};
}

Json replay_json(const store::Replay& replay) {
  Json result = {{"id", replay.id},
                 {"started", json_time(replay.start.started_us)},
                 {"segment", replay.start.segment},
                 {"segments", replay.start.segments},
                 {"first_epoch", replay.start.first_epoch},
                 {"last_epoch", replay.start.last_epoch},
                 {"strong", replay.start.strong},
                 {"probes", json_text(replay.start.probes)},
                 {"program_digest", json_text(replay.start.program_digest)},
                 {"command", replay.start.command.words()},
                 {"origin", origin_json(replay.origin)},
                 {"result", nullptr}};
  if (!replay.result) return result;
  const store::ReplayResult& end = *replay.result;
  result["result"] = {{"finished", json_time(end.finished_us)},
                      {"verdict", std::string(store::to_string(end.verdict))},
                      {"values_compared", end.values_compared},
                      {"values_different", end.values_different},
                      {"states_compared", end.states_compared},
                      {"states_different", end.states_different},
                      {"values_found", end.values_found},
                      {"first_difference", json_text(end.first_difference)}};
  return result;
}

Json point_json(const store::ResumePoint& point) {
  return {{"epoch", point.epoch},
          {"loop", json_text(point.loop)},
          {"step", point.loop.empty() ? Json(nullptr) : Json(point.step)}};
}

Json fork_json(const ShownRun& shown) {
  if (!shown.forks.from) return nullptr;
  return {{"run", shown.forks.from->parent}, {"epoch", shown.forks.from->epoch - 1}};
}

Json resumption_json(const store::Resumption& resumption) {
  Json result = point_json(resumption.point);
  result["resumed"] = json_time(resumption.resumed_us);
  result["commit"] = json_text(resumption.commit);
  result["program_digest"] = json_text(resumption.program_digest);
  result["command"] = resumption.command.words();
  return result;
}

Json build_json(const ShownRun& shown) {
  if (!shown.recipe) return nullptr;
  const detail::BuildRecipe& recipe = *shown.recipe;
  Json cache = Json::object();
  for (const detail::CacheVariable& variable : recipe.cache) {
    cache[variable.name] = json_text(variable.value);
  }
  return {{"target", json_text(recipe.target)},
          {"source_directory", json_text(recipe.source_directory)},
          {"build_directory", json_text(recipe.build_directory)},
          {"generator", json_text(recipe.generator)},
          {"configuration", json_text(recipe.configuration)},
          {"compiler", json_text(recipe.compiler)},
          {"flags", json_text(recipe.flags)},
          {"cache", std::move(cache)},
          {"remark", shown.build->remark.empty() ? Json() : json_text(shown.build->remark)}};
}

template <typename Rows, typename Convert>
Json array_of(const Rows& rows, Convert convert) {
  Json result = Json::array();
  for (const auto& row : rows) result.push_back(convert(row));
  return result;
}

Json loop_json(const store::MainLoop& loop) {
  return {{"name", loop.name},
          {"first_epoch", loop.first_epoch},
          {"iterations", loop.iterations},
          {"ended", loop.ended},
          {"broke", loop.broke}};
}

Json value_json(const store::Value& value) {
  return {{"name", value.name},
          {"type", std::string(store::to_string(value.type))},
          {"loop", json_text(loop_text(value.place.path))},
          {"step", value.place.step < 0 ? Json(nullptr) : Json(value.place.step)},
          {"inner", json_text(value.place.inner)},
          {"ordinal", value.ordinal},
          {"value", to_json(value.type, value.value)},
          {"origin", std::string(origin_of(value))},
          {"verdict", std::string(verdict_of(value))}};
}

}  // namespace

Json show_run_json(const ShownRun& shown) {
  Json run = run_json(shown.run);
  run["program"] = json_text(shown.run.start.program);
  run["program_digest"] = json_text(shown.run.start.program_digest);
  run["build"] = build_json(shown);
  run["command"] = shown.run.start.command.words();
  run["environment"] = shown.run.start.environment;
  run["arguments"] = arguments_json(shown.arguments);
  run["metrics"] = metrics_json(shown.metrics);
  run["main_loops"] = array_of(shown.loops, loop_json);
  run["iterations"] =
      array_of(shown.iterations, [&](const auto& row) { return iteration_json(shown, row); });
  run["nested_loops"] =
      array_of(shown.executions, [&](const auto& row) { return execution_json(shown, row); });
  run["recording"] = recording_json(shown);
  run["decisions"] = decisions_json(shown);
  run["gaps"] = array_of(shown.gaps, [](const store::Gap& gap) -> Json {
    return {{"first_epoch", gap.first},
            {"last_epoch", gap.last},
            {"values_lost", gap.values},
            {"why", gap.why.text()}};
  });
  Json& stored = run["stored_checkpoints"];
  stored =
      array_of(shown.checkpoints, [&](const auto& row) { return checkpoint_json(shown, row); });
  run["strategy"] = strategy_json(shown);
  run["saved_checkpoints"] = all_saved_json(shown);
  run["deleted_checkpoints"] = discarded_json(shown);
  run["proofs"] = proofs_json(shown);
  run["replays"] = array_of(shown.replays, replay_json);
  run["group"] = array_of(shown.ranks, [](const store::Run& rank) -> Json {
    return {{"rank", rank.start.rank->rank},
            {"id", rank.key},
            {"status", std::string(store::to_string(rank.state))}};
  });
  run["resume_point"] = shown.point ? point_json(*shown.point) : Json(nullptr);
  run["resumptions"] = array_of(shown.resumptions, resumption_json);
  run["forked_from"] = fork_json(shown);
  run["forks"] = shown.forks.keys;
  run["inputs"] = files_json(shown, store::FileUse::input);
  run["outputs"] = files_json(shown, store::FileUse::output);
  run["read_by"] = array_of(shown.files.readers, kin_json);
  Json result = document("show");
  result["run"] = std::move(run);
  return result;
}

Json show_saved_json(const ShownRun& shown, std::string_view name) {
  Json result = document("show");
  result["run"] = run_json(shown.run);
  const auto saved = std::ranges::find(shown.saved, name, &store::SavedCheckpoint::name);
  result["saved"] = saved_json(shown, *saved);
  return result;
}

Json show_epoch_json(const ShownRun& shown, const ShownEpoch& epoch) {
  Json result = document("show");
  result["run"] = run_json(shown.run);
  Json& entry = result["epoch"];
  entry = {
      {"epoch", epoch.epoch},
      {"main_loop", shown.loop_name(epoch.main_loop)},
      {"iteration", epoch.iteration},
      {"complete", epoch.timing.has_value()},
      {"seconds", epoch.timing ? json_number(epoch.timing->seconds) : Json(nullptr)},
      {"flor_seconds", epoch.timing ? json_number(epoch.timing->record_seconds) : Json(nullptr)}};
  entry["decision"] = epoch.decision ? Json(reason_text(epoch.decision->reason)) : Json(nullptr);
  entry["nested_loops"] =
      array_of(epoch.executions, [&](const auto& row) { return execution_json(shown, row); });
  entry["stored_checkpoints"] =
      array_of(epoch.checkpoints, [&](const auto& row) { return checkpoint_json(shown, row); });
  entry["values"] = array_of(epoch.values, value_json);
  return result;
}

}  // namespace flor::cli
