// Repository: reads recorded commits: their contents, and the differences between them.
#include "git/repository.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace flor::git {
namespace {

std::optional<git_oid> parse_id(std::string_view text, std::size_t& digits) {
  digits = text.size();
  git_oid id;
  if (digits < 4 || digits > GIT_OID_HEXSZ || git_oid_fromstrn(&id, text.data(), digits) != 0) {
    return std::nullopt;
  }
  return id;
}

CommitHandle lookup(git_repository* repository, std::string_view text) {
  std::size_t digits = 0;
  const auto id = parse_id(text, digits);
  if (!id) return nullptr;
  git_commit* raw = nullptr;
  const int code = git_commit_lookup_prefix(&raw, repository, &*id, digits);
  if (code == GIT_ENOTFOUND) return nullptr;
  check(code, fmt::format("cannot read commit {}", text));
  return CommitHandle(raw);
}

TreeHandle tree_of(git_repository* repository, std::string_view text) {
  if (text.empty()) return nullptr;
  const CommitHandle commit = lookup(repository, text);
  if (!commit) {
    throw NotFound(
        fmt::format("there is no commit {} in this repository; `git log {}` lists those "
                    "that Flor made",
                    printable(text), kShadowBranch));
  }
  git_tree* tree = nullptr;
  check(git_commit_tree(&tree, commit.get()), fmt::format("cannot read the tree of {}", text));
  return TreeHandle(tree);
}

CommitInfo describe(git_commit* commit) {
  CommitInfo info;
  info.id = to_hex(*git_commit_id(commit));
  const char* summary = git_commit_summary(commit);
  info.summary = summary ? summary : "";
  info.time_s = git_commit_time(commit);
  for (unsigned i = 0; i < git_commit_parentcount(commit); ++i) {
    info.parents.push_back(to_hex(*git_commit_parent_id(commit, i)));
  }
  return info;
}

DiffHandle diff_trees(git_repository* repository, std::string_view from, std::string_view to,
                      std::uint32_t flags, std::uint32_t context) {
  const TreeHandle old_tree = tree_of(repository, from);
  const TreeHandle new_tree = tree_of(repository, to);
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = flags;
  options.context_lines = context;
  git_diff* raw = nullptr;
  check(git_diff_tree_to_tree(&raw, repository, old_tree.get(), new_tree.get(), &options),
        "cannot compare the commits");
  DiffHandle diff(raw);
  git_diff_find_options find = GIT_DIFF_FIND_OPTIONS_INIT;
  find.flags = GIT_DIFF_FIND_RENAMES;
  check(git_diff_find_similar(raw, &find), "cannot look for renamed files");
  return diff;
}

/// The number of lines of a blob; 0 if the object is no blob, or is binary.
int lines_of(git_repository* repository, const git_diff_file& file) {
  git_blob* raw = nullptr;
  if (git_blob_lookup(&raw, repository, &file.id) != 0) return 0;
  const BlobHandle blob(raw);
  if (git_blob_is_binary(raw)) return 0;
  const std::string_view text(static_cast<const char*>(git_blob_rawcontent(raw)),
                              static_cast<std::size_t>(git_blob_rawsize(raw)));
  const auto ends = std::count(text.begin(), text.end(), '\n');
  return static_cast<int>(ends) + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

FileChange describe(git_repository* repository, git_diff* diff, std::size_t at) {
  const git_diff_delta* delta = git_diff_get_delta(diff, at);
  FileChange change;
  change.kind = git_diff_status_char(delta->status);
  const bool deleted = delta->status == GIT_DELTA_DELETED;
  change.path = deleted ? delta->old_file.path : delta->new_file.path;
  change.old_path = delta->status == GIT_DELTA_RENAMED ? delta->old_file.path : change.path;
  if (delta->status == GIT_DELTA_TYPECHANGE) {  // file and link, say: they have no lines in common
    change.added = lines_of(repository, delta->new_file);
    change.removed = lines_of(repository, delta->old_file);
    return change;
  }
  git_patch* raw = nullptr;
  check(git_patch_from_diff(&raw, diff, at), "cannot compare " + printable(change.path));
  const PatchHandle patch(raw);
  if (raw) {
    std::size_t added = 0, removed = 0;
    check(git_patch_line_stats(nullptr, &added, &removed, raw), "cannot count lines");
    change.added = static_cast<int>(added);
    change.removed = static_cast<int>(removed);
  }
  return change;
}

}  // namespace

std::optional<CommitInfo> Repository::commit(std::string_view id) const {
  const CommitHandle commit = lookup(impl_->get(), id);
  if (!commit) return std::nullopt;
  return describe(commit.get());
}

std::vector<CommitInfo> Repository::history(std::string_view branch, std::size_t limit) const {
  std::vector<CommitInfo> infos;
  std::optional<git_oid> at = branch_target(impl_->get(), branch);
  while (at && infos.size() < limit) {
    const CommitHandle commit = find_commit(impl_->get(), *at);
    if (!commit) break;  // a shallow clone ends here
    infos.push_back(describe(commit.get()));
    at.reset();
    if (git_commit_parentcount(commit.get()) > 0) at = *git_commit_parent_id(commit.get(), 0);
  }
  return infos;
}

std::vector<FileChange> Repository::changes(std::string_view from, std::string_view to) const {
  const DiffHandle diff = diff_trees(impl_->get(), from, to, GIT_DIFF_INCLUDE_TYPECHANGE, 0);
  std::vector<FileChange> changes;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    changes.push_back(describe(impl_->get(), diff.get(), i));
  }
  return changes;
}

std::string Repository::diff(std::string_view from, std::string_view to, int context) const {
  const auto lines = static_cast<std::uint32_t>(std::max(context, 0));
  const DiffHandle diff = diff_trees(impl_->get(), from, to, 0, lines);
  Buffer text;
  check(git_diff_to_buf(text.get(), diff.get(), GIT_DIFF_FORMAT_PATCH), "cannot write the diff");
  return std::string(text.view());
}

std::optional<std::string> Repository::file_at(std::string_view commit,
                                               std::string_view path) const {
  const TreeHandle tree = tree_of(impl_->get(), commit);
  if (!tree) throw NotFound("no commit was named");
  git_tree_entry* entry_raw = nullptr;
  const std::string name(path);
  const int code = git_tree_entry_bypath(&entry_raw, tree.get(), name.c_str());
  if (code == GIT_ENOTFOUND) return std::nullopt;
  check(code, fmt::format("cannot look for {}", printable(path)));
  const TreeEntryHandle entry(entry_raw);
  if (git_tree_entry_type(entry_raw) != GIT_OBJECT_BLOB) return std::nullopt;
  git_blob* raw = nullptr;
  check(git_blob_lookup(&raw, impl_->get(), git_tree_entry_id(entry_raw)),
        fmt::format("cannot read {}", printable(path)));
  const BlobHandle blob(raw);
  return std::string(static_cast<const char*>(git_blob_rawcontent(raw)),
                     static_cast<std::size_t>(git_blob_rawsize(raw)));
}

}  // namespace flor::git
