#include "session/loaded_inputs.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <variant>
#include <vector>

namespace flor::detail {
namespace {

std::string text_of(const std::string& record) {
  const auto json = nlohmann::json::parse(record, nullptr, false);
  return json.is_object() ? json.value("text", std::string()) : std::string();
}

}  // namespace

std::optional<RecordedLoad> LoadedInputs::next(const store::Catalog& catalog, const store::Run& run,
                                               std::string_view text, Journal& journal) {
  const VisitedPlaces::Visit visit = places_.next(journal);
  const Key here{VisitedPlaces::text(visit.place, 0), std::string(text)};
  if (!recorded_) {
    recorded_.emplace();
    std::vector<store::Value> values = catalog.values({.run = run.id,
                                                       .names = {kLoadedName},
                                                       .first_epoch = -1,
                                                       .hindsight = false,
                                                       .evaluated = false});
    std::ranges::stable_sort(values, {}, &store::Value::ordinal);
    for (const store::Value& value : values) {
      const auto* record = std::get_if<std::string>(&value.value);
      if (!record) continue;
      const Key key{VisitedPlaces::text(value.place, 0), text_of(*record)};
      (*recorded_)[key].push_back(*record);
    }
  }
  const auto found = recorded_->find(here);
  if (found == recorded_->end() || found->second.empty()) return std::nullopt;
  RecordedLoad load{std::move(found->second.front()), visit.suppressed};
  found->second.pop_front();
  return load;
}

}  // namespace flor::detail
