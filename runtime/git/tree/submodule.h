// Repositories inside the work tree: submodules, and clones that are not registered as such.
#pragma once

#include "git/library.h"

#include <filesystem>
#include <optional>
#include <string>

namespace flor::git {

struct Submodule {
  std::optional<git_oid> head;  ///< the checked-out commit
  std::string problem;          ///< why `head` alone does not describe its files
};

/// Whether `directory` is the root of a repository's work tree.
bool is_repository(const std::filesystem::path& directory);

Submodule look_at_submodule(const std::filesystem::path& directory);

}  // namespace flor::git
