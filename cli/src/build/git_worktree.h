// Detached linked work trees, made and moved with git itself, so that filters, line endings and
// encodings come out as the user's git makes them. No hook runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flor::cli {

/// The standard output of git. Throws Error, with git's own reason, if it fails. The environment's
/// GIT_DIR and its like are ignored.
std::string run_git(const std::filesystem::path& directory, std::vector<std::string> arguments);

/// Makes `place`, which is empty or does not exist, a work tree of the repository around
/// `repository`, with this commit. Other work trees, their HEADs and their indexes stay unchanged.
void add_work_tree(const std::filesystem::path& repository, const std::filesystem::path& place,
                   const std::string& commit);

/// Makes an existing work tree hold exactly this commit, and files that git ignores. Files that are
/// the same in both are not touched.
void move_work_tree(const std::filesystem::path& place, const std::string& commit);

/// Checks out the submodules of the commit in `place`, and theirs, as linked work trees of those
/// that the user's work tree has. Returns a line for each that cannot be checked out.
std::vector<std::string> place_submodules(const std::filesystem::path& user_tree,
                                          const std::filesystem::path& place);

}  // namespace flor::cli
