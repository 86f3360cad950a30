// Shadow commits: what state the repository may be in, and that its user sees nothing of them. The
// real git does the checking.
#include "shadow_fixture.h"

#include <flor/store/error.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flor::git {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

TEST_F(ShadowTest, OutsideOfARepositoryThereIsNothingToDiscover) {
  fs::create_directories(repo.place() / "elsewhere");
  EXPECT_FALSE(Repository::discover(repo.place() / "elsewhere"));
  EXPECT_FALSE(Repository::discover(repo.place() / "not-there"));
}

TEST_F(ShadowTest, ABareRepositoryIsNoPlaceToRecord) {
  const fs::path bare = repo.place() / "bare.git";
  repo.run_git_in(repo.place(), {"init", "-q", "--bare", bare.string()});
  EXPECT_FALSE(Repository::discover(bare));
}

TEST_F(ShadowTest, AFreshRepositoryWithAnUnbornHeadGetsACommitWithoutParents) {
  repo.write("train.cpp", "int main() {}\n");
  EXPECT_FALSE(Repository::discover(repo.root())->head());
  const ShadowCommit made = commit();
  EXPECT_TRUE(made.created);
  EXPECT_THAT(parents(), IsEmpty());
  EXPECT_THAT(names(), ElementsAre("train.cpp"));
  EXPECT_FALSE(Repository::discover(repo.root())->head());
}

