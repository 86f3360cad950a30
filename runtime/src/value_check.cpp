#include "value_check.h"

#include "restore.h"

#include <flor/store/checkpoint.h>

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace flor::detail {
namespace {

/// Identity of a value within a run and an epoch.
std::string identity(const store::Value& value) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", value.name, value.place.path, value.place.step,
                     value.place.inner, value.ordinal);
}

std::string digest_text(const store::Item& item, std::span<const std::byte> content) {
  return fmt::format("{} {}", print_shape(item), store::item_digest(content).hex());
}

}  // namespace

bool ValueCheck::is_new(std::int64_t part, const store::Value& value) {
  const Recorded& recorded = recorded_values(value.place.epoch);
  const auto before = recorded.find(identity(value));
  if (before == recorded.end()) {
    comparison_.value_found(part);
    return true;
  }
  compare(part, before->second, value);
  return false;
}

void ValueCheck::compare(std::int64_t part, const store::Value& recorded,
                         const store::Value& replayed) {
  const bool contents =
      replayed.type == store::ValueType::tensor || replayed.type == store::ValueType::image;
  if (recorded.type != replayed.type || !contents) {
    return comparison_.value(part, recorded, replayed);
  }
  store::Value then = recorded, now = replayed;
  then.value = content_digest(then);
  now.value = content_digest(now);
  comparison_.value(part, then, now);
}

const ValueCheck::Recorded& ValueCheck::recorded_values(std::int64_t epoch) {
  if (const auto found = recorded_.find(epoch); found != recorded_.end()) return found->second;
  // Epochs come in order, so those before this one are done with; -1 stays.
  std::erase_if(recorded_, [&](const auto& entry) { return entry.first >= 0; });
  Recorded& recorded = recorded_[epoch];
  for (store::Value& value : store_.catalog().values({.run = run_,
                                                      .names = {},
                                                      .first_epoch = epoch,
                                                      .last_epoch = epoch,
                                                      .recorded = true,
                                                      .hindsight = false})) {
    std::string key = identity(value);
    recorded.emplace(std::move(key), std::move(value));
  }
  return recorded;
}

/// Contents are compared by digest: the same content may be stored under another reference.
std::string ValueCheck::content_digest(const store::Value& value) const {
  const auto& reference = std::get<std::string>(value.value);
  if (const auto found = known_.find(reference); found != known_.end()) return found->second;
  const store::Object object = store::read_object(store_, reference);
  return digest_text(object.item, object.content);
}

void ValueCheck::know(const std::string& reference, const store::Item& item,
                      std::span<const std::byte> content) {
  if (!known_.contains(reference)) known_[reference] = digest_text(item, content);
}

}  // namespace flor::detail
