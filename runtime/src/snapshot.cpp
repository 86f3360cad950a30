#include "snapshot.h"

#include "copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flor::detail {

class Snapshotter::Sink : public StateSink {
 public:
  /// `late`: takes what may be copied later, or null.
  Sink(Snapshotter& owner, TakenSnapshot& taken, LateCopies* late = nullptr, bool untouched = false)
      : owner_(owner), taken_(taken), late_(late), untouched_(untouched) {}

  void bytes(std::string name, std::string_view content) override {
    add({.name = std::move(name), .type = ElementType::bytes, .sizes = {}, .bytes = content.size()},
        reinterpret_cast<const std::byte*>(content.data()));
  }

  void tensor(std::string name, const TensorSource& source) override {
    store::Item item{
        .name = std::move(name), .type = source.type, .sizes = source.sizes, .bytes = source.bytes};
    if (late_ && source.host && source.watch && source.bytes >= kLateBytes) {
      return add_late(std::move(item), source);
    }
    if (source.host || source.bytes == 0) return add(std::move(item), source.host);
    auto buffer = owner_.acquire(source.bytes, source.device);
    if (source.stage && stage(item, source, buffer)) return;
    if (auto pending = source.copy(buffer.get())) {
      taken_.pending.emplace_back(taken_.snapshot.items.size(), std::move(pending));
      taken_.copied_bytes += source.bytes;
      return keep(std::move(item), std::move(buffer));
    }
    const auto last = find_last(item);
    if (last && std::memcmp(last.get(), buffer.get(), source.bytes) == 0) {
      return keep(std::move(item), last);
    }
    taken_.copied_bytes += source.bytes;
    keep(std::move(item), std::move(buffer));
  }

 private:
  /// False where the device has no memory to spare.
  bool stage(store::Item& item, const TensorSource& source, std::shared_ptr<std::byte>& buffer) {
    const Last* last = find(item);
    auto before = last ? last->device : nullptr;
    // Snapshots that are dropped are never brought: they shall not keep one another for ever.
    if (before && before->waiting() > 4) before.reset();
    auto copy = source.stage(before ? before->copy() : nullptr);
    if (!copy) return false;
    auto staged = std::make_shared<DeviceItem>(std::move(buffer), std::move(copy), before);
    taken_.staged.emplace_back(taken_.snapshot.items.size(), staged);
    taken_.copied_bytes += source.bytes;
    keep(std::move(item), nullptr, nullptr, std::move(staged));
    return true;
  }

  store::Content find_last(const store::Item& item) const {
    const Last* last = find(item);
    if (!last) return nullptr;
    if (!last->late) return last->item.content;
    last->late->copy(owner_.buffers_);
    last->late->wait();
    return last->late->content();
  }

  const Last* find(const store::Item& item) const {
    const auto found = owner_.last_.find(item.name);
    return found == owner_.last_.end() || found->second.item.item != item ? nullptr
                                                                          : &found->second;
  }

  void add_late(store::Item item, const TensorSource& source) {
    const Last* last = find(item);
    std::shared_ptr<LateItem> before = last ? last->late : nullptr;
    auto late =
        std::make_shared<LateItem>(item, source, before, last ? last->item.content : nullptr);
    const bool same = before && late->witness().same_version(before->witness());
    // Nothing may write what is not copied yet, so one copy serves both snapshots.
    if (same && (untouched_ || !before->done())) late = std::move(before);
    late_->add(taken_.snapshot.items.size(), late, same ? 0 : item.bytes);
    keep(std::move(item), nullptr, std::move(late));
  }

  void add(store::Item item, const std::byte* content) {
    store::Content last = find_last(item);
    if (item.bytes == 0 || (last && std::memcmp(last.get(), content, item.bytes) == 0)) {
      return keep(std::move(item), std::move(last));
    }
    // The last content is still being written or is the base of a difference: never overwrite it.
    auto buffer = owner_.acquire(item.bytes, false);
    copy_past_caches(buffer.get(), content, item.bytes);
    taken_.copied_bytes += item.bytes;
    keep(std::move(item), std::move(buffer));
  }

  void keep(store::Item item, store::Content content, std::shared_ptr<LateItem> late = nullptr,
            std::shared_ptr<DeviceItem> device = nullptr) {
    owner_.last_[item.name] = {
        {item, content}, std::move(late), std::move(device), owner_.snapshots_};
    taken_.snapshot.items.push_back({std::move(item), std::move(content)});
  }

  Snapshotter& owner_;
  TakenSnapshot& taken_;
  LateCopies* late_;
  bool untouched_;
};

void TakenSnapshot::arrive() {
  for (const auto& [index, copy] : pending) copy->wait();
  for (const auto& [index, item] : staged) snapshot.items[index].content = item->bring();
  pending.clear();
  staged.clear();
}

void Snapshotter::make_room(std::uint64_t bytes) {
  constexpr std::uint64_t kSmall = 1 << 20;  // numbers and names are not worth waiting for
  if (largest_ == 0 || bytes == 0) return;
  const std::uint64_t limit = 3 * largest_ + kSmall;
  const std::uint64_t others = limit - std::min<std::uint64_t>(bytes, limit);
  if (buffers_.in_use() > others) wait_([&] { buffers_.wait_below(others, writing_); });
}

/// Here rather than where they are made, so that the threads that make them never wait for others.
void Snapshotter::make_room_for_late_copies(const LateCopies& copies) {
  std::uint64_t expected = copies.expected();
  if (expected == 0) return;  // nothing to make room for, and what comes first is on its way
  for (const auto& earlier : late_) expected += earlier->expected();
  make_room(expected);
}

std::shared_ptr<std::byte> Snapshotter::acquire(std::size_t bytes, bool pinned) {
  make_room(bytes);
  return buffers_.acquire(bytes, pinned);
}

TakenSnapshot Snapshotter::take(const Registry& registry, const std::vector<Slot>& attached,
                                bool overlap, bool untouched) {
  TakenSnapshot taken;
  ++snapshots_;
  taken.snapshot.items.reserve(last_.size() + attached.size());
  std::erase_if(late_, [](const auto& copies) { return copies->complete(); });
  auto late = std::make_shared<LateCopies>(buffers_);
  Sink sink(*this, taken);
  Sink overlapping(*this, taken, overlap ? late.get() : nullptr, untouched);
  registry.save(sink, overlapping, attached);
  largest_ = std::max(largest_, taken.snapshot.raw_bytes());
  if (!late->empty()) {
    make_room_for_late_copies(*late);
    late_.push_back(late);
    taken.late = std::move(late);
  }
  buffers_.keep_at_most(2 * largest_);
  forget_gone();
  return taken;
}

/// The locals of a loop are seen only when it ends, so a few snapshots without an item mean
/// nothing.
void Snapshotter::forget_gone() {
  constexpr std::uint64_t kPatience = 16;
  if (snapshots_ % kPatience != 0) return;
  std::erase_if(last_,
                [&](const auto& entry) { return entry.second.snapshot + kPatience < snapshots_; });
}

TakenSnapshot Snapshotter::take_attached(const Registry& registry,
                                         const std::vector<Slot>& attached) {
  TakenSnapshot taken;
  Sink sink(*this, taken);
  registry.save_attached(sink, attached);
  return taken;
}

}  // namespace flor::detail