TEST_F(ShadowTest, AnEmptyRepositoryGetsAnEmptyTree) {
  EXPECT_TRUE(commit().created);
  EXPECT_EQ(shadow_tree(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

TEST_F(ShadowTest, TheFirstCommitOfABranchHasHeadAsItsOnlyParent) {
  repo.write("a.cpp", "one\n");
  const std::string head = repo.commit_all("first");
  repo.write("a.cpp", "two\n");
  repo.write("new/b.cpp", "b\n");
  commit();
  EXPECT_THAT(parents(), ElementsAre(head));
  EXPECT_EQ(*Repository::discover(repo.root())->head(), head);
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, ParentsAreThePreviousTipAndThenAHeadThatIsNew) {
  repo.write("a.cpp", "one\n");
  repo.commit_all("first");
  repo.write("a.cpp", "two\n");
  const std::string tip = commit().id;
  repo.write("a.cpp", "three\n");
  const std::string same_head = commit().id;
  EXPECT_THAT(parents(), ElementsAre(tip));
  const std::string head = repo.commit_all("second");
  repo.write("a.cpp", "four\n");
  const std::string with_head = commit().id;
  EXPECT_THAT(parents(), ElementsAre(same_head, head));
  repo.write("a.cpp", "five\n");
  commit();
  EXPECT_THAT(parents(), ElementsAre(with_head));
}

TEST_F(ShadowTest, AnUnchangedTreeMakesNoNewCommit) {
  repo.write("a.cpp", "one\n");
  const ShadowCommit first = commit("first run");
  const ShadowCommit second = commit("second run");
  EXPECT_TRUE(first.created);
  EXPECT_FALSE(second.created);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(repo.git_line({"rev-list", "--count", "flor.shadow"}), "1");
}

TEST_F(ShadowTest, ADetachedHeadStaysDetached) {
  repo.write("a.cpp", "one\n");
  const std::string first = repo.commit_all("first");
  repo.write("a.cpp", "two\n");
  repo.commit_all("second");
  repo.run_git({"checkout", "-q", "--detach", first});
  repo.write("a.cpp", "mine\n");
  commit();
  EXPECT_THAT(parents(), ElementsAre(first));
  EXPECT_EQ(shown("a.cpp"), "mine\n");
}

TEST_F(ShadowTest, StagedUnstagedAndDeletedFilesAreRecordedAsTheWorkTreeHasThem) {
  repo.write("staged.cpp", "0\n");
  repo.write("both.cpp", "0\n");
  repo.write("gone.cpp", "0\n");
  repo.write("unstaged.cpp", "0\n");
  repo.commit_all("first");
  repo.write("staged.cpp", "1\n");
  repo.write("both.cpp", "1\n");
  repo.write("added.cpp", "1\n");
  repo.write("added-then-removed.cpp", "1\n");
  repo.run_git({"add", "-A"});
  repo.write("both.cpp", "2\n");
  repo.write("unstaged.cpp", "2\n");
  repo.remove("gone.cpp");
  repo.remove("added-then-removed.cpp");
  repo.write("untracked.cpp", "3\n");
  commit();
  EXPECT_THAT(names(),
              ElementsAre("added.cpp", "both.cpp", "staged.cpp", "unstaged.cpp", "untracked.cpp"));
  EXPECT_EQ(shown("both.cpp"), "2\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AFileThatIsRemovedFromTheIndexOnlyIsStillRecorded) {
  repo.write("kept.cpp", "0\n");
  repo.commit_all("first");
  repo.run_git({"rm", "-q", "--cached", "kept.cpp"});
  commit();
  EXPECT_THAT(names(), ElementsAre("kept.cpp"));
}

TEST_F(ShadowTest, AnIntentToAddIsRecordedWithItsContent) {
  repo.write("planned.cpp", "content\n");
  repo.run_git({"add", "-N", "planned.cpp"});
  commit();
  EXPECT_EQ(shown("planned.cpp"), "content\n");
}

TEST_F(ShadowTest, AnUnfinishedMergeIsRecordedWithItsMarkers) {
  repo.write("a.cpp", "base\n");
  repo.write("deleted-here.cpp", "base\n");
  repo.commit_all("base");
  repo.run_git({"checkout", "-q", "-b", "side"});
  repo.write("a.cpp", "side\n");
  repo.write("deleted-here.cpp", "side\n");
  repo.commit_all("side");
  repo.run_git({"checkout", "-q", "main"});
  repo.write("a.cpp", "main\n");
  repo.remove("deleted-here.cpp");
  repo.commit_all("main");
  EXPECT_NE(testing::run_command({"git", "merge", "side"}, repo.root()).status, 0);
  commit();
  EXPECT_THAT(shown("a.cpp"), AllOf(HasSubstr("<<<<<<<"), HasSubstr("side")));
  EXPECT_TRUE(fs::exists(repo / ".git/MERGE_HEAD"));
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AStashAndARebaseInProgressStay) {
  repo.write("a.cpp", "base\n");
  repo.commit_all("base");
  repo.write("a.cpp", "stashed\n");
  repo.run_git({"stash", "-q"});
  const std::string stash = repo.git_line({"rev-parse", "refs/stash"});
  repo.run_git({"checkout", "-q", "-b", "side"});
  repo.write("a.cpp", "side\n");
  repo.commit_all("side");
  repo.run_git({"checkout", "-q", "main"});
  repo.write("a.cpp", "main\n");
  repo.commit_all("main");
  EXPECT_NE(testing::run_command({"git", "rebase", "side"}, repo.root()).status, 0);
  commit();
  EXPECT_EQ(repo.git_line({"rev-parse", "refs/stash"}), stash);
  EXPECT_TRUE(fs::exists(repo / ".git/rebase-merge"));
  repo.run_git({"rebase", "--abort"});
}

TEST_F(ShadowTest, FromASubdirectoryTheWholeWorkTreeIsRecorded) {
  repo.write("top.cpp", "top\n");
  repo.write("deep/er/inner.cpp", "inner\n");
  CommitOptions options;
  options.message = "run";
  commit_in(repo / "deep/er", options);
  EXPECT_THAT(names(), ElementsAre("deep/er/inner.cpp", "top.cpp"));
  EXPECT_EQ(Repository::discover(repo / "deep/er")->work_tree(), repo.root());
}

TEST_F(ShadowTest, ALinkedWorkTreeRecordsItsOwnFilesAndHead) {
  repo.write("a.cpp", "main\n");
  repo.commit_all("first");
  const fs::path linked = repo.place() / "linked";
  repo.run_git({"worktree", "add", "-q", "-b", "topic", linked.string()});
  testing::write_file(linked / "a.cpp", "topic\n");
  const std::string head =
      (repo.run_git_in(linked, {"commit", "-qam", "topic"}), repo.git_line({"rev-parse", "topic"}));
  testing::write_file(linked / "b.cpp", "topic\n");
  CommitOptions options;
  options.message = "run";
  commit_in(linked, options);
  EXPECT_THAT(parents(), ElementsAre(head));
  EXPECT_THAT(names(), ElementsAre("a.cpp", "b.cpp"));
  EXPECT_EQ(Repository::discover(linked)->work_tree(), linked);
  EXPECT_EQ(repo.run_git({"status", "--porcelain"}), "");
}

TEST_F(ShadowTest, AGitDirectoryElsewhereIsFollowed) {
  const fs::path separate = repo.place() / "separate";
  repo.run_git_in(repo.place(), {"init", "-q", "--separate-git-dir",
                                 (repo.place() / "store.git").string(), separate.string()});
  testing::write_file(separate / "a.cpp", "a\n");
  auto repository = Repository::discover(separate);
  ASSERT_TRUE(repository);
  CommitOptions options;
  options.message = "run";
  const ShadowCommit made = repository->commit_work_tree(options);
  EXPECT_EQ(repo.run_git_in(separate, {"rev-parse", "flor.shadow"}), made.id + "\n");
}

TEST_F(ShadowTest, ASymbolicLinkAsCurrentDirectoryIsFollowed) {
  repo.write("sub/a.cpp", "a\n");
  fs::create_directory_symlink(repo / "sub", repo.place() / "shortcut");
  auto repository = Repository::discover(repo.place() / "shortcut");
  ASSERT_TRUE(repository);
  EXPECT_EQ(repository->work_tree(), repo.root());
}

TEST_F(ShadowTest, WhereHeadIsTheShadowBranchHeadAndIndexFollow) {
  repo.write("a.cpp", "one\n");
  repo.write("gone.cpp", "one\n");
  repo.commit_all("first");
  repo.run_git({"checkout", "-q", "-b", "flor.shadow"});
  repo.write("a.cpp", "two\n");
  repo.write("sub/new.cpp", "new\n");
  repo.remove("gone.cpp");
  auto repository = Repository::discover(repo.root());
  CommitOptions options;
  options.message = "run";
  const ShadowCommit made = repository->commit_work_tree(options);
  check_repository();
  EXPECT_EQ(repo.git_line({"symbolic-ref", "HEAD"}), "refs/heads/flor.shadow");
  EXPECT_EQ(repo.git_line({"rev-parse", "HEAD"}), made.id);
  EXPECT_EQ(repo.run_git({"status", "--porcelain"}), "");
  EXPECT_EQ(repo.git_line({"reflog", "-1", "--format=%H", "HEAD"}), made.id);
  EXPECT_EQ(repo.run_git({"ls-files"}), "a.cpp\nsub/new.cpp\n");
  EXPECT_FALSE(fs::exists(repo / ".git/index.lock"));
  EXPECT_FALSE(repository->commit_work_tree(options).created);
}

TEST_F(ShadowTest, AnUnbornShadowBranchAsHeadIsBorn) {
  repo.run_git({"symbolic-ref", "HEAD", "refs/heads/flor.shadow"});
  repo.write("a.cpp", "one\n");
  CommitOptions options;
  options.message = "run";
  Repository::discover(repo.root())->commit_work_tree(options);
  check_repository();
  EXPECT_EQ(repo.run_git({"status", "--porcelain"}), "");
  EXPECT_EQ(repo.git_line({"log", "--format=%s"}), "run");
}

TEST_F(ShadowTest, ALockedIndexMattersOnlyWhereHeadIsTheShadowBranch) {
  repo.write("a.cpp", "one\n");
  repo.commit_all("first");
  repo.write("a.cpp", "two\n");
  repo.write(".git/index.lock", "");
  EXPECT_TRUE(commit().created);
  fs::remove(repo / ".git/index.lock");
  repo.run_git({"checkout", "-q", "-f", "flor.shadow"});
  repo.write("a.cpp", "three\n");
  repo.write(".git/index.lock", "");
  auto repository = Repository::discover(repo.root());
  CommitOptions options;
  options.message = "run";
  const auto tip = repository->branch_tip("flor.shadow");
  EXPECT_THROW(repository->commit_work_tree(options), Busy);
  EXPECT_EQ(repository->branch_tip("flor.shadow"), tip);
  EXPECT_TRUE(fs::exists(repo / ".git/index.lock"));
}

TEST_F(ShadowTest, ALockedBranchIsABusyErrorThatNamesTheFile) {
  repo.write("a.cpp", "one\n");
  commit();
  repo.write("a.cpp", "two\n");
  repo.write(".git/refs/heads/flor.shadow.lock", "");
  auto repository = Repository::discover(repo.root());
  CommitOptions options;
  options.message = "run";
  try {
    repository->commit_work_tree(options);
    FAIL() << "the lock was ignored";
  } catch (const Busy& error) {
    EXPECT_THAT(error.what(), HasSubstr("refs/heads/flor.shadow.lock"));
  }
  fs::remove(repo / ".git/refs/heads/flor.shadow.lock");
  EXPECT_TRUE(commit().created);
}

TEST_F(ShadowTest, NoHookRunsAndNothingIsSigned) {
  for (const char* hook : {"pre-commit", "commit-msg", "post-commit", "reference-transaction",
                           "prepare-commit-msg", "post-index-change"}) {
    repo.write(std::string(".git/hooks/") + hook, "#!/bin/sh\ntouch \"$HOME/hook-ran\"\nexit 1\n");
    repo.make_executable(std::string(".git/hooks/") + hook);
  }
  repo.run_git({"config", "commit.gpgsign", "true"});
  repo.run_git({"config", "gpg.program", "/bin/false"});
  repo.write("a.cpp", "one\n");
  commit();
  EXPECT_FALSE(fs::exists(repo.home() / "hook-ran"));
  EXPECT_THAT(repo.run_git({"cat-file", "-p", "flor.shadow"}), Not(HasSubstr("gpgsig")));
}

TEST_F(ShadowTest, WithoutAConfiguredIdentityFlorIsTheAuthor) {
  repo.write("a.cpp", "one\n");
  commit();
  EXPECT_EQ(repo.git_line({"log", "-1", "--format=%an <%ae> %cn <%ce>", "flor.shadow"}),
            "Flor <flor@localhost> Flor <flor@localhost>");
}

TEST_F(ShadowTest, AConfiguredIdentityIsTheAuthor) {
  repo.run_git({"config", "user.name", "A Name"});
  repo.run_git({"config", "user.email", "name@localhost"});
  repo.write("a.cpp", "one\n");
  commit();
  EXPECT_EQ(repo.git_line({"log", "-1", "--format=%an <%ae>", "flor.shadow"}),
            "A Name <name@localhost>");
}

TEST_F(ShadowTest, TheMessageIsKeptWithItsTrailers) {
  repo.write("a.cpp", "one\n");
  commit("linear: run 3fa9\n\nFlor-Run: 3fa9\nFlor-Argument: lr=0.1\n");
  EXPECT_EQ(repo.git_line({"log", "-1", "--format=%s", "flor.shadow"}), "linear: run 3fa9");
  EXPECT_EQ(
      repo.git_line({"log", "-1", "--format=%(trailers:key=Flor-Run,valueonly)", "flor.shadow"}),
      "3fa9");
}

TEST_F(ShadowTest, AnotherBranchCanBeNamedAndABadNameIsRefused) {
  repo.write("a.cpp", "one\n");
  CommitOptions options;
  options.message = "run";
  options.branch = "shadows/linear";
  commit_in(repo.root(), options);
  EXPECT_EQ(repo.git_line({"log", "--format=%s", "shadows/linear"}), "run");
  options.branch = "bad..name";
  EXPECT_THROW(Repository::discover(repo.root())->commit_work_tree(options), UsageError);
}

TEST_F(ShadowTest, AShallowCloneIsRecordedOnTopOfWhatItHas) {
  for (int i = 0; i < 4; ++i) {
    repo.write("a.cpp", std::to_string(i));
    repo.commit_all("commit");
  }
  const fs::path clone = repo.place() / "shallow";
  repo.run_git_in(repo.place(), {"clone", "-q", "--depth", "1", "file://" + repo.root().string(),
                                 clone.string()});
  CommitOptions options;
  options.message = "run";
  auto repository = Repository::discover(clone);
  for (int i = 0; i < 3; ++i) {
    testing::write_file(clone / "a.cpp", "mine " + std::to_string(i));
    EXPECT_TRUE(repository->commit_work_tree(options).created);
  }
  const auto history = repository->history("flor.shadow", 10);
  ASSERT_EQ(history.size(), 4u);
  EXPECT_THAT(history[2].parents, ElementsAre(*repository->head()));
  EXPECT_THAT(history[0].parents, ElementsAre(history[1].id));
  EXPECT_EQ(testing::run_command({"git", "fsck", "--strict"}, clone).status, 0);
}

TEST_F(ShadowTest, APartialCloneIsRecorded) {
  repo.write("a.cpp", "a\n");
  repo.write("big/b.bin", "b\n");
  repo.commit_all("first");
  repo.run_git({"config", "uploadpack.allowFilter", "true"});
  const fs::path clone = repo.place() / "partial";
  repo.run_git_in(repo.place(), {"clone", "-q", "--filter=blob:none", "--sparse",
                                 "file://" + repo.root().string(), clone.string()});
  testing::write_file(clone / "a.cpp", "mine\n");
  auto repository = Repository::discover(clone);
  ASSERT_TRUE(repository);
  CommitOptions options;
  options.message = "run";
  EXPECT_TRUE(repository->commit_work_tree(options).created);
  EXPECT_EQ(repo.run_git_in(clone, {"ls-tree", "-r", "--name-only", "flor.shadow"}),
            "a.cpp\nbig/b.bin\n");
  EXPECT_EQ(repo.run_git_in(clone, {"status", "--porcelain"}), " M a.cpp\n");
}

TEST_F(ShadowTest, ARepositoryOfAnotherUserIsAnErrorThatNamesTheRemedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a repository away";
  repo.write("a.cpp", "one\n");
  for (const fs::path& path : {repo.root(), repo / ".git"}) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  }
  try {
    Repository::discover(repo.root());
    FAIL() << "the owner was not looked at";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("git config --global --add safe.directory"),
                                    HasSubstr(repo.root().string())));
  }
  repo.run_git_in(repo.place(),
                  {"config", "--global", "--add", "safe.directory", repo.root().string()});
  CommitOptions options;
  options.message = "run";
  EXPECT_TRUE(Repository::discover(repo.root())->commit_work_tree(options).created);
}

TEST_F(ShadowTest, ARepositoryThatLibgit2CannotReadIsAnErrorInOneLine) {
  const fs::path other = repo.place() / "sha256";
  repo.run_git_in(repo.place(), {"init", "-q", "--object-format=sha256", other.string()});
  try {
    Repository::discover(other);
    FAIL() << "a sha256 repository was opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(other.string()), HasSubstr("--flor_no_git")));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
  }
}

TEST_F(ShadowTest, ADamagedOrMissingCacheIsOnlySlower) {
  repo.write("a.cpp", "one\n");
  repo.write("sub/b.cpp", "one\n");
  commit();
  const fs::path cache = repo / ".git/flor/index";
  ASSERT_TRUE(fs::exists(cache));
  const std::string good = testing::read_file(cache);
  const std::string tree = shadow_tree();
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x21);
    testing::write_file(cache, bad);
    EXPECT_FALSE(Repository::discover(repo.root())->commit_work_tree({}).created) << at;
  }
  for (std::size_t size : {std::size_t{0}, std::size_t{5}, good.size() / 2, good.size() - 1}) {
    testing::write_file(cache, good.substr(0, size));
    EXPECT_FALSE(commit().created);
  }
  fs::remove(cache);
  fs::create_directory(cache);
  EXPECT_FALSE(commit().created);
  EXPECT_EQ(shadow_tree(), tree);
}

