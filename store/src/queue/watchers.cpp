#include "database/store_impl.h"
#include "file/home_files.h"
#include "queue/watchers.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

std::vector<Watcher> read_watchers(Connection& connection) {
  std::vector<Watcher> all;
  {
    const auto rows = connection(
        "SELECT key, pid, host, workers, began_us, stop FROM watcher ORDER BY began_us, key");
    while (rows->step()) {
      all.push_back({.key = rows->text(0),
                     .pid = rows->integer(1),
                     .host = rows->text(2),
                     .workers = rows->integer(3),
                     .began_us = rows->integer(4),
                     .stop = static_cast<StopRequest>(rows->integer(5))});
    }
  }
  for (Watcher& watcher : all) {
    const auto rows =
        connection("SELECT place, spec FROM watcher_place WHERE watcher = ?1", watcher.key);
    while (rows->step()) watcher.places.push_back({rows->text(0), rows->text(1)});
  }
  return all;
}

void forget(Connection& connection, std::string_view key) {
  connection("DELETE FROM watcher WHERE key = ?1", key)->run();
}

void add(Database& database, const Watcher& watcher) {
  Connection& connection = database.connection;
  const Lock lock(database.mutex);
  Transaction transaction(connection);
  for (const Watcher& other : read_watchers(connection)) {
    if (!is_locked(database, other.key)) forget(connection, other.key);
  }
  connection(
      "INSERT INTO watcher (key, pid, host, workers, began_us, stop) VALUES (?1, ?2, ?3, ?4, ?5, "
      "0)",
      watcher.key, watcher.pid, watcher.host, watcher.workers, now_us())
      ->run();
  for (const WatchedPlace& place : watcher.places) {
    connection("INSERT OR IGNORE INTO watcher_place (watcher, place, spec) VALUES (?1, ?2, ?3)",
               watcher.key, place.place, place.spec)
        ->run();
  }
  transaction.commit();
}

}  // namespace

WatcherEntry::WatcherEntry(Store& store, const Watcher& watcher)
    : store_(store), key_(watcher.key), bell_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  Database& database = *store.impl().database;
  if (bell_ < 0) {
    throw Error(fmt::format("no events of files: {}: raise fs.inotify.max_user_instances",
                            std::strerror(errno)));
  }
  const std::string path = database.paths.watcher_bell().string();
  const int file = open_in_home(path, O_WRONLY | O_CREAT);
  if (file >= 0) ::close(file);
  ::inotify_add_watch(bell_, path.c_str(), IN_ATTRIB);
  try {
    add(database, watcher);
  } catch (...) {
    ::close(bell_);
    throw;
  }
}

WatcherEntry::~WatcherEntry() {
  ::close(bell_);
  try {
    Database& database = *store_.impl().database;
    const Lock lock(database.mutex);
    Transaction transaction(database.connection);
    forget(database.connection, key_);
    transaction.commit();
  } catch (const std::exception&) {
    return;  // the next one forgets it
  }
}

StopRequest WatcherEntry::asked() const {
  char events[4096];
  while (::read(bell_, events, sizeof events) > 0) {
  }
  Database& database = *store_.impl().database;
  const Lock lock(database.mutex);
  const auto row = database.connection("SELECT stop FROM watcher WHERE key = ?1", key_);
  return row->step() ? static_cast<StopRequest>(row->integer(0)) : StopRequest::none;
}

std::vector<Watcher> watchers(const Store& store) {
  const Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  Connection& connection = store.impl().database->connection;
  const ReadTransaction transaction(connection);
  std::vector<Watcher> all = read_watchers(connection);
  std::erase_if(all, [&](const Watcher& watcher) { return !is_locked(database, watcher.key); });
  return all;
}

std::vector<Watcher> ask_to_stop(Store& store, StopRequest request) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  std::vector<Watcher> asked = watchers(store);
  Transaction transaction(database.connection);
  for (Watcher& watcher : asked) {
    // Who was asked to end at once is not asked to take its time.
    watcher.stop = std::max(watcher.stop, request);
    database
        .connection("UPDATE watcher SET stop = ?2 WHERE key = ?1", watcher.key,
                    static_cast<std::int64_t>(watcher.stop))
        ->run();
  }
  transaction.commit();
  ::utimensat(AT_FDCWD, database.paths.watcher_bell().c_str(), nullptr, 0);
  return asked;
}

}  // namespace flor::store
