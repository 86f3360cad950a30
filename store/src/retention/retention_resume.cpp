#include "retention/retention_resume.h"

#include "index/catalog/resume_point.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace flor::store {
namespace {

constexpr std::string_view kBegin = "@begin";

/// Finds those iterations of one main loop that the runs need to be resumed.
class Needs {
 public:
  Needs(Connection& connection, std::span<const StoredRun> runs, std::int64_t main_loop)
      : connection_(connection), runs_(runs), main_loop_(main_loop) {}

  std::set<LoopPlace> find() {
    keep_where_all_go_on();
    keep_the_last_of_each();
    keep_what_the_slowest_comes_to();
    return std::move(places_);
  }

 private:
  /// Keeps the last boundary that all runs have, where they would resume. If attached locals of a
  /// loop are missing there, `plan_resume` tries some earlier boundaries, which are kept as well.
  void keep_where_all_go_on() {
    int tries = 0;
    const auto& boundaries = runs_.front().boundaries(main_loop_);
    for (auto boundary = boundaries.rbegin(); boundary != boundaries.rend(); ++boundary) {
      if (!all_have(*boundary)) continue;
      if (keep(*boundary) || ++tries == kResumeTries) return;
    }
  }

  /// Keeps the last boundary of each run, because the other runs may be about to store it.
  void keep_the_last_of_each() {
    std::set<std::int64_t> last;
    for (const StoredRun& run : runs_) {
      const auto& own = run.boundaries(main_loop_);
      if (!own.empty()) last.insert(*own.rbegin());
    }
    for (const std::int64_t boundary : last) keep(boundary);
  }

  /// Keeps the boundary that the slowest run will store next. Otherwise a rank that is always late
  /// would find it deleted in the others, and the ranks would never have a common boundary.
  void keep_what_the_slowest_comes_to() {
    std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
    std::optional<std::int64_t> next;
    for (const StoredRun& run : runs_) {
      const auto& own = run.boundaries(main_loop_);
      slowest = std::min(slowest, own.empty() ? 0 : *own.rbegin());
    }
    for (const StoredRun& run : runs_) {
      const auto& own = run.boundaries(main_loop_);
      const auto after = own.upper_bound(slowest);
      if (after != own.end()) next = std::min(next.value_or(*after), *after);
    }
    if (next) keep(*next);
  }

  bool all_have(std::int64_t boundary) const {
    return std::ranges::all_of(
        runs_, [&](const StoredRun& run) { return run.boundaries(main_loop_).contains(boundary); });
  }

  /// Keeps a boundary, and for each nested loop the epoch in which it last ran before the boundary,
  /// as loops need not run in every epoch or rank. Returns true if the attached locals of these
  /// loops are stored there.
  bool keep(std::int64_t boundary) {
    places_.insert({main_loop_, boundary - 1});
    bool exact = true;
    for (const StoredRun& run : runs_) {
      for (const auto& [loop, last] : run.last_executions(connection_, {main_loop_, boundary})) {
        places_.insert({main_loop_, last});
        if (run.lacks_end(loop, {main_loop_, last})) exact = false;
      }
    }
    return exact;
  }

  Connection& connection_;
  std::span<const StoredRun> runs_;
  std::int64_t main_loop_;
  std::set<LoopPlace> places_;
};

}  // namespace

StoredRun::StoredRun(Connection& connection, std::int64_t run) : run_(run) {
  const auto rows = connection("SELECT ordinal, iterations FROM main_loop WHERE run = ?1", run);
  while (rows->step()) complete_[rows->integer(0)] = rows->integer(1);
}

void StoredRun::add(const CheckpointKey& key) {
  if (key.kind == CheckpointKind::boundary) {
    const auto complete = complete_.find(key.main_loop);
    if (key.iteration > 0 && complete != complete_.end() && key.iteration <= complete->second) {
      boundaries_[key.main_loop].insert(key.iteration);
    }
  } else if (key.kind == CheckpointKind::loop_end) {
    if (key.loop.ends_with(kBegin)) {
      attached_.emplace(key.main_loop, key.loop.substr(0, key.loop.size() - kBegin.size()));
    } else {
      ends_.emplace(key.main_loop, key.iteration, key.loop);
    }
  }
}

const std::set<std::int64_t>& StoredRun::boundaries(std::int64_t main_loop) const {
  static const std::set<std::int64_t> none;
  const auto found = boundaries_.find(main_loop);
  return found == boundaries_.end() ? none : found->second;
}

std::map<std::string, std::int64_t> StoredRun::last_executions(Connection& connection,
                                                               const LoopPlace& boundary) const {
  std::map<std::string, std::int64_t> last;
  const auto rows = connection(
      "SELECT loop, max(iteration) FROM execution WHERE run = ?1 AND main_loop = ?2 AND iteration "
      "< ?3 GROUP BY loop",
      run_, boundary.first, boundary.second);
  while (rows->step()) last[rows->text(0)] = rows->integer(1);
  return last;
}

bool StoredRun::lacks_end(const std::string& loop, const LoopPlace& place) const {
  return attached_.contains({place.first, loop}) &&
         !ends_.contains({place.first, place.second, loop});
}

std::set<LoopPlace> needed_to_resume(Connection& connection, std::span<const StoredRun> runs) {
  std::set<std::int64_t> main_loops;
  const auto rows =
      connection("SELECT DISTINCT ordinal FROM main_loop WHERE run = ?1", runs.front().id());
  while (rows->step()) main_loops.insert(rows->integer(0));
  std::set<LoopPlace> places;
  for (const std::int64_t main_loop : main_loops) {
    places.merge(Needs(connection, runs, main_loop).find());
  }
  return places;
}

}  // namespace flor::store
