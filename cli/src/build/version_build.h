// Builds recorded versions: checks the sources of a commit out into a work tree of Flor's own,
// below the store's cache, and builds them as the recorded program was built. The user's work tree,
// HEAD and index are not touched.
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

/// New contents of files of the version, by path from the root of the repository; nullopt removes
/// the file.
using Edits = std::map<std::string, std::optional<std::string>>;

/// Whether a checkout keeps files that git neither tracks nor ignores.
enum class Untracked {
  go,
  stay,  ///< a build command may leave its results beside the sources
};

/// How a version is built: by the recipe of its program, or by a command.
struct BuildPlan {
  explicit BuildPlan(const Permit& given) : permit(given) {}

  Permit permit;  ///< to execute the version's build
  std::optional<BuildRecipe> recipe;
  std::vector<std::string> left_out;  ///< entries of another machine's recipe that were removed
  /// A shell command that builds the version, used instead of the recipe. It is run in the
  /// directory of the tree that corresponds to the one in which the run was recorded.
  std::string command;
  Untracked untracked() const { return command.empty() ? Untracked::go : Untracked::stay; }
  std::filesystem::path program;     ///< path of the recorded executable: absolute, in the user's
                                     ///< work tree
  std::filesystem::path repository;  ///< root of the user's work tree, which `recipe` refers to
  std::filesystem::path directory;   ///< current directory of the recording
};

/// The way to build the program of `run`: `command` if it is not empty, else the recorded recipe,
/// else the command that was remembered for this program. Entries of a recipe from another machine
/// that name tools and places are removed (recipe_text.h). Throws NotFound, naming the option that
/// helps, if there is no way, and Error for an invalid recipe.
BuildPlan build_plan(const store::Catalog& catalog, const store::Run& run, const Permit& permit,
                     const std::string& command = {});

/// Remembers `command`, unless it is empty, for later runs of this program that have no recipe. For
/// a run from another machine nothing is remembered, because it could claim to be any program.
void remember_command(store::Catalog& catalog, const store::Run& run, const Permit& permit,
                      const std::string& command);

/// Thrown if the compiler, CMake or the command failed. what() is one line with the first error and
/// the path of the log.
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
      sources;                ///< root of the checked-out version
  std::filesystem::path log;  ///< output of the build; empty if nothing had to be built
  double seconds = 0;
  bool up_to_date = false;  ///< whether exactly these sources had been built before
};

/// A work tree of Flor's own: a detached linked work tree of the user's repository, with its build
/// directories. The object locks the tree, so that another process gets another tree. When the tree
/// moves to another version, files that do not differ keep their times, so that only changed files
/// are compiled. Move-only; the tree stays on disk for its next user.
class VersionTree {
 public:
  /// Takes an unlocked tree of this repository below `home`/cache, preferably one in which `commit`
  /// is checked out, or makes a tree. Throws Error if git or the file system fails.
  static VersionTree take(const std::filesystem::path& home, const git::Repository& repository,
                          const std::string& commit);
  VersionTree(VersionTree&&) noexcept;
  VersionTree& operator=(VersionTree&&) noexcept;
  ~VersionTree();

  /// Root of the checked-out sources.
  const std::filesystem::path& sources() const;

  /// Makes the tree hold exactly the commit with these edits, whatever it held before; files that
  /// git ignores stay. Returns a line for each submodule that is missing because the user's tree
  /// does not have its commit.
  std::vector<std::string> check_out(const std::string& commit, const Edits& edits = {},
                                     Untracked untracked = Untracked::go);

  /// Builds the checked-out sources; does nothing if they have been built. The executable stays
  /// unchanged until the next checkout. Throws BuildError if the build fails, Error if the plan
  /// does not fit, for example if the program is built outside of the tree.
  BuiltVersion build(const BuildPlan& plan);

  /// Deletes all build results, so that the next build starts from nothing.
  void clean();

 private:
  struct Impl;
  explicit VersionTree(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The repository that has the run's commit: the one it was recorded in, if that is on this
/// machine, else the one around the current directory. Throws NotFound if there is none, or if the
/// run was recorded without git.
git::Repository repository_of(const store::Run& run);

/// A built version with its tree. Keep it as long as the program is used: it holds the tree's lock.
struct VersionWithTree {
  VersionTree tree;
  BuiltVersion built;
  std::vector<std::string> missing;  ///< messages about missing submodules, as
                                     ///< VersionTree::check_out returns them
};
VersionWithTree build_version(const std::filesystem::path& home, const store::Run& run,
                              const BuildPlan& plan, const Edits& edits = {});

}  // namespace flor::cli
