#include "session/visited_places.h"

#include <fmt/format.h>

#include <cstdint>

namespace flor::detail {

VisitedPlaces::Visit VisitedPlaces::next(Journal& journal) {
  Visit here;
  std::uint32_t path = 0;
  journal.move([&](CurrentPlace& place) {
    path = place.path;
    here.place.epoch = place.epoch;
    here.place.step = place.nested ? place.step.load(std::memory_order_relaxed) : -1;
    here.place.inner = place.inner_text();
    here.part = place.part;
    here.suppressed = place.suppressed;
  });
  here.place.path = journal.text_of(path);
  const auto [last, is_first] = last_.try_emplace(here.place.path);
  const bool again = !is_first && last->second.place == here.place;
  here.ordinal = again ? last->second.ordinal + 1 : 0;
  last->second = here;
  return here;
}

std::string VisitedPlaces::text(const store::Place& place, std::int64_t ordinal) {
  return fmt::format("{} {} {} {} {}", place.path, place.epoch, place.step, place.inner, ordinal);
}

}  // namespace flor::detail
