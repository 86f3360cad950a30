#include "snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flor::detail {

class Snapshotter::Sink : public StateSink {
 public:
  Sink(Snapshotter& owner, TakenSnapshot& taken) : owner_(owner), taken_(taken) {}

  void bytes(std::string name, std::string_view content) override {
    add({.name = std::move(name), .type = ElementType::bytes, .sizes = {}, .bytes = content.size()},
        reinterpret_cast<const std::byte*>(content.data()));
  }

  void tensor(std::string name, const TensorSource& source) override {
    store::Item item{
        .name = std::move(name), .type = source.type, .sizes = source.sizes, .bytes = source.bytes};
    if (source.host || source.bytes == 0) return add(std::move(item), source.host);
    auto buffer = owner_.acquire(source.bytes, source.device);
    if (auto pending = source.copy(buffer.get())) {
      taken_.pending.push_back(std::move(pending));
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
  store::Content find_last(const store::Item& item) const {
    const auto found = owner_.last_.find(item.name);
    if (found == owner_.last_.end() || found->second.item.item != item) return nullptr;
    return found->second.item.content;
  }

  void add(store::Item item, const std::byte* content) {
    store::Content last = find_last(item);
    if (item.bytes == 0 || (last && std::memcmp(last.get(), content, item.bytes) == 0)) {
      return keep(std::move(item), std::move(last));
    }
    // The last content is still being written or is the base of a difference: never overwrite it.
    auto buffer = owner_.acquire(item.bytes, false);
    std::memcpy(buffer.get(), content, item.bytes);
    taken_.copied_bytes += item.bytes;
    keep(std::move(item), std::move(buffer));
  }

  void keep(store::Item item, store::Content content) {
    owner_.last_[item.name] = {{item, content}, owner_.snapshots_};
    taken_.snapshot.items.push_back({std::move(item), std::move(content)});
  }

  Snapshotter& owner_;
  TakenSnapshot& taken_;
};

std::shared_ptr<std::byte> Snapshotter::acquire(std::size_t bytes, bool pinned) {
  constexpr std::uint64_t kSmall = 1 << 20;  // numbers and names are not worth waiting for
  if (largest_ > 0 && bytes > 0) {
    const std::uint64_t limit = 3 * largest_ + kSmall;
    const std::uint64_t others = limit - std::min<std::uint64_t>(bytes, limit);
    if (buffers_.in_use() > others) wait_([&] { buffers_.wait_below(others, writing_); });
  }
  return buffers_.acquire(bytes, pinned);
}

TakenSnapshot Snapshotter::take(const Registry& registry, const std::vector<Slot>& attached) {
  TakenSnapshot taken;
  ++snapshots_;
  taken.snapshot.items.reserve(last_.size() + attached.size());
  Sink sink(*this, taken);
  registry.save(sink, attached);
  largest_ = std::max(largest_, taken.snapshot.raw_bytes());
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

TakenSnapshot Snapshotter::take_attached(const std::vector<Slot>& attached) {
  TakenSnapshot taken;
  Sink sink(*this, taken);
  save_attached(sink, attached);
  return taken;
}

}  // namespace flor::detail
