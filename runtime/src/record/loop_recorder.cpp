#include "record/loop_recorder.h"

#include "base/notice.h"
#include "index/catalog/resume_point.h"
#include "resume/resume_check.h"
#include "state/registry.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace flor::detail {
namespace {

/// The item kElapsedItem, which has two numbers.
store::SnapshotItem elapsed_item(const Elapsed& elapsed) {
  const std::shared_ptr<std::byte[]> bytes(new std::byte[sizeof elapsed]);
  std::memcpy(bytes.get(), &elapsed, sizeof elapsed);
  return {{.name = std::string(kElapsedItem),
           .type = store::ElementType::bytes,
           .sizes = {},
           .bytes = sizeof elapsed},
          store::Content(bytes, bytes.get())};
}

store::CheckpointKey boundary_of(const Frame& main, std::int64_t complete) {
  return {.main_loop = main.ordinal, .iteration = complete, .loop = {}};
}

const Frame& main_of(const std::vector<Frame*>& frames) { return *frames.front(); }

/// `how`: how the loop ended; nothing while it is being executed.
store::MainLoop main_loop_of(const Frame& main, std::optional<LoopEnd> how = std::nullopt) {
  return {.ordinal = main.ordinal,
          .name = main.component,
          .first_epoch = main.first_epoch,
          .iterations = main.index,
          .ended = how.has_value(),
          .broke = how == LoopEnd::broke};
}

}  // namespace

LoopRecorder::LoopRecorder(Parts parts)
    : parts_(parts),
      schedule_(parts.flags),
      taker_({.registry = parts.registry,
              .background = parts.background,
              .priority = parts.priority,
              .run = parts.run,
              .rows = parts.storage.rows(),
              .checkpoints = parts.storage.checkpoints(),
              .group = parts.group,
              .ledger = schedule_.ledger(),
              .add_flor_time = [this](double seconds) {
                if (parts_.frames.empty()) return;
                parts_.frames.front()->iteration.flor_seconds += seconds;
              }}) {}

// ---------------------------------------------------------------------------------------------
// Main loops.

void LoopRecorder::begin_main(Frame& main) {
  main.ordinal = main_loops_++;
  main.first_epoch = epochs_;
  taken_boundary_ = -1;
}

void LoopRecorder::pass_by(std::int64_t iterations, bool stored) {
  if (stored) taken_boundary_ = iterations;
  epochs_ += iterations;
}

void LoopRecorder::open_main(const Frame& main) {
  if (take_forced(boundary_of(main, 0))) taken_boundary_ = 0;
  taker_.begin_stretch(main.component, {}, Edge::iteration);
  parts_.storage.rows().progress().put(main_loop_of(main));
}

void LoopRecorder::begin_iteration(bool recorded) {
  if (recorded) schedule_.begin_iteration();
  news_.begin(epochs_, recorder_clock());
}

void LoopRecorder::end_iteration(Frame& main, bool last) {
  last_chance_ = last;
  const bool stored = stores(main);
  // The boundary after an iteration is forced in all ranks or in none.
  const auto is_forced = [&] {
    return steps_.is_set() && parts_.group.forces(main.ordinal, main.index, steps_.is_due());
  };
  if (!stored && (is_forced() || last)) {
    schedule_.force(now(main), store::StorageReason::forced);
  }
  if (stores(main)) {
    last_chance_ = last_chance_ || schedule_.decided() == store::StorageReason::last;
    if (take(boundary_of(main, main.index + 1), {}, schedule_.batch())) {
      taken_boundary_ = main.index + 1;
    }
  }
  last_chance_ = false;
  taker_.begin_stretch(main.component, {}, Edge::iteration);
  complete_iteration(main);
  parts_.storage.rows().progress().put(main_loop_of(main));
}

void LoopRecorder::complete_iteration(Frame& main) {
  RowWriter& rows = parts_.storage.rows();
  const store::Iteration iteration{.main_loop = main.ordinal,
                                   .iteration = main.index,
                                   .seconds = seconds_since(main.iteration.began),
                                   .record_seconds = main.iteration.flor_seconds};
  if (schedule_.decided() == store::StorageReason::degraded) rows.miss(epochs_);
  schedule_.end_iteration(now(main));
  parts_.group.set_spent(schedule_.is_spent());
  put_schedule();
  if (!rows.progress().add(iteration)) rows.miss(epochs_);
  ++main.index;
  ++epochs_;
  const auto count = main.count ? static_cast<std::int64_t>(*main.count) : -1;
  if (const auto line = news_.completed(epochs_ - 1, main.index, count, iteration.seconds)) {
    say(Level::result, *line);
  }
  // Also done here, since epochs may be shorter than the time between two ticks.
  if (rows.health().lasts() && rows.health().may_try(RowWriter::Part::rows)) {
    parts_.background->post([this] { parts_.storage.write_waiting(); });
  }
}

