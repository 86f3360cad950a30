#include "record/checkpoint_store.h"

#include "base/notice.h"
#include "base/text.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace flor::detail {
namespace {

/// Whether the checkpoint has the locals that are attached to a nested loop, as they are when it
/// begins.
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

void tell(const store::CheckpointKey& key, const store::CheckpointInfo& info) noexcept {
  try {
    say(Level::info,
        fmt::format("stored {} ({} of {})", print(key), store::print_bytes(info.stored_bytes),
                    store::print_bytes(info.raw_bytes)));
  } catch (const std::exception&) {  // only a notice is lost
  }
}

}  // namespace

OnItsWay::OnItsWay(Unwritten& unwritten, RowWriter& rows, const TakenCheckpoint& taken)
    : unwritten_(unwritten),
      rows_(rows),
      epoch_(taken.epoch),
      is_entry_(is_entry(taken.key)),
      is_step_(taken.key.kind == store::CheckpointKind::step) {
  if (!is_entry_) ++unwritten_.all;
  if (is_step_) ++unwritten_.steps;
}

OnItsWay::~OnItsWay() {
  if (!is_entry_) --unwritten_.all;
  if (is_step_) --unwritten_.steps;
  if (!arrived_) rows_.miss(epoch_);
}

void CheckpointStore::open() {
  writer_ = std::make_unique<store::CheckpointWriter>(
      *parts_.store, parts_.run.id, store::WriterOptions{.priority = parts_.priority});
}

std::string CheckpointStore::write_content(const LoggedContent& logged) {
  return writer_->write_object(logged.item, logged.content);
}

/// Waits until the content is on the host. False: it is lost, and its epoch becomes a gap.
bool CheckpointStore::arrives(TakenCheckpoint& taken) noexcept {
  try {
    taken.snapshot.arrive();
    return true;
  } catch (const std::exception& error) {
    parts_.rows.trouble(StorageHealth::Part::content, error.what());
    parts_.rows.miss(taken.epoch);
    return false;
  }
}

void CheckpointStore::write(TakenCheckpoint taken) noexcept {
  if (!parts_.store || !arrives(taken)) return;
  if (!parts_.rows.make_durable(taken.last_chance)) return pass_over(std::move(taken));
  try {
    store_held();
    store_checkpoint(taken);
    parts_.rows.works(StorageHealth::Part::content);
  } catch (const std::exception& error) {
    parts_.rows.trouble(StorageHealth::Part::content, error.what());
    pass_over(std::move(taken));
  }
}

void CheckpointStore::write_entry(TakenCheckpoint entry) noexcept {
  if (!parts_.store || !arrives(entry)) return;
  hold_entry(std::move(entry));
  retry();
}

void CheckpointStore::retry() noexcept {
  if (!held_ && held_entries_.empty()) return;
  if (!parts_.rows.make_durable(false)) return;
  try {
    store_held();
    parts_.rows.works(StorageHealth::Part::content);
  } catch (const std::exception& error) {
    parts_.rows.trouble(StorageHealth::Part::content, error.what());
  }
}

store::CheckpointWriter& CheckpointStore::writer_of(const store::CheckpointKey& key) {
  if (key.kind != store::CheckpointKind::step) return *writer_;
  if (!step_writer_) {
    step_writer_ = std::make_unique<store::CheckpointWriter>(*parts_.store, parts_.run.id);
  }
  return *step_writer_;
}

/// When the checkpoint is written nothing may throw: it would be kept, and stored and counted a
/// second time.
void CheckpointStore::store_checkpoint(TakenCheckpoint& taken) {
  using enum store::CheckpointKind;
  const auto& key = taken.key;
  // A checkpoint inside an iteration is only useful with the ends of the nested loops before it.
  parts_.rows.write_before_checkpoint(key.kind == step);
  store::CheckpointWriter& writer = writer_of(key);
  parts_.group.let_first_rank_store(key, writer);
  std::string name = key.kind == saved ? key.loop : std::string();
  const store::CheckpointInfo info = writer.write(key, taken.snapshot.snapshot);
  parts_.flush_progress();
  if (!name.empty()) parts_.saved.stored(std::move(name));
  tell(key, info);
  if (key.kind == step) add_step(key);
  if (key.kind == boundary && key.iteration > 0) delete_others();
}

