// flor blame and flor log --graph, with real repositories.
#include "cli/repository.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VersionCommands : public RepositoryTest {
 protected:
  /// A version with a file of that text, and a run of it.
  store::Run version(const std::string& text, double loss, double rate = 0.001,
                     const std::string& experiment = "linear") {
    write("train.cpp", text);
    RunPlan plan;
    plan.experiment = experiment;
    plan.commit = commit("flor: " + text.substr(0, text.find('\n')));
    plan.repository = work_.string();
    plan.loss = loss;
    plan.arguments[1].value = fmt::format("{}", rate);
    plan.started_us += 1'000'000 * ++recorded_;
    return record(plan);
  }
  static std::string id(const store::Run& run) { return run.start.commit.substr(0, 8); }

  int recorded_ = 0;
};

TEST_F(VersionCommands, BlameNamesTheLargestStepAndWhatChangedInIt) {
  version("one\n", 1.0);
  const store::Run before = version("two\n", 1.1);
  const store::Run culprit = version("three\nmore\n", 5.0, 0.5);
  version("four\n", 5.2);
  const Outcome outcome = flor({"blame", "loss:max", "linear"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("moved most at version " + id(culprit) + ", from 1.4 to 5.3"));
  EXPECT_THAT(outcome.out, HasSubstr("arguments  lr 0.001 -> 0.5"));
  EXPECT_THAT(outcome.out, HasSubstr("sources    1 file, +2 -1 since " + id(before)));
  EXPECT_THAT(flor({"blame", "loss:max", "linear", "--patch"}).out, HasSubstr("+three"));
  const Json json = flor({"blame", "loss:max", "linear", "--json"}).json();
  EXPECT_EQ(json["moved"]["to"], culprit.start.commit);
  EXPECT_EQ(json["versions"].size(), 4u);
  EXPECT_EQ(json["moved"]["within_noise"], false);
}

TEST_F(VersionCommands, BlameSaysWhatIsNoMoreThanNoise) {
  version("one\n", 1.0);
  version("one\n", 3.0);
  version("two\n", 2.5);
  const Outcome outcome = flor({"blame", "loss:max", "linear"});
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("~+0.5"), HasSubstr("no more than runs of one version")));
}

TEST_F(VersionCommands, BlameOfOneVersionAndOfWhatNobodyHas) {
  version("one\n", 1.0);
  EXPECT_THAT(flor({"blame", "loss"}).err, HasSubstr("one version with it"));
  const Outcome unknown = flor({"blame", "los"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'loss'?"));
  EXPECT_EQ(flor({"blame", "loss", "nobody"}).status, 3);
}

TEST_F(VersionCommands, TheGraphShowsVersionsWithTheirRunsAndOtherExperimentsBetween) {
  const store::Run first = version("one\n", 1.0);
  version("two\n", 1.0, 0.001, "other");
  const store::Run third = version("three\n", 1.0);
  const Outcome outcome = flor({"log", "linear", "--graph"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string& out = outcome.out;
  EXPECT_LT(out.find("* " + id(third)), out.find("* " + id(first)));
  EXPECT_THAT(out, AllOf(HasSubstr("run " + third.key.substr(0, 8)), HasSubstr("1 file, +1 -1"),
                         HasSubstr(":  versions of other experiments")));
  const Json json = flor({"log", "linear", "--json"}).json();
  EXPECT_EQ(json["versions"][0]["parents"].size(), 1u);
}

TEST_F(VersionCommands, DiffShowsAsManyLinesAroundAChangeAsAreAskedFor) {
  version("a\nb\nc\nd\ne\nf\n", 1.0);
  version("a\nb\nc\nd\ne\ng\n", 1.0);
  const auto shows_first = [&](const std::string& lines) {
    return flor({"diff", "linear~1", "linear", "--patch", "-U", lines}).out.find("\n a\n") !=
           std::string::npos;
  };
  EXPECT_FALSE(shows_first("1"));
  EXPECT_TRUE(shows_first("9"));
}

}  // namespace
}  // namespace flor::testing
