// The checkpoints that watches have seen in their directories, so that a later watch knows which
// are new. They are stored in the home of the machine that watches, wherever the queue of
// evaluations is.
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

/// A file as it was when it was found, to know it again without reading it.
struct FileIdentity {
  std::int64_t device = 0, inode = 0, bytes = 0, modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// A checkpoint that a watch has found. Without content: it was there when the watch began, and is
/// not to be scored.
struct Sighting {
  std::int64_t watch = 0;
  std::string path;  ///< absolute
  FileIdentity file;
  std::optional<Digest> content;
};

/// As thread-safe as Catalog, and throws what it throws. Later sightings are written by
/// `JobQueue::exchange`, since one must not be known before its job is.
class WatchMemory {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Unix time in microseconds

  /// The store must outlive it.
  explicit WatchMemory(const Store& store, Clock clock = {});

  struct Watch {
    std::int64_t id = 0;
    bool is_new = false;  ///< no watch has watched this for this evaluator
  };
  /// The number under which the sightings in a directory for an evaluator are stored. `queue` is
  /// the name of the queue that gets the jobs: another queue knows nothing of them. `spec` without
  /// digest: a changed evaluator continues with the same sightings. A new watch begins, in the same
  /// transaction, with the sightings in `present`, whose `watch` is ignored.
  Watch add(std::string_view directory, std::string_view spec, std::string_view arguments,
            std::string_view queue = {}, const std::vector<Sighting>& present = {});
  /// By path.
  std::vector<Sighting> sightings(std::int64_t watch) const;

 private:
  std::shared_ptr<struct QueueFile> queue_;
  Clock clock_;
};

}  // namespace flor::store
