// Sources of runs that came from elsewhere: they are looked for where the user is, and a repository
// that such a run names is not opened.
#include "cli/repository.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ForeignSourcesTest : public RepositoryTest {
 protected:
  /// Two fetched runs of two versions; both name the repository of the test.
  void fetched(const std::string& experiment = "linear") {
    RunPlan plan;
    plan.experiment = experiment;
    plan.repository = work_.string();
    plan.origin = {store::RunOrigin::Kind::fetched, "s3://somewhere/else", 17};
    write("train.cpp", "int planted() {}\n");
    plan.commit = commit("first");
    record(plan);
    write("train.cpp", "int planted() { return 0; }\n");
    plan.commit = commit("second");
    plan.loss = 3;
    plan.started_us += 1'000'000;
    record(plan);
  }
  void expect_unopened(const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    const std::string all = outcome.out + outcome.err;
    EXPECT_THAT(all, Not(HasSubstr("planted"))) << words[0];
    EXPECT_THAT(all, Not(HasSubstr("1 file, +1 -1"))) << words[0];
    EXPECT_THAT(outcome.err, Not(HasSubstr("cannot open"))) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("was not recorded here, and the repository where you are "
                                       "lacks its commits"))
        << words[0];
  }
};

TEST_F(ForeignSourcesTest, ARepositoryThatARunNamesIsNotOpened) {
  fetched();
  // A command that opened it would say so.
  std::ofstream(work_ / ".git" / "config") << "[core\n";
  work_ = directory_ / "away";
  std::filesystem::create_directories(work_);
  expect_unopened({"diff", "linear~1", "linear", "--patch"});
  expect_unopened({"log", "linear", "-p"});
  expect_unopened({"blame", "loss:max", "linear", "--patch"});
}

TEST_F(ForeignSourcesTest, TheyAreFoundInTheRepositoryWhereTheUserIs) {
  fetched();
  EXPECT_THAT(flor({"diff", "linear~1", "linear", "--patch"}).out,
              AllOf(HasSubstr("sources  1 file, +1 -1"), HasSubstr("+int planted() { return")));
  EXPECT_THAT(flor({"log", "linear", "-p"}).out, HasSubstr("+int planted() { return"));
}

TEST_F(ForeignSourcesTest, ARunOfHereIsComparedInItsOwnRepositoryWhereverTheUserIs) {
  RunPlan plan;
  plan.repository = work_.string();
  write("train.cpp", "int mine() {}\n");
  plan.commit = commit("first");
  record(plan);
  write("train.cpp", "int mine() { return 0; }\n");
  plan.commit = commit("second");
  record(plan);
  work_ = directory_ / "away";
  std::filesystem::create_directories(work_);
  EXPECT_THAT(flor({"diff", "linear~1", "linear", "--patch"}).out, HasSubstr("+int mine()"));
}

}  // namespace
}  // namespace flor::testing
