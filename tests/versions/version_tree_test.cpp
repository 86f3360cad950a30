// VersionTree: versions with edits, and what happens to a tree that somebody disturbed.
#include "build/git_worktree.h"
#include "build/version_build.h"
#include "versions/project.h"

#include <csignal>
#include <thread>

namespace flor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Project, testing::read_file, testing::training;

class VersionTreeTest : public ::testing::Test {
 protected:
  VersionTreeTest() : repository_(*git::Repository::discover(project_.root())) {}

  VersionTree take() { return VersionTree::take(project_.home(), repository_, head()); }
  store::Run recorded() const {
    project_.build();
    project_.record();
    return project_.last_run();
  }
  std::string head() const { return project_.repository().git_line({"rev-parse", "HEAD"}); }

  Project project_;
  git::Repository repository_;
};

TEST_F(VersionTreeTest, EditsComeAndGo) {
  VersionTree tree = take();
  const Edits edits{{"model.h", "constexpr double kModel = 7;\ndouble model();\n"},
                    {"new/file.cpp", "int x;\n"},
                    {"build/ignored.txt", "ignored by git\n"},
                    {"model.cpp", std::nullopt}};
  EXPECT_THAT(tree.check_out(head(), edits), IsEmpty());
  EXPECT_EQ(read_file(tree.sources() / "model.h"), *edits.at("model.h"));
  EXPECT_EQ(read_file(tree.sources() / "new/file.cpp"), "int x;\n");
  EXPECT_FALSE(std::filesystem::exists(tree.sources() / "model.cpp"));
  const auto time = std::filesystem::last_write_time(tree.sources() / "model.h");
  tree.check_out(head(), edits);
  EXPECT_EQ(std::filesystem::last_write_time(tree.sources() / "model.h"), time);

  const auto untouched = std::filesystem::last_write_time(tree.sources() / "train.cpp");
  tree.check_out(head());
  EXPECT_THAT(read_file(tree.sources() / "model.h"), HasSubstr("kModel = 1"));
  EXPECT_TRUE(std::filesystem::exists(tree.sources() / "model.cpp"));
  EXPECT_FALSE(std::filesystem::exists(tree.sources() / "new"));
  EXPECT_FALSE(std::filesystem::exists(tree.sources() / "build/ignored.txt"));
  EXPECT_EQ(std::filesystem::last_write_time(tree.sources() / "train.cpp"), untouched);
}

TEST_F(VersionTreeTest, AnEditOutsideOfTheTreeIsRefused) {
  VersionTree tree = take();
  for (const char* path : {"../x", "/tmp/x", "a/../../x", ""}) {
    EXPECT_THROW(tree.check_out(head(), {{path, "x"}}), Error) << path;
  }
}

TEST_F(VersionTreeTest, WhatSomebodyChangedInTheTreeIsPutBack) {
  std::filesystem::path sources;
  {
    VersionTree tree = take();
    tree.check_out(head());
    sources = tree.sources();
  }
  testing::write_file(sources / "train.cpp", "not the version\n");
  testing::write_file(sources / "stray.cpp", "int stray;\n");
  VersionTree tree = take();
  EXPECT_EQ(tree.sources(), sources);
  tree.check_out(head());
  EXPECT_EQ(read_file(sources / "train.cpp"), training("1.5"));
  EXPECT_FALSE(std::filesystem::exists(sources / "stray.cpp"));
}

TEST_F(VersionTreeTest, ATreeThatWasDamagedIsMadeAnew) {
  std::filesystem::path sources;
  {
    VersionTree tree = take();
    tree.check_out(head());
    sources = tree.sources();
  }
  testing::write_file(sources / ".git", "gitdir: /nowhere\n");
  take().check_out(head());
  EXPECT_EQ(read_file(sources / "train.cpp"), training("1.5"));
  std::filesystem::remove_all(sources);
  take().check_out(head());
  EXPECT_EQ(read_file(sources / "train.cpp"), training("1.5"));
  // A git that was killed in it.
  testing::write_file(project_.root() / ".git/worktrees/flor-tree/index.lock", "");
  testing::write_file(sources / "train.cpp", "not the version\n");
  take().check_out(head());
  EXPECT_EQ(read_file(sources / "train.cpp"), training("1.5"));
}

TEST_F(VersionTreeTest, TwoAtOnceHaveTreesOfTheirOwn) {
  VersionTree one = take(), two = take();
  EXPECT_NE(one.sources(), two.sources());
  one.check_out(head());
  two.check_out(head());
  EXPECT_EQ(read_file(one.sources() / "train.cpp"), read_file(two.sources() / "train.cpp"));
}

