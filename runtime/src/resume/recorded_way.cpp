#include "resume/recorded_way.h"

#include "maintain/shared_view.h"
#include "protocol/value_text.h"

#include <fmt/format.h>

#include <utility>

namespace flor::detail {

ValuesOnWay values_on_way(const store::Catalog& catalog, std::int64_t run,
                          const store::ResumePoint& point) {
  ValuesOnWay values;
  if (point.loop.empty()) return values;
  for (store::Value& value : catalog.values({.run = run,
                             .names = {},
                             .first_epoch = point.epoch,
                             .last_epoch = point.epoch,
                             .recorded = true,
                             .hindsight = false})) {
    if (value.place.step < 0) values.emplace(value_identity(value), std::move(value));
  }
  return values;
}

bool RecordedWay::compare(store::Value& value, const LoggedContent* content) {
  const auto before = recorded_.find(value_identity(value));
  if (before == recorded_.end()) return true;
  store::Value now = value;
  if (content) now.value = store::object_reference(content->item, content->content);
  if (same_value(before->second, now)) return true;
  if (difference_.empty()) {
    difference_ = fmt::format("{} at {}: {}", value.name, print_place(value.place),
                              content ? "its content is another"
                                      : fmt::format("recorded {}, now {}",
                                                    print_value(before->second), print_value(now)));
  }
  value = before->second;
  return false;
}

void RecordedWay::forget() {
  recorded_.clear();
  difference_.clear();
}

}  // namespace flor::detail
