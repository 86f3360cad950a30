// flor put: a value of a script is a run that is listed, queried, moved and made again like others.
#include "cli/fixture.h"
#include "store/made_again.h"

#include <gmock/gmock.h>

#include <thread>

namespace flor::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PutTest : public CliTest {
 protected:
  void TearDown() override {
    if (std::filesystem::exists(home() / "runs")) store::expect_same_when_made_again(home());
  }
  std::string said(const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(int status, const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    return outcome.err;
  }
  std::vector<std::string> ids() { return flor({"list", "-q", "--all"}).lines(); }
  std::vector<store::Value> values(const std::string& name) {
    return catalog().values({.run = catalog().runs().at(0).id, .names = {name}, .first_epoch = -1});
  }
};

TEST_F(PutTest, EachCallIsARunWithItsValue) {
  EXPECT_THAT(said({"put", "model.bytes", "1234", "--experiment", "build"}),
              ::testing::MatchesRegex("run [0-9a-f]{8} \\(build\\): model.bytes = 1234\n"));
  said({"put", "model.bytes", "1300", "--experiment", "build"});
  ASSERT_THAT(ids(), SizeIs(2));
  for (const store::Run& run : catalog().runs()) {
    EXPECT_EQ(run.state, store::RunState::finished);
    EXPECT_EQ(run.epochs, 0);
  }
  EXPECT_THAT(said({"query", "model.bytes", "--experiment", "build", "--csv"}),
              ::testing::AllOf(HasSubstr("1234"), HasSubstr("1300")));
  EXPECT_THAT(flor({"list", "-q", "--where", "model.bytes>1299"}).lines(), SizeIs(1));
  const Json shown = flor({"put", "ok", "true", "--json"}).json();
  EXPECT_EQ(shown["command"], "put");
  EXPECT_EQ(shown["experiment"], "put");
  EXPECT_EQ(shown["value"], true);
  EXPECT_THAT(ids(), SizeIs(3));
}

TEST_F(PutTest, TheTypeIsThatOfTheWord) {
  const auto type = [&](const std::string& word, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"put"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "x", word});
    said(words);
    return std::string(to_string(values("x").at(0).type));
  };
  EXPECT_EQ(type("12"), "integer");
  EXPECT_EQ(type("-12"), "integer");
  EXPECT_EQ(type("+12"), "integer");
  EXPECT_EQ(type("1e-3"), "real");
  EXPECT_EQ(type("nan"), "real");
  EXPECT_EQ(type("99999999999999999999"), "text") << "no double has all its digits";
  EXPECT_EQ(type("false"), "boolean");
  EXPECT_EQ(type(R"({"a": [1, 2]})"), "json");
  EXPECT_EQ(type("{not json"), "text");
  EXPECT_EQ(type("12 s"), "text");
  EXPECT_EQ(type(""), "text");
  EXPECT_EQ(type("12", {"--text"}), "text");
  EXPECT_EQ(std::get<std::string>(values("x").at(0).value), "12");
}

TEST_F(PutTest, TheRecipesOfAMakefileShareARun) {
  environment_["FLOR_SESSION"] = "1700000000";
  const std::string key = said({"put", "seconds", "12.5", "--experiment", "build", "-q"});
  EXPECT_THAT(key, SizeIs(17));
  EXPECT_EQ(said({"put", "size", "9", "--experiment", "build", "-q"}), key);
  said({"put", "seconds", "13.5", "--experiment", "build"});
  EXPECT_THAT(ids(), SizeIs(1));
  const auto seconds = values("seconds");
  ASSERT_THAT(seconds, SizeIs(2));
  EXPECT_EQ(seconds[1].ordinal, 1);
  EXPECT_THAT(flor({"list", "-q", "--where", "session=1700000000"}).lines(), SizeIs(1));
  // Another experiment, another session and a run that is named are other runs.
  said({"put", "size", "9"});
  said({"put", "size", "9", "--experiment", "build", "--session", "other"});
  EXPECT_THAT(ids(), SizeIs(3));
  said({"put", "late", "1", "--run", key.substr(0, 16)});
  EXPECT_THAT(ids(), SizeIs(3));
  // All at once, as make -j has them.
  std::vector<std::thread> recipes;
  for (int i = 0; i < 8; ++i) {
    recipes.emplace_back([&, i] { said({"put", "step", std::to_string(i), "--session", "j"}); });
  }
  for (std::thread& recipe : recipes) recipe.join();
  EXPECT_THAT(ids(), SizeIs(4));
  EXPECT_THAT(values("step"), SizeIs(8));
  ASSERT_EQ(flor({"rm", ids().at(0)}).status, 0);
  EXPECT_THAT(refused(2, {"put", "step", "9", "--session", "j"}), HasSubstr("was removed"));
}

TEST_F(PutTest, ItGoesThroughABucket) {
  environment_["FLOR_SESSION"] = "a";
  said({"put", "seconds", "12.5"});
  said({"put", "who", "me"});
  const std::string url = "file://" + (directory_ / "bucket").string();
  said({"spool", "put", url});
  const auto before = ids();
  close();
  std::filesystem::remove_all(home());
  said({"fetch", "put", url});
  EXPECT_EQ(ids(), before);
  EXPECT_THAT(said({"query", "seconds", "who", "--run", "put", "--csv"}),
              ::testing::AllOf(HasSubstr("12.5"), HasSubstr("me")));
}

TEST_F(PutTest, WhatWouldBeWrongIsRefused) {
  record({});
  EXPECT_THAT(refused(2, {"put", "x", "1", "--run", "linear"}),
              HasSubstr("was recorded by a program"));
  EXPECT_THAT(refused(2, {"put", "api_key", "q8Zr1vLx0Tf5Wn3kYb7Cm2Hd9Gs4Pj6E"}),
              HasSubstr("reads like a secret"));
  EXPECT_THAT(refused(2, {"put", "pinned:x", "1"}), HasSubstr("Flor's own"));
  EXPECT_THAT(refused(2, {"put", "", "1"}), HasSubstr("NAME is empty"));
  EXPECT_THAT(refused(2, {"put", "x", "1", "--run", "a", "--session", "b"}),
              HasSubstr("leave --session and --experiment out"));
  EXPECT_THAT(refused(3, {"put", "x", "1", "--run", "nothing"}), HasSubstr("nothing"));
  EXPECT_THAT(ids(), SizeIs(1));
}

TEST_F(PutTest, ItIsNoProgramThatCanBeReplayedAndNamesNoExperimentToRecord) {
  said({"put", "x", "1"});
  EXPECT_NE(flor({"replay", "put"}).status, 0);
  EXPECT_THAT(catalog().last_name(work_.string()), ::testing::Eq(std::nullopt));
  EXPECT_EQ(flor({"fsck"}).status, 0);
  EXPECT_EQ(flor({"gc"}).status, 0);
}

}  // namespace
}  // namespace flor::testing
