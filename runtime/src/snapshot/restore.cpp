#include "snapshot/restore.h"

#include "state/sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>
#include <span>

namespace flor::detail {
namespace {

std::string print_number(const store::Item& item, std::span<const std::byte> content) {
  const auto as = [&]<typename T>(T value) {
    std::memcpy(&value, content.data(), sizeof value);
    return fmt::format("{}", value);
  };
  switch (item.type) {
    case ElementType::boolean:
      return content[0] == std::byte{0} ? "false" : "true";
    case ElementType::u8:
      return as(std::uint8_t{});
    case ElementType::i8:
      return as(std::int8_t{});
    case ElementType::i16:
      return as(std::int16_t{});
    case ElementType::i32:
      return as(std::int32_t{});
    case ElementType::i64:
      return as(std::int64_t{});
    case ElementType::f32:
      return as(float{});
    case ElementType::f64:
      return as(double{});
    default:
      return {};
  }
}

bool is_number(const store::Item& item) {
  return item.sizes.empty() && item.type != ElementType::bytes &&
         item.bytes == store::element_size(item.type) && item.bytes <= 8;
}

constexpr std::string_view kSharesOtherwise = "other tensors share memory than when recorded";

/// Digests the present state piece by piece, and notes which pieces differ from the recorded ones.
class Comparer : public StateSink {
 public:
  explicit Comparer(const store::CheckpointReader& reader) : reader_(reader) {
    for (const store::Item& item : reader.items()) missing_.insert(item.name);
  }

  void bytes(std::string name, std::string_view content) override {
    compare(
        {.name = std::move(name), .type = ElementType::bytes, .sizes = {}, .bytes = content.size()},
        std::as_bytes(std::span(content.data(), content.size())));
  }

  void tensor(std::string name, const TensorSource& source) override {
    const store::Item item{
        .name = std::move(name), .type = source.type, .sizes = source.sizes, .bytes = source.bytes};
    if (source.host || source.bytes == 0) {
      return compare(item, {source.host, source.host ? source.bytes : 0});
    }
    std::vector<std::byte> copied(source.bytes);
    if (const auto pending = source.copy(copied.data())) pending->wait();
    compare(item, copied);
  }

  std::vector<StateDifference> take() {
    for (const std::string& name : missing_) {
      if (!name.starts_with(kAttachedPrefix) && name != kElapsedItem) {
        differences_.push_back({name, name == kSharingItem
                                          ? std::string(kSharesOtherwise)
                                          : "was recorded, but is not registered now"});
      }
    }
    return std::move(differences_);
  }

 private:
  void compare(const store::Item& item, std::span<const std::byte> content) {
    // Not compared: the number of threads, since results depend on it and would show it; and the
    // order of names, which does not matter. Objects that are missing or new show as items of their
    // own.
    if (item.name == kThreadsItem || item.name == kSlotsItem) {
      missing_.erase(item.name);
      return;
    }
    const auto recorded = reader_.find(item.name);
    if (item.name == kSharingItem && (!recorded || reader_.digest(*recorded) !=
                                                       store::item_digest(content))) {
      missing_.erase(item.name);
      differences_.push_back({item.name, std::string(kSharesOtherwise)});
      return;
    }
    if (!recorded) {
      // Locals that were not attached in the recording have no recorded value to compare with.
      if (!item.name.starts_with(kAttachedPrefix)) {
        differences_.push_back({item.name, "was not recorded"});
      }
      return;
    }
    missing_.erase(item.name);
    const store::Item& before = reader_.items()[*recorded];
    if (before.type != item.type || before.sizes != item.sizes || before.bytes != item.bytes) {
      differences_.push_back({item.name, fmt::format("recorded as {}, now {}", print_shape(before),
                                                     print_shape(item))});
    } else if (reader_.digest(*recorded) != store::item_digest(content)) {
      differences_.push_back({item.name, describe(item, *recorded, content)});
    }
  }

  std::string describe(const store::Item& item, std::size_t recorded,
                       std::span<const std::byte> content) const {
    if (!is_number(item)) return "content differs";
    return fmt::format("recorded {}, now {}", print_number(item, reader_.read(recorded)),
                       print_number(item, content));
  }

