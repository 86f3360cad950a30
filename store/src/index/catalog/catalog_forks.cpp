// Functions of Catalog about forked runs, which continue from a boundary in another run's record.
#include "database/database.h"
#include "index/catalog/labels.h"
#include "index/copies/run_image.h"
#include "index/placing.h"
#include "index/writing.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

Run Catalog::fork_run(const Fork& fork, const NewRun& run, const std::optional<RunBuild>& build,
                      std::span<const std::string> others) {
  NewRun start = run;
  if (start.key.empty()) start.key = new_run_key();
  std::int64_t id = 0;
  {
    Writing writing(*database_);
    database_->require_content();
    const CopyEvent event = fork_event(writing.connection(), fork, start, build, others);
    Placing placing(*database_);
    id = apply_copy(*database_, placing, start.key, event);
    if (const auto lost = placing.finish(); !lost.empty()) {
      throw Damaged(fmt::format("run {} cannot be forked: {}", fork.parent, lost.front()));
    }
    writing.note(id, event);
    writing.commit();
  }
  return this->run(id).value();
}

std::optional<Fork> Catalog::fork(std::int64_t run) const {
  const Lock lock(database_->mutex);
  const auto row = database_->connection(
      "SELECT parent, main_loop, iteration, epoch, exact FROM fork WHERE run = ?1", run);
  if (!row->step()) return std::nullopt;
  return Fork{row->text(0), row->integer(1), row->integer(2), row->integer(3),
              row->integer(4) != 0};
}

std::vector<std::string> Catalog::forks_of(std::string_view key) const {
  const Lock lock(database_->mutex);
  std::vector<std::string> keys;
  const auto rows = database_->connection(
      "SELECT run.key FROM fork JOIN run ON run.id = fork.run WHERE parent = ?1 AND "
      "NOT " FLOR_IS_REMOVED("run.id") "ORDER BY run.id",
      key);
  while (rows->step()) keys.push_back(rows->text(0));
  return keys;
}

}  // namespace flor::store
