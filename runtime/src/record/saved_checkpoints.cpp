#include "record/saved_checkpoints.h"

#include "base/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::detail {

void SavedCheckpoints::know(std::map<std::string, store::SavedCheckpoint> recorded) {
  recorded_ = std::move(recorded);
  for (const auto& [place, saved] : recorded_) {
    highest_ = std::max(highest_, saved.number);
    numbers_[saved.name] = saved.number;
  }
}

std::string SavedCheckpoints::recorded_name(const std::string& place) const {
  const auto before = recorded_.find(place);
  return before == recorded_.end() ? std::string() : before->second.name;
}

void SavedCheckpoints::identify(store::SavedCheckpoint& saved, const std::string& place) {
  const auto before = recorded_.find(place);
  saved.number = before == recorded_.end() ? ++highest_ : before->second.number;
  if (saved.name.empty()) saved.name = fmt::format("s{}", saved.number);
}

bool SavedCheckpoints::enter(const store::SavedCheckpoint& saved, store::Catalog& catalog,
                             std::int64_t run) {
  if (!stored_.contains(saved.name)) return false;
  // A checkpoint that is taken again at the same place keeps its number, but may have another name.
  std::erase_if(numbers_, [&](const auto& other) { return other.second == saved.number; });
  numbers_[saved.name] = saved.number;
  catalog.add_saved(run, saved);
  stored_.erase(saved.name);
  return true;
}

bool SavedCheckpoints::score(std::string_view name, const std::map<std::string, double>& scores,
                             store::Catalog& catalog, std::int64_t run) const {
  const auto number = numbers_.find(std::string(name));
  if (number == numbers_.end()) return false;
  for (const auto& [metric, value] : scores) {
    catalog.add_score(run, number->second, metric, value);
  }
  return true;
}

void SavedCheckpoints::delete_others(store::Store& store, const store::Run& run, bool at_end) {
  if (!strategy_.num_to_keep) return;
  if (run.start.rank && run.start.rank->rank != 0 && !at_end) return;
  try {
    const auto report =
        store::retain(store, run.id, store::rules_of(strategy_), store::Sizes::skipped);
    if (report.deleted > 0) {
      say(Level::info, fmt::format("kept {} of {} checkpoints", report.kept, report.units.size()));
    }
  } catch (const std::exception& error) {
    if (std::exchange(told_failure_, true)) return;
    say(Level::warn, fmt::format("the strategy of run {} could not be applied: {}; `flor keep {}` "
                                 "does it later",
                                 run.key.substr(0, 8), error.what(), run.key.substr(0, 8)));
  }
}

}  // namespace flor::detail
