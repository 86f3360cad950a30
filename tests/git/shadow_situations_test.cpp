// Shadow commits in the rarer states of a repository: whatever is going on in it, git finds the
// same afterwards.
#include "shadow_fixture.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <unistd.h>

namespace flor::git {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ShadowSituation : public ShadowTest {
 protected:
  void SetUp() override {
    repo.write("a.cpp", "one\n");
    repo.commit_all("first");
  }
  static CommitOptions options() {
    CommitOptions options;
    options.message = "run";
    return options;
  }
  std::string state_file(const std::string& name) {
    return testing::read_file(repo / (".git/" + name));
  }
};

TEST_F(ShadowSituation, LinksToNothingToDirectoriesAndOutsideAreLinks) {
  fs::create_symlink("nowhere", repo / "dangling");
  fs::create_symlink("/usr/include", repo / "outside");
  fs::create_directory(repo / "inner");
  repo.write("inner/b.cpp", "b\n");
  fs::create_symlink("inner", repo / "to_directory");
  fs::create_symlink("self", repo / "self");
  commit();
  expect_tree_as_git_makes_it();
  for (const char* link : {"dangling", "outside", "to_directory", "self"}) {
    EXPECT_EQ(mode(link), "120000") << link;
  }
  EXPECT_THAT(names(), Not(Contains("to_directory/b.cpp")));
}

TEST_F(ShadowSituation, EmptyDirectoriesAreNothing) {
  fs::create_directories(repo / "empty/deeper");
  EXPECT_FALSE(commit().id.empty());
  EXPECT_THAT(names(), ElementsAre("a.cpp"));
}

TEST_F(ShadowSituation, ALinkedWorkTreeInsideTheWorkTreeIsARepositoryInside) {
  repo.run_git({"worktree", "add", "-q", "--detach", (repo / "inner").string()});
  const ShadowCommit made = commit();
  EXPECT_EQ(mode("inner"), "160000");
  EXPECT_THAT(made.left_out, Contains(HasSubstr("inner")));
  // And the inner one records itself.
  testing::write_file(repo / "inner/a.cpp", "two\n");
  commit_in(repo / "inner", options());
  EXPECT_EQ(shown("a.cpp"), "two\n");
}

TEST_F(ShadowSituation, AnotherWorkTreeThatStandsOnTheBranchKeepsItsFilesAndIndex) {
  commit();
  const fs::path other = repo.place() / "other";
  repo.run_git({"worktree", "add", "-q", other.string(), "flor.shadow"});
  const std::string index = testing::read_file(repo / ".git/worktrees/other/index");
  repo.write("a.cpp", "two\n");
  commit();
  EXPECT_EQ(shown("a.cpp"), "two\n");
  EXPECT_EQ(testing::read_file(other / "a.cpp"), "one\n");
  EXPECT_EQ(testing::read_file(repo / ".git/worktrees/other/index"), index);
}

TEST_F(ShadowSituation, ABisectionGoesOnAfterwards) {
  for (const char* text : {"two\n", "three\n", "four\n"}) {
    repo.write("a.cpp", text);
    repo.commit_all(text);
  }
  repo.run_git({"bisect", "start", "HEAD", "HEAD~3"});
  const std::string log = state_file("BISECT_LOG"), head = repo.git_line({"rev-parse", "HEAD"});
  repo.write("b.cpp", "probe\n");
  commit();
  EXPECT_EQ(state_file("BISECT_LOG"), log);
  EXPECT_EQ(repo.git_line({"rev-parse", "HEAD"}), head);
  EXPECT_THAT(repo.run_git({"bisect", "good"}), ContainsRegex("is the first '?bad'? commit"));
}

TEST_F(ShadowSituation, ACherryPickWithAConflictStaysUnfinished) {
  repo.run_git({"checkout", "-q", "-b", "side"});
  repo.write("a.cpp", "side\n");
  const std::string picked = repo.commit_all("side");
  repo.run_git({"checkout", "-q", "main"});
  repo.write("a.cpp", "main\n");
  repo.commit_all("main");
  EXPECT_THROW(repo.run_git({"cherry-pick", picked}), std::runtime_error);
  commit();
  EXPECT_THAT(shown("a.cpp"), HasSubstr("<<<<<<< "));
  EXPECT_EQ(state_file("CHERRY_PICK_HEAD"), picked + "\n");
  repo.run_git({"cherry-pick", "--abort"});
  EXPECT_EQ(repo.git_line({"status", "--porcelain"}), "");
}

TEST_F(ShadowSituation, ACloneThatBorrowsItsObjectsIsRecorded) {
  const fs::path clone = repo.place() / "clone";
  repo.run_git_in(repo.place(), {"clone", "-q", "--shared", repo.root().string(), clone.string()});
  testing::write_file(clone / "b.cpp", "b\n");
  const auto made = Repository::discover(clone)->commit_work_tree(options());
  EXPECT_EQ(repo.run_git_in(clone, {"ls-tree", "--name-only", made.id}), "a.cpp\nb.cpp\n");
  EXPECT_EQ(repo.run_git_in(clone, {"fsck", "--strict", "--no-dangling", "--no-progress"}), "");
  // The lender has no branch of it.
  EXPECT_FALSE(Repository::discover(repo.root())->branch_tip(kShadowBranch));
}

TEST_F(ShadowSituation, AReplacedCommitStandsInForItself) {
  const std::string first = repo.git_line({"rev-parse", "HEAD"});
  repo.write("a.cpp", "two\n");
  const std::string second = repo.commit_all("second");
  repo.run_git({"replace", second, first});
  repo.write("a.cpp", "three\n");
  commit();
  EXPECT_EQ(shown("a.cpp"), "three\n");
  EXPECT_THAT(parents(), ElementsAre(second));
}

TEST_F(ShadowSituation, AfterACollectionOfGarbageTheVersionsAreAllThere) {
  std::vector<std::string> versions;
  for (int i = 0; i < 5; ++i) {
    repo.write("a.cpp", fmt::format("version {}\n", i));
    versions.push_back(commit().id);
  }
  repo.run_git({"reflog", "expire", "--expire=now", "--all"});
  repo.run_git({"gc", "-q", "--prune=now", "--aggressive"});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(repo.run_git({"show", versions[static_cast<std::size_t>(i)] + ":a.cpp"}),
              fmt::format("version {}\n", i));
  }
  repo.write("a.cpp", "later\n");
  commit();
  EXPECT_EQ(
      testing::lines_of(repo.run_git({"log", "--first-parent", "--format=%s", "flor.shadow"})),
      (std::vector<std::string>{"run", "run", "run", "run", "run", "run", "first"}));
}

TEST_F(ShadowSituation, ARepositoryThatMayNotBeWrittenIsAnErrorAndMovesNothing) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  repo.write("a.cpp", "two\n");
  fs::permissions(repo / ".git/objects", fs::perms(0555));
  EXPECT_THROW(commit(), Error);
  fs::permissions(repo / ".git/objects", fs::perms(0755));
  EXPECT_FALSE(Repository::discover(repo.root())->branch_tip(kShadowBranch));
}

TEST_F(ShadowSituation, AWorkTreeThatTheConfigurationNamesIsTheOneThatIsRecorded) {
  const fs::path tree = repo.place() / "elsewhere";
  testing::write_file(tree / "c.cpp", "c\n");
  repo.run_git({"config", "core.worktree", tree.string()});
  const auto repository = Repository::discover(repo.root());
  ASSERT_TRUE(repository);
  EXPECT_EQ(repository->work_tree(), tree);
  auto made = Repository::discover(repo.root())->commit_work_tree(options());
  EXPECT_EQ(repo.run_git_in(repo.root(), {"ls-tree", "--name-only", made.id}), "c.cpp\n");
}

}  // namespace
}  // namespace flor::git
