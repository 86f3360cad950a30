#include "run_progress.h"

#include <algorithm>

namespace flor::remote {

RunProgress::RunProgress(store::Connection& connection, std::int64_t run) {
  const auto row = connection(
      "SELECT (SELECT count(*) FROM resumption WHERE run = ?1), epochs, finished_us IS NOT NULL "
      "FROM run WHERE id = ?1",
      run);
  if (row->step()) recorded_ = {row->integer(0), row->integer(1), row->integer(2)};
  const auto rows = connection(
      "SELECT started_us, segment, first_epoch FROM replay WHERE run = ?1 AND finished_us IS NOT "
      "NULL",
      run);
  while (rows->step()) replays_.emplace(rows->integer(0), rows->integer(1), rows->integer(2));
}

bool RunProgress::is_further_than(const RunProgress& other) const {
  return recorded_ > other.recorded_;
}

bool RunProgress::has_other_replays_than(const RunProgress& other) const {
  return !std::ranges::includes(other.replays_, replays_);
}

}  // namespace flor::remote
