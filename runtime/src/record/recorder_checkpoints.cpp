// The recorder's checkpoints: from the state to the writer.
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/text.h"
#include "record/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace flor::detail {
namespace {

/// The checkpoint holds the locals that are attached to a nested loop, as they are when it begins.
bool is_entry(const store::CheckpointKey& key) {
  return key.kind == store::CheckpointKind::loop_end && key.loop.ends_with(entry_name(""));
}

std::string print(const store::CheckpointKey& key) {
  const bool boundary = key.kind == store::CheckpointKind::boundary;
  std::string text = fmt::format("{} {} of main loop {}", boundary ? "boundary" : "iteration",
                                 key.iteration, key.main_loop);
  if (is_entry(key)) {
    return text + ", before " + key.loop.substr(0, key.loop.size() - entry_name("").size());
  }
  if (key.kind == store::CheckpointKind::loop_end) text += ", end of " + key.loop;
  if (key.kind == store::CheckpointKind::step) text += ", step " + key.loop;
  if (key.kind == store::CheckpointKind::saved) text += ", saved as " + key.loop;
  return text;
}

}  // namespace

Recorder::OnItsWay::OnItsWay(Recorder& recorder, const Taken& taken)
    : recorder_(recorder),
      epoch_(taken.epoch),
      is_entry_(is_entry(taken.key)),
      is_step_(taken.key.kind == store::CheckpointKind::step) {
  if (!is_entry_) ++recorder_.unwritten_;
  if (is_step_) ++recorder_.steps_unwritten_;
}

Recorder::OnItsWay::~OnItsWay() {
  if (!is_entry_) --recorder_.unwritten_;
  if (is_step_) --recorder_.steps_unwritten_;
  try {
    if (!arrived_) recorder_.health_.miss(epoch_);
  } catch (const std::exception&) {  // no memory for a gap
  }
}

void Recorder::take_entry(const Frame& nested) noexcept {
  const auto began = Clock::now();
  try {
    Taken taken{.key = {.kind = store::CheckpointKind::loop_end,
                        .main_loop = main_frame().ordinal,
                        .iteration = main_frame().index,
                        .loop = entry_name(nested.component)},
                .epoch = epochs_};
    const auto way = std::make_shared<OnItsWay>(*this, taken);
    try {
      taken.snapshot = snapshotter_.take_attached(registry_, nested.settings.attached);
      background_->post([this, way, taken = std::move(taken)]() mutable {
        write_entry(std::move(taken));
        way->arrived();
      });
    } catch (const std::exception& error) {
      trouble(StorageHealth::Part::content, error.what());
    } catch (...) {
      trouble(StorageHealth::Part::content,
              "saving an attached local threw an exception of unknown type");
    }
  } catch (const std::exception& error) {  // no memory for its name
    trouble(StorageHealth::Part::content, error.what());
  }
  add_flor_time(began);
}

bool Recorder::take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                           std::optional<store::SnapshotItem> extra) {
  const auto batch = schedule_.open_single();
  const bool taken = take_checkpoint(key, attached, batch, std::move(extra));
  schedule_.ledger().close(batch);
  return taken;
}

