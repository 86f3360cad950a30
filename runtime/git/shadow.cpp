#include "git/shadow.h"

#include "git/repository.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>  // since libgit2 1.7
#endif

#include <deque>
#include <mutex>
#include <set>

namespace flor::git {
namespace {

namespace fs = std::filesystem;

fs::path without_slash(const char* directory) {
  std::string text = directory;
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

/// The nearest directory at or above `directory` that holds a ".git".
fs::path repository_above(const fs::path& directory) {
  std::error_code ignored;
  for (fs::path at = fs::weakly_canonical(directory, ignored); !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored)) return at;
    if (at == at.root_path()) break;
  }
  return directory;
}

int open(git_repository** out, const fs::path& directory) {
  return open_repository(out, directory.c_str(), 0);
}

/// Opens a repository with extensions that Flor supports and libgit2 refuses: per-worktree
/// configuration (sparse checkouts have it) and partial clones. The list of accepted extensions is
/// global to the process, so it is restored at once.
int open_with_extensions(git_repository** out, const fs::path& directory) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  git_strarray before{};
  if (git_libgit2_opts(GIT_OPT_GET_EXTENSIONS, &before) != 0) return open(out, directory);
  std::vector<const char*> accepted(before.strings, before.strings + before.count);
  for (const char* name : {"worktreeconfig", "partialclone", "preciousobjects"}) {
    accepted.push_back(name);
  }
  git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, accepted.data(), accepted.size());
  const int code = open(out, directory);
  std::string reason = code < 0 ? last_error() : "";
  git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, before.strings, before.count);
  git_strarray_dispose(&before);
  if (code < 0) git_error_set_str(GIT_ERROR_REPOSITORY, reason.c_str());
  return code;
}

[[noreturn]] void refuse(int code, const fs::path& directory) {
  const fs::path top = repository_above(directory);
  if (code == GIT_EOWNER) {
    throw Error(
        fmt::format("the repository {} belongs to another user; if you trust it, run: git "
                    "config --global --add safe.directory '{}'",
                    top.string(), top.string()));
  }
  throw Error(fmt::format("cannot use the repository {}: {}; --flor_no_git records without it",
                          top.string(), last_error()));
}

/// Adds the settings that apply only to this work tree, which libgit2 does not read itself.
void add_worktree_config(git_repository* repository, const fs::path& git_directory) {
  const fs::path file = git_directory / "config.worktree";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  git_config* raw = nullptr;
  if (git_repository_config(&raw, repository) != 0) return;
  const ConfigHandle config(raw);
  git_config_add_file_ondisk(raw, file.c_str(), GIT_CONFIG_LEVEL_APP, repository, 0);
}

}  // namespace

void keep_ready() { [[maybe_unused]] static const auto* const kept = new Library; }

Repository::Repository(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Repository::Repository(Repository&&) noexcept = default;
Repository& Repository::operator=(Repository&&) noexcept = default;
Repository::~Repository() = default;

std::optional<Repository> Repository::discover(const fs::path& directory) {
  auto impl = std::make_unique<Impl>();
  git_repository* raw = nullptr;
  int code = open(&raw, directory);
  if (code < 0 && code != GIT_ENOTFOUND && code != GIT_EOWNER &&
      last_error().find("extension") != std::string::npos) {
    code = open_with_extensions(&raw, directory);
  }
  if (code == GIT_ENOTFOUND) return std::nullopt;
  if (code < 0) refuse(code, directory);
  impl->handle.reset(raw);
  const char* work_tree = git_repository_workdir(raw);
  if (!work_tree || git_repository_is_bare(raw)) return std::nullopt;
  impl->root = without_slash(work_tree);
  impl->git_directory = without_slash(git_repository_path(raw));
  add_worktree_config(raw, impl->git_directory);
  return Repository(std::move(impl));
}

const fs::path& Repository::work_tree() const { return impl_->root; }

std::optional<std::string> Repository::head() const {
  const auto id = head_target(impl_->get());
  return id ? std::optional(to_hex(*id)) : std::nullopt;
}

std::optional<std::string> Repository::branch_tip(std::string_view branch) const {
  const auto id = branch_target(impl_->get(), branch);
  return id ? std::optional(to_hex(*id)) : std::nullopt;
}

std::optional<git_oid> branch_target(git_repository* repository, std::string_view branch) {
  git_oid id;
  const std::string name = fmt::format("refs/heads/{}", branch);
  const int code = git_reference_name_to_id(&id, repository, name.c_str());
  if (code == GIT_ENOTFOUND || code == GIT_EINVALIDSPEC) return std::nullopt;
  check(code, fmt::format("cannot read the branch {}", branch));
  return id;
}

std::optional<git_oid> head_target(git_repository* repository) {
  git_oid id;
  const int code = git_reference_name_to_id(&id, repository, "HEAD");
  if (code == GIT_ENOTFOUND || code == GIT_EUNBORNBRANCH) return std::nullopt;
  check(code, "cannot read HEAD");
  return id;
}

CommitHandle find_commit(git_repository* repository, const git_oid& id) {
  git_commit* raw = nullptr;
  const int code = git_commit_lookup(&raw, repository, &id);
  if (code != GIT_ENOTFOUND) check(code, "cannot read commit " + to_hex(id));
  return CommitHandle(code < 0 ? nullptr : raw);
}

bool reaches(git_repository* repository, const git_oid& tip, const git_oid& ancestor) {
  // The commit is nearly always among the latest ones. Looking there first also works where the
  // history ends early, as in a shallow clone.
  constexpr std::size_t kNear = 512;
  std::deque<git_oid> open_ids{tip};
  const auto less = [](const git_oid& a, const git_oid& b) { return a < b; };
  std::set<git_oid, decltype(less)> seen(less);
  while (!open_ids.empty() && seen.size() < kNear) {
    const git_oid id = open_ids.front();
    open_ids.pop_front();
    if (id == ancestor) return true;
    if (!seen.insert(id).second) continue;
    const CommitHandle commit = find_commit(repository, id);
    if (!commit) continue;
    for (unsigned i = 0; i < git_commit_parentcount(commit.get()); ++i) {
      open_ids.push_back(*git_commit_parent_id(commit.get(), i));
    }
  }
  if (open_ids.empty()) return false;
  return git_graph_descendant_of(repository, &tip, &ancestor) == 1;
}

}  // namespace flor::git
