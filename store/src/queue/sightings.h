// What watches have seen of their directories, so that a later watch knows what came meanwhile. It
// lies in the home of the machine that watches, wherever the queue of evaluations is.
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
/// not to be judged.
struct Sighting {
  std::int64_t watch = 0;
  std::string path;  ///< absolute
  FileIdentity file;
  std::optional<Digest> content;
};

/// As thread-safe as Catalog, and throws what it throws. What is seen later is written by
/// `JobQueue::exchange`, since it must not be known before its job is.
class WatchMemory {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Unix time in microseconds

  /// The store must outlive it.
  explicit WatchMemory(const Store& store, Clock clock = {});

  struct Watch {
    std::int64_t id = 0;
    bool is_new = false;  ///< nobody has watched this for this evaluator
  };
  /// What has been found in a directory for an evaluator is remembered under this number. `queue`
  /// is the name of the queue that gets the jobs: another queue knows nothing of them. `spec`
  /// without digest: a changed evaluator goes on. A new watch begins, in the same transaction, with
  /// what is `present`, whose `watch` does not count.
  Watch add(std::string_view directory, std::string_view spec, std::string_view arguments,
            std::string_view queue = {}, const std::vector<Sighting>& present = {});
  /// By path.
  std::vector<Sighting> sightings(std::int64_t watch) const;

 private:
  std::shared_ptr<struct QueueFile> queue_;
  Clock clock_;
};

}  // namespace flor::store
