// The recorder's part in retention: checkpoints that the program asks for, and deleting those that
// its strategy does not keep.
#include "base/notice.h"
#include "record/recorder.h"
#include "retention/retention.h"

#include <fmt/format.h>

#include <map>

namespace flor::detail {

void Recorder::keep_checkpoints(const store::CheckpointStrategy& strategy) {
  update([this, strategy](store::Catalog& catalog) {
    catalog.put_strategy(run_.id, strategy);
    strategy_ = strategy;
  });
}

/// Rank 0 decides for all ranks of a group, and at the end the last rank to finish. A failure here
/// costs space, no more.
void Recorder::delete_others(bool at_end) {
  if (!strategy_.num_to_keep || health_.lasts()) return;
  if (run_.start.rank && run_.start.rank->rank != 0 && !at_end) return;
  try {
    const auto report =
        store::retain(*store_, run_.id, store::rules_of(strategy_), store::Sizes::skipped);
    if (report.deleted > 0) {
      say(Level::info, fmt::format("kept {} of {} checkpoints", report.kept, report.units.size()));
    }
  } catch (const std::exception& error) {
    if (std::exchange(told_retention_, true)) return;
    say(Level::warn, fmt::format("the strategy of run {} could not be applied: {}; `flor keep {}` "
                                 "does it later",
                                 run_.key.substr(0, 8), error.what(), run_.key.substr(0, 8)));
  }
}

/// Also determines the number: a resumed run that takes a checkpoint again uses its old number.
std::string Recorder::name_of_saved(std::string_view name, const VisitedPlaces::Visit& here,
                                    std::int64_t& number) {
  const auto before = recorded_saves_.find(VisitedPlaces::text(here.place, here.ordinal));
  number = before == recorded_saves_.end() ? ++saves_ : before->second.number;
  return name.empty() ? fmt::format("s{}", number) : std::string(name);
}

std::string Recorder::save_checkpoint(std::string_view name,
                                      const std::map<std::string, double>& scores) {
  const VisitedPlaces::Visit here = visits_.saves.next(journal_);
  if (here.suppressed ||
      checking_) {  // on the way to where the run was interrupted: it is stored already
    const auto before = recorded_saves_.find(VisitedPlaces::text(here.place, here.ordinal));
    return before == recorded_saves_.end() ? std::string() : before->second.name;
  }
  store::SavedCheckpoint saved;
  saved.name = name_of_saved(name, here, saved.number);
  saved.key = save_key(main_loops_);
  saved.key.loop = saved.name;
  saved.place = here.place;
  saved.ordinal = here.ordinal;
  saved.scores = scores;
  const std::string result = saved.name;
  fence();  // the state is that of now
  take_forced(saved.key, attached_here());
  update([this, saved = std::move(saved)](store::Catalog& catalog) {
    enter_saved(saved, catalog);
  });
  return result;
}

void Recorder::enter_saved(const store::SavedCheckpoint& saved, store::Catalog& catalog) {
  if (!stored_saves_.contains(saved.name)) return;  // it could not be stored, as the user was told
  // A checkpoint that is taken again at its place has its number, and maybe another name.
  std::erase_if(numbers_of_saves_,
                [&](const auto& other) { return other.second == saved.number; });
  numbers_of_saves_[saved.name] = saved.number;
  catalog.add_saved(run_.id, saved);
  stored_saves_.erase(saved.name);
  delete_others();
}

void Recorder::score_checkpoint(std::string_view name,
                                const std::map<std::string, double>& scores) {
  update([this, name = std::string(name), scores](store::Catalog& catalog) {
    const auto saved = numbers_of_saves_.find(name);
    if (saved == numbers_of_saves_.end()) return;  // it could not be stored, as the user was told
    for (const auto& [metric, value] : scores) {
      catalog.add_score(run_.id, saved->second, metric, value);
    }
    delete_others();
  });
}

std::optional<store::FoundCheckpoint> Recorder::find_checkpoint(bool best) {
  fence();
  background_->post([this] {
    write_logged();
    flush_progress();  // an epoch counts once it is known to be complete
  });
  background_->drain();
  // The training continues whatever happens to the index, and waits for it at length only once. In
  // an outage the user was told already that nothing can be stored.
  const bool outage = health_.lasts();
  store_->set_patience(index_follows_ && !outage ? lock_patience.usual : lock_patience.in_outage);
  const bool follows = store_->catalog().follow();
  if (!follows && !outage && index_follows_) {
    say(Level::warn,
        fmt::format("the catalog of {} cannot be written now: of run {} the {} checkpoint that it "
                    "knows is given, which may be an older one",
                    home_.string(), run_.key.substr(0, 8), best ? "best" : "latest"));
  }
  index_follows_ = follows || outage;
  return best ? store::best_checkpoint(*store_, run_.id, strategy_)
              : store::latest_checkpoint(*store_, run_.id, strategy_);
}

}  // namespace flor::detail
