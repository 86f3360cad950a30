// Flor's use of git: commits the work tree to the shadow branch (a branch of Flor's own, so the
// user's branches and index stay as they are), and answers questions about recorded commits. Used
// by runtime and cli only; knows nothing of runs, loops or the store.
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
  /// Larger untracked files are left out, and listed in ShadowCommit::left_out.
  std::uint64_t untracked_bytes_max = 10ull << 20;
  /// Limit for all untracked files together. If it is exceeded, the largest are left out and
  /// listed.
  std::uint64_t untracked_total_bytes_max = 1ull << 30;
  /// Absolute paths of directories that are never recorded, such as Flor's home.
  std::vector<std::filesystem::path> without;
  /// Absolute paths of directories that builds write to. Only tracked files in them are recorded. A
  /// directory that has a CMakeCache.txt but no CMakeLists.txt is treated the same, wherever it is.
  std::vector<std::filesystem::path> built = {};
  /// Files that the program writes, relative to the work tree, sorted. They are recorded only if
  /// git tracks them, or if flor.exclude includes them with a `!` pattern.
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
  bool created = false;               ///< false: the branch's tip already had this tree
  std::vector<std::string> left_out;  ///< untracked files: "data/big.bin (312 MiB, untracked)"
  /// Untracked files left out because they hold secrets: ".env", "notes.txt (private key)"; sorted.
  std::vector<std::string> secrets;
  /// Names a file that lists `secrets`, one per line.
  std::string secrets_file;
  FileCount added;    ///< untracked files that the branch had in no earlier commit
  FileCount outputs;  ///< files that the program writes, left out
};

struct FileChange {
  char kind = 'M';  ///< A, M, D, R or T as in `git diff --name-status`
  std::string path;
  std::string old_path;        ///< path before a rename, else the same as `path`
  int added = 0, removed = 0;  ///< lines
};

/// A file in a commit, compared with the same file in the work tree.
struct ComparedFile {
  std::string path;
  bool same = false;                       ///< byte for byte, or after git's conversions
  /// The contents, unless they are the same; nothing if the file does not exist on that side.
  std::optional<std::string> before, now;
};

struct CommitInfo {
  std::string id;
  std::string summary;  ///< first line of the message
  std::int64_t time_s = 0;
  std::vector<std::string> parents;
};

/// A secret in an earlier shadow commit. A commit made with today's rules leaves it out.
struct CommittedSecret {
  std::string path;         ///< empty: the secret is in the command line in the commit message
  std::string kind;         ///< e.g. "private key"; empty: recognized by the file's name
  /// The newest commit that added it, or changed its content. 40 hexadecimal digits.
  std::string commit;
  std::size_t commits = 1;  ///< how many commits added or changed it
};
struct SecretHistory {
  std::vector<CommittedSecret> found;  ///< by path
  std::size_t commits = 0;             ///< how many commits were examined, from the newest on
  bool whole = true;                   ///< false if commits remain that were not examined
};

/// The object id that git would give to the content of a file without any filters; nothing if the
/// file cannot be read.
std::optional<std::string> content_id(const std::filesystem::path& file);

/// Keeps libgit2 initialized until the process ends. Otherwise a thread that initializes it again
/// while the process ends would use parts that are already destroyed.
void keep_ready();

/// A repository, found from a directory inside its work tree. Move-only; not thread-safe. Every
/// failure is thrown as flor::Error, whose text is one line with the remedy.
class Repository {
 public:
  /// Searches `directory` and its parents for a repository, as git does, but ignores GIT_DIR and
  /// similar variables. Returns nothing if there is none, or only a bare one. Throws flor::Error
  /// for a repository that cannot be used; if another user owns it, the message gives the command
  /// `git config --global --add safe.directory ...`.
  static std::optional<Repository> discover(const std::filesystem::path& directory);
  Repository(Repository&&) noexcept;
  Repository& operator=(Repository&&) noexcept;
  ~Repository();

  const std::filesystem::path& work_tree() const;  ///< root, absolute, without a trailing slash
  /// The commit that HEAD points to; nothing if the branch has no commit yet.
  std::optional<std::string> head() const;
  /// The commit that the branch points to; nothing if there is no such branch.
  std::optional<std::string> branch_tip(std::string_view branch) const;

  /// Commits the whole work tree (tracked changes, deletions, and untracked files that are not
  /// ignored) to `refs/heads/<branch>`. HEAD, the index, the work tree and the reflog of HEAD stay
  /// as they are. No hook runs, and no identity need be configured. Only if HEAD is on that very
  /// branch, HEAD and the index follow as in a normal commit. The parents are the branch's previous
  /// tip, and HEAD if it is not an ancestor of that tip. If the tree has not changed, no commit is
  /// made. Several processes may call this at the same time: the branch is moved by
  /// compare-and-swap, and retried.
  ShadowCommit commit_work_tree(const CommitOptions& options);

  /// Moves the branch's loose objects into a pack if there are more than gc.auto (6,700 unless
  /// configured; 0 means never). Git does this by `git gc --auto`, but only after commands such as
  /// `git commit`, which a user may not run for weeks. Takes seconds, and is safe while other
  /// processes read or write. Stops early, without loss, when `goes_on` returns false. Returns the
  /// number of moved objects.
  std::size_t pack_branch(std::string_view branch, const std::function<bool()>& goes_on);

  /// Describes a commit. `id` has at least 4 hexadecimal digits, as in the functions below. Returns
  /// nothing if there is no such commit.
  std::optional<CommitInfo> commit(std::string_view id) const;
  /// The commits of the branch, newest first, following first parents only, at most `limit`. Empty
  /// if there is no such branch.
  std::vector<CommitInfo> history(std::string_view branch, std::size_t limit) const;
  /// Searches the files that recordings added to the branch for secrets, from the newest commit on.
  /// `goes_on` is called before each file, and ends the search by returning false. Files that git
  /// tracked are the user's own, and are skipped.
  SecretHistory secrets(std::string_view branch, const std::function<bool()>& goes_on) const;
  /// The changes between the trees of two commits. An empty `from` stands for an empty tree.
  std::vector<FileChange> changes(std::string_view from, std::string_view to) const;
  /// The changes between the trees of two commits as a unified diff, with `context` lines around
  /// each change.
  std::string diff(std::string_view from, std::string_view to, int context = 3) const;
  /// The content of a file in a commit; nothing if the commit does not have it.
  std::optional<std::string> file_at(std::string_view commit, std::string_view path) const;
  /// The contents of all files of a commit for which `wanted(path)` is true, by path. Links and
  /// submodules are left out.
  std::map<std::string, std::string> files_at(
      std::string_view commit, const std::function<bool(std::string_view)>& wanted) const;
  /// Compares the files of a commit (40 hexadecimal digits) for which `wanted(path)` is true with
  /// the work tree. Untracked files count; ignored files and those below `without` do not. Writes
  /// nothing.
  std::vector<ComparedFile> compare_work_tree(
      std::string_view commit, const std::function<bool(std::string_view)>& wanted,
      const std::vector<std::filesystem::path>& without) const;

 private:
  struct Impl;
  explicit Repository(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::git
