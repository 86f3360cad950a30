#include "replay/plugin_calls.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace flor::detail {
namespace {

store::CheckpointKey key_after(std::int64_t main_loop, std::int64_t iteration) {
  return {.main_loop = main_loop, .iteration = iteration + 1, .loop = {}};
}

/// The stored ends of nested loops in an iteration, in the order in which they were taken.
std::vector<store::CheckpointKey> loop_ends(const Record& record, std::int64_t main_loop,
                                            std::int64_t iteration) {
  std::vector<store::CheckpointKey> keys;
  for (const std::string& loop : record.executed_in(main_loop, iteration)) {
    const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                   .main_loop = main_loop,
                                   .iteration = iteration,
                                   .loop = loop};
    if (record.checkpoint(key)) keys.push_back(key);
  }
  std::ranges::sort(keys, {}, [&](const auto& key) { return record.checkpoint(key); });
  return keys;
}

}  // namespace

PluginCalls::PluginCalls(const Flags& flags, ProbedRun run, Journal& journal)
    : run_(std::move(run)), journal_(&journal) {
  if (flags.plugin.empty()) return;
  PluginFile file = read_plugin_file(flags.plugin);
  if (!flags.plugin_digest.empty() && file.digest != flags.plugin_digest) {
    throw Error(fmt::format("plug-in {} has changed since the replay began: start it again",
                            flags.plugin));
  }
  plugin_ = std::make_unique<Plugin>(std::move(file));
  if (flags.shows_what_is_stored() &&
      (plugin_->wants(ProbeAt::loop_begin) || plugin_->wants(ProbeAt::step_end))) {
    throw UsageError(fmt::format(
        "plug-in {} is to be called inside epochs (flor_probe_places), which have to be executed "
        "for that: name a nested loop, `flor replay --probe LOOP` or --flor_probe LOOP",
        plugin_->file().name()));
  }
}

void PluginCalls::call_live(ProbeAt at, const Registry& registry, const Frame& main,
                            const Frame* nested, std::int64_t epoch) {
  if (!plugin_ || !plugin_->wants(at)) return;
  static const std::vector<Slot> none;
  LiveState state(registry, nested ? nested->settings.attached : none);
  call({.at = at,
        .epoch = epoch,
        .main_loop = main.ordinal,
        .iteration = epoch - main.first_epoch,
        .step = at == ProbeAt::step_end ? nested->index - 1 : -1,
        .main_loop_name = main.component.c_str(),
        .nested_loop_name = nested ? nested->component.c_str() : ""},
       state);
}

/// Calls the plug-in, and marks the values logged meanwhile as the plug-in's.
void PluginCalls::call(const ProbePlace& place, ProbedState& state) {
  const auto mark = [this](bool plugged) {
    journal_->move([&](CurrentPlace& current) { current.plugged = plugged; });
  };
  try {
    mark(true);
    plugin_->call(run_, place, state);
    mark(false);
  } catch (const std::exception& error) {
    die(error);
  }
}

bool PluginCalls::is_stored(const Record& record, std::int64_t main_loop,
                            std::int64_t iteration) const {
  if (!plugin_ || !record.checkpoint(key_after(main_loop, iteration))) return false;
  if (!plugin_->wants(ProbeAt::loop_end)) return true;
  return loop_ends(record, main_loop, iteration).size() ==
         record.executed_in(main_loop, iteration).size();
}

std::vector<store::CheckpointKey> PluginCalls::wanted(const Record& record,
                                                      std::int64_t main_loop,
                                                      std::int64_t iteration) const {
  std::vector<store::CheckpointKey> keys;
  if (plugin_->wants(ProbeAt::loop_end)) keys = loop_ends(record, main_loop, iteration);
  if (plugin_->wants(ProbeAt::epoch_end)) keys.push_back(key_after(main_loop, iteration));
  return keys;
}

void PluginCalls::call_stored(const store::Store& store, std::int64_t checkpoint,
                              const store::CheckpointKey& key, const Frame& main,
                              std::int64_t epoch) {
  StoredState state(store, checkpoint);
  const bool nested = key.kind == store::CheckpointKind::loop_end;
  call({.at = nested ? ProbeAt::loop_end : ProbeAt::epoch_end,
        .epoch = epoch,
        .main_loop = key.main_loop,
        .iteration = epoch - main.first_epoch,
        .step = -1,
        .main_loop_name = main.component.c_str(),
        .nested_loop_name = key.loop.c_str()},
       state);
  ++shown_;
  shown_bytes_ += state.bytes_read();
}

}  // namespace flor::detail
