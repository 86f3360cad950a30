#include "queue/watchers.h"

#include "database/store_impl.h"
#include "file/home_files.h"
#include "queue/queue_file.h"

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

void add(QueueFile& queue, const Watcher& watcher) {
  Connection& connection = queue.connection;
  const Lock lock(queue.mutex);
  Transaction transaction(connection);
  for (const Watcher& other : read_watchers(connection)) {
    if (!is_locked(queue, other.key)) forget(connection, other.key);
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
    : queue_(queue_of(*store.impl().database, QueueUse::change)),
      key_(watcher.key),
      bell_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (bell_ < 0) {
    throw Error(fmt::format("no events of files: {}: raise fs.inotify.max_user_instances",
                            std::strerror(errno)));
  }
  const std::string path = queue_->paths.watcher_bell().string();
  const int file = open_in_home(path, O_WRONLY | O_CREAT);
  if (file >= 0) ::close(file);
  ::inotify_add_watch(bell_, path.c_str(), IN_ATTRIB);
  try {
    add(*queue_, watcher);
  } catch (...) {
    ::close(bell_);
    throw;
  }
}

WatcherEntry::~WatcherEntry() {
  ::close(bell_);
  try {
    const Lock lock(queue_->mutex);
    Transaction transaction(queue_->connection);
    forget(queue_->connection, key_);
    transaction.commit();
  } catch (const std::exception&) {
    return;  // another watcher will delete the entry
  }
}

StopRequest WatcherEntry::asked() const {
  char events[4096];
  while (::read(bell_, events, sizeof events) > 0) {
  }
  const Lock lock(queue_->mutex);
  const auto row = queue_->connection("SELECT stop FROM watcher WHERE key = ?1", key_);
  return row->step() ? static_cast<StopRequest>(row->integer(0)) : StopRequest::none;
}

namespace {

std::vector<Watcher> living(QueueFile& queue) {
  const Lock lock(queue.mutex);
  const ReadTransaction transaction(queue.connection);
  std::vector<Watcher> all = read_watchers(queue.connection);
  std::erase_if(all, [&](const Watcher& watcher) { return !is_locked(queue, watcher.key); });
  return all;
}

}  // namespace

std::vector<Watcher> watchers(const Store& store) {
  return living(*queue_of(*store.impl().database, QueueUse::look));
}

std::vector<Watcher> ask_to_stop(Store& store, StopRequest request) {
  if (watchers(store).empty()) return {};
  const auto queue = queue_of(*store.impl().database, QueueUse::change);
  const Lock lock(queue->mutex);
  std::vector<Watcher> asked = living(*queue);
  Transaction transaction(queue->connection);
  for (Watcher& watcher : asked) {
    // A watcher that was asked to stop now is not asked to drain instead.
    watcher.stop = std::max(watcher.stop, request);
    queue
        ->connection("UPDATE watcher SET stop = ?2 WHERE key = ?1", watcher.key,
                     static_cast<std::int64_t>(watcher.stop))
        ->run();
  }
  transaction.commit();
  ::utimensat(AT_FDCWD, queue->paths.watcher_bell().c_str(), nullptr, 0);
  return asked;
}

}  // namespace flor::store
