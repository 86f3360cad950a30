#include "checkpoint/transfer.h"
#include "file/new_file.h"
#include "state/registry.h"
#include "state/sharing.h"

#include <flor/save/atomic_save.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <sstream>
#include <utility>

namespace flor {
namespace detail {
namespace {

/// Copies the state of objects into memory.
class MemorySink final : public StateSink {
 public:
  void bytes(std::string name, std::string_view content) override {
    const auto memory = add({std::move(name), ElementType::bytes, {}, content.size()});
    std::memcpy(memory.get(), content.data(), content.size());
  }
  void tensor(std::string name, const TensorSource& source) override {
    const auto memory = add({std::move(name), source.type, source.sizes, source.bytes});
    if (source.copy) {
      if (const auto pending = source.copy(memory.get())) pending_.push_back(pending);
    } else if (source.bytes > 0) {
      std::memcpy(memory.get(), source.host, source.bytes);
    }
  }
  store::Snapshot finish() {
    for (const auto& pending : pending_) pending->wait();
    return std::move(snapshot_);
  }

 private:
  std::shared_ptr<std::byte> add(store::Item item) {
    const auto whole = std::shared_ptr<std::byte[]>(
        new std::byte[std::max<std::size_t>(static_cast<std::size_t>(item.bytes), 1)]);
    const std::shared_ptr<std::byte> memory(whole, whole.get());
    snapshot_.items.push_back({std::move(item), memory});
    return memory;
  }

  store::Snapshot snapshot_;
  std::vector<std::shared_ptr<PendingCopy>> pending_;
};

/// Supplies the content that was read from a file.
class MemorySource final : public StateSource {
 public:
  explicit MemorySource(store::Snapshot snapshot) : snapshot_(std::move(snapshot)) {
    for (const store::SnapshotItem& item : snapshot_.items) items_[item.item.name] = &item;
  }
  bool has(const std::string& name) const override { return items_.contains(name); }
  const store::Item& item(const std::string& name) const override { return find(name).item; }
  std::string bytes(const std::string& name) override {
    const store::SnapshotItem& found = find(name);
    return {reinterpret_cast<const char*>(found.content.get()),
            static_cast<std::size_t>(found.item.bytes)};
  }
  void tensor(const std::string& name, TensorTarget target) override {
    const store::SnapshotItem& found = find(name);
    if (found.item.type != target.type || found.item.sizes != target.sizes ||
        found.item.bytes != target.bytes) {
      throw Error(fmt::format("'{}' was saved as {} of {} bytes, but is {} of {} bytes here", name,
                              store::to_string(found.item.type), found.item.bytes,
                              store::to_string(target.type), target.bytes));
    }
    waiting_.emplace_back(&found, std::move(target));
  }
  /// Fills the targets that objects have passed to `tensor`.
  void finish() {
    for (const auto& [found, target] : waiting_) {
      if (target.assign) {
        target.assign(found->content.get());
      } else if (target.bytes > 0) {
        std::memcpy(target.host, found->content.get(), target.bytes);
      }
    }
    waiting_.clear();
  }

 private:
  const store::SnapshotItem& find(const std::string& name) const {
    const auto found = items_.find(name);
    if (found == items_.end()) {
      throw Error(
          fmt::format("there is no '{}' in it: the objects are not those that were saved", name));
    }
    return *found->second;
  }

  store::Snapshot snapshot_;
  std::map<std::string, const store::SnapshotItem*> items_;
  std::vector<std::pair<const store::SnapshotItem*, TensorTarget>> waiting_;
};

std::vector<std::string> names_of(const std::vector<Slot>& slots) {
  SlotNames names;
  std::vector<std::string> all;
  for (const Slot& slot : slots) all.push_back(names.assign(slot));
  return all;
}

}  // namespace

void save_slots(const std::filesystem::path& file, const std::vector<Slot>& slots) {
  MemorySink sink;
  const std::vector<std::string> names = names_of(slots);
  std::vector<PlacedPiece> pieces;
  PlaceSink noting(pieces, &sink);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].save(StateWriter(noting, names[i]));
  write_sharing(sink, find_sharing(pieces));
  store::write_safetensors(sink.finish(), file, {});
}

void load_slots(const std::filesystem::path& file, const std::vector<Slot>& slots) {
  const std::vector<std::string> names = names_of(slots);
  MemorySource source(store::read_safetensors(file));
  try {
    PlacingSource placing(source, [&](StateSink& places) {
      for (std::size_t i = 0; i < slots.size(); ++i) slots[i].save(StateWriter(places, names[i]));
    });
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].load(StateReader(placing, names[i]));
    source.finish();
  } catch (const Error& error) {
    throw Error(fmt::format("cannot load {}: {}", file.string(), error.what()), error.status());
  }
}

}  // namespace detail

void atomic_write(const std::filesystem::path& file,
                  const std::function<void(std::ostream&)>& write) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit | std::ios::failbit);
  write(out);
  const std::string content = std::move(out).str();
  store::write_file(file, std::as_bytes(std::span(content)));
}

}  // namespace flor
