// Everything a store holds, as text: what the golden stores are compared by. Contents appear as the
// digests of the bytes that were read, not as those that the catalog has.
#pragma once

#include "queue/job_queue.h"
#include "queue/sightings.h"

#include <flor/store/store.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace flor::store {

inline std::string golden_item(const Item& item, std::span<const std::byte> content) {
  return fmt::format("{} {} [{}] {} bytes {}\n", item.name, to_string(item.type),
                     fmt::join(item.sizes, ", "), item.bytes, item_digest(content).hex());
}

/// Reals as their bits, so that NaN and -0.0 count.
inline std::string golden_scalar(const Scalar& scalar) {
  if (const auto* real = std::get_if<double>(&scalar)) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, real, sizeof(bits));
    return fmt::format("real {:016x}", bits);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) return fmt::format("{}", *integer);
  return '"' + std::get<std::string>(scalar) + '"';
}

inline std::string golden_checkpoint(const Store& store, const CheckpointInfo& info) {
  const CheckpointReader reader(store, info.id);
  std::vector<std::vector<std::byte>> contents(reader.items().size());
  std::vector<Destination> destinations;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    contents[i].resize(reader.items()[i].bytes);
    destinations.push_back({i, contents[i]});
  }
  reader.read(destinations);
  std::string text = fmt::format("checkpoint {} main_loop {} iteration {} '{}' {} bytes {}\n",
                                 info.key.kind == CheckpointKind::boundary ? "boundary"
                                 : info.key.kind == CheckpointKind::saved  ? "saved"
                                                                           : "loop_end",
                                 info.key.main_loop, info.key.iteration, info.key.loop,
                                 info.raw_bytes, info.digest.hex());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    text += "  " + golden_item(reader.items()[i], contents[i]);
  }
  return text;
}

inline std::string golden_value(const Store& store, const Value& value) {
  const Place& place = value.place;
  std::string text = fmt::format("value {} at '{}' {} {} '{}' #{} replay {} {} {}\n", value.name,
                                 place.path, place.epoch, place.step, place.inner, value.ordinal,
                                 value.replay, to_string(value.type), golden_scalar(value.value));
  if (value.type == ValueType::tensor || value.type == ValueType::image) {
    const Object object = read_object(store, std::get<std::string>(value.value));
    text += "  " + golden_item(object.item, object.content);
  }
  return text;
}

/// What was saved, kept and deleted; nothing for stores that are older than that.
inline std::string golden_retention(const Catalog& catalog, std::int64_t run) {
  std::string text;
  for (const DiscardedCheckpoint& discarded : catalog.discarded(run)) {
    text +=
        fmt::format("discarded {} {} {} '{}' {} at {}\n", to_string(discarded.info.key.kind),
                    discarded.info.key.main_loop, discarded.info.key.iteration,
                    discarded.info.key.loop, discarded.info.digest.hex(), discarded.discarded_us);
  }
  for (const SavedCheckpoint& saved : catalog.saved(run)) {
    text += fmt::format("saved {} {} {} {} at '{}' {} {} '{}' #{}\n", saved.number, saved.name,
                        saved.key.main_loop, saved.key.iteration, saved.place.path,
                        saved.place.epoch, saved.place.step, saved.place.inner, saved.ordinal);
    for (const auto& [metric, value] : saved.scores) {
      text += fmt::format("  score {} {}\n", metric, golden_scalar(value));
    }
  }
  if (const auto strategy = catalog.strategy(run)) {
    text += fmt::format("strategy {} '{}' {} {}\n", strategy->num_to_keep.value_or(-1),
                        strategy->score_attribute, to_string(strategy->score_order),
                        static_cast<int>(strategy->tie));
  }
  return text;
}

inline std::string golden_point(const ResumePoint& point) {
  return fmt::format("{} {} {} boundary {} '{}' {}", point.main_loop, point.iteration, point.epoch,
                     point.boundary, point.loop, point.step);
}

/// The launch that `make_golden` leaves open in its groups.
inline constexpr std::string_view kGoldenLaunch = "launched by make_golden";

/// Place of a rank, and of rank 0 what the others find it by; nothing for runs without ranks.
inline std::string golden_rank(const Catalog& catalog, const Run& run) {
  if (!run.start.rank) return "";
  const RankPlace& place = *run.start.rank;
  std::string text =
      fmt::format("rank {} of {} of group {} {} joined {}\n", place.rank, place.world, place.group,
                  to_string(catalog.group_state(run)), catalog.has_joined(place.group, place.rank));
  if (place.rank != 0) return text;
  for (const Run& rank : catalog.ranks(place.group)) text += fmt::format("  {}\n", rank.key);
  const auto launch = catalog.find_launch(kGoldenLaunch);
  if (!launch || launch->group != place.group) return text;
  text += fmt::format("  launched at {} attempt {} of {}\n", launch->started_us, launch->attempt,
                      launch->commit);
  if (launch->point) text += fmt::format("  from {}\n", golden_point(*launch->point));
  return text;
}

