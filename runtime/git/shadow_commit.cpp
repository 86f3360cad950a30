// Repository::commit_work_tree: takes a snapshot, makes a commit, and moves the branch by
// compare-and-swap.
#include "git/backoff.h"
#include "git/repository.h"
#include "git/tree/stat_cache.h"
#include "git/tree/tree_writer.h"
#include "git/tree/user_index.h"
#include "git/tree/work_tree.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>

namespace flor::git {
namespace {

SignatureHandle author(git_repository* repository) {
  git_signature* raw = nullptr;
  if (git_signature_default(&raw, repository) != 0) {
    check(git_signature_now(&raw, "Flor", "flor@localhost"), "cannot make a signature");
  }
  return SignatureHandle(raw);
}

bool head_is(git_repository* repository, const std::string& reference) {
  git_reference* raw = nullptr;
  if (git_reference_lookup(&raw, repository, "HEAD") != 0) return false;
  const ReferenceHandle head(raw);
  return git_reference_type(raw) == GIT_REFERENCE_SYMBOLIC &&
         reference == git_reference_symbolic_target(raw);
}

using MaybeId = std::optional<git_oid>;

bool same(const MaybeId& a, const MaybeId& b) {
  return a.has_value() == b.has_value() && (!a || *a == *b);
}

/// Commits a tree to the branch, even if other processes move the branch at the same time.
class BranchMover {
 public:
  BranchMover(git_repository* repository, const CommitOptions& options, const git_oid& tree_id,
              const StatCache& cache)
      : repository_(repository),
        options_(options),
        reference_("refs/heads/" + options.branch),
        author_(author(repository)),
        cached_tip_(cache.commit),
        cached_head_(cache.head),
        known_head_(cache.head) {
    git_tree* raw = nullptr;
    check(git_tree_lookup(&raw, repository, &tree_id), "cannot read the tree just written");
    tree_.reset(raw);
  }

  const std::string& reference() const { return reference_; }

  /// A commit that is an ancestor of the new commit, or of the cached one; zero if none is known.
  const git_oid& known_head() const { return known_head_; }

  MaybeId tip() const { return branch_target(repository_, options_.branch); }

  bool has_tree(const MaybeId& tip) const {
    if (!tip) return false;
    const CommitHandle commit = find_commit(repository_, *tip);
    return commit && *git_commit_tree_id(commit.get()) == *git_tree_id(tree_.get());
  }

  /// Makes a commit on top of `tip`. Nothing if the branch has moved away from `tip`, or is locked.
  MaybeId try_commit(const MaybeId& tip, Backoff& backoff) {
    const git_oid id = make_commit(tip);
    git_transaction* raw = nullptr;
    check(git_transaction_new(&raw, repository_), "cannot lock the branch");
    const TransactionHandle transaction(raw);
    const int code = git_transaction_lock_ref(raw, reference_.c_str());
    if (code == GIT_ELOCKED) {
      if (backoff.wait()) return std::nullopt;
      throw Busy(
          fmt::format("the branch {} is locked by another git command; if none is running, "
                      "remove {}{}.lock",
                      options_.branch, git_repository_commondir(repository_), reference_));
    }
    check(code, fmt::format("cannot lock the branch {}", options_.branch));
    if (!same(tip, this->tip())) return std::nullopt;
    const std::string summary = options_.message.substr(0, options_.message.find('\n'));
    const std::string log = fmt::format("{}: {}", tip ? "commit" : "commit (initial)", summary);
    check(git_transaction_set_target(raw, reference_.c_str(), &id, author_.get(), log.c_str()),
          "cannot move the branch");
    check(git_transaction_commit(raw), fmt::format("cannot move the branch {}", options_.branch));
    return id;
  }

 private:
  git_oid make_commit(const MaybeId& tip) {
    std::vector<CommitHandle> parents;
    if (tip) parents.push_back(parent(*tip));
    if (const MaybeId head = head_target(repository_)) {
      if (!tip || !holds_head(*tip, *head)) parents.push_back(parent(*head));
      known_head_ = *head;
    }
    std::vector<const git_commit*> raw;
    for (const CommitHandle& commit : parents) raw.push_back(commit.get());
    std::string message = options_.message;
    if (!message.ends_with('\n')) message += '\n';
    git_oid id;
    check(git_commit_create(&id, repository_, nullptr, author_.get(), author_.get(), nullptr,
                            message.c_str(), tree_.get(), raw.size(), raw.data()),
          "cannot write the commit");
    return id;
  }

  bool holds_head(const git_oid& tip, const git_oid& head) const {
    if (tip == cached_tip_ && head == cached_head_) return true;
    return reaches(repository_, tip, head);
  }

  CommitHandle parent(const git_oid& id) const {
    CommitHandle commit = find_commit(repository_, id);
    if (!commit) {
      throw Error(
          fmt::format("commit {} is not in the repository; `git fsck` says more", to_hex(id)));
    }
    return commit;
  }

