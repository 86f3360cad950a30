#include "record/checkpoint_taker.h"

#include "base/notice.h"
#include "session/runtime.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace flor::detail {
namespace {

/// Counts the bytes that a snapshot would have.
class SizeCounter : public StateSink {
 public:
  void bytes(std::string, std::string_view content) override { total += content.size(); }
  void tensor(std::string, const TensorSource& source) override { total += source.bytes; }
  std::uint64_t total = 0;
};

}  // namespace

void CheckpointTaker::take_entry(TakenCheckpoint whose,
                                 const std::vector<Slot>& attached) noexcept {
  const auto began = Clock::now();
  try {
    const auto way = std::make_shared<OnItsWay>(unwritten_, parts_.rows, whose);
    try {
      whose.snapshot = snapshotter_.take_attached(parts_.registry, attached);
      parts_.background->post([this, way, whose = std::move(whose)]() mutable {
        parts_.checkpoints.write_entry(std::move(whose));
        way->arrived();
      });
    } catch (const std::exception& error) {
      parts_.rows.trouble(RowWriter::Part::content, error.what());
    } catch (...) {
      parts_.rows.trouble(RowWriter::Part::content,
                          "saving an attached local threw an exception of unknown type");
    }
  } catch (const std::exception& error) {  // no memory for the mark
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  }
  spent(seconds_since(began));
}

/// Takes a snapshot; nothing if that is impossible.
std::optional<TakenSnapshot> CheckpointTaker::snapshot(const TakenCheckpoint& whose,
                                                       const Registry& objects,
                                                       const std::vector<Slot>& attached,
                                                       std::optional<store::SnapshotItem> extra) {
  using enum store::CheckpointKind;
  try {
    // Inside an iteration, the next update of the state is near, and no stretch begins that would
    // wait for it.
    const bool inside = whose.key.kind == step || whose.key.kind == saved;
    const bool overlap = overlap_.allowed() && !inside;
    TakenSnapshot taken =
        snapshotter_.take(objects, attached, overlap, overlap && overlap_.untouched());
    prepare_buffers(taken);
    if (extra) taken.snapshot.items.push_back(*std::move(extra));
    return taken;
  } catch (const std::exception& error) {
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  } catch (...) {  // a program's own `save` may throw anything
    parts_.rows.trouble(RowWriter::Part::content,
                        "saving a registered object threw an exception of unknown type");
  }
  return std::nullopt;
}

bool CheckpointTaker::take(TakenCheckpoint whose, const Registry& objects,
                           const std::vector<Slot>& attached, const std::shared_ptr<Batch>& batch,
                           std::optional<store::SnapshotItem> extra) {
  if (!whose.last_chance && !parts_.rows.health().may_try(RowWriter::Part::content)) {
    parts_.rows.miss(whose.epoch);
    return false;
  }
  const auto began = Clock::now();
  std::shared_ptr<OnItsWay> way;
  try {
    way = std::make_shared<OnItsWay>(unwritten_, parts_.rows, whose);
  } catch (const std::exception& error) {  // no memory for the mark
    parts_.rows.trouble(RowWriter::Part::content, error.what());
    parts_.rows.miss(whose.epoch);
    return false;
  }
  auto taken = snapshot(whose, objects, attached, std::move(extra));
  const double seconds = seconds_since(began);
  parts_.add_flor_time(seconds);
  if (!taken) return false;
  const std::uint64_t bytes = taken->snapshot.raw_bytes();
  if (&objects == &parts_.registry) last_bytes_ = bytes;
  parts_.ledger.taken(*batch, seconds, bytes);
  try {
    overlap_.add(std::move(*taken), [this, whose, batch, way](auto complete) {
      hand_on(whose, batch, way, std::move(complete));
    });
  } catch (const std::exception& error) {
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  }
  return true;
}

void CheckpointTaker::hand_on(TakenCheckpoint whose, const std::shared_ptr<Batch>& batch,
                              std::shared_ptr<OnItsWay> way, std::optional<TakenSnapshot> taken) {
  if (taken) whose.snapshot = *std::move(taken);
  parts_.background->post([this, batch, way = std::move(way), whole = taken.has_value(),
                           whose = std::move(whose)]() mutable {
    parts_.ledger.job_begins(background_cpu());
    if (whole) {
      parts_.checkpoints.write(std::move(whose));
    } else {
      parts_.rows.health().miss(whose.epoch, false,
                                "the program wrote what was still being copied");
    }
    way->arrived();
    parts_.ledger.job_ends(background_cpu(), batch);
  });
}

void CheckpointTaker::spent(double seconds) {
  parts_.ledger.spent(seconds);
  parts_.add_flor_time(seconds);
}

void CheckpointTaker::begin_stretch(std::string_view main_loop, std::string_view nested,
                                    Edge edge) {
  if (!overlap_.active()) return;
  const auto began = Clock::now();
  try {
    overlap_.edge(main_loop, nested, edge);
  } catch (const std::exception& error) {
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  }
  spent(seconds_since(began));
}

void CheckpointTaker::fence() noexcept {
  const auto began = Clock::now();
  try {
    overlap_.fence();
  } catch (const std::exception& error) {
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  }
  if (parts_.rows.is_training()) spent(seconds_since(began));
}

void CheckpointTaker::settle() noexcept {
  try {
    overlap_.settle();
  } catch (const std::exception& error) {
    parts_.rows.trouble(RowWriter::Part::content, error.what());
  }
}

void CheckpointTaker::stop_overlapping(std::string_view why) noexcept {
  try {
    say(Level::error,
        fmt::format("a checkpoint of run {} is dropped: {}; from now on the training waits for the "
                    "copies (see docs/checkpoints.md)",
                    parts_.run.key.substr(0, 8), why));
  } catch (const std::exception&) {  // only a notice is lost
  }
}

/// The first snapshots fill fresh memory. Meanwhile the background prepares buffers for the next
/// ones.
void CheckpointTaker::prepare_buffers(const TakenSnapshot& taken) {
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
  parts_.background->post([this, sizes] {
    parts_.ledger.job_begins(background_cpu());
    try {
      for (const auto& [size, count] : sizes) {
        snapshotter_.buffers().prepare(size.first, 2 * count, size.second);
      }
    } catch (const std::exception&) {  // preparing only saves time
    }
    parts_.ledger.setup_ends(background_cpu());
  });
}

std::uint64_t CheckpointTaker::state_bytes() {
  const auto began = Clock::now();
  SizeCounter sizes;
  try {
    parts_.registry.save(sizes, {});
  } catch (...) {  // reported when the checkpoint is taken
  }
  spent(seconds_since(began));
  return sizes.total;
}

void CheckpointTaker::hurry_if_late(bool waits) {
  // If there are few bytes, the time goes into making them durable, and the codec makes no
  // difference.
  constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;
  set_haste(escalation_.due(unwritten_.all > 0, waits || last_bytes_ < kSmall));
}

void CheckpointTaker::set_haste(Haste haste) {
  const Haste before = std::exchange(haste_, haste);
  if (haste == before) return;
  if (haste == Haste::none) {
    hurry_.reset();
  } else if (!hurry_) {
    hurry_.emplace(*parts_.background);
  }
  parts_.checkpoints.set_effort(haste == Haste::raw    ? store::Effort::raw
                                : haste == Haste::fast ? store::Effort::fast
                                                       : store::Effort::full);
  say(Level::debug, fmt::format("the writer is {}: {}", haste > before ? "late" : "in time again",
                                to_string(haste)));
}

}  // namespace flor::detail
