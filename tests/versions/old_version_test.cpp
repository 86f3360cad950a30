// Old versions are replayed with their own code, from anywhere, and without a trace in the user's
// work tree.
#include "versions/project.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OldVersion : public ::testing::Test {
 protected:
  std::string said(const ProcessResult& result) const { return result.out + result.err; }
  Project project_;
};

TEST_F(OldVersion, IsReplayedWithItsOwnCodeAndIsExact) {
  const auto first = project_.next_version(training("1.5"));
  const auto second = project_.next_version(training("2.5"));
  ASSERT_NE(first.start.commit, second.start.commit);
  const std::string before = project_.users_state();
  const auto result = project_.flor({"replay", version_of(first), "--probe", "train"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.out, HasSubstr("verified: 3 of 3 recomputed values"));
  EXPECT_THAT(result.err, HasSubstr(fmt::format("built from version {:.8}", first.start.commit)));
  EXPECT_EQ(project_.users_state(), before);

  // By the number of versions, from elsewhere, with nothing to build any more.
  const auto again =
      project_.flor({"replay", "trained~1", "--again"}, project_.repository().place());
  EXPECT_EQ(again.status, 0) << said(again);
  EXPECT_THAT(again.out, HasSubstr("verified: "));
  EXPECT_THAT(again.err, HasSubstr(fmt::format("is of a later one ({:.8}", second.start.commit)));
  EXPECT_EQ(project_.users_state(), before);

  // The newest version needs no building: its program is there.
  const auto newest = project_.flor({"replay", "trained"});
  EXPECT_EQ(newest.status, 0) << said(newest);
  EXPECT_THAT(newest.err, HasSubstr("build/train (which recorded the run)"));
}

TEST_F(OldVersion, SeesItsSourcesAsUnchanged) {
  const auto first = project_.next_version(training("1.5"));
  project_.next_version(training("2.5"));
  project_.repository().write("train.cpp", training("3.5"));  // and the work tree has gone on
  const auto result = project_.flor({"replay", version_of(first), "--verbose", "--workers", "1"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(said(result), HasSubstr("verified: "));
  for (const char* report :
       {"stepping into", "changed outside", "is older than", "cannot be found"}) {
    EXPECT_THAT(said(result), Not(HasSubstr(report)));
  }
}

TEST_F(OldVersion, WhoseProgramIsStillThereIsReplayedByIt) {
  const auto run = project_.next_version(training("1.5"));
  project_.repository().write("train.cpp", training("2.5"));  // not built
  const auto result = project_.flor({"replay", version_of(run), "--verbose"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.err, HasSubstr("which recorded the run"));
  EXPECT_THAT(said(result), AllOf(HasSubstr("verified: "), Not(HasSubstr("is older than"))));
  // Without the version, what was written since is missed.
  EXPECT_THAT(said(project_.flor({"replay", "trained", "--verbose", "--again"})),
              HasSubstr("train is older than train.cpp"));
  EXPECT_FALSE(std::filesystem::exists(project_.home() / "cache"));
}

TEST_F(OldVersion, FindsItsDataWhereTheRunWasRecorded) {
  project_.repository().write("offset.txt", "40\n");
  const auto first = project_.next_version(training("1.5"));
  project_.next_version(training("2.5"));
  const auto result = project_.flor({"replay", version_of(first)}, "/");
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.out, HasSubstr("verified: 3 of 3 recomputed values"));
}

TEST_F(OldVersion, IsBuiltWhereTheProgramIsGone) {
  const auto run = project_.next_version(training("1.5"));
  std::filesystem::remove_all(project_.root() / "build");
  const auto result = project_.flor({"replay", "trained"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.err, HasSubstr("build/train is gone"));
  EXPECT_THAT(result.out, HasSubstr("verified: "));
}

TEST_F(OldVersion, OfTheLatestVersionTheRebuiltProgramIsAsked) {
  project_.next_version(training("1.5"));
  project_.repository().write("train.cpp",
                              training("1.5", "    flor::log(\"half\", total / 2);\n"));
  project_.build();
  const auto result = project_.flor({"replay", "trained"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.err, HasSubstr("rebuilt since it recorded the run"));
  EXPECT_THAT(result.out, HasSubstr("3 new values"));
  const auto own = project_.flor({"replay", "trained", "--own"});
  EXPECT_EQ(own.status, 0) << said(own);
  EXPECT_THAT(own.out, HasSubstr("no new values"));
}

TEST_F(OldVersion, ADryRunBuildsNothingAndSaysWhatItWould) {
  const auto first = project_.next_version(training("1.5"));
  project_.next_version(training("2.5"));
  const auto result = project_.flor({"replay", version_of(first), "--dry-run"});
  EXPECT_EQ(result.status, 0) << said(result);
  EXPECT_THAT(result.out, HasSubstr(fmt::format("built from version {:.8}", first.start.commit)));
  EXPECT_FALSE(std::filesystem::exists(project_.home() / "cache"));
}

TEST_F(OldVersion, BuildingASecondTimeDoesNothingAndAnotherVersionOnlyWhatDiffers) {
  const auto first = project_.next_version(training("1.5"));
  const auto second = project_.next_version(training("2.5"));
  const auto built = project_.flor({"build", version_of(first)});
  ASSERT_EQ(built.status, 0) << said(built);
  const std::filesystem::path program = lines_of(built.out).at(0);
  const auto time = std::filesystem::last_write_time(program);
  EXPECT_THAT(project_.build_logs(), AllOf(HasSubstr("model.cpp"), HasSubstr("train.cpp")));

  const auto again = project_.flor({"build", version_of(first)});
  EXPECT_EQ(again.out, built.out);
  EXPECT_THAT(again.err, HasSubstr("it was built before"));
  EXPECT_EQ(std::filesystem::last_write_time(program), time);

  ASSERT_EQ(project_.flor({"build", version_of(second)}).status, 0);
  const auto log = read_file(program.parent_path().parent_path() / "logs" /
                             (second.start.commit.substr(0, 10) + ".log"));
  EXPECT_THAT(log, HasSubstr("train.cpp"));
  EXPECT_THAT(log, Not(HasSubstr("model.cpp")));

  const auto clean = project_.flor({"build", version_of(second), "--clean"});
  EXPECT_EQ(clean.status, 0) << said(clean);
  EXPECT_THAT(read_file(program.parent_path().parent_path() / "logs" /
                        (second.start.commit.substr(0, 10) + ".log")),
              HasSubstr("model.cpp"));
}

TEST_F(OldVersion, OptionsOfTheUsersConfigurationAreThoseOfTheBuild) {
  project_.repository().append("CMakeLists.txt",
                               "if(NOT FASTER OR NOT GIVEN STREQUAL \"a b\")\n"
                               "  message(FATAL_ERROR \"configured otherwise\")\nendif()\n");
  project_.configure({"-DFASTER=ON", "-DGIVEN=a b"});
  project_.next_version(training("1.5"));
  const auto built = project_.flor({"build", "trained"});
  EXPECT_EQ(built.status, 0) << said(built);
}

TEST_F(OldVersion, ThatDoesNotBuildIsReportedAtTheLineThatMatters) {
  project_.next_version(training("1.5"));
  std::filesystem::remove_all(project_.root() / "build");
  // The sources of the recorded version are fine: what it is configured with is not.
  project_.repository().write("train.cpp", training("1.5"));
  const auto broken = project_.flor({"build", "trained", "--build",
                                     "echo 'int main() { return undeclared; }' > x.cpp; "
                                     "echo compiling; c++ -o x x.cpp"});
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.err, HasSubstr("does not build: x.cpp:1:21: error: "));
  EXPECT_THAT(broken.err,
              AllOf(HasSubstr("undeclared"), HasSubstr(".log)"), Not(HasSubstr("compiling"))));
  // What failed is not remembered.
  EXPECT_EQ(project_.flor({"build", "trained"}).status, 0);
}

TEST(WithoutRecipe, AnOldVersionAsksForItsBuildOnceAndRemembersIt) {
  Project project("target_link_libraries(train flor::core)\n");
  const auto first = project.next_version(training("1.5"));
  project.next_version(training("2.5"));
  const auto asked = project.flor({"replay", version_of(first)});
  EXPECT_EQ(asked.status, 3);
  EXPECT_THAT(asked.err, SaysOnce("--build COMMAND"));
  const std::string before = project.users_state();
  const std::string command = "cmake -S . -B build -G '" FLOR_TEST_GENERATOR
                              "' -DCMAKE_PREFIX_PATH='" FLOR_TEST_PREFIX "' -DCMAKE_CXX_FLAGS='" +
                              Project::sanitizer_flag() + "' && cmake --build build";
  const auto replayed = project.flor({"replay", version_of(first), "--build", command});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("verified: 3 of 3 recomputed values"));
  const auto again = project.flor({"replay", version_of(first), "--again", "--verbose"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("verified: 3 of 3 recomputed values"));
  EXPECT_THAT(again.out + again.err, Not(HasSubstr("changed")));
  EXPECT_EQ(project.users_state(), before);
  // As it is, it computes something else.
  const auto current = project.flor({"replay", "trained~1", "--current", "--probe", "train"});
  EXPECT_EQ(current.status, 7) << current.err;

  // What a later version says itself is how that one is built.
  project.repository().append("CMakeLists.txt", "flor_instrument(train)\n");
  project.next_version(training("3.5"));
  const auto built = project.flor({"build", "trained"});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("/1/build-"));
}

}  // namespace
}  // namespace flor::testing
