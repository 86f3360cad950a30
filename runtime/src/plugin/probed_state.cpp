#include "plugin/probed_state.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace flor::detail {
namespace {

/// Whether Flor added the item itself: generators, number of threads, list of names.
bool is_own(std::string_view name) { return name.starts_with('@'); }

void check_room(const std::string& name, std::uint64_t bytes, const WantedItem& wanted) {
  if (bytes == wanted.into.size()) return;
  throw Error(fmt::format("'{}' has {} bytes, not {}", name, bytes, wanted.into.size()));
}

[[noreturn]] void refuse(const std::string& name) {
  throw Error(fmt::format("the state has no '{}'", name));
}

class Lister final : public StateSink {
 public:
  void bytes(std::string name, std::string_view content) override {
    add({.name = std::move(name),
         .type = ElementType::bytes,
         .sizes = {},
         .bytes = content.size()});
  }
  void tensor(std::string name, const TensorSource& source) override {
    add({.name = std::move(name),
         .type = source.type,
         .sizes = source.sizes,
         .bytes = source.bytes});
  }
  std::vector<store::Item> take() { return std::move(items_); }

 private:
  void add(store::Item item) {
    if (!is_own(item.name)) items_.push_back(std::move(item));
  }
  std::vector<store::Item> items_;
};

/// Copies the wanted items while all items pass through it.
class Picker final : public StateSink {
 public:
  explicit Picker(std::span<const WantedItem> wanted) {
    for (const WantedItem& item : wanted) wanted_.emplace(item.name, &item);
  }
  void bytes(std::string name, std::string_view content) override {
    for (const WantedItem* wanted : take(name, content.size())) {
      std::memcpy(wanted->into.data(), content.data(), content.size());
    }
  }
  void tensor(std::string name, const TensorSource& source) override {
    for (const WantedItem* wanted : take(name, source.bytes)) {
      if (source.bytes == 0) continue;
      if (source.host) {
        std::memcpy(wanted->into.data(), source.host, source.bytes);
      } else if (const auto pending = source.copy(wanted->into.data())) {
        pending->wait();
      }
    }
  }
  void check_all_found() const {
    if (!wanted_.empty()) refuse(wanted_.begin()->first);
  }

 private:
  std::vector<const WantedItem*> take(const std::string& name, std::uint64_t bytes) {
    std::vector<const WantedItem*> found;
    const auto [begin, end] = wanted_.equal_range(name);
    for (auto at = begin; at != end; ++at) {
      check_room(name, bytes, *at->second);
      found.push_back(at->second);
    }
    wanted_.erase(begin, end);
    return found;
  }
  std::multimap<std::string, const WantedItem*> wanted_;
};

}  // namespace

const std::vector<store::Item>& LiveState::items() {
  if (!items_) {
    Lister lister;
    registry_.save(lister, attached_);
    items_ = lister.take();
  }
  return *items_;
}

void LiveState::read(std::span<const WantedItem> wanted) {
  Picker picker(wanted);
  registry_.save(picker, attached_);
  picker.check_all_found();
}

StoredState::StoredState(const store::Store& store, std::int64_t checkpoint)
    : reader_(store, checkpoint), items_(reader_.items()) {
  std::erase_if(items_, [](const store::Item& item) { return is_own(item.name); });
}

void StoredState::read(std::span<const WantedItem> wanted) {
  std::vector<store::Destination> destinations;
  for (const WantedItem& item : wanted) {
    const auto found = reader_.find(item.name);
    if (!found || is_own(item.name)) refuse(item.name);
    check_room(item.name, reader_.items()[*found].bytes, item);
    destinations.push_back({*found, item.into});
    bytes_read_ += item.into.size();
  }
  reader_.read(destinations);
}

}  // namespace flor::detail
