// The processes that watch for checkpoints and have them evaluated, and requests to them to stop.
// Requests are made through the queue, not by signals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// The numbers are on disk: append only.
enum class StopRequest : std::uint8_t {
  none = 0,
  drain = 1,  ///< finish running evaluations, and begin no others
  now = 2,    ///< abort running evaluations, and return them to the queue
};

/// Something that is watched for one evaluator.
struct WatchedPlace {
  std::string place;  ///< an absolute directory, "experiment NAME" or "run KEY"
  std::string spec;   ///< name of the evaluator
  bool operator==(const WatchedPlace&) const = default;
};

struct Watcher {
  std::string key;  ///< key of the lock (`Store::lock_run`) that it holds as long as it lives
  std::int64_t pid = 0;
  std::string host;
  std::int64_t workers = 0;
  std::vector<WatchedPlace> places = {};
  std::int64_t began_us = 0;  ///< Unix time, microseconds
  StopRequest stop = StopRequest::none;
};

/// Registers this process as a watcher while it exists. Not thread-safe.
class WatcherEntry {
 public:
  /// `watcher`: the process must hold its lock; `began_us` and `stop` are ignored. Also deletes
  /// entries of watchers that have died.
  WatcherEntry(Store& store, const Watcher& watcher);
  ~WatcherEntry();
  WatcherEntry(const WatcherEntry&) = delete;
  WatcherEntry& operator=(const WatcherEntry&) = delete;

  /// Returns a descriptor that becomes readable when any watcher of the store receives a request.
  int descriptor() const { return bell_; }
  /// Returns the request to this watcher, and makes the descriptor unreadable until the next
  /// request.
  StopRequest asked() const;

 private:
  std::shared_ptr<struct QueueFile> queue_;
  std::string key_;
  int bell_ = -1;  // inotify descriptor
};

/// Returns the living watchers, oldest first.
std::vector<Watcher> watchers(const Store& store);
/// Sends the request to all living watchers, and returns them.
std::vector<Watcher> ask_to_stop(Store& store, StopRequest request);

}  // namespace flor::store
