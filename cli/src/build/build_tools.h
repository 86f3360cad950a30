// Building what is checked out in a tree, with CMake or a command.
#pragma once

#include "build/version_build.h"

#include <filesystem>
#include <string>

namespace flor::cli {

/// A tree as far as building it is concerned.
struct BuildPlace {
  std::filesystem::path place;    ///< for build directories, `logs`, and notes of what was built
  std::filesystem::path sources;  ///< what is checked out
  std::string since;              ///< another one whenever the sources have changed
  std::string name;               ///< of the version, for the log
  /// Locks the tree. What builds in it has it, too: the tree is taken as long as somebody does,
  /// also when this process was killed.
  int lock = -1;
};

/// See VersionTree::build.
BuiltVersion build_sources(const BuildPlace& place, const BuildPlan& plan);

}  // namespace flor::cli
