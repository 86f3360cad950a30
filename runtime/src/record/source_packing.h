// Packs the loose objects of the shadow branch in the background, so that they do not fill the
// repository.
#pragma once

#include "base/background_priority.h"

#include <filesystem>
#include <thread>

namespace flor::detail {

/// A thread at low priority that packs the shadow branch if that is due
/// (git::Repository::pack_branch), which is rare; otherwise it ends at once. Stops early when this
/// object is destroyed, which waits for the thread at normal priority.
class SourcePacking {
 public:
  explicit SourcePacking(std::filesystem::path work_tree);
  ~SourcePacking();
  SourcePacking(const SourcePacking&) = delete;
  SourcePacking& operator=(const SourcePacking&) = delete;

 private:
  /// A group of its own: hurrying the recorder's threads does not hurry this one.
  store::BackgroundPriority priority_;
  std::jthread thread_;
};

}  // namespace flor::detail
