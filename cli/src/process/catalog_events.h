// Wakes when something happens to runs of a store.
#pragma once

#include <flor/store/store.h>

#include <chrono>

namespace flor::cli {

/// For commands that follow what happens. Where the kernel has no more watches to give, `wait`
/// just takes as long as it may. Not thread-safe.
class CatalogEvents {
 public:
  explicit CatalogEvents(const store::Store& store);
  ~CatalogEvents();
  CatalogEvents(const CatalogEvents&) = delete;
  CatalogEvents& operator=(const CatalogEvents&) = delete;

  /// Returns soon after something was recorded since the last call, after `at_most`, or when a
  /// signal came. The catalog is up to date then, as far as that is possible.
  void wait(std::chrono::milliseconds at_most) const;

 private:
  const store::Store& store_;
  int inotify_;
};

}  // namespace flor::cli
