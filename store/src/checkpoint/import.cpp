// Stores a file from another program as a run.
#include "checkpoint/transfer.h"
#include "database/database.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <exception>
#include <system_error>

namespace flor::store {
namespace {

CheckpointInfo fill(Store& store, const Run& run, const Snapshot& snapshot) {
  Catalog& catalog = store.catalog();
  const CheckpointInfo info =
      CheckpointWriter(store, run.id).write({CheckpointKind::boundary, 0, 1, ""}, snapshot);
  catalog.add_iteration(run.id, {0, 0, 0, 0});
  catalog.put_main_loop(run.id, {0, "import", 0, 1, true, false});
  catalog.finish_run(run.id, now_us(), false, "");
  return info;
}

}  // namespace

ImportedRun import_snapshot(Store& store, const NewRun& start, const std::filesystem::path& file,
                            const Snapshot& snapshot) {
  Catalog& catalog = store.catalog();
  std::error_code unknown;
  const RunOrigin origin{RunOrigin::Kind::imported,
                         std::filesystem::absolute(file, unknown).string(), start.started_us};
  const Run run = catalog.add_run(start, {}, origin);
  try {
    const auto lock = store.lock_run(run.key);
    const CheckpointInfo info = fill(store, run, snapshot);
    return {*catalog.run(run.id), info};
  } catch (...) {
    try {
      catalog.drop_run(run.id);
    } catch (const std::exception&) {
      // The first error is the one to report.
    }
    throw;
  }
}

}  // namespace flor::store
