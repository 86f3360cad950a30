#include "verdict/value_check.h"

#include "index/values/own_series.h"
#include "protocol/value_text.h"
#include "session/pinned.h"
#include "snapshot/restore.h"

#include <flor/store/checkpoint.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

namespace flor::detail {
namespace {

/// "train" of "epoch/train/inner"; empty for a place directly in the main loop.
std::string nested_loop_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {};
  return path.substr(slash + 1, path.find('/', slash + 1) - slash - 1);
}

std::string digest_text(const store::Item& item, std::span<const std::byte> content) {
  return fmt::format("{} {}", print_shape(item), store::item_digest(content).hex());
}

}  // namespace

bool ValueCheck::is_new(std::int64_t part, const store::Value& value, bool plugged) {
  if (is_known(part, value, plugged)) return false;
  comparison_.value_found(part);
  return true;
}

void ValueCheck::compare_known(std::int64_t part, const store::Value& value, bool plugged) {
  is_known(part, value, plugged);
}

bool ValueCheck::is_known(std::int64_t part, const store::Value& value, bool plugged) {
  Recorded& recorded = recorded_values(value.place.epoch);
  const auto before = recorded.find(value_identity(value));
  if (before == recorded.end()) {
    const bool is_same = same_program_.at(value.place.epoch) && !plugged;
    if (is_same && !was_left_out(value)) comparison_.value_unexpected(part, value);
    return false;
  }
  before->second.came = true;
  // A pinned value comes from the record: that it equals the record shows nothing.
  if (!value.name.starts_with(kPinnedPrefix)) compare(part, before->second.value, value);
  return true;
}

bool ValueCheck::was_left_out(const store::Value& value) {
  return value.name == store::kIterationSeries && !with_iterations_.contains(value.place.epoch);
}

void ValueCheck::pass(const store::Value& value) {
  if (!same_program_.outside || value.place.epoch >= 0) return;
  Recorded& recorded = recorded_values(value.place.epoch);
  const auto before = recorded.find(value_identity(value));
  if (before != recorded.end()) before->second.came = true;
}

/// The main loop is compared, too: an iteration that ended by an exception has the same number as
/// the first iteration of the next main loop.
void ValueCheck::end_epoch(std::int64_t epoch, const std::string& main_loop,
                           const ExecutedLoops& executed, bool outside) {
  if (!same_program_.at(epoch)) return forget(epoch);
  std::vector<const store::Value*> missing;
  for (const auto& [key, known] : recorded_values(epoch)) {
    const std::string& path = known.value.place.path;
    if (known.came || path.substr(0, path.find('/')) != main_loop) continue;
    const std::string loop = nested_loop_of(path);
    const auto way = executed.find(loop);
    const bool was_due =
        loop.empty() ? outside : way != executed.end() && known.value.place.step < way->second;
    if (was_due) missing.push_back(&known.value);
  }
  report_missing(epoch, std::move(missing));
  forget(epoch);
}

void ValueCheck::end_outside(std::int64_t part) {
  if (!same_program_.outside) return;
  std::vector<const store::Value*> missing;
  for (const auto& [key, known] : recorded_values(-1)) {
    if (!known.came) missing.push_back(&known.value);
  }
  report_missing(part, std::move(missing));
}

void ValueCheck::report_missing(std::int64_t part, std::vector<const store::Value*> missing) {
  std::ranges::sort(missing, [](const store::Value* a, const store::Value* b) {
    return std::tie(a->place.step, a->name, a->ordinal) <
           std::tie(b->place.step, b->name, b->ordinal);
  });
  for (const store::Value* value : missing) comparison_.value_missing(part, *value);
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

/// The recorded values of an epoch. If epochs have few values, several epochs are read at once.
ValueCheck::Recorded& ValueCheck::recorded_values(std::int64_t epoch) {
  if (const auto found = recorded_.find(epoch); found != recorded_.end()) return found->second;
  constexpr std::size_t kFew = 1000;
  constexpr std::int64_t kEpochsMax = 256;
  const std::int64_t last = epoch < 0 ? epoch : epoch + at_once_ - 1;
  std::vector<store::Value> values = store_.catalog().values({.run = run_,
                                                              .names = {},
                                                              .first_epoch = epoch,
                                                              .last_epoch = last,
                                                              .recorded = true,
                                                              .hindsight = false});
  for (store::Value& value : store_.catalog().values({.run = run_,
                             .names = {std::string(store::kIterationSeries)},
                             .first_epoch = epoch,
                             .last_epoch = last,
                             .recorded = true,
                             .hindsight = false})) {
    with_iterations_.insert(value.place.epoch);
    values.push_back(std::move(value));
  }
  at_once_ = values.size() < kFew ? std::min(2 * at_once_, kEpochsMax) : 1;
  std::set<std::int64_t> fresh;
  for (std::int64_t i = epoch; i <= last; ++i) {
    if (recorded_.try_emplace(i).second) fresh.insert(i);
  }
  for (store::Value& value : values) {
    if (!fresh.contains(value.place.epoch)) continue;
    std::string key = value_identity(value);
    recorded_[value.place.epoch].emplace(std::move(key), Known{std::move(value)});
  }
  return recorded_[epoch];
}

/// Contents are compared by digest, since equal contents may be stored under different references.
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