TEST_F(ShadowTest, AfterTheBranchWasDeletedAndCollectedEverythingIsWrittenAnew) {
  repo.write("a.cpp", "one\n");
  repo.write("sub/b.cpp", "two\n");
  repo.commit_all("first");
  repo.write("a.cpp", "changed\n");
  repo.write("sub/c.cpp", "three\n");
  commit();
  repo.run_git({"branch", "-q", "-D", "flor.shadow"});
  repo.run_git({"reflog", "expire", "--expire=now", "--all"});
  repo.run_git({"gc", "-q", "--prune=now"});
  EXPECT_TRUE(commit().created);
  EXPECT_EQ(shown("sub/c.cpp"), "three\n");
  EXPECT_EQ(shown("a.cpp"), "changed\n");
}

TEST_F(ShadowTest, PackedReferencesAndObjectsAreFine) {
  repo.write("a.cpp", "one\n");
  repo.commit_all("first");
  repo.write("a.cpp", "two\n");
  const std::string first = commit().id;
  repo.run_git({"gc", "-q"});
  repo.write("a.cpp", "three\n");
  commit();
  EXPECT_THAT(parents(), ElementsAre(first));
}

TEST_F(ShadowTest, AChangeInTheSameInstantAndOfTheSameSizeIsSeen) {
  repo.write("a.cpp", "aaaa\n");
  for (int i = 0; i < 20; ++i) {
    const std::string content = "aa" + std::to_string(10 + i) + "\n";
    repo.write("a.cpp", content);
    CommitOptions options;
    options.message = "run";
    const auto made = Repository::discover(repo.root())->commit_work_tree(options);
    ASSERT_TRUE(made.created);
    ASSERT_EQ(shown("a.cpp"), content);
  }
  check_repository();
}

TEST_F(ShadowTest, AFullDiskIsAnErrorAndMovesNothing) {
  repo.write("a.cpp", "one\n");
  const std::string tip = commit().id;
  repo.write("a.cpp", "two\n");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    int status = 1;
    try {
      Repository::discover(repo.root())->commit_work_tree({});
    } catch (const Error&) {
      status = 0;
    }
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "no error";
  EXPECT_EQ(repo.git_line({"rev-parse", "flor.shadow"}), tip);
  check_repository();
  EXPECT_TRUE(commit().created);
}

}  // namespace
}  // namespace flor::git
