// Repository::secrets: finds files that earlier recordings committed, and that are left out today.
#include "git/repository.h"
#include "git/secret_files.h"

#include <flor/store/secrets.h>

#include <algorithm>

namespace flor::git {
namespace {

constexpr std::string_view kTrailer = "\nFlor-Run: ";
/// The search ends after this many consecutive commits without a recording: what is left is the
/// user's own history.
constexpr std::size_t kOthersMax = 1000;
constexpr git_object_size_t kLargest = 32 << 20;

struct Recording {
  CommitHandle commit;
  std::optional<git_oid> head;  ///< the commit that the user had checked out
};

std::string_view message_of(const CommitHandle& commit) {
  const char* text = git_commit_message(commit.get());
  return text ? text : "";
}

bool is_recording(const CommitHandle& commit) {
  return message_of(commit).find(kTrailer) != std::string_view::npos;
}

class Search {
 public:
  Search(git_repository* repository, const std::function<bool()>& goes_on)
      : repository_(repository), goes_on_(goes_on), tracked_now_(index_of(repository)) {}

  SecretHistory run(std::optional<git_oid> tip) {
    for (const Recording& recording : recordings(tip)) {
      if (!goes_on_()) {
        history_.whole = false;
        break;
      }
      ++history_.commits;
      look_at(recording);
    }
    std::ranges::sort(history_.found, {}, &CommittedSecret::path);
    return std::move(history_);
  }

 private:
  /// The user's index, with the files that the user has added to git, committed or not. Null if
  /// HEAD is on the recordings' branch, since its index then has all recorded files.
  static IndexHandle index_of(git_repository* repository) {
    git_reference* raw = nullptr;
    if (git_repository_head(&raw, repository) == 0) {
      const ReferenceHandle head(raw);
      if (std::string_view(git_reference_shorthand(raw)) == kShadowBranch) return nullptr;
    }
    git_index* index = nullptr;
    if (git_repository_index(&index, repository) != 0) return nullptr;
    return IndexHandle(index);
  }

  /// The recordings among the ancestors of `at`, newest first.
  std::vector<Recording> recordings(std::optional<git_oid> at) {
    std::vector<Recording> all;
    std::size_t others = 0;
    while (at && others < kOthersMax) {
      if (!goes_on_()) {
        history_.whole = false;
        break;
      }
      CommitHandle commit = find_commit(repository_, *at);
      if (!commit) break;
      const unsigned parents = git_commit_parentcount(commit.get());
      at.reset();
      if (parents > 0) at = *git_commit_parent_id(commit.get(), 0);
      if (!is_recording(commit)) {
        if (others == 0 && !all.empty() && !all.back().head) {
          all.back().head = *git_commit_id(commit.get());
        }
        ++others;
        continue;
      }
      others = 0;
      std::optional<git_oid> head;
      if (parents > 1) head = *git_commit_parent_id(commit.get(), 1);
      all.push_back({std::move(commit), head});
    }
    std::optional<git_oid> head;
    for (auto recording = all.rbegin(); recording != all.rend(); ++recording) {
      if (!recording->head) recording->head = head;
      head = recording->head;
    }
    return all;
  }

  TreeHandle tree_of(const git_oid& id) const {
    git_tree* raw = nullptr;
    const CommitHandle commit = find_commit(repository_, id);
    if (commit && git_commit_tree(&raw, commit.get()) != 0) raw = nullptr;
    return TreeHandle(raw);
  }

  void look_at(const Recording& recording) {
    git_commit* commit = recording.commit.get();
    const std::string id = to_hex(*git_commit_id(commit));
    const std::string_view message = message_of(recording.commit);
    if (store::masked(message) != message) note("", "command line", id);
    git_tree* raw = nullptr;
    if (git_commit_tree(&raw, commit) != 0) return;
    const TreeHandle now(raw);
    const TreeHandle before =
        git_commit_parentcount(commit) > 0 ? tree_of(*git_commit_parent_id(commit, 0)) : nullptr;
    const TreeHandle tracked = recording.head ? tree_of(*recording.head) : nullptr;
    git_diff* changes = nullptr;
    if (git_diff_tree_to_tree(&changes, repository_, before.get(), raw, nullptr) != 0) return;
    const DiffHandle diff(changes);
    for (std::size_t i = 0; i < git_diff_num_deltas(changes); ++i) {
      const git_diff_delta* delta = git_diff_get_delta(changes, i);
      if (delta->status == GIT_DELTA_DELETED || delta->new_file.mode == GIT_FILEMODE_LINK) continue;
      if (tracks(tracked.get(), delta->new_file.path)) continue;
      if (tracked_now_ && git_index_get_bypath(tracked_now_.get(), delta->new_file.path, 0)) {
        continue;
      }
      if (!goes_on_()) {
        history_.whole = false;
        return;
      }
      look_at(delta->new_file, id);
    }
  }

  static bool tracks(git_tree* tree, const char* path) {
    git_tree_entry* entry = nullptr;
    if (!tree || git_tree_entry_bypath(&entry, tree, path) != 0) return false;
    git_tree_entry_free(entry);
    return true;
  }

  void look_at(const git_diff_file& file, const std::string& commit) {
    const std::string_view path = file.path;
    if (secret_name(path) == SecretName::secret) return note(path, "", commit);
    git_blob* raw = nullptr;
    if (git_blob_lookup(&raw, repository_, &file.id) != 0) return;  // a submodule
    const BlobHandle blob(raw);
    if (git_blob_rawsize(raw) > kLargest) return;
    const std::string_view kind = secret_in(
        path, {static_cast<const char*>(git_blob_rawcontent(raw)),
               static_cast<std::size_t>(git_blob_rawsize(raw))});
    if (!kind.empty()) note(path, kind, commit);
  }

  void note(std::string_view path, std::string_view kind, const std::string& commit) {
    const auto known = std::ranges::find(history_.found, path, &CommittedSecret::path);
    if (known != history_.found.end()) {
      ++known->commits;
    } else {
      history_.found.push_back({std::string(path), std::string(kind), commit});
    }
  }

  git_repository* repository_;
  const std::function<bool()>& goes_on_;
  IndexHandle tracked_now_;
  SecretHistory history_;
};

}  // namespace

SecretHistory Repository::secrets(std::string_view branch,
                                  const std::function<bool()>& goes_on) const {
  return Search(impl_->get(), goes_on).run(branch_target(impl_->get(), branch));
}

}  // namespace flor::git
