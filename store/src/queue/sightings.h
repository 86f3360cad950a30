// Sightings: the checkpoints that watches have seen in their directories, so that a later watch
// knows which ones are new. They are stored in the home of the watching machine, even if the queue
// of evaluations is elsewhere.
#pragma once

#include <flor/store/digest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// Identifies an unchanged file without reading it.
struct FileIdentity {
  std::int64_t device = 0, inode = 0, bytes = 0, modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// A checkpoint that a watch has found. Without `content`: it existed when the watch began, and is
/// not to be scored.
struct Sighting {
  std::int64_t watch = 0;
  std::string path;  ///< absolute path
  FileIdentity file;
  std::optional<Digest> content;
};

/// Remembers watches and their sightings. Thread-safe like Catalog, and throws the same errors.
/// Later sightings are written by `JobQueue::exchange`, because a sighting must not be stored
/// before its job is.
class WatchMemory {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Unix time in microseconds

  /// The store must outlive this object.
  explicit WatchMemory(const Store& store, Clock clock = {});

  struct Watch {
    std::int64_t id = 0;
    bool is_new = false;  ///< true if this directory was never watched for this evaluator before
  };
  /// Returns the id under which the sightings in a directory for an evaluator are stored. `queue`:
  /// name of the queue that receives the jobs; watches of different queues are separate. `spec`:
  /// the evaluator without its digest, so that a changed evaluator continues with the same
  /// sightings. A new watch gets the sightings `present` (their `watch` is ignored) in the same
  /// transaction.
  Watch add(std::string_view directory, std::string_view spec, std::string_view arguments,
            std::string_view queue = {}, const std::vector<Sighting>& present = {});
  /// Returns the sightings of a watch, ordered by path.
  std::vector<Sighting> sightings(std::int64_t watch) const;

 private:
  std::shared_ptr<struct QueueFile> queue_;
  Clock clock_;
};

}  // namespace flor::store
