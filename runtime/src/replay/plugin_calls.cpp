// The plug-in of a replay: where it is called, and the epochs that it sees without their being
// executed.
#include "base/notice.h"
#include "replay/replayer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace flor::detail {

void Replayer::load_plugin() {
  PluginFile file = read_plugin_file(flags_.plugin);
  if (!flags_.plugin_digest.empty() && file.digest != flags_.plugin_digest) {
    throw Error(fmt::format("plug-in {} has changed since the replay began: start it again",
                            flags_.plugin));
  }
  plugin_ = std::make_unique<Plugin>(std::move(file));
  if (flags_.shows_what_is_stored() &&
      (plugin_->wants(ProbeAt::loop_begin) || plugin_->wants(ProbeAt::step_end))) {
    throw UsageError(fmt::format(
        "plug-in {} is to be called inside epochs (flor_probe_places), which have to be executed "
        "for that: name a nested loop, `flor replay --probe LOOP` or --flor_probe LOOP",
        plugin_->file().name()));
  }
  probed_run_ = {.key = run_.key,
                 .experiment = run_.start.experiment,
                 .argument = [this](const char* name) -> const char* {
                   const auto found = arguments_.find(name);
                   const bool told = found != arguments_.end() && !found->second.is_secret();
                   return told ? found->second.value.c_str() : nullptr;
                 }};
}

void Replayer::show_live(ProbeAt at, const Frame* nested, std::int64_t epoch) {
  if (!plugin_ || !plugin_->wants(at) || catching_up_) return;
  static const std::vector<Slot> none;
  LiveState state(registry_, nested ? nested->settings.attached : none);
  const Frame& main = main_frame();
  const ProbePlace place{.at = at,
                         .epoch = epoch,
                         .main_loop = main.ordinal,
                         .iteration = epoch - main.first_epoch,
                         .step = at == ProbeAt::step_end ? nested->index - 1 : -1,
                         .main_loop_name = main.component.c_str(),
                         .nested_loop_name = nested ? nested->component.c_str() : ""};
  try {
    call_plugin(place, state);
  } catch (const std::exception& error) {
    die(error);  // the program must not take it for an exception of its own
  }
}

std::int64_t Replayer::leave_nested(Frame& frame) {
  const Frame& main = main_frame();
  if (main.ordinal >= 0) show_live(ProbeAt::step_end, &frame, main.first_epoch + main.index);
  return 1;
}

void Replayer::left_nested(Frame& frame, LoopEnd how) {
  if (frame.visited) {
    executed_.insert(frame.component);
  } else {
    skipped_ = skipped_in_epoch_ = true;
  }
  if (frames_.empty() || main_frame().ordinal < 0 || how == LoopEnd::failed) return;
  const Frame& main = main_frame();
  show_live(ProbeAt::loop_end, &frame, main.first_epoch + main.index);
}

/// Marks values logged during the call as the plug-in's.
void Replayer::call_plugin(const ProbePlace& place, ProbedState& state) {
  const auto mark = [this](bool plugged) {
    journal().move([&](CurrentPlace& current) { current.plugged = plugged; });
  };
  mark(true);
  plugin_->call(probed_run_, place, state);
  mark(false);
}

/// The iterations of this loop that are to be executed next.
Epochs Replayer::next_target(const Frame& frame) const {
  Epochs target = part_of_loop(piece_, frame.first_epoch, loop_->iterations);
  if (!flags_.shows_what_is_stored()) return target;
  for (std::int64_t i = target.first + 1; i < target.end; ++i) {
    if (is_stored(i)) target.end = i;
  }
  return target;
}

/// Shows the stored state of the pieces that come next in this loop. The rest of `piece_` is empty,
/// lies after this loop, or begins with an epoch that has to be executed.
void Replayer::show_stored(Frame& frame) {
  if (!flags_.shows_what_is_stored()) return;
  for (;;) {
    const Epochs here = part_of_loop(piece_, frame.first_epoch, loop_->iterations);
    if (here.empty()) return;
    if (!is_stored(here.first)) return;
    show_stored_epoch(frame, here.first);
    ++piece_.first;
    if (!piece_.empty()) continue;
    next_piece({.section = section_,
                .main_loop = frame.ordinal,
                .iteration = frame.index,
                .reach = random_access_ ? Reach::any : Reach::forward});
  }
}

bool Replayer::is_stored(std::int64_t iteration) const {
  const store::CheckpointKey end{
      .main_loop = loop_->ordinal, .iteration = iteration + 1, .loop = {}};
  if (!record_->checkpoint(end)) return false;
  if (!plugin_->wants(ProbeAt::loop_end)) return true;
  return loop_ends(iteration).size() == record_->executed_in(loop_->ordinal, iteration).size();
}

/// Those that are stored, in the order in which they were taken.
std::vector<store::CheckpointKey> Replayer::loop_ends(std::int64_t iteration) const {
  std::vector<store::CheckpointKey> keys;
  for (const std::string& loop : record_->executed_in(loop_->ordinal, iteration)) {
    const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                   .main_loop = loop_->ordinal,
                                   .iteration = iteration,
                                   .loop = loop};
    if (record_->checkpoint(key)) keys.push_back(key);
  }
  std::ranges::sort(keys, {}, [this](const auto& key) { return record_->checkpoint(key); });
  return keys;
}

void Replayer::show_stored_epoch(Frame& frame, std::int64_t iteration) {
  const std::int64_t epoch = frame.first_epoch + iteration;
  const std::int64_t before = std::exchange(frame.index, iteration);
  update_place();
  enter_part(epoch, true);
  if (plugin_->wants(ProbeAt::loop_end)) {
    for (const store::CheckpointKey& key : loop_ends(iteration)) show_checkpoint(key, epoch);
  }
  if (plugin_->wants(ProbeAt::epoch_end)) {
    show_checkpoint({.main_loop = frame.ordinal, .iteration = iteration + 1, .loop = {}}, epoch);
  }
  frame.index = before;
  ++visited_;
  check([this, epoch] { value_check_->forget(epoch); });
  complete(epoch, false);
}

void Replayer::show_checkpoint(const store::CheckpointKey& key, std::int64_t epoch) {
  StoredState state(*store_, state_->brought(*record_->checkpoint(key)));
  const bool nested = key.kind == store::CheckpointKind::loop_end;
  const ProbePlace place{.at = nested ? ProbeAt::loop_end : ProbeAt::epoch_end,
                         .epoch = epoch,
                         .main_loop = key.main_loop,
                         .iteration = epoch - main_frame().first_epoch,
                         .step = -1,
                         .main_loop_name = main_frame().component.c_str(),
                         .nested_loop_name = key.loop.c_str()};
  try {
    call_plugin(place, state);
  } catch (const std::exception& error) {
    die(error);
  }
  ++shown_checkpoints_;
  shown_bytes_ += state.bytes_read();
}

}  // namespace flor::detail
