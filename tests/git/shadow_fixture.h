// What the tests of shadow commits share: a repository, a commit that is checked by git, and what
// the user sees of the repository before and after.
#pragma once

#include "git/shadow.h"
#include "support/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace flor::git {

/// Everything that a shadow commit must leave as it is.
struct UserView {
  std::string head, index, status, head_log, branches;
  std::map<std::string, std::string> files;
  bool operator==(const UserView&) const = default;
};

class ShadowTest : public ::testing::Test {
 protected:
  testing::GitRepository repo;

  UserView view(const std::filesystem::path& root) const {
    namespace fs = std::filesystem;
    const auto git_path = [&](const std::string& name) {
      std::string text = repo.run_git_in(root, {"rev-parse", "--git-path", name});
      text.pop_back();
      return fs::path(text).is_absolute() ? fs::path(text) : root / text;
    };
    UserView seen;
    seen.head = testing::read_file(git_path("HEAD"));
    seen.index = testing::read_file(git_path("index"));
    seen.head_log = testing::read_file(git_path("logs/HEAD"));
    seen.status = repo.run_git_in(root, {"status", "--porcelain", "-z"});
    seen.branches = repo.run_git_in(root, {"for-each-ref", "--format=%(refname) %(objectname)",
                                           "refs/tags", "refs/heads/main"});
    for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator();
         ++at) {
      if (at->path().filename() == ".git") {
        at.disable_recursion_pending();
        continue;
      }
      const std::string name = at->path().string();
      if (at->is_symlink()) {
        seen.files[name] = "-> " + fs::read_symlink(at->path()).string();
      } else if (at->is_regular_file()) {
        seen.files[name] = testing::read_file(at->path());
      } else {
        seen.files[name] = "";
      }
    }
    return seen;
  }

  /// Commits from `directory`, and checks that git finds nothing wrong and the user nothing
  /// changed.
  ShadowCommit commit_in(const std::filesystem::path& directory, CommitOptions options) {
    auto repository = Repository::discover(directory);
    if (!repository) throw std::runtime_error("no repository");
    const UserView before = view(repository->work_tree());
    const ShadowCommit made = repository->commit_work_tree(options);
    const UserView after = view(repository->work_tree());
    EXPECT_EQ(before.head, after.head);
    EXPECT_TRUE(before.index == after.index) << "the index changed";
    EXPECT_EQ(before.status, after.status);
    EXPECT_EQ(before.head_log, after.head_log);
    EXPECT_TRUE(before.files == after.files) << "the work tree changed";
    check_repository();
    EXPECT_EQ(made.id, *repository->branch_tip(options.branch));
    return made;
  }
  ShadowCommit commit(const std::string& message = "run") {
    CommitOptions options;
    options.message = message;
    return commit_in(repo.root(), options);
  }

  void check_repository() {
    const auto fsck = testing::run_command({"git", "-c", "advice.sparseIndexExpanded=false", "fsck",
                                            "--strict", "--no-dangling", "--no-progress"},
                                           repo.root());
    EXPECT_EQ(fsck.status, 0) << fsck.out;
    EXPECT_THAT(fsck.out, ::testing::AnyOf("", ::testing::StartsWith("notice: ")));
  }

  /// The tree that `git add -A` would make of the work tree, by an index of its own.
  std::string tree_by_git(const std::filesystem::path& root) {
    const auto index = repo.place() / "oracle-index";
    std::filesystem::remove(index);
    std::string own = repo.run_git_in(root, {"rev-parse", "--git-path", "index"});
    own.pop_back();
    const std::filesystem::path from =
        own.starts_with('/') ? std::filesystem::path(own) : root / own;
    if (std::filesystem::exists(from)) {
      std::filesystem::copy_file(from, index);
      // git judges by the time of its index which files may have changed in the same second.
      std::filesystem::last_write_time(index, std::filesystem::last_write_time(from));
    }
    const std::vector<std::string> environment = {"GIT_INDEX_FILE=" + index.string()};
    repo.run_git_in(
        root, {"-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "add", "-A"},
        environment);
    return testing::lines_of(repo.run_git_in(root, {"write-tree"}, environment)).back();
  }
  std::string shadow_tree() { return repo.git_line({"rev-parse", "flor.shadow^{tree}"}); }
  void expect_tree_as_git_makes_it() { EXPECT_EQ(listing(tree_by_git(repo.root())), listing()); }

  /// "100644 <id> path" for each file.
  std::vector<std::string> listing(const std::string& tree = "flor.shadow") {
    return testing::lines_of(
        repo.run_git({"ls-tree", "-r", "-z", "--format=%(objectmode) %(objectname) %(path)", tree}),
        '\0');
  }
  std::vector<std::string> names() {
    return testing::lines_of(repo.run_git({"ls-tree", "-r", "-z", "--name-only", "flor.shadow"}),
                             '\0');
  }
  std::string shown(const std::string& path) {
    return repo.run_git({"cat-file", "-p", "flor.shadow:" + path});
  }
  std::string mode(const std::string& path) {
    return repo.run_git({"ls-tree", "flor.shadow", "--", path}).substr(0, 6);
  }
  std::vector<std::string> parents() {
    const auto line = repo.git_line({"log", "-1", "--format=%P", "flor.shadow"});
    return testing::lines_of(line, ' ');
  }
};

}  // namespace flor::git
