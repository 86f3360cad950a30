#include "snapshot/snapshot.h"

#include "snapshot/copy.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace flor::detail {

namespace {

/// Consecutive items of at most kSmallBytes bytes each are stored together if there are at least
/// kWorthASlab of them. Stored one by one they would cost more than their content.
constexpr std::size_t kSmallBytes = 1024, kWorthASlab = 32;

/// Whether the item is stored together with others. Items that Flor adds for the whole process are
/// not, since they seldom change and most are read alone.
bool is_small(std::string_view name, std::size_t bytes) {
  return bytes <= kSmallBytes && !name.starts_with('@');
}

}  // namespace

/// Collects consecutive small items. If the last snapshot had the same items, only their contents
/// are kept again.
class Snapshotter::Gatherer {
 public:
  explicit Gatherer(Snapshotter& owner) : owner_(owner) { owner_.gathered_.clear(); }

  void add(const std::string& name, ElementType type, const std::vector<std::int64_t>& sizes,
           std::span<const std::byte> content) {
    if (count_ == 0) last_ = last_slab(name);
    const auto is_next = [&] {
      const store::Item& next = (*last_)[count_];
      return next.bytes == content.size() && next.type == type && next.name == name &&
             next.sizes == sizes;
    };
    if (last_ && (count_ == last_->size() || !is_next())) part_from_last();
    if (!last_) {
      parts_.push_back({.name = name, .type = type, .sizes = sizes, .bytes = content.size()});
    }
    owner_.gathered_.insert(owner_.gathered_.end(), content.begin(), content.end());
    ++count_;
  }

  /// Passes the items to `one(item, content)`, or all to `slab(parts, content)` if that is
  /// worthwhile.
  template <typename One, typename Slab>
  void flush(const One& one, const Slab& slab) {
    if (count_ == 0) return;
    if (last_ && count_ < last_->size()) part_from_last();
    const std::byte* content = owner_.gathered_.data();
    if (count_ >= kWorthASlab) {
      slab(last_ ? last_ : std::make_shared<const Parts>(std::move(parts_)), content);
    } else {
      if (last_) part_from_last();
      for (store::Item& item : parts_) {
        const std::size_t bytes = item.bytes;
        one(std::move(item), content);
        content += bytes;
      }
    }
    parts_.clear();
    last_.reset();
    count_ = 0;
    owner_.gathered_.clear();
  }

 private:
  using Parts = std::vector<store::Item>;

  std::shared_ptr<const Parts> last_slab(const std::string& name) const {
    const auto found = owner_.last_.find(name);
    return found == owner_.last_.end() ? nullptr : found->second.item.parts;
  }
  void part_from_last() {
    parts_.assign(last_->begin(), last_->begin() + static_cast<std::ptrdiff_t>(count_));
    last_.reset();
  }

  Snapshotter& owner_;
  std::shared_ptr<const Parts> last_;  ///< of the last snapshot, while its parts are the same
  Parts parts_;                        ///< used if they are not the same
  std::size_t count_ = 0;
};

class Snapshotter::Sink : public StateSink {
 public:
  /// `late` takes tensors that may be copied later; null: none may.
  Sink(Snapshotter& owner, TakenSnapshot& taken, Gatherer& small, LateCopies* late = nullptr,
       bool untouched = false)
      : owner_(owner), taken_(taken), small_(small), late_(late), untouched_(untouched) {}

  void bytes(std::string name, std::string_view content) override {
    const std::span bytes = std::as_bytes(std::span(content));
    if (is_small(name, bytes.size())) return small_.add(name, ElementType::bytes, {}, bytes);
    flush();
    add({.name = std::move(name), .type = ElementType::bytes, .sizes = {}, .bytes = bytes.size()},
        bytes.data());
  }

