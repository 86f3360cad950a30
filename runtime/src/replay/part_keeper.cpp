#include "replay/part_keeper.h"

#include <utility>

namespace flor::detail {

void PartKeeper::hold(std::int64_t part, store::Value value) {
  held_[part].push_back(std::move(value));
  constexpr std::size_t kHeldMax = std::size_t{1} << 20;
  if (++held_count_ >= kHeldMax) spill();
}

/// Called when the values no longer fit into memory: makes them visible, while the part stays
/// incomplete.
void PartKeeper::spill() {
  for (auto& [part, values] : held_) findings_.add_values(part, std::move(values));
  held_.clear();
  held_count_ = 0;
}

void PartKeeper::complete(store::ReplayedPart part) {
  complete_.push_back(std::move(part));
  keep(false);
}

void PartKeeper::keep(bool now) {
  constexpr std::chrono::milliseconds kWait(100);  // each transaction waits for the disk
  const auto time = std::chrono::steady_clock::now();
  if (complete_.empty() || (!now && (time - kept_at_ < kWait || !outage_.may_try(time)))) return;
  std::vector<CompletePart> parts;
  for (const store::ReplayedPart& part : complete_) {
    CompletePart& complete = parts.emplace_back(CompletePart{part, {}});
    const auto held = held_.find(part.part);
    if (held == held_.end()) continue;
    held_count_ -= held->second.size();
    complete.values = std::move(held->second);
    held_.erase(held);
  }
  try {
    findings_.add_complete(parts);
  } catch (const std::exception&) {
    take_back(std::move(parts));
    outage_.failed(std::chrono::steady_clock::now());
    if (now) throw;
    return;
  }
  outage_.succeeded();
  assignment_.completed(complete_);
  complete_.clear();
  kept_at_ = std::chrono::steady_clock::now();
}

void PartKeeper::take_back(std::vector<CompletePart> parts) {
  for (CompletePart& part : parts) {
    if (part.values.empty()) continue;
    held_count_ += part.values.size();
    held_[part.part.part] = std::move(part.values);
  }
}

}  // namespace flor::detail