void CheckpointStore::store_entry(TakenCheckpoint& entry) {
  if (!entry_writer_) {
    entry_writer_ = std::make_unique<store::CheckpointWriter>(
        *parts_.store, parts_.run.id,
        store::WriterOptions{.threads = 1, .priority = parts_.priority});
  }
  tell(entry.key, entry_writer_->write(entry.key, entry.snapshot.snapshot));
}

/// Stores what waits. Entries go first, so that no boundary is stored without them.
void CheckpointStore::store_held() {
  while (!held_entries_.empty()) {
    store_entry(held_entries_.front());
    held_entries_.erase(held_entries_.begin());
  }
  if (!held_) return;
  store_checkpoint(*held_);
  held_.reset();
}

/// Keeps the checkpoint until the store works, if it is the latest boundary; otherwise it becomes a
/// gap.
void CheckpointStore::pass_over(TakenCheckpoint taken) noexcept {
  const bool boundary = taken.key.kind == store::CheckpointKind::boundary;
  const bool later = boundary && (!held_ || held_->epoch <= taken.epoch);
  if (!later) return parts_.rows.miss(taken.epoch);
  drop_held_boundary();
  held_ = std::move(taken);
}

/// Drops the waiting boundary, and the locals attached after it, which only a replay from that
/// boundary needs.
void CheckpointStore::drop_held_boundary() noexcept {
  if (!held_) return;
  parts_.rows.miss(held_->epoch);
  std::erase_if(held_entries_,
                [this](const TakenCheckpoint& entry) { return is_after_held(entry.key); });
  held_.reset();
}

bool CheckpointStore::is_after_held(const store::CheckpointKey& entry) const {
  return held_ && held_->key.main_loop == entry.main_loop &&
         held_->key.iteration == entry.iteration;
}

/// Keeps the locals attached to a nested loop until they are stored. They are stored before the
/// boundary if that waits. After a boundary that was dropped they are not needed.
void CheckpointStore::hold_entry(TakenCheckpoint entry) noexcept {
  const std::int64_t epoch = entry.epoch;
  if (held_ && !is_after_held(entry.key)) return;
  try {
    held_entries_.push_back(std::move(entry));
  } catch (const std::exception&) {
    parts_.rows.miss(epoch);
  }
}

/// Adds a checkpoint inside an iteration. Two are kept: a resumed run continues at the last one, or
/// at a later boundary, and checks itself from the one before.
void CheckpointStore::add_step(const store::CheckpointKey& written) noexcept {
  std::erase(steps_, written);
  steps_.push_back(written);
  drop_steps();
}

void CheckpointStore::drop_steps(std::size_t kept) noexcept {
  if (steps_.size() <= kept) return;
  parts_.rows.write([&](store::Catalog& catalog) {
    const auto last = steps_.end() - static_cast<std::ptrdiff_t>(kept);
    catalog.drop_checkpoints(parts_.run.id, {steps_.begin(), last});
    steps_.erase(steps_.begin(), last);
    return true;
  });
}

void CheckpointStore::delete_others(bool at_end) {
  if (!parts_.rows.health().lasts()) parts_.saved.delete_others(*parts_.store, parts_.run, at_end);
}

void CheckpointStore::give_up() noexcept {
  for (const TakenCheckpoint& entry : held_entries_) parts_.rows.miss(entry.epoch);
  drop_held_boundary();
}

void CheckpointStore::close() noexcept {
  held_.reset();
  held_entries_.clear();
  writer_.reset();
  entry_writer_.reset();
  step_writer_.reset();
}

}  // namespace flor::detail
