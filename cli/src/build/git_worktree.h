// Detached linked work trees, made and moved with git itself, so that filters, line endings and
// encodings come out as the user's git makes them. No hook runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flor::cli {

/// What git wrote to standard output. Throws Error, with git's own reason, where it fails. The
/// environment's GIT_DIR and its like do not count.
std::string run_git(const std::filesystem::path& directory, std::vector<std::string> arguments);

/// Makes `place`, which is empty or not there, a work tree of the repository around `repository`
/// with this commit. The other work trees, their HEADs and their indexes stay as they are.
void add_work_tree(const std::filesystem::path& repository, const std::filesystem::path& place,
                   const std::string& commit);

/// Makes a work tree that exists hold exactly this commit, and what git ignores. Files that are the
/// same in both are not touched.
void move_work_tree(const std::filesystem::path& place, const std::string& commit);

/// Checks out the submodules of what is checked out in `place`, and theirs, as linked work trees of
/// those that the user's work tree has. Returns a line for each that cannot be had.
std::vector<std::string> place_submodules(const std::filesystem::path& user_tree,
                                          const std::filesystem::path& place);

}  // namespace flor::cli
