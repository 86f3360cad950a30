#include "replay/epoch_path.h"

#include <fmt/format.h>

namespace flor::detail {

void EpochPath::begin() {
  met_.clear();
  executed_.clear();
  skipped_ = false;
  whole_in_loops_ = true;
  computed_ = true;
}

void EpochPath::leave(const std::string& loop, bool executed) {
  if (executed) {
    executed_[loop] = kAllSteps;
    whole_in_loops_ = !skipped_;
  } else {
    skipped_ = ever_skipped_ = true;
  }
}

void EpochPath::leave_early(const std::string& loop, std::int64_t iterations) {
  executed_[loop] = iterations;
  whole_in_loops_ = !skipped_;
  skipped_ = ever_skipped_ = true;
}

std::vector<std::string> EpochPath::differences(const std::set<std::string>& recorded,
                                                const std::set<std::string>& known,
                                                std::int64_t epoch) const {
  std::vector<std::string> found;
  for (const std::string& loop : recorded) {
    if (met_.contains(loop)) continue;
    found.push_back(fmt::format("epoch {}: the record executed {}, the replay did not come to it",
                                epoch, loop));
  }
  for (const std::string& loop : met_) {
    if (recorded.contains(loop) || !known.contains(loop.substr(0, loop.find('~')))) continue;
    found.push_back(fmt::format(
        "epoch {}: the replay came to {}, which the record did not execute there", epoch, loop));
  }
  return found;
}

}  // namespace flor::detail
