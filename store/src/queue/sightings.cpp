// Implements WatchMemory.
#include "queue/sightings.h"

#include "database/store_impl.h"
#include "queue/queue_change.h"
#include "queue/queue_file.h"
#include "queue/sighting_rows.h"

#include <mutex>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

void put_sightings(Connection& connection, const std::vector<Sighting>& sightings) {
  for (const Sighting& sighting : sightings) {
    connection(
        "INSERT OR REPLACE INTO sighting (watch, path, device, inode, bytes, modified_ns, content) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        sighting.watch, sighting.path, sighting.file.device, sighting.file.inode,
        sighting.file.bytes, sighting.file.modified_ns, sighting.content)
        ->run();
  }
}

WatchMemory::WatchMemory(const Store& store, Clock clock)
    : queue_(queue_of(*store.impl().database, QueueUse::change)),
      clock_(clock ? std::move(clock) : Clock(now_us)) {}

WatchMemory::Watch WatchMemory::add(std::string_view directory, std::string_view spec,
                                    std::string_view arguments, std::string_view queue,
                                    const std::vector<Sighting>& present) {
  std::string key(arguments);
  if (!queue.empty()) key.append("\n").append(queue);
  QueueChange change(*queue_, clock_());
  Connection& connection = change.connection();
  Watch watch;
  {
    const auto query = connection(
        "INSERT OR IGNORE INTO watch (directory, spec, arguments, began_us) "
        "VALUES (?1, ?2, ?3, ?4)",
        directory, spec, key, change.now());
    query->run();
    watch.is_new = query->changes() > 0;
  }
  {
    const auto row =
        connection("SELECT id FROM watch WHERE directory = ?1 AND spec = ?2 AND arguments = ?3",
                   directory, spec, key);
    row->step();
    watch.id = row->integer(0);
  }
  if (watch.is_new) {
    std::vector<Sighting> first = present;
    for (Sighting& sighting : first) sighting.watch = watch.id;
    put_sightings(connection, first);
  }
  change.commit();
  return watch;
}

std::vector<Sighting> WatchMemory::sightings(std::int64_t watch) const {
  const Lock lock(queue_->mutex);
  const auto row = queue_->connection(
      "SELECT path, device, inode, bytes, modified_ns, content FROM sighting WHERE watch = ?1 "
      "ORDER BY path",
      watch);
  std::vector<Sighting> all;
  while (row->step()) {
    all.push_back({.watch = watch,
                   .path = row->text(0),
                   .file = {row->integer(1), row->integer(2), row->integer(3), row->integer(4)},
                   .content = row->is_null(5) ? std::nullopt : std::optional(row->digest(5))});
  }
  return all;
}

}  // namespace flor::store