TEST_F(VersionTreeTest, ABuildThatOutlivesItsFlorKeepsTheTree) {
  const store::Run run = recorded();
  testing::Process flor(
      testing::Words{FLOR_CLI, "build", run.key, "--build", "sleep 60 & echo $! > ../pid; wait"},
      project_.options());
  std::filesystem::path first;
  std::string pid;
  std::error_code none;
  for (int i = 0; i < 3000 && !pid.ends_with('\n'); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const auto& entry :
         std::filesystem::directory_iterator(project_.home() / "cache" / "versions", none)) {
      first = entry.path() / "1";
      pid = read_file(first / "pid");
    }
  }
  ASSERT_TRUE(pid.ends_with('\n')) << flor.err();
  flor.kill(SIGKILL);
  (void)flor.wait();
  EXPECT_NE(take().sources(), first / "flor-tree") << "the build goes on in it";
  ::kill(std::stoi(pid), SIGKILL);
  bool free = false;
  for (int i = 0; i < 1000 && !free; ++i) {
    free = take().sources() == first / "flor-tree";
    if (!free) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(free);
}

TEST_F(VersionTreeTest, WhatACommandBuildsBesideTheSourcesStays) {
  const store::Run run = recorded();
  const BuildPlan plan =
      build_plan(project_.open()->catalog(), run, Gate::named(),
                 "mkdir -p made && date +%N >> made/times && cp made/times $FLOR_PROGRAM && "
                 "chmod +x $FLOR_PROGRAM");
  EXPECT_FALSE(build_version(project_.home(), run, plan).built.up_to_date);
  EXPECT_TRUE(build_version(project_.home(), run, plan).built.up_to_date);
}

TEST_F(VersionTreeTest, TheLogOfABuildIsForItsUserAndHasNoSecretOfTheCommand) {
  const store::Run run = recorded();
  const BuildPlan plan = build_plan(project_.open()->catalog(), run, Gate::named(),
                                    "true --api-key hunter2xyz && cp /bin/true $FLOR_PROGRAM");
  const BuiltVersion built = build_version(project_.home(), run, plan).built;
  EXPECT_THAT(read_file(built.log), HasSubstr("$ sh -c true --api-key *** && cp /bin/true"));
  EXPECT_THAT(read_file(built.log), ::testing::Not(HasSubstr("hunter2")));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(built.log).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(VersionTreeTest, ACommandIsRememberedForRunsOfHereAlone) {
  const store::Run run = recorded();
  const auto store = project_.open();
  const auto remembered = [&] {
    return store->catalog().build_command(run.start.repository, run.start.program);
  };
  remember_command(store->catalog(), run, Gate::named(), "make of-elsewhere");
  EXPECT_FALSE(remembered().has_value());
}

TEST_F(VersionTreeTest, WhatGitSaysBesideItsAnswersIsNoneOfThem) {
  const std::string expected = head() + "\n";
  ::setenv("GIT_TRACE", "1", 1);
  const std::string answer = run_git(project_.root(), {"rev-parse", "HEAD"});
  ::unsetenv("GIT_TRACE");
  EXPECT_EQ(answer, expected);
  try {
    run_git(project_.root(), {"rev-parse", "--verify", "nothing"});
    ADD_FAILURE() << "there is no such thing";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Needed a single revision"));
  }
}

TEST_F(VersionTreeTest, AVersionIsBuiltWithEdits) {
  const store::Run run = recorded();
  const BuildPlan plan = build_plan(project_.open()->catalog(), run, Gate::named());
  const Edits edits{{"train.cpp", training("1.5", "    flor::log(\"half\", total / 2);\n")}};
  std::filesystem::path program;
  {
    const VersionWithTree version = build_version(project_.home(), run, plan, edits);
    EXPECT_FALSE(version.built.up_to_date);
    program = version.built.program;
    EXPECT_TRUE(std::filesystem::exists(program));
  }
  {
    const VersionWithTree version = build_version(project_.home(), run, plan, edits);
    EXPECT_TRUE(version.built.up_to_date);
    EXPECT_EQ(version.built.program, program);
  }
  const auto replayed = project_.flor({"replay", "trained", "--", program.string()});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("3 new values"));
  try {
    build_version(project_.home(), run, plan, {{"train.cpp", "int main() { return nothing; }\n"}});
    ADD_FAILURE() << "it was built";
  } catch (const BuildError& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.cpp:1:21: error:"));
    EXPECT_THAT(error.excerpt(), HasSubstr("nothing"));
    EXPECT_THAT(read_file(error.log()), HasSubstr("train.cpp"));
  }
}

}  // namespace
}  // namespace flor::cli
