// Which arguments tell runs apart, alone and as columns of flor list.
#include "choose/telling_arguments.h"

#include "cli/fixture.h"
#include "support/terminal.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Arguments = std::vector<store::Argument>;

std::vector<std::string> telling(const std::vector<std::pair<std::string, Arguments>>& runs) {
  cli::TellingArguments seen;
  for (const auto& [experiment, arguments] : runs) seen.add(experiment, arguments);
  std::vector<std::string> names;
  for (const auto& argument : seen.telling()) names.push_back(argument.name);
  return names;
}

TEST(TellingArguments, AreThoseWithDifferentValues) {
  EXPECT_THAT(telling({}), IsEmpty());
  EXPECT_THAT(telling({{"a", {{"lr", "real", "0.1"}}}}), IsEmpty());
  EXPECT_THAT(telling({{"a", {{"lr", "real", "0.1"}, {"width", "int", "64"}}},
                       {"a", {{"lr", "real", "0.2"}, {"width", "int", "64"}}}}),
              ElementsAre("lr"));
}

TEST(TellingArguments, TellWhereOnlySomeRunsOfAnExperimentHaveOne) {
  EXPECT_THAT(telling({{"a", {{"drop", "real", "0.1"}}}, {"a", {}}}), ElementsAre("drop"));
  EXPECT_THAT(telling({{"a", {{"drop", "real", "0.1"}}}, {"b", {}}}), IsEmpty());
}

TEST(TellingArguments, ThoseByWhichMorePairsDifferComeFirst) {
  std::vector<std::pair<std::string, Arguments>> runs;
  for (int i = 0; i < 12; ++i) {
    runs.push_back({"a",
                    {{"debug", "bool", i == 0 ? "true" : "false"},
                     {"seed", "int", std::to_string(i % 4)},
                     {"directory", "text", "/runs/" + std::to_string(i)},
                     {"width", "int", std::to_string(32 << (i % 2))},
                     {"lr", "real", "0.0" + std::to_string(i % 3)}}});
  }
  EXPECT_THAT(telling(runs), ElementsAre("lr", "width", "debug", "directory", "seed"));
}

TEST(TellingArguments, RealNumbersThatAllDifferAreSettings) {
  std::vector<std::pair<std::string, Arguments>> runs;
  for (int i = 1; i < 6; ++i) {
    runs.push_back(
        {"a",
         {{"debug", "bool", i == 1 ? "true" : "false"}, {"lr", "real", "0." + std::to_string(i)}}});
  }
  EXPECT_THAT(telling(runs), ElementsAre("lr", "debug"));
}

TEST(TellingArguments, CountMoreValuesThanAreKept) {
  cli::TellingArguments seen;
  for (int i = 0; i < 5000; ++i) {
    seen.add("a",
             Arguments{{"id", "int", std::to_string(i)}, {"lr", "real", std::to_string(i % 2)}});
  }
  const auto found = seen.telling();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "lr");
  EXPECT_EQ(found[1].name, "id");
  EXPECT_EQ(found[1].widest, 4u);
}

class ListedArgumentsTest : public CliTest {
 protected:
  void record_with(Arguments arguments, const std::string& experiment = "linear") {
    plan_.experiment = experiment;
    plan_.started_us += 3'600'000'000;
    plan_.arguments = std::move(arguments);
    record(plan_);
  }
  std::string head(std::vector<std::string> more = {}) {
    more.insert(more.begin(), "list");
    const auto lines = flor(more).lines();
    return lines.empty() ? std::string() : lines[0];
  }

  RunPlan plan_;
};

TEST_F(ListedArgumentsTest, WhatDiffersIsAColumnAndWhatIsEqualIsNot) {
  record_with({{"epochs", "int", "3"}, {"lr", "real", "0.1"}, {"width", "int", "64"}});
  record_with({{"epochs", "int", "5"}, {"lr", "real", "0.01"}, {"width", "int", "64"}});
  const auto lines = flor({"list"}).lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr("size  arg:epochs    lr  metrics"));
  EXPECT_THAT(lines[1], HasSubstr("           5  0.01  loss="));
  EXPECT_THAT(lines[2], HasSubstr("           3   0.1  loss="));
}

