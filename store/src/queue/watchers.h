// The processes that watch for checkpoints and have them evaluated, as the store knows them, and
// the requests to them. They are asked through the queue, never by a signal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// The values are on disk: append only.
enum class StopRequest : std::uint8_t {
  none = 0,
  drain = 1,  ///< finish the running evaluations, begin nothing
  now = 2,    ///< stop them, and return them to the queue
};

/// Something that is watched for an evaluator.
struct WatchedPlace {
  std::string place;  ///< an absolute directory, "experiment NAME" or "run KEY"
  std::string spec;   ///< of the evaluator
  bool operator==(const WatchedPlace&) const = default;
};

struct Watcher {
  std::string key;  ///< of the lock (`Store::lock_run`) that it holds as long as it lives
  std::int64_t pid = 0;
  std::string host;
  std::int64_t workers = 0;
  std::vector<WatchedPlace> places = {};
  std::int64_t began_us = 0;  ///< Unix time, microseconds
  StopRequest stop = StopRequest::none;
};

/// The entry of a process that watches. Not thread-safe.
class WatcherEntry {
 public:
  /// `watcher`: must hold its lock; `began_us` and `stop` are ignored. Forgets those that have
  /// died.
  WatcherEntry(Store& store, const Watcher& watcher);
  ~WatcherEntry();
  WatcherEntry(const WatcherEntry&) = delete;
  WatcherEntry& operator=(const WatcherEntry&) = delete;

  /// Becomes readable when any watcher of the store gets a request.
  int descriptor() const { return bell_; }
  /// The request to this watcher; the descriptor is not readable then until it rings again.
  StopRequest asked() const;

 private:
  std::shared_ptr<struct QueueFile> queue_;
  std::string key_;
  int bell_ = -1;  // inotify
};

/// Those that live, the oldest first.
std::vector<Watcher> watchers(const Store& store);
/// Asks those that live, and returns them.
std::vector<Watcher> ask_to_stop(Store& store, StopRequest request);

}  // namespace flor::store
