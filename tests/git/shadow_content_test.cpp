// Shadow commits: what of the work tree is recorded, and in which form. `git add -A` with an index
// of its own says what is right.
#include "shadow_fixture.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace flor::git {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

TEST_F(ShadowTest, IgnoredFilesStayOut) {
  repo.write(".gitignore", "*.o\n/build/\nlogs/*\n!logs/keep.txt\n");
  repo.write("a.cpp", "a\n");
  repo.write("a.o", "o\n");
  repo.write("build/x/y.txt", "y\n");
  repo.write("sub/build/kept.txt", "kept\n");
  repo.write("logs/keep.txt", "keep\n");
  repo.write("logs/drop.txt", "drop\n");
  repo.write("sub/.gitignore", "!special.o\nlocal\n");
  repo.write("sub/special.o", "o\n");
  repo.write("sub/local", "l\n");
  repo.write(".git/info/exclude", "by-info\n");
  repo.write("by-info", "x\n");
  testing::write_file(repo.home() / ".config/git/ignore", "by-user\n");
  repo.write("by-user", "x\n");
  commit();
  EXPECT_THAT(names(), ElementsAre(".gitignore", "a.cpp", "logs/keep.txt", "sub/.gitignore",
                                   "sub/build/kept.txt", "sub/special.o"));
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, TrackedFilesInIgnoredDirectoriesAreRecordedWithTheirChanges) {
  repo.write(".gitignore", "out/\n");
  repo.write("out/tracked.txt", "one\n");
  repo.run_git({"add", "-f", "out/tracked.txt", ".gitignore"});
  repo.run_git({"commit", "-qm", "first"});
  repo.write("out/tracked.txt", "two\n");
  repo.write("out/other.txt", "other\n");
  commit();
  EXPECT_THAT(names(), ElementsAre(".gitignore", "out/tracked.txt"));
  EXPECT_EQ(shown("out/tracked.txt"), "two\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AnExcludesFileNamedInTheConfigurationIsHonoured) {
  testing::write_file(repo.home() / "my-ignore", "*.tmp\n");
  repo.run_git({"config", "--global", "core.excludesFile", "~/my-ignore"});
  repo.write("a.tmp", "a\n");
  repo.write("a.cpp", "a\n");
  commit();
  EXPECT_THAT(names(), ElementsAre("a.cpp"));
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, SymbolicLinksAreRecordedAsLinks) {
  repo.write("a.cpp", "a\n");
  fs::create_symlink("a.cpp", repo / "to-file");
  fs::create_directory_symlink("/usr", repo / "to-directory");
  fs::create_symlink("nowhere", repo / "dangling");
  commit();
  EXPECT_EQ(mode("to-file"), "120000");
  EXPECT_EQ(shown("to-directory"), "/usr");
  EXPECT_EQ(shown("dangling"), "nowhere");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AFileMayBecomeALinkOrADirectoryAndBack) {
  repo.write("to-link", "a\n");
  repo.write("to-directory", "a\n");
  repo.write("to-file/inner", "a\n");
  repo.write("dir-to-link/inner", "a\n");
  repo.commit_all("first");
  repo.remove("to-link");
  fs::create_symlink("target", repo / "to-link");
  repo.remove("to-directory");
  repo.write("to-directory/inner", "a\n");
  repo.remove("to-file");
  repo.write("to-file", "a\n");
  repo.remove("dir-to-link");
  fs::create_symlink("to-directory", repo / "dir-to-link");
  commit();
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, ExecutableBitsAreRecorded) {
  repo.write("run.sh", "#!/bin/sh\n");
  repo.write("plain.sh", "#!/bin/sh\n");
  repo.make_executable("run.sh");
  commit();
  EXPECT_EQ(mode("run.sh"), "100755");
  EXPECT_EQ(mode("plain.sh"), "100644");
  repo.make_executable("plain.sh");
  EXPECT_TRUE(commit().created);
  EXPECT_EQ(mode("plain.sh"), "100755");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, WithoutFileModesTheExecutableBitIsThatOfTheIndex) {
  repo.write("run.sh", "one\n");
  repo.make_executable("run.sh");
  repo.commit_all("first");
  repo.run_git({"config", "core.fileMode", "false"});
  fs::permissions(repo / "run.sh", fs::perms(0644));
  repo.write("run.sh", "two\n");
  repo.write("new.sh", "new\n");
  repo.make_executable("new.sh");
  commit();
  EXPECT_EQ(mode("run.sh"), "100755");
  EXPECT_EQ(mode("new.sh"), "100644");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, LineEndingsAreStoredAsTheAttributesSay) {
  repo.write(".gitattributes",
             "*.txt text\n*.auto text=auto\n*.crlf text eol=crlf\n*.bin binary\n*.raw -text\n");
  for (const char* name : {"a.txt", "a.auto", "a.crlf", "a.bin", "a.raw", "a.none"}) {
    repo.write(name, "one\r\ntwo\r\n");
  }
  repo.write("sub/.gitattributes", "*.txt -text\n");
  repo.write("sub/b.txt", "one\r\n");
  repo.write("zero.auto", std::string("a\r\n\0b\r\n", 8));
  commit();
  EXPECT_EQ(shown("a.txt"), "one\ntwo\n");
  EXPECT_EQ(shown("a.raw"), "one\r\ntwo\r\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AutocrlfAndSafecrlfDoNotStandInTheWay) {
  repo.write("had-crlf.txt", "one\r\ntwo\r\n");
  repo.commit_all("first");
  repo.run_git({"config", "core.autocrlf", "true"});
  repo.run_git({"config", "core.safecrlf", "true"});
  repo.write("had-crlf.txt", "one\r\ntwo\r\nthree\r\n");
  repo.write("new.txt", "one\r\ntwo\r\n");
  repo.write("mixed.txt", "one\r\ntwo\nthree\r\n");
  commit();
  EXPECT_EQ(shown("new.txt"), "one\ntwo\n");
  EXPECT_EQ(shown("had-crlf.txt"), "one\r\ntwo\r\nthree\r\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, KeywordsAreStoredUnexpanded) {
  repo.write(".gitattributes", "*.c ident\n");
  repo.write("a.c", "/* $Id: 0123456789012345678901234567890123456789 $ */\n");
  commit();
  EXPECT_EQ(shown("a.c"), "/* $Id$ */\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, CleanFiltersAreRun) {
  repo.run_git({"config", "filter.upper.clean", "tr a-z A-Z; echo %f"});
  repo.run_git({"config", "filter.broken.clean", "false"});
  repo.write(".gitattributes", "*.up filter=upper\n*.any filter=broken\n*.off filter=unknown\n");
  repo.write("it's a file.up", "hello\n");
  repo.write("a.any", "as it is\n");
  repo.write("a.off", "as it is\n");
  commit();
  EXPECT_EQ(shown("it's a file.up"), "HELLO\nit's a file.up\n");
  EXPECT_EQ(shown("a.any"), "as it is\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, AFileWhoseRequiredFilterFailsIsLeftOutAndNamed) {
  repo.write("tracked.big", "one\n");
  repo.commit_all("first");
  repo.run_git({"config", "filter.store.clean", "exit 3"});
  repo.run_git({"config", "filter.store.required", "true"});
  repo.write(".gitattributes", "*.big filter=store\n");
  repo.write("tracked.big", "changed\n");
  repo.write("new.big", "new\n");
  const ShadowCommit made = commit();
  EXPECT_THAT(made.left_out, ElementsAre("new.big (its filter 'store' failed)",
                                         "tracked.big (its filter 'store' failed)"));
  EXPECT_THAT(names(), ElementsAre(".gitattributes", "tracked.big"));
  EXPECT_EQ(shown("tracked.big"), "one\n");
}

TEST_F(ShadowTest, AWorkingTreeEncodingIsStoredAsUtf8) {
  repo.write(".gitattributes",
             "*.u16 working-tree-encoding=UTF-16\n*.l1 working-tree-encoding=latin1\n");
  repo.write("a.u16", std::string("\xFF\xFE\xE9\0t\0\xE9\0\n\0", 10));
  repo.write("a.l1", "\xE9t\xE9\n");
  commit();
  EXPECT_EQ(shown("a.u16"), "été\n");
  EXPECT_EQ(shown("a.l1"), "été\n");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, NamesWithOddBytesAreRecordedAsTheyAre) {
  for (const std::string& name : std::vector<std::string>{
           "with space", "new\nline", "tab\there", "quote\"s", "back\\slash", "latin\xE9", "été",
           "\x01", "-dash", "!bang", "#hash", "[bracket]", "star*", ":colon", "a-b", "a.b", "a0"}) {
    repo.write(name, name);
  }
  repo.write("a/b", "sorts after a-b and a.b, and before a0");
  commit();
  EXPECT_EQ(names().size(), 18u);
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, NamesThatGitRefusesAreLeftOutAndNamed) {
  repo.write("a.cpp", "a\n");
  repo.write("sub/.GIT/config", "x\n");
  repo.write("git~1", "x\n");
  const ShadowCommit made = commit();
  EXPECT_THAT(made.left_out, ElementsAre(StartsWith("git~1 ("), StartsWith("sub/.GIT (")));
  EXPECT_THAT(names(), ElementsAre("a.cpp"));
}

TEST_F(ShadowTest, PipesAndSocketsAreNoFiles) {
  ASSERT_EQ(::mkfifo((repo / "pipe").c_str(), 0600), 0);
  repo.write("a.cpp", "a\n");
  commit();
  EXPECT_THAT(names(), ElementsAre("a.cpp"));
}

TEST_F(ShadowTest, SubmodulesAreRecordedAtTheirCheckedOutCommit) {
  const fs::path library = repo.place() / "library";
  repo.run_git_in(repo.place(), {"init", "-q", library.string()});
  testing::write_file(library / "lib.cpp", "one\n");
  repo.run_git_in(library, {"add", "-A"});
  repo.run_git_in(library, {"commit", "-qm", "one"});
  repo.run_git({"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(),
                "vendor/lib"});
  repo.commit_all("with submodule");
  testing::write_file(repo / "vendor/lib/lib.cpp", "two\n");
  const ShadowCommit dirty = commit();
  EXPECT_THAT(dirty.left_out, ElementsAre(StartsWith("vendor/lib/ (has changes of its own")));
  repo.run_git_in(repo / "vendor/lib", {"commit", "-qam", "two"});
  const ShadowCommit clean = commit();
  EXPECT_THAT(clean.left_out, IsEmpty());
  EXPECT_EQ(mode("vendor/lib"), "160000");
  const std::string at = repo.run_git_in(repo / "vendor/lib", {"rev-parse", "HEAD"});
  EXPECT_EQ(repo.run_git({"rev-parse", "flor.shadow:vendor/lib"}), at);
  expect_tree_as_git_makes_it();
  repo.run_git({"submodule", "--quiet", "deinit", "-f", "vendor/lib"});
  commit();
  expect_tree_as_git_makes_it();
  repo.remove("vendor/lib");
  commit();
  EXPECT_THAT(names(), ElementsAre(".gitmodules"));
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, InsideASubmoduleTheSubmoduleIsTheRepository) {
  const fs::path library = repo.place() / "library";
  repo.run_git_in(repo.place(), {"init", "-q", library.string()});
  repo.run_git_in(library, {"commit", "-q", "--allow-empty", "-m", "one"});
  repo.run_git(
      {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(), "lib"});
  repo.commit_all("with submodule");
  repo.write("lib/x.cpp", "x\n");
  CommitOptions options;
  options.message = "run";
  auto repository = Repository::discover(repo / "lib");
  EXPECT_EQ(repository->work_tree(), repo / "lib");
  repository->commit_work_tree(options);
  EXPECT_EQ(repo.run_git_in(repo / "lib", {"ls-tree", "--name-only", "flor.shadow"}), "x.cpp\n");
  EXPECT_FALSE(Repository::discover(repo.root())->branch_tip("flor.shadow"));
}

TEST_F(ShadowTest, AnUntrackedRepositoryInsideIsNamed) {
  const fs::path inner = repo / "inner-repo";
  repo.run_git_in(repo.place(), {"init", "-q", inner.string()});
  repo.write("a-file.cpp", "a\n");
  repo.write("inner-repo-2/x.cpp", "x\n");
  EXPECT_THAT(commit().left_out, ElementsAre("inner-repo/ (a repository without a commit)"));
  testing::write_file(inner / "x.cpp", "x\n");
  repo.run_git_in(inner, {"add", "-A"});
  repo.run_git_in(inner, {"commit", "-qm", "one"});
  EXPECT_THAT(commit().left_out, ElementsAre(StartsWith("inner-repo/ (a repository of its own")));
  EXPECT_EQ(mode("inner-repo"), "160000");
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, OutsideTheConeOfASparseCheckoutHeadsVersionIsKept) {
  for (const char* name : {"top.cpp", "in/a.cpp", "out/b.cpp", "out/deep/c.cpp"}) {
    repo.write(name, name);
  }
  repo.commit_all("first");
  for (const bool sparse_index : {false, true}) {
    repo.run_git({"sparse-checkout", "set", "--cone",
                  sparse_index ? "--sparse-index" : "--no-sparse-index", "in"});
    ASSERT_FALSE(fs::exists(repo / "out"));
    repo.write("in/a.cpp", sparse_index ? "sparse index" : "changed");
    commit();
    EXPECT_THAT(names(), ElementsAre("in/a.cpp", "out/b.cpp", "out/deep/c.cpp", "top.cpp"));
    EXPECT_EQ(shown("out/deep/c.cpp"), "out/deep/c.cpp");
    EXPECT_EQ(shown("in/a.cpp"), sparse_index ? "sparse index" : "changed");
  }
  repo.write("out/b.cpp", "here although it is outside");
  commit();
  EXPECT_EQ(shown("out/b.cpp"), "here although it is outside");
  EXPECT_EQ(shown("out/deep/c.cpp"), "out/deep/c.cpp");
}

TEST_F(ShadowTest, EveryFormOfTheIndexIsRead) {
  for (int i = 0; i < 30; ++i) repo.write(fmt::format("dir{}/f{}", i % 3, i), "x");
  repo.write(".gitignore", "dir0/\n");
  repo.run_git({"add", "-f", "."});
  repo.run_git({"commit", "-qm", "first"});
  const auto all = testing::lines_of(repo.run_git({"ls-files"}));
  for (const char* version : {"2", "3", "4"}) {
    repo.run_git({"update-index", "--index-version", version});
    repo.append("dir1/f1", "more");
    commit();
    EXPECT_EQ(names(), all) << "index version " << version;
    expect_tree_as_git_makes_it();
  }
  repo.run_git({"update-index", "--split-index"});
  repo.run_git({"rm", "-q", "--cached", "dir0/f3"});
  repo.write("dir0/f99", "x");
  repo.run_git({"add", "-f", "dir0/f99"});
  repo.write("dir0/f6", "changed");
  repo.run_git({"add", "-f", "dir0/f6"});
  ASSERT_EQ(std::distance(fs::directory_iterator(repo / ".git"), {}) > 0, true);
  commit();
  EXPECT_THAT(names(), AllOf(Contains("dir0/f99"), Not(Contains("dir0/f3"))));
  EXPECT_EQ(shown("dir0/f6"), "changed");
}

TEST_F(ShadowTest, AnIndexThatIsNoIndexIsAnError) {
  repo.write("a.cpp", "a\n");
  repo.commit_all("first");
  const std::string good = testing::read_file(repo / ".git/index");
  repo.write(".git/index", good.substr(0, 40));
  EXPECT_THROW(Repository::discover(repo.root())->commit_work_tree({}), std::runtime_error);
  repo.write(".git/index", "not an index, but long enough to be one");
  EXPECT_THROW(Repository::discover(repo.root())->commit_work_tree({}), std::runtime_error);
}

TEST_F(ShadowTest, FilesThatGitWasToldNotToLookAtAreRecordedAsTheyAre) {
  repo.write("assumed.cfg", "one\n");
  repo.write("skipped.cfg", "one\n");
  repo.commit_all("first");
  repo.run_git({"update-index", "--assume-unchanged", "assumed.cfg"});
  repo.run_git({"update-index", "--skip-worktree", "skipped.cfg"});
  repo.write("assumed.cfg", "what the run read\n");
  repo.write("skipped.cfg", "what the run read\n");
  commit();
  EXPECT_EQ(shown("assumed.cfg"), "what the run read\n");
  EXPECT_EQ(shown("skipped.cfg"), "what the run read\n");
}

TEST_F(ShadowTest, LargeUntrackedFilesAreLeftOutAndNamedButTrackedOnesAreNot) {
  repo.write("tracked.bin", std::string(3000, 'x'));
  repo.commit_all("first");
  repo.write("tracked.bin", std::string(5000, 'y'));
  repo.write("data/big.bin", std::string(2048, 'z'));
  repo.write("data/small.bin", std::string(1024, 'z'));
  CommitOptions options;
  options.message = "run";
  options.untracked_bytes_max = 1024;
  const ShadowCommit made = commit_in(repo.root(), options);
  EXPECT_THAT(made.left_out, ElementsAre("data/big.bin (2.0 KiB, untracked)"));
  EXPECT_THAT(names(), ElementsAre("data/small.bin", "tracked.bin"));
  EXPECT_EQ(shown("tracked.bin").size(), 5000u);
}

TEST_F(ShadowTest, WhereAllUntrackedFilesAreTooMuchTheLargestAreLeftOut) {
  for (int i = 0; i < 10; ++i) repo.write(fmt::format("images/{}", i), std::string(1000, 'x'));
  repo.write("src/train.cpp", "int main() {}\n");
  CommitOptions options;
  options.message = "run";
  options.untracked_total_bytes_max = 4500;
  const ShadowCommit made = commit_in(repo.root(), options);
  EXPECT_THAT(made.left_out, ElementsAre(StartsWith("images/* (6 files, 5.9 KiB, untracked")));
  EXPECT_THAT(names(), AllOf(Contains("src/train.cpp"), ::testing::SizeIs(5)));
}

TEST_F(ShadowTest, FilesThatLookLikeSecretsAreLeftOutAndNamedUnlessTracked) {
  repo.write("deploy/known.pem", "tracked\n");
  repo.commit_all("first");
  repo.write("deploy/known.pem", "changed\n");
  for (const char* name : {".env", ".env.local", "server.pem", "keys/id_rsa", "keys/id_ed25519",
                           "AWS/Credentials", "x.key", ".netrc"}) {
    repo.write(name, "secret\n");
  }
  for (const char* name : {".env.example", "keys/id_rsa.pub", "secrets.h", "environment.cpp"}) {
    repo.write(name, "public\n");
  }
  const ShadowCommit made = commit();
  EXPECT_THAT(made.secrets, ElementsAre(".env", ".env.local", ".netrc", "AWS/Credentials",
                                        "keys/id_ed25519", "keys/id_rsa", "server.pem", "x.key"));
  EXPECT_THAT(made.left_out, IsEmpty());
  EXPECT_THAT(names(), ElementsAre(".env.example", "deploy/known.pem", "environment.cpp",
                                   "keys/id_rsa.pub", "secrets.h"));
}

TEST_F(ShadowTest, WhatFlorExcludeNamesIsLeftOutAndNamed) {
  repo.write("params.cfg", "in the index\n");
  repo.commit_all("first");
  repo.write("flor.exclude", "# results\n/data/\n*.cfg\n!mine.env\n");
  repo.write("params.cfg", "local\n");
  repo.write("new.cfg", "local\n");
  repo.write("data/a/b.csv", "1,2\n");
  repo.write("src/data/c.csv", "1,2\n");
  repo.write("mine.env", "no secret at all\n");
  const ShadowCommit made = commit();
  EXPECT_THAT(made.left_out,
              ElementsAre("data/ (flor.exclude)", "new.cfg (flor.exclude)",
                          "params.cfg (flor.exclude; recorded as the index has it)"));
  EXPECT_THAT(names(), ElementsAre("flor.exclude", "mine.env", "params.cfg", "src/data/c.csv"));
  EXPECT_EQ(shown("params.cfg"), "in the index\n");
}

TEST_F(ShadowTest, DirectoriesOfFlorsOwnAreNeverRecorded) {
  repo.write(".flor/catalog.db", "db\n");
  repo.write("a.cpp", "a\n");
  CommitOptions options;
  options.message = "run";
  options.without = {repo / ".flor"};
  const ShadowCommit made = commit_in(repo.root(), options);
  EXPECT_THAT(names(), ElementsAre("a.cpp"));
  EXPECT_THAT(made.left_out, IsEmpty());
}

TEST_F(ShadowTest, ALargeTrackedFileIsStreamed) {
  std::string content(40u << 20, 'x');
  for (std::size_t i = 0; i < content.size(); i += 4096) content[i] = static_cast<char>(i >> 12);
  repo.write("weights.bin", "small\n");
  repo.commit_all("first");
  repo.write("weights.bin", content);
  commit();
  expect_tree_as_git_makes_it();
}

TEST_F(ShadowTest, TenThousandFilesWithOneChangeMakeOneNewBlobAndTheTreesAboveIt) {
  for (int i = 0; i < 10000; ++i) {
    repo.write(fmt::format("d{}/f{}", i / 100, i), std::to_string(i));
  }
  repo.commit_all("first");
  commit();
  const auto objects = [&] { return std::stoi(repo.git_line({"count-objects"})); };
  const int before = objects();
  repo.write("d7/f777", "changed");
  EXPECT_TRUE(commit().created);
  EXPECT_EQ(objects() - before, 4);  // the blob, two trees, the commit
  const auto changes = repo.run_git({"diff", "--name-status", "flor.shadow~", "flor.shadow"});
  EXPECT_EQ(changes, "M\td7/f777\n");
}

}  // namespace
}  // namespace flor::git
