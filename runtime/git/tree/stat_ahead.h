// Reads the stat data of tracked files on a second thread, from the last file to the first, while
// the walk starts at the first. Asking the kernel about 10,000 files is most of the cost of
// committing them.
#pragma once

#include "git/tree/index_file.h"
#include "git/tree/stat_cache.h"

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace flor::git {

class StatAhead {
 public:
  /// Starts reading at once, unless there are too few files or there is no second processor. The
  /// entries must outlive this object.
  StatAhead(const std::filesystem::path& root, const std::vector<TrackedEntry>& entries);
  ~StatAhead();
  StatAhead(const StatAhead&) = delete;
  StatAhead& operator=(const StatAhead&) = delete;

  /// The stat data of entries[at], if it was read already. To be called with increasing `at`.
  std::optional<FileStat> seen(std::size_t at);

 private:
  void run(int root);

  const std::vector<TrackedEntry>& entries_;
  std::vector<FileStat> stats_;
  std::unique_ptr<std::atomic<bool>[]> done_;
  std::atomic<std::size_t> front_{0};
  std::thread thread_;
};

}  // namespace flor::git
