// How evaluators are named, and what counts as their result.
#include "support/temporary_directory.h"
#include "watch/evaluators/evaluator.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace flor::cli {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EvaluatorTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content = "x",
                   bool executable = false) {
    const auto path = directory_ / name;
    std::ofstream(path) << content;
    if (executable) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }

  flor::testing::TemporaryDirectory directory_;
};

TEST_F(EvaluatorTest, ThreeFormsAreKnown) {
  const auto python = parse_evaluator(file("judge.py") + ":accuracy");
  EXPECT_EQ(python.kind, EvaluatorSpec::Kind::python);
  EXPECT_EQ(python.function, "accuracy");
  EXPECT_THAT(python.text(), EndsWith("judge.py:accuracy"));
  const auto native = parse_evaluator(file("libjudge.so.2") + ":judge_it");
  EXPECT_EQ(native.kind, EvaluatorSpec::Kind::native);
  EXPECT_EQ(native.function, "judge_it");
  const std::string program = file("judge", "#!/bin/sh\n", true);
  const auto told = parse_evaluator(program + " --split 'the test' {}");
  EXPECT_EQ(told.kind, EvaluatorSpec::Kind::program);
  EXPECT_THAT(told.words, ElementsAre(program, "--split", "the test", "{}"));
  EXPECT_THAT(parse_evaluator(program).words, ElementsAre(program, "{}"));
  EXPECT_EQ(parse_evaluator("sh -c 'echo 1'").words.size(), 4u) << "found on PATH";
}

TEST_F(EvaluatorTest, ThePathMayNotStandInATextThatAProgramInterprets) {
  const std::string judge = file("judge", "#!/bin/sh\n", true);
  for (const std::string& wrong :
       {std::string("sh -c 'echo 1 {}'"), std::string("sh -c {}"), std::string("sh -ec {}"),
        std::string("bash -lc {}"), std::string("env A=1 sh -c {}"), std::string("nice bash -c {}"),
        std::string("/bin/sh -c 'cat \"{}\"'"), std::string("env sh -c \"cat '{}'\""),
        std::string("python3 -c 'open(\"{}\")'"), std::string("env ssh there judge"),
        judge + " 'a {}'", judge + " '$({})'"}) {
    try {
      parse_evaluator(wrong);
      ADD_FAILURE() << wrong << " is taken";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("{}")) << wrong;
      EXPECT_THAT(error.what(), AnyOf(HasSubstr("$FLOR_CHECKPOINT"), HasSubstr("@Q"))) << wrong;
    }
  }
  for (const std::string& right :
       {std::string("sh -c 'cat \"$FLOR_CHECKPOINT\"'"), std::string("sh -c 'cat \"$1\"' sh {}"),
        std::string("env A=1 sh -c 'cat \"$1\"' sh {}"), std::string("sh judge.sh {}"),
        std::string("python3 -c 'import sys; open(sys.argv[1])' {}"), judge + " --path={}",
        judge + " {}/model.pt", judge + " -c {}", judge + " ssh {}"}) {
    EXPECT_NO_THROW(parse_evaluator(right)) << right;
  }
}

TEST_F(EvaluatorTest, WhatIsNoneIsRefusedWithTheRightForm) {
  const std::string script = file("judge.py"), plain = file("notes.txt");
  for (const std::string& wrong : {std::string(), script, script + ":", script + ":a b", plain,
                                   std::string("sh 'never closed")}) {
    EXPECT_THROW(parse_evaluator(wrong), UsageError) << wrong;
  }
  for (const char* missing : {"/nowhere/judge.py:f", "/nowhere/judge", "no-such-program-here"}) {
    EXPECT_THROW(parse_evaluator(missing), NotFound) << missing;
  }
}

TEST_F(EvaluatorTest, ChangesItsDigestWithItsFileAndItsWords) {
  const std::string script = file("judge.py", "1");
  const std::string before = parse_evaluator(script + ":f").digest();
  EXPECT_EQ(parse_evaluator(script + ":f").digest(), before);
  EXPECT_NE(parse_evaluator(script + ":g").digest(), before);
  file("judge.py", "2");
  EXPECT_NE(parse_evaluator(script + ":f").digest(), before);
  EXPECT_NE(parse_evaluator("sh -c 'a b'").digest(), parse_evaluator("sh -c a b").digest());
}

TEST(SplitWords, FollowsTheQuotesOfAShell) {
  EXPECT_THAT(split_words("  a  'b c' \"d \\\" e\" f\\ g '' h'i'j"),
              ElementsAre("a", "b c", "d \" e", "f g", "", "hij"));
  EXPECT_THAT(split_words(" "), IsEmpty());
}

TEST(ResultJson, IsAnObjectOrANumberAndKnowsThatLossesExplode) {
  EXPECT_EQ(result_json(R"({"loss": 0.5, "n": 3})"), R"({"loss":0.5,"n":3})");
  EXPECT_EQ(result_json("0.25"), R"({"value":0.25})");
  EXPECT_EQ(result_json(R"({"loss": NaN, "NaN": -Infinity, "text": "NaN \" Infinity"})"),
            R"({"loss":"NaN","NaN":"-Infinity","text":"NaN \" Infinity"})");
  EXPECT_EQ(result_json("NaN"), R"({"value":"NaN"})");
  for (const char* wrong : {"", "null", "\"good\"", "[1]", "{\"a\": }", "true"}) {
    EXPECT_THROW(result_json(wrong), Error) << wrong;
  }
}

TEST(ResultJson, IsNotNestedDeeperThanAnybodyReadsIt) {
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(result_json(nested(100)), nested(100));
  EXPECT_THROW(result_json(nested(101)), Error);
  EXPECT_THROW(result_json(nested(400'000)), Error);
  EXPECT_EQ(result_json("{\"a\":\"" + std::string(200, '[') + "\"}").size(), 208U);
}

TEST(ResultOfOutput, IsAllOfItOrItsLastLine) {
  EXPECT_EQ(result_of_output("{\n \"a\": 1\n}\n"), R"({"a":1})");
  EXPECT_EQ(result_of_output("loading\nstep 3\n{\"a\": 1}\n\n"), R"({"a":1})");
  EXPECT_THROW(result_of_output("loading\n"), Error);
  EXPECT_THROW(result_of_output(""), Error);
}

}  // namespace
}  // namespace flor::cli
