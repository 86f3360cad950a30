#include "remote/facts/run_progress.h"

#include <algorithm>

namespace flor::remote {

RunProgress::RunProgress(store::Connection& connection, std::int64_t run) {
  const auto count = [&](const char* sql) {
    const auto row = connection(sql, run);
    return row->step() ? row->integer(0) : 0;
  };
  const auto resumptions =
      connection("SELECT resumed_us FROM resumption WHERE run = ?1 ORDER BY ordinal", run);
  while (resumptions->step()) resumptions_.push_back(resumptions->integer(0));
  for (const char* sql : {
           "SELECT epochs FROM run WHERE id = ?1",
           "SELECT finished_us IS NOT NULL FROM run WHERE id = ?1",
           "SELECT count(*) FROM main_loop WHERE run = ?1",
           "SELECT count(*) FROM execution WHERE run = ?1",
           "SELECT count(*) FROM every_value AS one JOIN series ON series.id = one.series "
           "WHERE run = ?1 AND replay = 0",
           "SELECT max(created_us) FROM (SELECT created_us FROM checkpoint WHERE run = ?1 UNION "
           "ALL SELECT created_us FROM discarded WHERE run = ?1)",
           "SELECT max(number) FROM saved WHERE run = ?1",
           "SELECT count(*) FROM score WHERE run = ?1",
       }) {
    counts_.push_back(count(sql));
  }
  const auto rows = connection(
      "SELECT started_us, segment, first_epoch FROM replay WHERE run = ?1 AND finished_us IS NOT "
      "NULL",
      run);
  while (rows->step()) replays_.emplace(rows->integer(0), rows->integer(1), rows->integer(2));
}

bool RunProgress::was_resumed_after(const RunProgress& other) const {
  return std::ranges::mismatch(resumptions_, other.resumptions_).in1 != resumptions_.end();
}

bool RunProgress::is_further_than(const RunProgress& other) const {
  // If both sides were resumed independently, each counts as further than the other.
  if (resumptions_ != other.resumptions_) return was_resumed_after(other);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > other.counts_[i]) return true;
  }
  return false;
}

bool RunProgress::has_other_replays_than(const RunProgress& other) const {
  return !std::ranges::includes(other.replays_, replays_);
}

}  // namespace flor::remote
