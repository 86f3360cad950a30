// drop_local: the checkpoints of a run that are in an object store need not be here, too.
#include "checkpoint_rows.h"
#include "contents.h"
#include "database.h"
#include "run_catalog.h"
#include "store_impl.h"

#include <flor/store/collect.h>
#include <flor/store/error.h>
#include <flor/store/remote.h>

#include <fmt/core.h>

#include <set>

namespace flor::remote {

using Lock = std::lock_guard<std::recursive_mutex>;

DropReport drop_local(store::Store& store, const store::Run& run, const RemoteRun& remote,
                      ObjectStore& objects) {
  const auto running = store.lock_run(run.key);
  if (!running) throw Busy(fmt::format("run {} is being recorded", run.key));
  if (!run.finished_us) {
    throw Error(
        fmt::format("run {} has not ended, and its checkpoints are needed to resume it: "
                    "nothing was deleted here",
                    run.key));
  }
  RunCatalog catalog(objects, remote, {});
  std::set<Content::Name> there;
  for (const Content& content : ContentReader(catalog.connection(), catalog.run()).checkpoints()) {
    there.insert(content.name());
  }
  DropReport report;
  store::Database& database = *store.impl().database;
  {
    const Lock lock(database.mutex);
    store::Connection& connection = database.connection;
    store::Transaction transaction(connection);
    const std::int64_t now = store::now_us();
    for (const Content& content : ContentReader(connection, run.id).checkpoints()) {
      if (!there.contains(content.name())) continue;
      connection(
          "INSERT OR REPLACE INTO discarded (id, run, kind, main_loop, iteration, loop, "
          "created_us, raw_bytes, stored_bytes, digest, layout, chunks, discarded_us) SELECT id, "
          "run, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, "
          "layout, chunks, ?2 FROM checkpoint WHERE id = ?1",
          content.id, now)
          ->run();
      connection("DELETE FROM checkpoint WHERE id = ?1", content.id)->run();
      ++report.checkpoints;
    }
    store::recount_checkpoints(connection, run.id);
    transaction.commit();
  }
  report.freed = store::collect(store, false).freed;
  return report;
}

}  // namespace flor::remote
