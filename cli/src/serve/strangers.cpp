#include "serve/strangers.h"

namespace flor::cli {

void Strangers::add(Id id, Time now) {
  by_age_.push_back({id, now});
  places_[id] = std::prev(by_age_.end());
}

void Strangers::forget(Id id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return;
  by_age_.erase(place->second);
  places_.erase(place);
}

std::vector<Strangers::Id> Strangers::take_excess(Time now) {
  std::vector<Id> excess;
  while (!by_age_.empty() && (by_age_.size() > most_ || now - by_age_.front().since >= patience_)) {
    excess.push_back(by_age_.front().id);
    forget(by_age_.front().id);
  }
  return excess;
}

}  // namespace flor::cli
