// Implements `drop_local`: deletes local checkpoints of a run that are also in an object store.
#include "database/database.h"
#include "database/store_impl.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/writing.h"
#include "maintain/collect.h"
#include "remote/contents.h"
#include "remote/facts/run_catalog.h"
#include "remote/remote.h"
#include "retention/awaited.h"
#include "retention/retention_units.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

namespace flor::remote {

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Throws Error if the run or a rank of its group may still be resumed, which needs the checkpoints
/// of all ranks.
void check_ended(store::Connection& connection, const store::Run& run) {
  const store::RunsTogether together = store::runs_together(connection, run.id);
  const bool goes_on = std::ranges::any_of(
      together.runs, [&](std::int64_t member) { return store::may_go_on(connection, member); });
  if (!goes_on && together.complete) return;
  throw Error(
      fmt::format("run {} has not ended, or failed, and its checkpoints are needed to resume it: "
                  "nothing was deleted here",
                  run.key));
}

/// Returns the ids of checkpoints that evaluators have yet to score.
std::set<std::int64_t> awaited_checkpoints(store::Database& database, store::Connection& connection,
                                           std::int64_t run) {
  std::vector<store::LoadedUnit> units = store::load_units(connection, run);
  store::mark_awaited(database, connection, store::runs_together(connection, run).runs, units);
  std::set<std::int64_t> awaited;
  for (const store::LoadedUnit& unit : units) {
    if (!unit.unit.candidate.awaited) continue;
    awaited.insert(unit.unit.checkpoints.begin(), unit.unit.checkpoints.end());
  }
  return awaited;
}

}  // namespace

DropReport drop_local(store::Store& store, const store::Run& run, const RemoteRun& remote,
                      ObjectStore& objects) {
  const auto running = store.lock_run(run.key);
  if (!running) throw Busy(fmt::format("run {} is being recorded", run.key));
  RunCatalog catalog(objects, remote, {});
  std::set<Content::Name> there;
  for (const Content& content : ContentReader(catalog.connection(), catalog.run()).checkpoints()) {
    there.insert(content.name());
  }
  DropReport report;
  store::Database& database = *store.impl().database;
  {
    store::Writing writing(database);
    store::Connection& connection = writing.connection();
    check_ended(connection, run);
    const std::set<std::int64_t> awaited = awaited_checkpoints(database, connection, run.id);
    std::vector<std::int64_t> gone;
    for (const Content& content : ContentReader(connection, run.id).checkpoints()) {
      if (!there.contains(content.name())) continue;
      if (awaited.contains(content.id)) {
        ++report.awaited;
        continue;
      }
      gone.push_back(content.id);
      ++report.checkpoints;
    }
    store::discard_checkpoints(writing, gone);
    writing.commit();
  }
  report.freed = store::collect(store, false).freed;
  return report;
}

}  // namespace flor::remote
