// The members of class Repository, for the other files of this folder.
#pragma once

#include "git/library.h"
#include "git/shadow.h"

#include <filesystem>

namespace flor::git {

struct Repository::Impl {
  Library library;  // first, so that it is destroyed last
  RepositoryHandle handle;
  std::filesystem::path root;
  std::filesystem::path git_directory;  // of this work tree: contains HEAD and the index

  git_repository* get() const { return handle.get(); }
};

/// The commit that `branch` points to; nothing if there is no such branch.
std::optional<git_oid> branch_target(git_repository* repository, std::string_view branch);

/// The commit that HEAD points to; nothing if the branch has no commit yet.
std::optional<git_oid> head_target(git_repository* repository);

/// Whether `ancestor` is `tip` itself or one of its ancestors, as far as the repository has the
/// history (a shallow clone lacks a part).
bool reaches(git_repository* repository, const git_oid& tip, const git_oid& ancestor);

CommitHandle find_commit(git_repository* repository, const git_oid& id);

}  // namespace flor::git
