#include "view/show_retention.h"

#include "choose/run_spec.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace flor::cli {
namespace {

using store::CheckpointInfo, store::CheckpointKind, store::SavedCheckpoint;

const CheckpointInfo* stored(const ShownRun& shown, const SavedCheckpoint& saved) {
  const auto found = std::ranges::find(shown.checkpoints, saved.key, &CheckpointInfo::key);
  return found == shown.checkpoints.end() ? nullptr : &*found;
}

/// The place at which a checkpoint was saved: "epoch 3, step 20 of train", "outside the loops".
std::string place_text(const SavedCheckpoint& saved) {
  const store::Place& place = saved.place;
  if (place.epoch < 0) return "outside the loops";
  std::string text = fmt::format("epoch {}", place.epoch);
  if (place.step >= 0) {
    text += fmt::format(", step {} of {}", place.step, place.path.substr(place.path.find('/') + 1));
  }
  return text;
}

std::string scores_text(const SavedCheckpoint& saved) {
  std::string text;
  for (const auto& [metric, value] : saved.scores) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", metric, readable(value));
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string strategy_text(const ShownRun& shown) {
  if (!shown.strategy) return {};
  const store::CheckpointStrategy& strategy = *shown.strategy;
  const std::string count =
      strategy.num_to_keep ? fmt::format("the {}", *strategy.num_to_keep) : "all";
  if (strategy.score_attribute.empty()) {
    return strategy.num_to_keep ? count + " newest" : count;
  }
  const bool small = strategy.score_order == store::ScoreOrder::min;
  return fmt::format("{}{} {} {}", count, strategy.num_to_keep ? " with the" : ", best by the",
                     small ? "smallest" : "greatest", strategy.score_attribute);
}

std::string deleted_text(const ShownRun& shown) {
  if (shown.discarded.empty()) return {};
  const auto there = std::ranges::count_if(
      shown.discarded, [](const auto& discarded) { return !discarded.collected_us; });
  if (there == 0) return fmt::format("{}", shown.discarded.size());
  return fmt::format("{}, of which {} can be brought back: flor keep {} --undo",
                     shown.discarded.size(), there, short_key(shown.run));
}

std::string proven_text(const ShownRun& shown) {
  std::string text;
  for (const store::Proof& proof : shown.proofs) {
    const auto fact = [&](const char* name) {
      const auto found = proof.environment.find(name);
      return found == proof.environment.end() ? std::string() : found->second;
    };
    std::string facts = fact("processor");
    for (const char* name : {"libtorch", "python", "cuda0"}) {
      if (!fact(name).empty()) facts += fmt::format(", {} {}", name, fact(name));
    }
    if (const std::string threads = fact("threads"); !threads.empty()) {
      facts += fmt::format(", {} thread{}", threads, threads == "1" ? "" : "s");
    }
    text += fmt::format("{}{} of them computed again on {} ({})", text.empty() ? "" : "; ",
                        proof.checkpoints.size(), fact("host"), facts);
  }
  return text.empty() ? text
                      : fmt::format("{}: flor keep {}@EPOCH --undo stores one again", text,
                                    short_key(shown.run));
}

void print_saved(Context& context, const ShownRun& shown) {
  if (shown.saved.empty()) return;
  context.out().write(
      fmt::format("\n{}\n", context.style().paint(Tone::strong, "saved checkpoints")));
  Table table({{"name"}, {"place"}, {"stored", Align::right}, {"scores", Align::left, true}});
  for (const SavedCheckpoint& saved : shown.saved) {
    const CheckpointInfo* info = stored(shown, saved);
    table.add(saved.name);
    table.add(place_text(saved));
    table.add(info ? bytes(info->stored_bytes) : "deleted", info ? Tone::plain : Tone::warning);
    table.add(scores_text(saved));
  }
  table.print(context.out(), context.style(), 2);
}

void print_one_saved(Context& context, const ShownRun& shown, std::string_view name) {
  const auto found = std::ranges::find(shown.saved, name, &SavedCheckpoint::name);
  const CheckpointInfo* info = stored(shown, *found);
  context.out().write(fmt::format("{} {} of run {}\n",
                                  context.style().paint(Tone::strong, "saved checkpoint"),
                                  printable(found->name), title(shown.run)));
  Table table({{""}, {""}}, Table::Header::hidden);
  const auto row = [&](std::string_view label, std::string_view text) {
    table.add(label);
    table.add(text);
  };
  row("number", fmt::format("{}", found->number));
  row("place", place_text(*found));
  row("scores", scores_text(*found));
  if (info) {
    row("taken", fmt::format("{} ({})", rfc3339(info->created_us),
                             relative(info->created_us, context.now_us())));
    row("size", fmt::format("{} stored of {}", bytes(info->stored_bytes), bytes(info->raw_bytes)));
    row("digest", info->digest.hex());
  } else {
    row("size", "deleted");
  }
  table.print(context.out(), context.style(), 2);
}

Json saved_json(const ShownRun& shown, const SavedCheckpoint& saved) {
  const CheckpointInfo* info = stored(shown, saved);
  Json scores = Json::object();
  for (const auto& [metric, value] : saved.scores) scores[metric] = json_number(value);
  return {{"number", saved.number},
          {"name", saved.name},
          {"loop", json_text(saved.place.path)},
          {"epoch", saved.place.epoch < 0 ? Json() : Json(saved.place.epoch)},
          {"step", saved.place.step < 0 ? Json() : Json(saved.place.step)},
          {"stored", info != nullptr},
          {"raw_bytes", info ? Json(info->raw_bytes) : Json()},
          {"digest", info ? Json(info->digest.hex()) : Json()},
          {"scores", std::move(scores)}};
}

Json all_saved_json(const ShownRun& shown) {
  Json list = Json::array();
  for (const SavedCheckpoint& saved : shown.saved) list.push_back(saved_json(shown, saved));
  return list;
}

Json discarded_json(const ShownRun& shown) {
  Json list = Json::array();
  for (const store::DiscardedCheckpoint& discarded : shown.discarded) {
    const store::CheckpointKey& key = discarded.info.key;
    std::string kind(store::to_string(key.kind));
    std::ranges::replace(kind, ' ', '_');
    list.push_back({{"kind", std::move(kind)},
                    {"main_loop", shown.loop_name(key.main_loop)},
                    {"iteration", key.iteration},
                    {"loop", json_text(key.loop)},
                    {"deleted", json_time(discarded.discarded_us)},
                    {"collected", json_time(discarded.collected_us)}});
  }
  return list;
}

Json proofs_json(const ShownRun& shown) {
  Json list = Json::array();
  for (const store::Proof& proof : shown.proofs) {
    Json environment = Json::object();
    for (const auto& [name, value] : proof.environment) environment[name] = json_text(value);
    list.push_back({{"replay", proof.replay},
                    {"checkpoints", proof.checkpoints.size()},
                    {"environment", std::move(environment)}});
  }
  return list;
}

Json strategy_json(const ShownRun& shown) {
  if (!shown.strategy) return nullptr;
  const store::CheckpointStrategy& strategy = *shown.strategy;
  return {{"num_to_keep", strategy.num_to_keep ? Json(*strategy.num_to_keep) : Json()},
          {"score_attribute", json_text(strategy.score_attribute)},
          {"score_order", store::to_string(strategy.score_order)},
          {"tie", strategy.tie == store::Tie::older ? "older" : "newer"}};
}

}  // namespace flor::cli
