// Keeps the shadow branch from filling the repository with loose objects, in the background.
#pragma once

#include <filesystem>
#include <thread>

namespace flor::detail {

/// A thread at low priority that packs the shadow branch where that is due (git::Repository::
/// pack_branch), which is seldom; else it ends at once. It stops early when this is destroyed.
class SourcePacking {
 public:
  explicit SourcePacking(std::filesystem::path work_tree);

 private:
  std::jthread thread_;
};

}  // namespace flor::detail