  void tensor(std::string name, const TensorSource& source) override {
    if (is_small(name, source.bytes) && (source.host || source.bytes == 0)) {
      return small_.add(name, source.type, source.sizes, {source.host, source.bytes});
    }
    flush();
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
      return keep({std::move(item), std::move(buffer)});
    }
    const auto last = find_last(item);
    if (last && std::memcmp(last.get(), buffer.get(), source.bytes) == 0) {
      return keep({std::move(item), last});
    }
    taken_.copied_bytes += source.bytes;
    keep({std::move(item), std::move(buffer)});
  }

  /// Ends the row of small items, so that later ones do not belong to it.
  void flush() {
    small_.flush(
        [this](store::Item item, const std::byte* content) { add(std::move(item), content); },
        [this](auto parts, const std::byte* content) { add_slab(std::move(parts), content); });
  }

 private:
  /// Copies the tensor on its device. Returns false if the device has not enough memory.
  bool stage(store::Item& item, const TensorSource& source, std::shared_ptr<std::byte>& buffer) {
    const Last* last = find(item);
    auto before = last ? last->device : nullptr;
    // A dropped snapshot is never brought to the host. The chain is cut, so that dropped ones do
    // not keep each other.
    if (before && before->waiting() > 4) before.reset();
    auto copy = source.stage(before ? before->copy() : nullptr);
    if (!copy) return false;
    auto staged = std::make_shared<DeviceItem>(std::move(buffer), std::move(copy), before);
    taken_.staged.emplace_back(taken_.snapshot.items.size(), staged);
    taken_.copied_bytes += source.bytes;
    keep({std::move(item), nullptr}, nullptr, std::move(staged));
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
    // The program may not write before the copy is made, so one copy can serve both snapshots.
    if (same && (untouched_ || !before->done())) late = std::move(before);
    late_->add(taken_.snapshot.items.size(), late, same ? 0 : item.bytes);
    keep({std::move(item), nullptr}, std::move(late));
  }

  void add(store::Item item, const std::byte* content) {
    store::Content last = find_last(item);
    keep({std::move(item), nullptr}, std::move(last), content);
  }

  void add_slab(std::shared_ptr<const std::vector<store::Item>> parts, const std::byte* content) {
    store::SnapshotItem slab = store::make_slab(std::move(parts), nullptr);
    const Last* last = find(slab.item);
    const bool same = last && last->item.parts == slab.parts;
    keep(std::move(slab), same ? last->item.content : nullptr, content);
  }

  /// Keeps an item. Shares the content of the last snapshot if it is equal.
  void keep(store::SnapshotItem item, store::Content last, const std::byte* content) {
    const std::size_t bytes = item.item.bytes;
    if (bytes == 0 || (last && std::memcmp(last.get(), content, bytes) == 0)) {
      item.content = std::move(last);
      return keep(std::move(item));
    }
    // The last content may still be written, or be the base of a difference, so it must not be
    // overwritten.
    auto buffer = owner_.acquire(bytes, false);
    copy_past_caches(buffer.get(), content, bytes);
    taken_.copied_bytes += bytes;
    item.content = std::move(buffer);
    keep(std::move(item));
  }

  void keep(store::SnapshotItem item, std::shared_ptr<LateItem> late = nullptr,
            std::shared_ptr<DeviceItem> device = nullptr) {
    owner_.last_[item.item.name] = {item, std::move(late), std::move(device), owner_.snapshots_};
    taken_.snapshot.items.push_back(std::move(item));
  }

  Snapshotter& owner_;
  TakenSnapshot& taken_;
  Gatherer& small_;
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

/// Waits for memory here and not where the copies are made, so that the threads that make them
/// never wait for each other.
void Snapshotter::make_room_for_late_copies(const LateCopies& copies) {
  std::uint64_t expected = copies.expected();
  if (expected == 0) return;  // no new memory is needed
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
  Gatherer small(*this);
  Sink sink(*this, taken, small);
  Sink overlapping(*this, taken, small, overlap ? late.get() : nullptr, untouched);
  registry.save(sink, overlapping, attached);
  sink.flush();
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

/// Forgets items that no recent snapshot had. A few snapshots without an item mean nothing, since
/// the locals of a loop are only seen when it ends.
void Snapshotter::forget_gone() {
  constexpr std::uint64_t kPatience = 16;
  if (snapshots_ % kPatience != 0) return;
  std::erase_if(last_,
                [&](const auto& entry) { return entry.second.snapshot + kPatience < snapshots_; });
}

TakenSnapshot Snapshotter::take_attached(const Registry& registry,
                                         const std::vector<Slot>& attached) {
  TakenSnapshot taken;
  Gatherer small(*this);
  Sink sink(*this, taken, small);
  registry.save_attached(sink, attached);
  sink.flush();
  return taken;
}

}  // namespace flor::detail
