#include "watch/accepted_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace flor::cli {

bool AcceptedResults::wants_sync(Time now) const {
  return !is_syncing_ && !accepted_.empty() && pause_.may_try(now);
}

void AcceptedResults::begin_sync() {
  is_syncing_ = true;
  syncing_ = std::exchange(accepted_, {});
}

std::vector<JobEvent> AcceptedResults::told(std::vector<JobEvent> events) {
  gave_up_ = gave_up_ || std::ranges::find(events, JobEvent::Kind::dead, &JobEvent::kind) !=
                             events.end();
  return events;
}

std::vector<JobEvent> AcceptedResults::synced() {
  is_syncing_ = false;
  pause_.succeeded();
  return told(std::exchange(syncing_, {}));
}

void AcceptedResults::sync_failed(Time now, const std::string& why) {
  is_syncing_ = false;
  accepted_.insert(accepted_.begin(), std::make_move_iterator(syncing_.begin()),
                   std::make_move_iterator(syncing_.end()));
  syncing_.clear();
  if (pause_.failed(now, why)) {
    note_(fmt::format("{}; results are not told of until it works", why));
  }
}

std::vector<JobEvent> AcceptedResults::take_all() {
  std::vector<JobEvent> events = std::exchange(syncing_, {});
  std::ranges::move(std::exchange(accepted_, {}), std::back_inserter(events));
  return told(std::move(events));
}

std::optional<std::string> AcceptedResults::failure(Time now,
                                                    std::chrono::milliseconds patience) const {
  return now > pause_.end_of(patience) ? std::optional(pause_.why()) : std::nullopt;
}

}  // namespace flor::cli