  git_repository* repository_;
  const CommitOptions& options_;
  std::string reference_;
  SignatureHandle author_;
  TreeHandle tree_;
  git_oid cached_tip_, cached_head_, known_head_;
};

/// The files that are in `tree`, but neither in the commit before it nor in the user's index.
FileCount added_files(git_repository* repository, const MaybeId& before, const git_oid& tree_id,
                      git_odb* odb, const IndexFile& index) {
  git_tree *old_raw = nullptr, *new_raw = nullptr;
  CommitHandle commit = before ? find_commit(repository, *before) : nullptr;
  if (commit) check(git_commit_tree(&old_raw, commit.get()), "cannot read the last commit");
  const TreeHandle old_tree(old_raw);
  check(git_tree_lookup(&new_raw, repository, &tree_id), "cannot read the tree just written");
  const TreeHandle new_tree(new_raw);
  git_diff* raw = nullptr;
  check(git_diff_tree_to_tree(&raw, repository, old_raw, new_raw, nullptr),
        "cannot compare with the last commit");
  const DiffHandle diff(raw);
  FileCount added;
  for (std::size_t i = 0; i < git_diff_num_deltas(raw); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(raw, i);
    if (delta->status != GIT_DELTA_ADDED) continue;
    const std::string_view path = delta->new_file.path;
    const auto by_path = [](const auto& entry, std::string_view name) { return entry.path < name; };
    const auto tracked =
        std::lower_bound(index.entries.begin(), index.entries.end(), path, by_path);
    if (tracked != index.entries.end() && tracked->path == path) continue;
    std::size_t bytes = 0;
    git_object_t type = GIT_OBJECT_ANY;
    if (git_odb_read_header(&bytes, &type, odb, &delta->new_file.id) != 0) bytes = 0;
    added.add(path, bytes);
  }
  return added;
}

/// Writes the lines to the file, or removes the file if there are none. A failure is ignored.
std::string write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  std::error_code ignored;
  if (lines.empty()) {
    std::filesystem::remove(file, ignored);
    return {};
  }
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << '\n';
  return file.string();
}

void check_branch(const std::string& branch) {
  int valid = 0;
  git_reference_name_is_valid(&valid, ("refs/heads/" + branch).c_str());
  if (!valid) throw UsageError(fmt::format("'{}' is not a name for a branch", printable(branch)));
}

}  // namespace

void FileCount::add(std::string_view path, std::uint64_t size) {
  ++files;
  bytes += size;
  if (!largest.empty() && size <= largest_bytes) return;
  largest = printable(path);
  largest_bytes = size;
}

ShadowCommit Repository::commit_work_tree(const CommitOptions& options) {
  check_branch(options.branch);
  git_repository* repository = impl_->get();
  git_odb* odb_raw = nullptr;
  check(git_repository_odb(&odb_raw, repository), "cannot open the object database");
  const OdbHandle odb(odb_raw);

  const IndexFile index = read_index_file(impl_->git_directory, repository);
  const auto cache_file = impl_->git_directory / "flor" / "index";
  StatCacheWriter cache_writer(cache_file);
  StatCache cache = StatCache::load(cache_file);
  const MaybeId tip = branch_target(repository, options.branch);
  const bool reachable = tip && !cache.entries.empty() && reaches(repository, *tip, cache.commit);

  Snapshot snapshot =
      take_snapshot({repository, impl_->root, index, cache, reachable, odb.get(), options});
  if (!reachable) cache = StatCache{};  // the database may not have the cache's objects any more
  std::vector<DirectoryTree> trees = write_trees(odb.get(), snapshot.entries, cache);
  const git_oid root = trees.front().id;

  ShadowCommit result;
  result.left_out = std::move(snapshot.left_out);
  result.secrets = std::move(snapshot.secrets);
  result.secrets_file = write_lines(impl_->git_directory / "flor" / "secrets", result.secrets);
  result.outputs = std::move(snapshot.outputs);
  BranchMover mover(repository, options, root, cache);
  Backoff backoff(kLockPatience);
  MaybeId id;
  for (;;) {
    const MaybeId old_tip = mover.tip();
    if (mover.has_tree(old_tip)) {
      id = old_tip;
      break;
    }
    std::optional<UserIndexUpdate> user_index;
    if (head_is(repository, mover.reference())) {
      user_index.emplace(impl_->git_directory, impl_->root);
      user_index->prepare(snapshot.entries);
    }
    if ((id = mover.try_commit(old_tip, backoff))) {
      result.created = true;
      result.added = added_files(repository, old_tip ? old_tip : head_target(repository), root,
                                 odb.get(), index);
      if (user_index) user_index->publish();
      break;
    }
  }
  result.id = to_hex(*id);

  const DirectoryTree* old_root = cache.tree_of("");
  const bool changed = !old_root || !(old_root->id == root);
  if (changed || snapshot.read > 0 || !(cache.head == mover.known_head())) {
    cache.commit = *id;
    cache.head = mover.known_head();
    cache.stamp_ns = cache_writer.stamp_ns();
    cache.entries = std::move(snapshot.entries);
    cache.trees = std::move(trees);
    cache_writer.publish(cache);
  }
  return result;
}

}  // namespace flor::git
