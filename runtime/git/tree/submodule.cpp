#include "git/tree/submodule.h"

#include <fmt/format.h>

namespace flor::git {
namespace {

int open_here(RepositoryHandle& handle, const std::filesystem::path& directory) {
  git_repository* raw = nullptr;
  const int code = open_repository(&raw, directory.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH);
  handle.reset(raw);
  return code;
}

/// Stops at the first changed path: one is enough to know that the work tree is dirty.
int stop_at_first(const char* /*path*/, unsigned int /*status*/, void* /*payload*/) { return 1; }

bool is_dirty(git_repository* repository) {
  git_status_options options = GIT_STATUS_OPTIONS_INIT;
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
  return git_status_foreach_ext(repository, &options, stop_at_first, nullptr) != 0;
}

}  // namespace

bool is_repository(const std::filesystem::path& directory) {
  RepositoryHandle repository;
  return open_here(repository, directory) != GIT_ENOTFOUND;
}

Submodule look_at_submodule(const std::filesystem::path& directory) {
  Submodule module;
  RepositoryHandle repository;
  if (open_here(repository, directory) != 0) {
    module.problem = "a repository that cannot be opened: " + last_error();
    return module;
  }
  git_oid head;
  if (git_reference_name_to_id(&head, repository.get(), "HEAD") != 0) {
    module.problem = "a repository without a commit";
    return module;
  }
  module.head = head;
  if (is_dirty(repository.get())) {
    module.problem =
        fmt::format("has changes of its own; recorded as {}", to_hex(head).substr(0, 12));
  }
  return module;
}

}  // namespace flor::git