TEST_F(ListedArgumentsTest, OfTheRunsThatAreShown) {
  record_with({{"lr", "real", "0.1"}});
  record_with({{"lr", "real", "0.1"}});
  record_with({{"lr", "real", "0.2"}}, "charlm");
  EXPECT_THAT(head(), HasSubstr("size   lr  metrics"));
  EXPECT_THAT(head({"linear"}), HasSubstr("size  metrics"));
  EXPECT_THAT(head({"-n", "1"}), Not(HasSubstr("lr")));
  EXPECT_THAT(head({"--where", "lr=0.1"}), Not(HasSubstr("lr")));
  EXPECT_THAT(head({"-r"}), HasSubstr("size   lr  metrics"));
}

TEST_F(ListedArgumentsTest, AColumnThatIsAskedForIsThereOnce) {
  record_with({{"lr", "real", "0.1"}, {"width", "int", "64"}});
  record_with({{"lr", "real", "0.2"}, {"width", "int", "32"}});
  EXPECT_THAT(head({"-c", "+lr"}), MatchesRegex(".*width  metrics +lr"));
  EXPECT_EQ(head({"-c", "loss"}), "run       loss");
  EXPECT_EQ(head({"-c", "arguments,loss"}), "run        lr  width  loss");
}

TEST_F(ListedArgumentsTest, ManyAreCutAndSaidSo) {
  Arguments a, b;
  for (int i = 0; i < 9; ++i) {
    a.push_back({"a" + std::to_string(i), "int", "1"});
    b.push_back({"a" + std::to_string(i), "int", "2"});
  }
  a.push_back({"shared", "int", "7"});
  b.push_back({"shared", "int", "7"});
  a.push_back({"prompt", "text", std::string(50, 'x')});
  b.push_back({"prompt", "text", "y"});
  record_with(a);
  record_with(b);
  const Outcome outcome = flor({"list"});
  EXPECT_THAT(outcome.lines()[0], HasSubstr("size  a0  a1  a2  a3  a4  a5  metrics"));
  EXPECT_EQ(outcome.err, "flor: 4 more arguments differ: --all-arguments shows them\n");
  const Outcome all = flor({"list", "--all-arguments"});
  EXPECT_THAT(all.lines()[0], HasSubstr("a7  a8  prompt "));
  EXPECT_THAT(all.lines()[0], HasSubstr("  shared  metrics"));
  EXPECT_THAT(all.err, IsEmpty());
  EXPECT_THAT(head({"-c", "loss", "--all-arguments"}), StartsWith("run       loss  a0  a1"));
}

TEST_F(ListedArgumentsTest, JsonNamesThem) {
  record_with({{"lr", "real", "0.1"}, {"width", "int", "64"}});
  record_with({{"lr", "real", "0.2"}, {"width", "int", "64"}});
  EXPECT_EQ(flor({"list", "--json"}).json()["differing_arguments"], Json::array({"lr"}));
}

TEST_F(ListedArgumentsTest, ATerminalShowsAsManyAsFit) {
  if (!has_terminals()) GTEST_SKIP() << "there are no pseudo terminals here";
  Arguments a, b;
  for (const char* name : {"alpha", "beta", "gamma", "delta"}) {
    a.push_back({name, "text", "aaaaaaaaaaaa"});
    b.push_back({name, "text", "bbbbbbbbbbbb"});
  }
  record_with(a);
  record_with(b);
  close();
  const auto drawn = [&](unsigned short columns) {
    Terminal terminal({FLOR_CLI, "--home", home().string(), "--color", "never", "list"},
                      {.columns = columns});
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.drawn().find("more argument") != std::string::npos, columns < 160);
    return terminal.drawn().substr(0, terminal.drawn().find('\r'));
  };
  EXPECT_THAT(drawn(200), HasSubstr("commit  epochs   size  alpha         beta"));
  EXPECT_THAT(drawn(200), HasSubstr("delta"));
  // Two arguments are worth more than the commit and the size.
  EXPECT_THAT(drawn(100), HasSubstr("status    epochs  alpha         beta          metrics"));
  EXPECT_THAT(drawn(90), HasSubstr("status    epochs  alpha         metrics"));
  EXPECT_THAT(drawn(60), Not(HasSubstr("alpha")));
}

}  // namespace
}  // namespace flor::testing