inline std::string golden_run(const Store& store, const Run& run) {
  const Catalog& catalog = store.catalog();
  std::string text = fmt::format(
      "run {} {} of {} at {} in {} {} by {} {}\n  {} '{}' degraded '{}' epochs {} checkpoints {} "
      "raw {} command {}\n",
      run.id, run.key, run.start.experiment, run.start.started_us, run.start.repository,
      run.start.commit, run.start.program, run.start.program_digest, to_string(run.state),
      run.message, run.degraded, run.epochs, run.checkpoints, run.raw_bytes,
      run.start.command.text());
  if (!run.origin.recorded_here()) {
    text += fmt::format("{} from {} at {}\n", to_string(run.origin.kind), run.origin.from,
                        run.origin.since_us);
  }
  text += golden_rank(catalog, run);
  for (const auto& [name, value] : run.start.environment) {
    text += fmt::format("environment {}={}\n", name, value);
  }
  for (const Argument& argument : catalog.arguments(run.id)) {
    text += fmt::format("argument {} {} {}\n", argument.name, argument.type, argument.value);
  }
  for (const Resumption& each : catalog.resumptions(run.id)) {
    text += fmt::format("resumed at {} from {} {} {} command {}\n", each.resumed_us,
                        golden_point(each.point), each.commit, each.program_digest,
                        each.command.text());
  }
  for (const MainLoop& loop : catalog.main_loops(run.id)) {
    text += fmt::format("main loop {} {} from {} iterations {} ended {} broke {}\n", loop.ordinal,
                        loop.name, loop.first_epoch, loop.iterations, loop.ended, loop.broke);
  }
  for (const Iteration& each : catalog.iterations(run.id)) {
    text += fmt::format("iteration {} {} {} {}\n", each.main_loop, each.iteration, each.seconds,
                        each.record_seconds);
  }
  for (const LoopExecution& each : catalog.executions(run.id)) {
    text += fmt::format("execution {} {} {} iterations {} broke {} {}\n", each.main_loop,
                        each.iteration, each.loop, each.iterations, each.broke, each.seconds);
  }
  for (const CheckpointInfo& info : catalog.checkpoints(run.id)) {
    text += golden_checkpoint(store, info);
  }
  text += golden_retention(catalog, run.id);
  for (const Value& value : catalog.values({.run = run.id})) text += golden_value(store, value);
  const ValueQuery evaluated{
      .run = run.id, .recorded = false, .hindsight = false, .evaluated = true};
  for (const Value& value : catalog.values(evaluated)) {
    text += fmt::format("evaluated by job {} ", value.job) + golden_value(store, value);
  }
  for (const Replay& replay : catalog.replays(run.id)) {
    text += fmt::format("replay {} segment {}/{} epochs {}..{} strong {} probes {}", replay.id,
                        replay.start.segment, replay.start.segments, replay.start.first_epoch,
                        replay.start.last_epoch, replay.start.strong, replay.start.probes);
    if (replay.result) {
      text += fmt::format(" {} values {}/{} states {}/{} '{}'", to_string(replay.result->verdict),
                          replay.result->values_different, replay.result->values_compared,
                          replay.result->states_different, replay.result->states_compared,
                          replay.result->first_difference);
    }
    text += "\n";
  }
  return text;
}

/// The queue, and what the watches that `make_golden` began have seen; nothing for older stores.
inline std::string golden_jobs(const Store& store) {
  std::string text;
  const auto queue = open_home_queue(store);
  for (const Evaluator& evaluator : queue->evaluators()) {
    text += fmt::format("evaluator {} {} {}\n", evaluator.id, evaluator.spec, evaluator.digest);
  }
  for (const Job& job : queue->jobs()) {
    text += fmt::format(
        "job {} token {} of {} by {} '{}' at {} priority {} {} attempts {} added {} finished {} "
        "'{}' {}\n",
        job.lease.job, job.lease.token, job.what.content.hex(), job.what.evaluator,
        job.what.arguments, job.what.path, job.what.priority, to_string(job.state), job.attempts,
        job.added_us, job.finished_us.value_or(-1), job.message, job.result);
  }
  if (text.empty()) return text;
  for (const std::int64_t watch : {1, 2}) {
    for (const Sighting& seen : WatchMemory(store).sightings(watch)) {
      text += fmt::format("seen by {} {} {} {} {} {} {}\n", watch, seen.path, seen.file.device,
                          seen.file.inode, seen.file.bytes, seen.file.modified_ns,
                          seen.content ? seen.content->hex() : "before");
    }
  }
  return text;
}

inline std::string golden_runs(const Store& store) {
  std::string text;
  for (const Run& run : store.catalog().runs()) text += golden_run(store, run);
  return text;
}

inline std::string golden_text(const Store& store) {
  return golden_runs(store) + golden_jobs(store);
}

}  // namespace flor::store
