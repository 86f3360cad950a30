// Builds the sources checked out in a tree, with CMake or a command.
#pragma once

#include "build/version_build.h"

#include <filesystem>
#include <string>

namespace flor::cli {

/// A tree as far as building needs it.
struct BuildPlace {
  std::filesystem::path place;    ///< for build directories, `logs`, and notes of what was built
  std::filesystem::path sources;  ///< as they are checked out
  std::string since;              ///< changes whenever the sources have changed
  std::string name;               ///< of the version, for the log
  /// The lock of the tree, inherited by the processes that build in it: the tree is taken as long
  /// as one of them lives, even if this process was killed.
  int lock = -1;
};

/// See VersionTree::build.
BuiltVersion build_sources(const BuildPlace& place, const BuildPlan& plan);

}  // namespace flor::cli
