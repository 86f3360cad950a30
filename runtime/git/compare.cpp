// Compares contents: finds files of the work tree that differ from those of a commit.
#include "git/repository.h"
#include "git/tree/stat_cache.h"
#include "git/tree/walk.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>

namespace flor::git {
namespace {

using Entries = std::map<std::string, git_oid>;

struct TreeWalk {
  Entries* entries;
  const std::function<bool(std::string_view)>* wanted;
};

int add_entry(const char* directory, const git_tree_entry* entry, void* payload) {
  const auto& walk = *static_cast<TreeWalk*>(payload);
  if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB) return 0;
  if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK) return 0;
  std::string path = std::string(directory) + git_tree_entry_name(entry);
  if ((*walk.wanted)(path)) walk.entries->emplace(std::move(path), *git_tree_entry_id(entry));
  return 0;
}

Entries entries_of(git_repository* repository, std::string_view commit_id,
                   const std::function<bool(std::string_view)>& wanted) {
  git_oid id;
  check(git_oid_fromstrn(&id, commit_id.data(), commit_id.size()), "not the name of a commit");
  const CommitHandle commit = find_commit(repository, id);
  if (!commit) {
    throw NotFound(fmt::format("there is no commit {} in this repository", printable(commit_id)));
  }
  git_tree* tree = nullptr;
  check(git_commit_tree(&tree, commit.get()), "cannot read the tree of the commit");
  const TreeHandle handle(tree);
  Entries entries;
  TreeWalk walk{&entries, &wanted};
  check(git_tree_walk(tree, GIT_TREEWALK_PRE, add_entry, &walk), "cannot read the tree");
  return entries;
}

std::optional<std::string> content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return in.bad() ? std::nullopt : std::optional(std::move(text));
}

std::string blob(git_repository* repository, const git_oid& id) {
  git_blob* raw = nullptr;
  check(git_blob_lookup(&raw, repository, &id), "cannot read a recorded file");
  const BlobHandle handle(raw);
  return {static_cast<const char*>(git_blob_rawcontent(raw)),
          static_cast<std::size_t>(git_blob_rawsize(raw))};
}

}  // namespace

std::map<std::string, std::string> Repository::files_at(
    std::string_view commit, const std::function<bool(std::string_view)>& wanted) const {
  std::map<std::string, std::string> files;
  for (const auto& [path, id] : entries_of(impl_->get(), commit, wanted)) {
    files.emplace(path, blob(impl_->get(), id));
  }
  return files;
}

std::optional<std::string> content_id(const std::filesystem::path& file) {
  const Library library;
  git_oid id;
  if (git_odb_hashfile(&id, file.c_str(), GIT_OBJECT_BLOB) != 0) return std::nullopt;
  return to_hex(id);
}

std::vector<ComparedFile> Repository::compare_work_tree(
    std::string_view commit, const std::function<bool(std::string_view)>& wanted,
    const std::vector<std::filesystem::path>& without) const {
  git_repository* repository = impl_->get();
  Entries recorded = entries_of(repository, commit, wanted);
  git_odb* odb_raw = nullptr;
  check(git_repository_odb(&odb_raw, repository), "cannot open the object database");
  const OdbHandle odb(odb_raw);
  const IndexFile index = read_index_file(impl_->git_directory, repository);
  const StatCache cache = StatCache::load(impl_->git_directory / "flor" / "index");
  CommitOptions options;
  options.without = without;
  // Only ids are compared, and no objects are read, so it does not matter whether the cached ids
  // are reachable.
  const Walked walked =
      walk_work_tree({repository, impl_->root, index, cache, true, odb.get(), options});
  std::vector<ComparedFile> files;
  for (const FoundFile& found : walked.files) {
    const FileEntry& entry = found.entry;
    if (entry.mode == GIT_FILEMODE_LINK || entry.mode == GIT_FILEMODE_COMMIT) continue;
    if (!wanted(entry.path)) continue;
    ComparedFile file{.path = entry.path, .before = {}, .now = {}};
    const auto before = recorded.find(entry.path);
    if (before != recorded.end()) {
      file.same = found.known && entry.id == before->second;
      if (!file.same) file.now = content_of(impl_->root / entry.path);
      git_oid id;
      if (file.now && git_odb_hash(&id, file.now->data(), file.now->size(), GIT_OBJECT_BLOB) == 0) {
        file.same = id == before->second;
      }
      if (!file.same) file.before = blob(repository, before->second);
      if (file.same) file.now.reset();
      recorded.erase(before);
    } else {
      file.now = content_of(impl_->root / entry.path);
    }
    if (file.same || file.before || file.now) files.push_back(std::move(file));
  }
  // Files that a sparse checkout leaves out of the work tree do not count as deleted.
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    if (!walked.seen[i] && index.entries[i].skip_worktree) recorded.erase(index.entries[i].path);
  }
  for (const auto& [path, id] : recorded) {
    files.push_back({.path = path, .same = false, .before = blob(repository, id), .now = {}});
  }
  return files;
}

}  // namespace flor::git
