// The members of a Repository; for the files of this folder.
#pragma once

#include "git/library.h"
#include "git/shadow.h"

#include <filesystem>

namespace flor::git {

struct Repository::Impl {
  Library library;  // first: the others need it until they are gone
  RepositoryHandle handle;
  std::filesystem::path root;
  std::filesystem::path git_directory;  // that of the work tree: where HEAD and the index are

  git_repository* get() const { return handle.get(); }
};

/// The commit that `branch` stands on.
std::optional<git_oid> branch_target(git_repository* repository, std::string_view branch);

/// The commit that HEAD stands on; nothing if it is unborn.
std::optional<git_oid> head_target(git_repository* repository);

/// Whether `ancestor` is `tip` or can be reached from it, as far as the history is there (a shallow
/// clone).
bool reaches(git_repository* repository, const git_oid& tip, const git_oid& ancestor);

CommitHandle find_commit(git_repository* repository, const git_oid& id);

}  // namespace flor::git