bool Recorder::take_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                               const std::shared_ptr<Batch>& batch,
                               std::optional<store::SnapshotItem> extra) {
  using enum store::CheckpointKind;
  if (key.kind == boundary || key.kind == step) {
    steps_since_ = 0;
    kept_at_ = Clock::now();
  }
  Taken whose{.key = key, .epoch = epoch_of(key), .last_chance = last_chance_};
  if (!last_chance_ && !health_.may_try(StorageHealth::Part::content)) {
    health_.miss(whose.epoch);
    return false;
  }
  const auto began = Clock::now();
  std::shared_ptr<OnItsWay> way;
  std::optional<TakenSnapshot> taken;
  try {
    way = std::make_shared<OnItsWay>(*this, whose);
    // Inside an iteration the next update is near, and no stretch begins that would wait for it.
    const bool inside = key.kind == step || key.kind == saved;
    const bool overlap = overlap_.allowed() && !inside;
    taken = snapshotter_.take(registry_, attached, overlap, overlap && overlap_.untouched());
    prepare_buffers(*taken);
    if (extra) taken->snapshot.items.push_back(*std::move(extra));
  } catch (const std::exception& error) {
    taken.reset();
    trouble(StorageHealth::Part::content, error.what());
  } catch (...) {  // anything that a program's own `save` throws
    taken.reset();
    trouble(StorageHealth::Part::content,
            "saving a registered object threw an exception of unknown type");
  }
  const double seconds = seconds_since(began);
  if (!frames_.empty()) frames_.front()->flor_seconds += seconds;
  if (!way) miss(whose.epoch);
  if (!taken) return false;
  last_bytes_ = taken->snapshot.raw_bytes();
  schedule_.ledger().taken(*batch, seconds, last_bytes_);
  try {
    overlap_.add(std::move(*taken), [this, whose, batch, way](auto complete) {
      hand_to_writer(whose, batch, way, std::move(complete));
    });
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
  }
  return true;
}

std::int64_t Recorder::epoch_of(const store::CheckpointKey& key) const {
  if (frames_.empty()) return std::max<std::int64_t>(0, epochs_ - 1);
  const bool ends = key.kind == store::CheckpointKind::boundary && key.iteration > 0;
  return main_frame().first_epoch + std::max<std::int64_t>(0, key.iteration) - (ends ? 1 : 0);
}

void Recorder::hand_to_writer(Taken whose, const std::shared_ptr<Batch>& batch,
                              std::shared_ptr<OnItsWay> way, std::optional<TakenSnapshot> taken) {
  if (taken) whose.snapshot = *std::move(taken);
  background_->post([this, batch, way = std::move(way), whole = taken.has_value(),
                     whose = std::move(whose)]() mutable {
    schedule_.ledger().job_begins(background_cpu());
    if (whole) {
      write_checkpoint(std::move(whose));
    } else {
      health_.miss(whose.epoch, false, "the program wrote what was still being copied");
    }
    way->arrived();
    schedule_.ledger().job_ends(background_cpu(), batch);
  });
}

void Recorder::add_flor_time(Clock::time_point began) {
  const double seconds = seconds_since(began);
  schedule_.ledger().spent(seconds);
  if (!frames_.empty()) frames_.front()->flor_seconds += seconds;
}

void Recorder::begin_stretch(std::string_view nested, Edge edge) {
  if (!overlap_.active()) return;
  const auto began = Clock::now();
  try {
    overlap_.edge(main_frame().component, nested, edge);
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
  }
  add_flor_time(began);
}

void Recorder::fence() noexcept {
  const auto began = Clock::now();
  try {
    overlap_.fence();
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
  }
  if (own_thread()) add_flor_time(began);
}

void Recorder::settle() noexcept {
  try {
    overlap_.settle();
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
  }
}

void Recorder::stop_overlapping(std::string_view why) noexcept {
  try {
    say(Level::error,
        fmt::format("a checkpoint of run {} is dropped: {}; from now on the training waits for the "
                    "copies (see docs/checkpoints.md)",
                    run_.key.substr(0, 8), why));
  } catch (const std::exception&) {  // only a notice is lost
  }
}

/// The first snapshots fill fresh memory; buffers for the next ones are made ready meanwhile.
void Recorder::prepare_buffers(const TakenSnapshot& taken) {
  if (prepared_ >= 2) return;
  ++prepared_;
  std::map<std::pair<std::size_t, bool>, std::size_t> sizes;  // bytes, and whether they are pinned
  constexpr std::size_t kLarge = std::size_t{64} << 10;
  std::set<std::size_t> from_devices;
  for (const auto& [index, copy] : taken.pending) from_devices.insert(index);
  for (const auto& [index, copy] : taken.staged) from_devices.insert(index);
  for (std::size_t i = 0; i < taken.snapshot.items.size(); ++i) {
    const std::size_t bytes = taken.snapshot.items[i].item.bytes;
    if (bytes >= kLarge) ++sizes[{bytes, from_devices.contains(i)}];
  }
  background_->post([this, sizes] {
    schedule_.ledger().job_begins(background_cpu());
    try {
      for (const auto& [size, count] : sizes) {
        snapshotter_.buffers().prepare(size.first, 2 * count, size.second);
      }
    } catch (const std::exception&) {  // it was only to save time
    }
    schedule_.ledger().setup_ends(background_cpu());
  });
}

