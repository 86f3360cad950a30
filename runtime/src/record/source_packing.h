// Packs the loose objects of the shadow branch in the background, so that they do not fill the
// repository.
#pragma once

#include <filesystem>
#include <thread>

namespace flor::detail {

/// A thread at low priority that packs the shadow branch if that is due
/// (git::Repository::pack_branch), which is rare; otherwise it ends at once. Stops early when this
/// object is destroyed.
class SourcePacking {
 public:
  explicit SourcePacking(std::filesystem::path work_tree);

 private:
  std::jthread thread_;
};

}  // namespace flor::detail
