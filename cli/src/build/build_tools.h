// Builds the sources checked out in a tree, with CMake or a command.
#pragma once

#include "build/version_build.h"

#include <filesystem>
#include <string>

namespace flor::cli {

/// A work tree to build in (a VersionTree holds it).
struct BuildPlace {
  std::filesystem::path place;    ///< holds build directories, logs, and notes of what was built
  std::filesystem::path sources;  ///< the checked-out sources
  std::string since;              ///< a text that changes whenever the sources change
  std::string name;               ///< of the version, to be written into the log
  /// Descriptor of the tree's lock file. The build's processes inherit it, so the tree stays locked
  /// as long as one of them lives, even if this process is killed.
  int lock = -1;
};

/// Builds the sources as VersionTree::build specifies.
BuiltVersion build_sources(const BuildPlace& place, const BuildPlan& plan);

}  // namespace flor::cli
