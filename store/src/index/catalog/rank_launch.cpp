// A resuming rank 0 locks its run and closes the previous launch in one transaction. A joining rank
// reads both in one transaction, so it never sees only one of the two changes.
#include "index/catalog/rank_launch.h"

#include "database/store_impl.h"
#include "index/refresh.h"
#include "index/writing.h"

#include <mutex>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

std::optional<RunLock> lock_first_rank(Store& store, std::string_view key) {
  Database& database = *store.impl().database;
  Writing writing(database);
  std::optional<RunLock> own = store.lock_run(key);
  if (!own) return std::nullopt;
  const auto run = database.connection(
      "SELECT leader FROM rank_launch JOIN run ON run.id = leader WHERE key = ?1", key);
  if (run->step()) writing.add(run->integer(0), CloseLaunchEvent{});
  writing.commit();
  return own;
}

bool is_present(Store& store, const RankLaunch& launch) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const HomeLock home(database.paths, database.files, database.connection.patience());
  follow_others(database);
  const Transaction transaction(database.connection);
  const auto row = database.connection(
      "SELECT run.key FROM rank_launch JOIN run ON run.id = leader "
      "WHERE leader = ?1 AND launch = ?2 AND attempt = ?3",
      launch.group, launch.launch, launch.attempt);
  return row->step() && is_locked(database, row->text_view(0));
}

}  // namespace flor::store
