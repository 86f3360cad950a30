// Detached linked work trees (git-worktree(1)), made and moved with git itself, so that filters,
// line endings and encodings come out as with the user's git. No git hook is executed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flor::cli {

/// Runs git in `directory` and returns its standard output. Throws Error with git's own message if
/// it fails. Git does not see the environment's GIT_DIR and related variables.
std::string run_git(const std::filesystem::path& directory, std::vector<std::string> arguments);

/// Makes `place`, which is empty or does not exist, a linked work tree of the repository around
/// `repository`, with `commit` checked out. Other work trees, their HEADs and indexes stay
/// unchanged.
void add_work_tree(const std::filesystem::path& repository, const std::filesystem::path& place,
                   const std::string& commit);

/// Checks out `commit` in an existing work tree: afterwards it holds exactly the files of the
/// commit, and those that git ignores. Files that do not differ keep their times.
void move_work_tree(const std::filesystem::path& place, const std::string& commit);

/// Checks out the submodules of the commit in `place`, also nested ones, as linked work trees of
/// the user's own submodules. Returns a line for each submodule that cannot be checked out.
std::vector<std::string> place_submodules(const std::filesystem::path& user_tree,
                                          const std::filesystem::path& place);

}  // namespace flor::cli