void LoopRecorder::end_main(Frame& main, LoopEnd how) {
  // The last state is always kept, regardless of the rule for the others.
  const std::int64_t complete = main.index + (how == LoopEnd::broke ? 1 : 0);
  const bool late = taken_boundary_ != complete;
  last_chance_ = true;
  if (late) take_forced(boundary_of(main, complete));
  last_chance_ = false;
  // An iteration that is left by break or return counts as complete. It is recorded as the last one
  // in the same write, since a resumed run must not continue with another iteration.
  if (how == LoopEnd::broke) complete_iteration(main);
  if (late) {
    schedule_.ended_with_last_iteration();
    put_schedule();
  }
  taker_.fence();  // the last state must be kept: the code after the loop does not run again
  parts_.storage.rows().progress().put(main_loop_of(main, how));
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

void LoopRecorder::begin_nested(const Frame& nested) {
  // A replay can begin with this iteration only if the boundary before it is stored.
  const bool possible_start = taken_boundary_ == main_of(parts_.frames).index;
  if (possible_start && !nested.settings.attached.empty()) take_entry(nested);
  taker_.begin_stretch(main_of(parts_.frames).component, nested.component, Edge::body);
}

void LoopRecorder::end_nested(const Frame& nested, LoopEnd how) {
  const Frame& main = main_of(parts_.frames);
  const store::LoopExecution execution{.main_loop = main.ordinal,
                                       .iteration = main.index,
                                       .loop = nested.component,
                                       .iterations = nested.index + (how == LoopEnd::broke ? 1 : 0),
                                       .broke = how == LoopEnd::broke,
                                       .seconds = seconds_since(nested.opened_at)};
  if (stores(main)) {
    take({.kind = store::CheckpointKind::loop_end,
          .main_loop = main.ordinal,
          .iteration = main.index,
          .loop = nested.component},
         nested.settings.attached, schedule_.batch());
  }
  taker_.begin_stretch(main.component, nested.component, Edge::tail);
  if (!parts_.storage.rows().progress().add(execution)) parts_.storage.rows().miss(epochs_);
}

void LoopRecorder::take_due_step(const Frame& nested) {
  steps_.step();
  // The state inside an iteration is only useful together with the boundary before the iteration.
  if (steps_.is_due() && taken_boundary_ == main_of(parts_.frames).index &&
      taker_.unwritten().steps == 0) {
    take_step(nested);
  }
}

void LoopRecorder::take_step(const Frame& nested) {
  const Frame& main = main_of(parts_.frames);
  take_forced({.kind = store::CheckpointKind::step,
               .main_loop = main.ordinal,
               .iteration = main.index,
               .loop = store::step_name(nested.component, nested.index)},
              nested.settings.attached,
              elapsed_item({seconds_since(main.iteration.began), seconds_since(nested.opened_at)}));
}

void LoopRecorder::take_last(const Frame* nested) {
  last_chance_ = true;
  if (nested && taken_boundary_ == main_of(parts_.frames).index) take_step(*nested);
  taker_.fence();
}

void LoopRecorder::take_entry(const Frame& nested) noexcept {
  try {
    taker_.take_entry({.key = {.kind = store::CheckpointKind::loop_end,
                               .main_loop = main_of(parts_.frames).ordinal,
                               .iteration = main_of(parts_.frames).index,
                               .loop = entry_name(nested.component)},
                       .epoch = epochs_},
                      nested.settings.attached);
  } catch (const std::exception& error) {  // no memory for its name
    parts_.storage.rows().trouble(RowWriter::Part::content, error.what());
  }
}

// ---------------------------------------------------------------------------------------------
// Decisions.

Schedule::Now LoopRecorder::now(const Frame& main) {
  StorageHealth& health = parts_.storage.rows().health();
  return {.main_loop = main.ordinal,
          .iteration = main.index,
          .count = main.count,
          .iteration_seconds = seconds_since(main.iteration.began),
          .flor_seconds = main.iteration.flor_seconds,
          .writing = taker_.unwritten().all > 0,
          .degraded = !last_chance_ && !health.may_try(RowWriter::Part::content),
          .bytes = [this] { return taker_.state_bytes(); }};
}

bool LoopRecorder::stores(const Frame& main) {
  if (const auto decided = schedule_.due()) return store::is_stored(*decided);
  const bool stored = schedule_.stores(now(main));
  const bool waits = *schedule_.decided() == store::StorageReason::late;
  if (stored || waits) taker_.hurry_if_late(waits);
  return stored;
}

void LoopRecorder::put_schedule() {
  store::Recording recording = schedule_.recording();
  const Escalation& escalation = taker_.escalation();
  recording.waits = escalation.waits();
  recording.hurried = escalation.hurried();
  recording.fast = escalation.fast();
  recording.raw = escalation.raw();
  parts_.storage.rows().progress().put(schedule_.decisions(), recording);
}

void LoopRecorder::account() { schedule_.ledger().job_begins(taker_.background_cpu()); }

void LoopRecorder::stop() {
  taker_.stop_hurrying();
  schedule_.ledger().drain();
}

// ---------------------------------------------------------------------------------------------
// Checkpoints.

void LoopRecorder::take_saved(const store::CheckpointKey& key, const Registry& objects,
                              const std::vector<Slot>& attached) {
  taker_.fence();  // waits for copies, since the checkpoint has the present state
  const auto batch = schedule_.open_single();
  taker_.take({.key = key, .epoch = epoch_of(key), .last_chance = last_chance_}, objects, attached,
              batch);
  schedule_.ledger().close(batch);
}

bool LoopRecorder::take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                               std::optional<store::SnapshotItem> extra) {
  const auto batch = schedule_.open_single();
  const bool taken = take(key, attached, batch, std::move(extra));
  schedule_.ledger().close(batch);
  return taken;
}

bool LoopRecorder::take(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                        const std::shared_ptr<Batch>& batch,
                        std::optional<store::SnapshotItem> extra) {
  using enum store::CheckpointKind;
  if (key.kind == boundary || key.kind == step) steps_.taken();
  return taker_.take({.key = key, .epoch = epoch_of(key), .last_chance = last_chance_},
                     parts_.registry, attached, batch, std::move(extra));
}

std::int64_t LoopRecorder::epoch_of(const store::CheckpointKey& key) const {
  if (parts_.frames.empty()) return std::max<std::int64_t>(0, epochs_ - 1);
  const bool ends = key.kind == store::CheckpointKind::boundary && key.iteration > 0;
  return main_of(parts_.frames).first_epoch + std::max<std::int64_t>(0, key.iteration) -
         (ends ? 1 : 0);
}

}  // namespace flor::detail
