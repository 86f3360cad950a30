// The git side of Flor: commits the work tree to the shadow branch, leaving the user's branches and
// index alone, and answers questions about recorded commits. Private to Flor (runtime and cli);
// knows nothing of runs, loops or the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::git {

inline constexpr std::string_view kShadowBranch = "flor.shadow";

struct CommitOptions {
  std::string message;  ///< full text, trailers included
  std::string branch{kShadowBranch};
  /// Untracked files over this size are left out and named.
  std::uint64_t untracked_bytes_max = 10ull << 20;
  /// All untracked files together; where they are more, the largest are left out and named.
  std::uint64_t untracked_total_bytes_max = 1ull << 30;
  /// Directories that are never recorded, wherever they lie (Flor's own home); absolute.
  std::vector<std::filesystem::path> without;
  /// Directories that builds write, absolute: only what git tracks there is recorded. So are those
  /// with a CMakeCache.txt and no CMakeLists.txt, wherever they lie.
  std::vector<std::filesystem::path> built = {};
  /// Files that the program writes, relative to the work tree and sorted: recorded only if git
  /// tracks them, or flor.exclude includes them with a `!`.
  std::vector<std::string> outputs = {};
};

struct FileCount {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  std::string largest;
  std::uint64_t largest_bytes = 0;
  void add(std::string_view path, std::uint64_t size);
};

struct ShadowCommit {
  std::string id;                     ///< 40 hex digits
  bool created = false;               ///< false: the tip already had this tree
  std::vector<std::string> left_out;  ///< "data/big.bin (312 MiB, untracked)", one line each
  /// Untracked files that hold secrets, left out, too: ".env", "notes.txt (private key)"; sorted.
  std::vector<std::string> secrets;
  std::string secrets_file;  ///< the same, one a line
  FileCount added;    ///< untracked files that no earlier commit of the branch had
  FileCount outputs;  ///< of the program, left out
};

struct FileChange {
  char kind = 'M';  ///< A, M, D, R, T as `git diff --name-status`
  std::string path;
  std::string old_path;        ///< where it was before; the same as `path` unless it was renamed
  int added = 0, removed = 0;  ///< lines
};

/// A file as a commit and the work tree have it.
struct ComparedFile {
  std::string path;
  bool same = false;                       ///< byte for byte, or as git converts it
  std::optional<std::string> before, now;  ///< contents where it is not the same; nothing: no file
};

struct CommitInfo {
  std::string id;
  std::string summary;  ///< first line of the message
  std::int64_t time_s = 0;
  std::vector<std::string> parents;
};

/// A secret in earlier commits, which would be left out now.
struct CommittedSecret {
  std::string path;         ///< empty: the command line in the message
  std::string kind;         ///< "private key"; empty: its name says it
  std::string commit;       ///< 40 hex digits, the newest that brought it, or another content of it
  std::size_t commits = 1;  ///< how many commits brought it
};
struct SecretHistory {
  std::vector<CommittedSecret> found;  ///< by path
  std::size_t commits = 0;             ///< that were looked at, from the newest
  bool whole = true;                   ///< there are no others
};

/// The name that git gives the content of a file, unfiltered; nothing if it cannot be read.
std::optional<std::string> content_id(const std::filesystem::path& file);

/// Keeps libgit2 initialised until the process ends: initialising it again in a thread while the
/// process ends would use parts of it that are gone.
void keep_ready();

/// A repository that is found from a directory inside its work tree. Move-only; not thread-safe.
/// Every failure is a flor::Error in one line with the remedy.
class Repository {
 public:
  /// Searches `directory` and its parents, as git does; GIT_DIR and its like are not looked at.
  /// Nothing if there is no repository, or only a bare one. Throws flor::Error where there is one
  /// that cannot be used (another owner: says `git config --global --add safe.directory ...`).
  static std::optional<Repository> discover(const std::filesystem::path& directory);
  Repository(Repository&&) noexcept;
  Repository& operator=(Repository&&) noexcept;
  ~Repository();

  const std::filesystem::path& work_tree() const;  ///< root, absolute, without a trailing slash
  /// Commit that HEAD stands on; nothing if it is unborn.
  std::optional<std::string> head() const;
  /// Commit of the branch, if there is one.
  std::optional<std::string> branch_tip(std::string_view branch) const;

  /// Commits the whole work tree (tracked changes, deletions, untracked files that are not ignored)
  /// to `refs/heads/<branch>`. HEAD, the index, the work tree and the reflog of HEAD stay as they
  /// are, no hook runs, no configured identity is needed; where HEAD *is* that branch, it follows
  /// as by a normal commit and the index matches the commit. Parents: the branch's previous tip,
  /// then HEAD if that is not an ancestor already. An unchanged tree makes no new commit. Several
  /// processes may do this at once: the reference is moved by compare-and-swap and retried.
  ShadowCommit commit_work_tree(const CommitOptions& options);

  /// Moves the branch's loose objects into a pack if there are more than gc.auto (6,700 unless
  /// configured; never with 0). Git does so itself with `git gc --auto`, but only after a command
  /// like `git commit`, which a user may not run for weeks. Processes that read or write at the
  /// same time lose nothing. Takes seconds; stops early, and loses nothing, when `goes_on` returns
  /// false. Returns how many objects were moved.
  std::size_t pack_branch(std::string_view branch, const std::function<bool()>& goes_on);

  /// `id`: at least 4 hex digits, here and below.
  std::optional<CommitInfo> commit(std::string_view id) const;
  /// Newest first, first parents only, at most `limit`; empty if there is no such branch.
  std::vector<CommitInfo> history(std::string_view branch, std::size_t limit) const;
  /// Searches the files that recordings added on the branch, newest first, as long as `goes_on`,
  /// which is called before each file, returns true. Files that git tracked are the user's own, and
  /// are skipped.
  SecretHistory secrets(std::string_view branch, const std::function<bool()>& goes_on) const;
  /// The changes between two commits' trees; `from` empty: against the empty tree.
  std::vector<FileChange> changes(std::string_view from, std::string_view to) const;
  /// A unified diff of the same, with `context` lines around each change.
  std::string diff(std::string_view from, std::string_view to, int context = 3) const;
  /// Content of a file at a commit; nothing if it is not there.
  std::optional<std::string> file_at(std::string_view commit, std::string_view path) const;
  /// Contents of all files of a commit that are `wanted`, by path; links and submodules left out.
  std::map<std::string, std::string> files_at(
      std::string_view commit, const std::function<bool(std::string_view)>& wanted) const;
  /// Compares the files that are `wanted` of a commit (40 hex digits) with those of the work tree,
  /// untracked ones included, ignored ones and those below `without` not. Writes nothing.
  std::vector<ComparedFile> compare_work_tree(
      std::string_view commit, const std::function<bool(std::string_view)>& wanted,
      const std::vector<std::filesystem::path>& without) const;

 private:
  struct Impl;
  explicit Repository(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::git