  const store::CheckpointReader& reader_;
  std::set<std::string> missing_;
  std::vector<StateDifference> differences_;
};

}  // namespace

std::string print_shape(const store::Item& item) {
  if (item.type == ElementType::bytes) return fmt::format("{} bytes", item.bytes);
  return fmt::format("{} [{}]", store::to_string(item.type), fmt::join(item.sizes, ", "));
}

bool CheckpointSource::has(const std::string& name) const {
  const auto found = reader_.find(name);
  // Counts as read, since the presence of some items is their content.
  if (found) asked_.insert(*found);
  return found.has_value();
}

std::size_t CheckpointSource::index(const std::string& name) const {
  if (const auto found = reader_.find(name)) return *found;
  if (purpose_ == Purpose::load) {
    throw Error(fmt::format("it has no '{}', which the object of this program has",
                            item_title(name)));
  }
  throw Error(fmt::format(
      "the run did not record '{}', which this program registers: register what was registered "
      "then, or record again",
      item_title(name)));
}

const store::Item& CheckpointSource::item(const std::string& name) const {
  return reader_.items()[index(name)];
}

std::string CheckpointSource::bytes(const std::string& name) {
  const std::size_t found = index(name);
  asked_.insert(found);
  const std::vector<std::byte> content = reader_.read(found);
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

void CheckpointSource::tensor(const std::string& name, TensorTarget target) {
  const std::size_t found = index(name);
  const store::Item& recorded = reader_.items()[found];
  const store::Item wanted{
      .name = name, .type = target.type, .sizes = target.sizes, .bytes = target.bytes};
  if (recorded != wanted) {
    if (purpose_ == Purpose::load) {
      throw Error(fmt::format("'{}' is {} in the checkpoint, but {} in this program",
                              item_title(name), print_shape(recorded), print_shape(wanted)));
    }
    throw Error(fmt::format(
        "'{}' was recorded as {}, but is {} in this program: replay with the model that was "
        "recorded, or record again",
        item_title(name), print_shape(recorded), print_shape(wanted)));
  }
  asked_.insert(found);
  pending_.push_back({found, std::move(target)});
}

void CheckpointSource::finish() {
  std::vector<store::Destination> destinations;
  std::vector<std::vector<std::byte>> staged(pending_.size());
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const TensorTarget& target = pending_[i].target;
    std::byte* content = target.host;
    if (target.assign) {
      staged[i].resize(target.bytes);
      content = staged[i].data();
    }
    destinations.push_back({pending_[i].item, {content, target.bytes}});
  }
  reader_.read(destinations);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].target.assign) pending_[i].target.assign(staged[i].data());
  }
  pending_.clear();
}

std::string CheckpointSource::unread_below(const std::unordered_set<std::string>& names) const {
  const std::vector<store::Item>& items = reader_.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t slash = items[i].name.find('/');
    if (slash == std::string::npos || asked_.contains(i)) continue;
    if (names.contains(items[i].name.substr(0, slash))) return items[i].name;
  }
  return {};
}

void restore(const store::CheckpointReader& reader, const Registry& registry,
             const std::vector<Slot>& attached, bool set_threads) {
  CheckpointSource source(reader);
  registry.load(source, attached, set_threads);
  const std::vector<std::string> names = registry.names();
  if (const std::string unread = source.unread_below({names.begin(), names.end()});
      !unread.empty()) {
    throw Error(fmt::format(
        "the run recorded '{}', which this program does not have: replay with the model that was "
        "recorded, or record again",
        item_title(unread)));
  }
  source.finish();
}

void restore_attached(const store::CheckpointReader& reader, const Registry& registry,
                      const std::vector<Slot>& attached) {
  CheckpointSource source(reader);
  registry.load_attached(source, attached);
  source.finish();
}

std::vector<StateDifference> compare(const store::CheckpointReader& reader,
                                     const Registry& registry, const std::vector<Slot>& attached) {
  Comparer comparer(reader);
  registry.save(comparer, attached);
  return comparer.take();
}

std::vector<StateDifference> compare_attached(const store::CheckpointReader& reader,
                                              const Registry& registry,
                                              const std::vector<Slot>& attached) {
  Comparer comparer(reader);
  registry.save_attached(comparer, attached);
  return comparer.take();
}

}  // namespace flor::detail
