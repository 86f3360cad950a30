// Repositories inside the work tree: submodules and clones that happen to lie there.
#pragma once

#include "git/library.h"

#include <filesystem>
#include <optional>
#include <string>

namespace flor::git {

struct Submodule {
  std::optional<git_oid> head;  ///< the commit that is checked out
  std::string problem;          ///< why the recorded commit does not describe its files
};

/// Whether `directory` is the root of a repository's work tree.
bool is_repository(const std::filesystem::path& directory);

Submodule look_at_submodule(const std::filesystem::path& directory);

}  // namespace flor::git
