#include "session/loaded_inputs.h"

#include <utility>
#include <variant>

namespace flor::detail {
namespace {

std::map<std::string, std::string> recorded_loads(const store::Catalog& catalog,
                                                  std::int64_t run) {
  std::map<std::string, std::string> loads;
  for (const store::Value& value : catalog.values({.run = run,
                                                   .names = {kLoadedName},
                                                   .first_epoch = -1,
                                                   .hindsight = false,
                                                   .evaluated = false})) {
    if (const auto* text = std::get_if<std::string>(&value.value)) {
      loads[VisitedPlaces::text(value.place, value.ordinal)] = *text;
    }
  }
  return loads;
}

}  // namespace

std::optional<std::string> LoadedInputs::next(const store::Catalog& catalog, const store::Run& run,
                                              Journal& journal) {
  const VisitedPlaces::Visit here = places_.next(journal);
  if (!recorded_) recorded_ = recorded_loads(catalog, run.id);
  const auto found = recorded_->find(VisitedPlaces::text(here.place, here.ordinal));
  return found == recorded_->end() ? std::nullopt : std::optional(found->second);
}

}  // namespace flor::detail
