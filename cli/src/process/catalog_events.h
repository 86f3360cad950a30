// Waits until something happens to the runs of a store.
#pragma once

#include <flor/store/store.h>

#include <chrono>

namespace flor::cli {

/// For commands that follow the store. If the kernel has no inotify watches left, `wait` waits for
/// the whole of `at_most`. Not thread-safe.
class CatalogEvents {
 public:
  explicit CatalogEvents(const store::Store& store);
  ~CatalogEvents();
  CatalogEvents(const CatalogEvents&) = delete;
  CatalogEvents& operator=(const CatalogEvents&) = delete;

  /// Returns soon after something was recorded since the last call, after `at_most`, or on a
  /// signal. Then brings the catalog up to date, as far as that is possible.
  void wait(std::chrono::milliseconds at_most) const;

 private:
  const store::Store& store_;
  int inotify_;
};

}  // namespace flor::cli
