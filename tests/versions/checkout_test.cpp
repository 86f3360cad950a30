// `flor checkout`: a recorded version beside the user's work tree.
#include "versions/project.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Recorded by a program that was built elsewhere: only the sources matter here.
class Checkout : public ::testing::Test {
 protected:
  store::Run record() {
    EXPECT_EQ(bench_.record("trainer").status, 0);
    return bench_.last_run();
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  const GitRepository& repository() const { return bench_.repository(); }
  std::string users_state() const {
    return read_file(repository() / ".git/HEAD") + read_file(repository() / ".git/index") +
           read_file(repository() / ".git/logs/HEAD") + repository().run_git({"for-each-ref"}) +
           repository().run_git({"status", "--porcelain", "--ignored"});
  }
  std::filesystem::path place(const std::string& name) const { return repository().place() / name; }

  Workbench bench_;
};

TEST_F(Checkout, GivesTheFilesOfTheVersionAndLeavesTheUsersAsTheyAre) {
  repository().write("src/train.cpp", "version 1\n");
  repository().write("run.sh", "#!/bin/sh\n");
  repository().make_executable("run.sh");
  std::filesystem::create_symlink("src/train.cpp", repository() / "link");
  const auto run = record();
  repository().write("src/train.cpp", "version 2\n");
  repository().remove("run.sh");
  record();
  repository().write("later.txt", "untracked\n");
  const std::string before = users_state();
  const auto result = flor({"checkout", version_of(run), place("old").string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, place("old").string() + "\n");
  EXPECT_EQ(read_file(place("old") / "src/train.cpp"), "version 1\n");
  EXPECT_EQ(std::filesystem::read_symlink(place("old") / "link"), "src/train.cpp");
  EXPECT_NE(std::filesystem::status(place("old") / "run.sh").permissions() &
                std::filesystem::perms::owner_exec,
            std::filesystem::perms::none);
  EXPECT_FALSE(std::filesystem::exists(place("old") / "later.txt"));
  EXPECT_EQ(users_state(), before);
  // It is an ordinary work tree: clean, detached, at the version.
  EXPECT_EQ(repository().run_git_in(place("old"), {"status", "--porcelain"}), "");
  EXPECT_EQ(repository().run_git_in(place("old"), {"rev-parse", "HEAD"}), run.start.commit + "\n");
  EXPECT_EQ(repository().run_git_in(place("old"), {"branch", "--show-current"}), "");
  repository().run_git({"worktree", "remove", place("old").string()});
  EXPECT_EQ(users_state(), before);
}

TEST_F(Checkout, WithoutADirectoryLiesBesideTheRepository) {
  const auto run = record();
  const auto result = flor({"checkout", "test"});
  EXPECT_EQ(result.out, fmt::format("{}-{:.8}\n", repository().root().string(), run.start.commit));
  EXPECT_TRUE(std::filesystem::exists(lines_of(result.out).at(0) + "/train.cpp"));
}

TEST_F(Checkout, RefusesADirectoryThatIsNotEmpty) {
  record();
  write_file(place("mine") / "notes.txt", "keep me\n");
  const auto result = flor({"checkout", "test", place("mine").string()});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, SaysOnce("not an empty directory"));
  EXPECT_EQ(read_file(place("mine") / "notes.txt"), "keep me\n");
  std::filesystem::create_directory(place("empty"));
  EXPECT_EQ(flor({"checkout", "test", place("empty").string()}).status, 0);
}

TEST_F(Checkout, LineEndingsAndFiltersComeOutAsGitMakesThem) {
  repository().run_git({"config", "filter.upper.clean", "tr a-z A-Z"});
  repository().run_git({"config", "filter.upper.smudge", "tr A-Z a-z"});
  repository().write(".gitattributes", "*.txt text eol=crlf\n*.up filter=upper\n");
  repository().write("dos.txt", "one\r\ntwo\r\n");
  repository().write("word.up", "quiet\n");
  record();
  ASSERT_EQ(flor({"checkout", "test", place("old").string()}).status, 0);
  EXPECT_EQ(read_file(place("old") / "dos.txt"), "one\r\ntwo\r\n");
  EXPECT_EQ(read_file(place("old") / "word.up"), "quiet\n");
}

TEST_F(Checkout, SubmodulesComeFromThoseOfTheUser) {
  GitRepository library;  // its HOME replaces that of the bench, which nobody minds
  library.write("lib.h", "int one();\n");
  library.commit_all("library");
  repository().run_git({"-c", "protocol.file.allow=always", "submodule", "add", "-q",
                        library.root().string(), "third_party/lib"});
  repository().commit_all("with a submodule");
  const auto run = record();
  const auto result = flor({"checkout", version_of(run), place("old").string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_file(place("old") / "third_party/lib/lib.h"), "int one();\n");
  EXPECT_EQ(repository().run_git_in(place("old"), {"status", "--porcelain"}), "");
  // A submodule that the user no longer has is named.
  repository().remove("third_party/lib");
  const auto without = flor({"checkout", version_of(run), place("older").string()});
  EXPECT_EQ(without.status, 5);
  EXPECT_THAT(without.err, HasSubstr("submodule third_party/lib: it is not there"));
}

TEST_F(Checkout, NoHookOfTheUserRuns) {
  record();
  repository().write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$0.ran\"\n");
  std::filesystem::permissions(repository() / ".git/hooks/post-checkout",
                               std::filesystem::perms(0755));
  EXPECT_EQ(flor({"checkout", "test", place("old").string()}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(repository() / ".git/hooks/post-checkout.ran"));
}

TEST_F(Checkout, SaysWhereTheSourcesOfARunAreGone) {
  EXPECT_EQ(bench_.record("trainer", {"--flor_no_git"}).status, 0);
  EXPECT_THAT(flor({"checkout", "test", place("a").string()}).err,
              SaysOnce("recorded without git"));
  record();
  std::filesystem::rename(repository() / ".git", place("moved.git"));
  const auto result = flor({"checkout", "test", place("b").string()});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, AllOf(SaysOnce("its sources are gone")));
  std::filesystem::rename(place("moved.git"), repository() / ".git");
}

}  // namespace
}  // namespace flor::testing
