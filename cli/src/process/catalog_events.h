// Wakes when something is written to the catalog of a store.
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

  /// Returns soon after the catalog was written since the last call, after `at_most`, or when a
  /// signal came.
  void wait(std::chrono::milliseconds at_most) const;

 private:
  int inotify_;
};

}  // namespace flor::cli
