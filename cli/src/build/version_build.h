// Builds recorded versions: the sources of a commit, checked out into a work tree of Flor's own
// below the store's cache, are built as the recorded program was. The user's work tree, HEAD and
// index are not touched.
#pragma once

#include "git/shadow.h"
#include "protocol/build_recipe.h"
#include "trust/permit.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

using detail::BuildRecipe;

/// New contents for files of the version, by path from the root of the repository; nothing: the
/// file is removed.
using Edits = std::map<std::string, std::optional<std::string>>;

/// The fate of files that git neither tracks nor ignores, if a tree already holds the version.
enum class Untracked {
  go,
  stay,  ///< a command may build beside the sources
};

/// How a version is built: by the recipe of its program, or by a command.
struct BuildPlan {
  explicit BuildPlan(const Permit& given) : permit(given) {}

  Permit permit;  ///< to execute the version's build
  std::optional<BuildRecipe> recipe;
  std::vector<std::string> left_out;  ///< entries of another machine's recipe that do not count
  /// Run by sh in the directory of the version's tree that corresponds to the one in which the run
  /// was recorded. Wins over the recipe.
  std::string command;
  Untracked untracked() const { return command.empty() ? Untracked::go : Untracked::stay; }
  std::filesystem::path program;     ///< as it was recorded: absolute, in the user's tree
  std::filesystem::path repository;  ///< root of the user's work tree, which `recipe` refers to
  std::filesystem::path directory;   ///< in which the run was recorded
};

/// How the program of `run` is built: `command` if it is not empty, else its recorded recipe, else
/// the command that was remembered for this program. Entries of a foreign recipe that name tools
/// and places are left out (recipe_text.h). Throws NotFound, naming the option that helps, if there
/// is none of these, Error for an invalid recipe.
BuildPlan build_plan(const store::Catalog& catalog, const store::Run& run, const Permit& permit,
                     const std::string& command = {});

/// Remembers the command for later runs of the program that have no recipe, unless it is empty. For
/// a run from elsewhere nothing is remembered: such a run itself says which program it is.
void remember_command(store::Catalog& catalog, const store::Run& run, const Permit& permit,
                      const std::string& command);

/// The compiler, CMake or the command failed. what(): one line with the first error and the path of
/// the log.
class BuildError : public Error {
 public:
  BuildError(const std::string& message, std::string excerpt, std::filesystem::path log)
      : Error(message), excerpt_(std::move(excerpt)), log_(std::move(log)) {}
  /// The lines of the log around the first error, as the compiler wrote them.
  const std::string& excerpt() const { return excerpt_; }
  const std::filesystem::path& log() const { return log_; }

 private:
  std::string excerpt_;
  std::filesystem::path log_;
};

struct BuiltVersion {
  std::filesystem::path program;  ///< the executable, inside the tree
  std::filesystem::path
      sources;                ///< root of the checked-out version: what the program was built of
  std::filesystem::path log;  ///< the output of the build; empty if there was nothing to do
  double seconds = 0;
  bool up_to_date = false;  ///< it was built before, from exactly these sources
};

/// A work tree of Flor's own: a detached linked work tree of the user's repository, and the build
/// directories that belong to it. The object holds the tree exclusively; another process gets
/// another one. The tree moves from version to version, and files that are the same in both keep
/// their times, so that only changed files are compiled. Move-only; the tree stays on disk for the
/// next use.
class VersionTree {
 public:
  /// Takes a free tree of this repository below `home`/cache, made if there is none. Prefers one in
  /// which `commit` is checked out. Throws Error if git or the disk refuses.
  static VersionTree take(const std::filesystem::path& home, const git::Repository& repository,
                          const std::string& commit);
  VersionTree(VersionTree&&) noexcept;
  VersionTree& operator=(VersionTree&&) noexcept;
  ~VersionTree();

  /// Root of the checked-out sources.
  const std::filesystem::path& sources() const;

  /// Makes the tree hold exactly the commit with these edits, whatever it held before. Files that
  /// git ignores stay. Returns a line for each submodule that is missing, because its commit is not
  /// in the user's tree.
  std::vector<std::string> check_out(const std::string& commit, const Edits& edits = {},
                                     Untracked untracked = Untracked::go);

  /// Builds the checked-out sources. A second build of the same sources does nothing. The
  /// executable stays unchanged until the next checkout. Throws BuildError if the build fails,
  /// Error if the plan does not fit (a program that is built outside of the tree).
  BuiltVersion build(const BuildPlan& plan);

  /// Deletes everything that was built, so that the next build begins from nothing.
  void clean();

 private:
  struct Impl;
  explicit VersionTree(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A repository that has the run's commit: where it was recorded, if that was here, else the one
/// around the current directory. Throws NotFound, also if the run was recorded without git.
git::Repository repository_of(const store::Run& run);

/// Takes a tree, checks out the version of `run` with `edits`, and builds it. The tree must be kept
/// as long as the program is used.
struct VersionWithTree {
  VersionTree tree;
  BuiltVersion built;
  std::vector<std::string> missing;  ///< as check_out returns
};
VersionWithTree build_version(const std::filesystem::path& home, const store::Run& run,
                              const BuildPlan& plan, const Edits& edits = {});

}  // namespace flor::cli