bool Recorder::may_store(bool last_chance) noexcept {
  const bool tried = last_chance || ending_;
  if (!tried && !health_.may_try(StorageHealth::Part::content)) return false;
  write_logged();
  if (!values_are_written()) flush_values();
  return values_are_written();
}

void Recorder::write_checkpoint(Taken taken) noexcept {
  if (!store_) return;
  try {
    taken.snapshot.arrive();
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
    return miss(taken.epoch);
  }
  if (!may_store(taken.last_chance)) return pass_over(std::move(taken));
  try {
    store_held();
    store_checkpoint(taken);
    works(StorageHealth::Part::content);
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
    pass_over(std::move(taken));
  }
}

void Recorder::write_entry(Taken entry) noexcept {
  if (!store_) return;
  try {
    entry.snapshot.arrive();
  } catch (const std::exception& error) {
    trouble(StorageHealth::Part::content, error.what());
    return miss(entry.epoch);
  }
  hold_entry(std::move(entry));
  retry_held();
}

/// Written before a checkpoint, to which a killed run goes back: the gaps before it, the epochs
/// that an outage kept waiting, and the nested loops that ended before a step.
void Recorder::write_before(const store::CheckpointKey& key) {
  const auto gaps = health_.unwritten_gaps();
  if (gaps || key.kind == store::CheckpointKind::step) {
    write_progress(store_->catalog());
  }
  if (!gaps) return;
  store_->catalog().put_gaps(run_.id, *gaps);
  health_.written(*gaps);
}

/// After it is written nothing may throw: it would be kept, and stored and counted again.
void Recorder::store_checkpoint(Taken& taken) {
  const auto& key = taken.key;
  write_before(key);
  store::CheckpointWriter* writer = writer_.get();
  if (key.kind == store::CheckpointKind::step) {
    if (!step_writer_) step_writer_ = std::make_unique<store::CheckpointWriter>(*store_, run_.id);
    writer = step_writer_.get();
  }
  let_first_rank_store(key, *writer);
  using enum store::CheckpointKind;
  std::set<std::string> names;
  if (key.kind == saved) names.insert(key.loop);
  const store::CheckpointInfo info = writer->write(key, taken.snapshot.snapshot);
  flush_progress();
  stored_saves_.merge(names);
  count_stored(key, info);
  if (key.kind == step) add_step(key);
  if (key.kind == boundary && key.iteration > 0) delete_others();
}

void Recorder::store_entry(Taken& entry) {
  if (!entry_writer_) {
    entry_writer_ = std::make_unique<store::CheckpointWriter>(
        *store_, run_.id, store::WriterOptions{.threads = 1, .priority = priority_});
  }
  count_stored(entry.key, entry_writer_->write(entry.key, entry.snapshot.snapshot));
}

/// Entries go first, so that no boundary is stored without them.
void Recorder::store_held() {
  while (!held_entries_.empty()) {
    store_entry(held_entries_.front());
    held_entries_.erase(held_entries_.begin());
  }
  if (!held_) return;
  store_checkpoint(*held_);
  held_.reset();
}

void Recorder::count_stored(const store::CheckpointKey& key,
                            const store::CheckpointInfo& info) noexcept {
  checkpoints_ += 1;
  raw_bytes_ += info.raw_bytes;
  stored_bytes_ += info.stored_bytes;
  try {
    say(Level::info,
        fmt::format("stored {} ({} of {})", print(key), store::print_bytes(info.stored_bytes),
                    store::print_bytes(info.raw_bytes)));
  } catch (const std::exception&) {  // only a notice is lost
  }
}

}  // namespace flor::detail
