#include "replay/recorded_state.h"

#include "base/notice.h"
#include "checkpoint/elsewhere.h"
#include "state/sharing.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace flor::detail {
namespace {

/// Whether only state that no object holds differs: random generators, settings.
bool only_ambient(const std::vector<StateDifference>& differences) {
  return std::ranges::all_of(differences, [](const auto& difference) {
    return difference.name[0] == '@' && difference.name != kSharingItem;
  });
}

}  // namespace

/// Opens a checkpoint. Keeps the last one open, since it is often asked for several times in a row.
const store::CheckpointReader& RecordedState::reader(std::int64_t checkpoint) {
  if (!reader_ || open_checkpoint_ != checkpoint) {
    const store::Elsewhere* elsewhere = store::Elsewhere::of_process();
    reader_ = checkpoint < 0
                  ? std::make_unique<store::CheckpointReader>(elsewhere->facts_of(checkpoint))
                  : std::make_unique<store::CheckpointReader>(store_, checkpoint);
    open_checkpoint_ = checkpoint;
  }
  return *reader_;
}

std::int64_t RecordedState::brought(std::int64_t checkpoint) {
  if (checkpoint >= 0) return checkpoint;
  std::int64_t& here = brought_[checkpoint];
  if (here == 0) {
    here = store::Elsewhere::of_process()->bring(store_, record_.run(), checkpoint);
  }
  return here;
}

/// Compares with a checkpoint. Whether something differs can be told from digests, which are also
/// known for checkpoints elsewhere. Telling how it differs needs the content.
std::vector<StateDifference> RecordedState::compare(std::int64_t checkpoint,
                                                    const CompareWith& compare) {
  if (checkpoint >= 0) return compare(reader(checkpoint));
  try {
    return compare(reader(checkpoint));
  } catch (const Damaged&) {
    return compare(reader(brought(checkpoint)));
  }
}

bool RecordedState::restore(const store::CheckpointKey& key, const std::vector<Slot>& attached) {
  auto checkpoint = record_.checkpoint(key);
  if (!checkpoint) return false;
  checkpoint = brought(*checkpoint);
  const auto began = std::chrono::steady_clock::now();
  detail::restore(reader(*checkpoint), registry_, attached, set_threads_);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  restore_seconds_ += took.count();
  ++restored_;
  restored_bytes_ += reader(*checkpoint).info().raw_bytes;
  return true;
}

void RecordedState::note_proof(std::int64_t part, const store::CheckpointKey& key,
                               const std::string& where, std::int64_t checkpoint,
                               const std::vector<StateDifference>& differences) {
  comparison_.state(part, where, differences);
  if (differences.empty()) equal_.push_back({key, reader(checkpoint).info().digest});
}

void RecordedState::restore_entry(std::int64_t part, const store::CheckpointKey& nested_end,
                                  const std::vector<Slot>& attached) {
  if (attached.empty()) return;
  store::CheckpointKey key = nested_end;
  key.loop = entry_name(nested_end.loop);
  const std::string where = "beginning of " + nested_end.loop;
  if (returned_) returned_->reach(part, key, where, attached);
  const auto checkpoint = record_.compared(key);
  if (!checkpoint || !has_attached(*checkpoint, attached)) return;
  const std::vector<StateDifference> stale =
      compare(*checkpoint, [&](const store::CheckpointReader& entry) {
        return compare_attached(entry, registry_, attached);
      });
  if (!record_.checkpoint(key)) {
    return note_proof(part, key, where, *checkpoint, stale);
  }
  if (stale.empty()) return;
  if (!told_stale_) {
    told_stale_ = true;
    say(Level::warn,
        fmt::format(
            "a local attached to {} outlives its iteration ({}: {}): it is put right before "
            "the loop, but code before the loop saw another value; register it with "
            "flor::checkpoints instead",
            nested_end.loop, item_title(stale.front().name), stale.front().what));
  }
  restore_attached(reader(brought(*checkpoint)), registry_, attached);
}

bool RecordedState::has_attached(std::int64_t checkpoint, const std::vector<Slot>& attached) {
  if (attached.empty()) return true;
  const std::vector<store::Item>& items = reader(checkpoint).items();
  return std::ranges::all_of(attached_names(attached), [&](const std::string& name) {
    return std::ranges::any_of(items, [&](const store::Item& item) {
      return item.name == name || item.name.starts_with(name + "/");
    });
  });
}

void RecordedState::compare_with(std::int64_t part, const store::CheckpointKey& key,
                                 const std::string& where, const std::vector<Slot>& attached,
                                 bool computed) {
  if (returned_) returned_->reach(part, key, where, attached);
  const auto checkpoint = record_.compared(key);
  if (!checkpoint) return;
  const std::vector<StateDifference> differences =
      compare(*checkpoint, [&](const store::CheckpointReader& recorded) {
        return detail::compare(recorded, registry_, attached);
      });
  if (proves_) return note_proof(part, key, where, *checkpoint, differences);
  const bool inside = key.kind == store::CheckpointKind::loop_end;
  if (!inside && !differences.empty() && only_ambient(differences)) {
    // A new log statement may draw random numbers. The replay continues with the recorded
    // generators.
    if (computed) comparison_.state(part, where, {});
    if (!told_random_) {
      told_random_ = true;
      say(Level::warn, fmt::format("by the {} the random generators are not where the record has "
                                   "them (new code draws numbers?): they are put back each time",
                                   where));
    }
  } else if (computed || !differences.empty()) {
    comparison_.state(part, where, differences);
  }
  // The next stretch always starts from the recorded state, so that one difference does not affect
  // everything after it.
  if (!differences.empty()) restore(key, attached);
}

}  // namespace flor::detail
