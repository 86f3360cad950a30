// flor log.
#include "cli/repository.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LogTest : public RepositoryTest {
 protected:
  /// Two versions: the first with one run, the second with two.
  void record_versions() {
    write("train.cpp", "int lr = 1;\n");
    RunPlan plan;
    plan.commit = first_ = commit("flor: linear");
    record(plan);
    write("train.cpp", "int lr = 2;\nint more = 3;\n");
    plan.commit = second_ = commit("flor: linear again");
    record(plan);
    record(plan);
  }

  std::string first_, second_;
};

TEST_F(LogTest, ShowsEachVersionWithItsRunsAndChanges) {
  record_versions();
  const Outcome outcome = flor({"log", "linear"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  const std::size_t newest = outcome.out.find("commit " + second_);
  const std::size_t oldest = outcome.out.find("commit " + first_);
  ASSERT_NE(newest, std::string::npos);
  ASSERT_NE(oldest, std::string::npos);
  EXPECT_LT(newest, oldest);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("  flor: linear again, just now\n"),
                    HasSubstr("  changed since " + first_.substr(0, 8) + ": 1 file, +2 -1\n"),
                    HasSubstr("    M  train.cpp  +2  -1\n"), HasSubstr("  first version: 1 file"),
                    Not(HasSubstr("int more"))));
}

TEST_F(LogTest, ShowsTheChangesLineByLine) {
  record_versions();
  const Outcome outcome = flor({"log", "linear", "--patch", "-n", "1"});
  EXPECT_THAT(outcome.out, HasSubstr("\n-int lr = 1;\n+int lr = 2;\n+int more = 3;\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("commit " + first_)));
  EXPECT_THAT(flor({"log", "-p", "--color=always"}).out, HasSubstr("\x1b[32m+int lr = 2;\x1b[0m"));
}

TEST_F(LogTest, PromisesItsJsonFieldByField) {
  record_versions();
  const Json json = flor({"log", "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "log");
  EXPECT_EQ(json["experiment"], "linear");
  ASSERT_EQ(json["versions"].size(), 2u);
  const Json& version = json["versions"][0];
  EXPECT_EQ(version["commit"], second_);
  EXPECT_EQ(version["summary"], "flor: linear again");
  EXPECT_EQ(version["runs"].size(), 2u);
  EXPECT_EQ(version["runs"][0]["status"], "finished");
  EXPECT_EQ(version["previous"], first_);
  EXPECT_EQ(version["changes"],
            (Json{{{"kind", "M"}, {"path", "train.cpp"}, {"added", 2}, {"removed", 1}}}));
  EXPECT_FALSE(version.contains("patch"));
  EXPECT_TRUE(json["versions"][1]["previous"].is_null());
  EXPECT_THAT(flor({"log", "-p", "--json"}).json()["versions"][0]["patch"].get<std::string>(),
              HasSubstr("+int more = 3;"));
}

TEST_F(LogTest, ListsVersionsWhoseRepositoryIsGone) {
  RunPlan plan;
  plan.repository = (directory_ / "gone").string();
  plan.commit = std::string(40, 'a');
  record(plan);
  plan.commit = std::string(40, 'b');
  record(plan);
  const Outcome outcome = flor({"log", "linear"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "flor: the repository " + plan.repository +
                             " is gone: its sources cannot be compared\n");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("commit aaaa"), HasSubstr("commit bbbb")));
}

TEST_F(LogTest, ListsRunsThatWereRecordedWithoutGit) {
  record({});
  EXPECT_THAT(flor({"log", "linear"}).out, HasSubstr("no commit (recorded without git)\n  run "));
}

TEST_F(LogTest, SuggestsTheExperimentThatWasMeant) {
  record({});
  const Outcome outcome = flor({"log", "liner"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.err, "flor: no experiment 'liner': did you mean 'linear'?\n");
}

}  // namespace
}  // namespace flor::testing
