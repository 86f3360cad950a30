#include "replay/returned_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::detail {

ReturnedState::ReturnedState(store::Store& store, std::int64_t run, const Registry& registry,
                             Comparison& comparison, std::vector<store::CheckpointName> wanted)
    : writer_(store, run),
      registry_(registry),
      comparison_(comparison),
      // No snapshot is being written while another one is taken.
      snapshotter_([] { return false; }, [](const std::function<void()>& wait) { wait(); }),
      wanted_(std::move(wanted)) {}

void ReturnedState::reach(std::int64_t part, const store::CheckpointKey& key,
                          const std::string& where, const std::vector<Slot>& attached) {
  const auto found = std::ranges::find(wanted_, key, &store::CheckpointName::key);
  if (found == wanted_.end()) return;
  const store::CheckpointName name = *found;
  wanted_.erase(found);
  const bool entry = key.loop.ends_with(entry_name(""));
  TakenSnapshot taken = entry ? snapshotter_.take_attached(registry_, attached)
                              : snapshotter_.take(registry_, attached);
  taken.arrive();
  if (writer_.write_again(name, taken.snapshot)) {
    comparison_.state(part, where, {});
    return;
  }
  wanted_.clear();  // later states may be equal only by chance
  comparison_.difference(part, fmt::format("state at the {}: it is not the one with the digest {} "
                                           "that was recorded, and is not stored",
                                           where, name.digest.hex()));
}

}  // namespace flor::detail
