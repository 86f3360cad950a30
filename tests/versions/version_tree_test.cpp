// VersionTree: versions with edits, and what happens to a tree that somebody disturbed.
#include "build/version_build.h"
#include "versions/project.h"

namespace flor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Project, testing::read_file, testing::training;

class VersionTreeTest : public ::testing::Test {
 protected:
  VersionTreeTest() : repository_(*git::Repository::discover(project_.root())) {}

  VersionTree take() { return VersionTree::take(project_.home(), repository_, head()); }
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

TEST_F(VersionTreeTest, AVersionIsBuiltWithEdits) {
  project_.build();
  project_.record();
  const store::Run run = project_.last_run();
  const BuildPlan plan = build_plan(project_.open()->catalog(), run);
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
