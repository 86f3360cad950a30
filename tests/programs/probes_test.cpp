// Probes that are found: a program is recorded, its sources are edited and compiled again, and its
// replay executes the loops that the edit concerns.
#include "workbench.h"

#include <fstream>

namespace flor::testing::probes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHelper = R"code(#pragma once
inline double shrink(double weight) { return 0.5 * weight; }
)code";

constexpr const char* kProgram = R"code(#include <flor/flor.h>

#include "helper.h"

#include <cstdio>
#include <numeric>
#include <vector>

#define EACH(x) for (int x : flor::loop("macro", 2))

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  std::vector<double> weights(8, 1.0);
  double rate = 0.1;
  auto state = flor::checkpoints(weights, rate);
  for (int epoch : flor::loop("epoch", 3)) {
    for (int step : flor::loop("train", 4)) {
      for (double& w : weights) w -= rate * (w - 0.1 * step);
      std::printf("train %d\n", step);
    }
    for (int i : flor::loop("first", 2)) weights[0] += i; for (int i : flor::loop(2)) { weights[1] += i; }
    EACH(k) { weights[2] += k; }
    for (int k : flor::loop("shrink", 2)) weights[3] = shrink(weights[3] + k);
    rate *= 0.9;
    flor::log("sum", std::accumulate(weights.begin(), weights.end(), 0.0));
  }
}
)code";

class FoundProbes : public ::testing::Test {
 protected:
  void SetUp() override {
    bench_.repository().write("src/train.cpp", kProgram);
    bench_.repository().write("src/helper.h", kHelper);
    bench_.repository().commit_all("a training");
  }

  /// Compiles src/train.cpp of `root` to a program outside of it.
  void build(const std::filesystem::path& root, const std::string& source) const {
    const std::string command = std::string("exec ") + FLOR_TEST_COMPILER + " " + source + " -o " +
                                executable().string() + " " + FLOR_TEST_LIBRARY +
                                " -Wl,-rpath," FLOR_TEST_LIBRARY_DIRECTORY;
    const CommandResult result = run_command({"sh", "-c", command}, root);
    ASSERT_EQ(result.status, 0) << result.out;
  }
  void build() const { build(root(), (root() / "src/train.cpp").string()); }

  ProcessResult run(const Words& arguments) const {
    return run_process(Words{executable().string()} + arguments, bench_.options());
  }
  void record(const Words& flags = {}) {
    build();
    const auto recorded = run(Words{"--flor", "test", "--flor_every", "1"} + flags);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(root() / file);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(root() / file, text.replace(at, from.size(), to));
  }
  void log_in_train() const {
    edit("src/train.cpp", "      std::printf(",
         "      flor::log(\"w\", weights[0]);\n      std::printf(");
  }

  const std::filesystem::path& root() const { return bench_.repository().root(); }
  std::filesystem::path executable() const { return bench_.repository().place() / "program"; }
  std::string probes() const { return bench_.replays().back().start.probes; }

  Workbench bench_;
};

TEST_F(FoundProbes, ALineInTheTrainingLoopIsFoundAndNothingElseIsExecuted) {
  record();
  log_in_train();
  build();
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("flor: stepping into train: src/train.cpp:19 logs \"w\"\n"));
  EXPECT_THAT(replayed.err, HasSubstr("skipped first 3 times; skipped loop 3 times; skipped macro "
                                      "3 times; skipped shrink 3 times; executed train 3 times"));
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  EXPECT_EQ(bench_.values("w", false).size(), 12u);
  EXPECT_EQ(probes(), "train");

  const auto unprobed = run({"--replay_flor", "--flor_no_probe"});
  EXPECT_THAT(unprobed.err, AllOf(Not(HasSubstr("stepping")), HasSubstr("skipped train 3 times")));
  const auto other = run({"--replay_flor", "--flor_probe", "first"});
  EXPECT_THAT(other.err, HasSubstr("not stepping into train, which --flor_probe does not name"));
  EXPECT_THAT(other.err, HasSubstr("executed first 3 times"));
  EXPECT_THAT(other.err, HasSubstr("skipped train 3 times"));
}

TEST_F(FoundProbes, AnUnchangedProgramAndOneThatLogsOutsideTheLoopsSkipThemAll) {
  record();
  const auto same = run({"--replay_flor"});
  EXPECT_EQ(lines_of(same.err).size(), 4u) << same.err;
  edit("src/train.cpp", "    rate *= 0.9;", "    flor::log(\"rate\", rate);\n    rate *= 0.9;");
  build();
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("flor: src/train.cpp:24 logs \"rate\": outside the nested "
                                      "loops, so they need not be executed\n"));
  EXPECT_THAT(replayed.err, HasSubstr("skipped first 3 times; skipped loop 3 times; skipped macro "
                                      "3 times; skipped shrink 3 times; skipped train 3 times; "));
  EXPECT_THAT(replayed.err, AllOf(Not(HasSubstr("; executed")), Not(HasSubstr("stepping into"))));
  EXPECT_EQ(bench_.values("rate", false).size(), 3u);
}

TEST_F(FoundProbes, ABrokenLoopIsSkippedUnlessTheSourcesShowThatItMayReturn) {
  edit("src/train.cpp", "      std::printf(", "      if (step == 2) break;\n      std::printf(");
  edit("src/train.cpp", "weights[0] += i;", "{ weights[0] += i; if (i > 5) return 1; break; }");
  bench_.repository().commit_all("loops that end early");
  record();
  const auto same = run({"--replay_flor"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("skipped train 3 times"));
  EXPECT_THAT(same.err, HasSubstr("executed first 3 times: left by return"));
}

// The usual question: what the training loop added up, and what the epochs found, in variables that
// the program did not register.
TEST_F(FoundProbes, WhatLoopsLeaveBehindIsComputedAgain) {
  edit("src/train.cpp", "  for (int epoch", "  double least = 1e9;\n  for (int epoch");
  edit("src/train.cpp", "    for (int step", "    double sum = 0;\n    for (int step");
  edit("src/train.cpp", "      std::printf(\"train",
       "      sum += weights[1];\n      std::printf(\"train");
  edit("src/train.cpp", "    rate *= 0.9;",
       "    if (weights[0] < least) least = weights[0];\n    rate *= 0.9;");
  record();
  edit("src/train.cpp", "    rate *= 0.9;",
       "    flor::log(\"left\", sum + least);\n    std::printf(\"left %a\\n\", sum + least);\n    "
       "rate *= "
       "0.9;");
  build();
  std::vector<std::string> whole = lines_of(run({}).out),
                           last = lines_of(run({"--replay_flor", "1/2"}).out);
  const auto other = [](const std::string& line) { return !line.starts_with("left"); };
  std::erase_if(whole, other);
  std::erase_if(last, other);
  ASSERT_EQ(whole.size(), 3u);
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back(), whole.back());
  const auto replayed = run({"--replay_flor", "1/2"});
  EXPECT_THAT(replayed.err,
              AllOf(HasSubstr("stepping into train: src/train.cpp:"), HasSubstr("'sum'"),
                    HasSubstr("walking there from the start"), HasSubstr("'least'")));
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

TEST_F(FoundProbes, HelpersMacrosAndTheSecondLoopOfALineAreFoundByThePlaceOfTheirLoops) {
  record();
  edit("src/helper.h", "{ return", "{ flor::log(\"h\", weight); return");
  edit("src/helper.h", "#pragma once", "#pragma once\n#include <flor/log.h>");
  edit("src/train.cpp", "weights[1] += i;", "weights[1] += i; flor::log(\"i\", i);");
  edit("src/train.cpp", "weights[2] += k;", "weights[2] += k; flor::log(\"k\", k);");
  build();
  const auto replayed = run({"--replay_flor"});
  EXPECT_THAT(replayed.err, HasSubstr("stepping into loop: src/train.cpp:21 logs \"i\"\n"));
  EXPECT_THAT(replayed.err, HasSubstr("stepping into macro: src/train.cpp:22 logs \"k\"\n"));
  EXPECT_THAT(replayed.err,
              HasSubstr("stepping into shrink: src/helper.h:3 (shrink) logs \"h\"\n"));
  // The variable of a loop that a macro makes is known by its name alone: the loops that may touch
  // something of that name are executed, too.
  EXPECT_THAT(replayed.err, HasSubstr("executed loop 3 times: changed; executed macro 3 times: "
                                      "changed; executed shrink 3 times: changed"));
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
}

TEST_F(FoundProbes, AnotherComputationIsReportedAndDiffers) {
  record();
  edit("src/train.cpp", "0.1 * step", "0.2 * step");
  edit("src/train.cpp", "rate *= 0.9", "rate *= 0.8");
  build();
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("src/train.cpp:18 '0.1' is now '0.2': changes what train "
                                      "computes, so that it may differ from the record\n"));
  EXPECT_THAT(replayed.err, HasSubstr("src/train.cpp:24 '0.9' is now '0.8': changed outside the "
                                      "nested loops; "));
}

TEST_F(FoundProbes, AProgramThatIsOlderThanTheChangeIsToBeRebuilt) {
  record();
  log_in_train();
  const auto later = std::filesystem::last_write_time(executable()) + std::chrono::seconds(5);
  std::filesystem::last_write_time(root() / "src/train.cpp", later);
  const auto replayed = run({"--replay_flor"});
  EXPECT_THAT(replayed.err, HasSubstr("program is older than src/train.cpp: rebuild"));
  EXPECT_THAT(replayed.err, HasSubstr("executed train 3 times"));
}

TEST_F(FoundProbes, WithoutARecordedCommitTheyAreToBeNamed) {
  record({"--flor_no_git"});
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("flor: changed loops cannot be found, since the run was "
                                      "recorded without git: --flor_probe LOOP names those to "
                                      "step into\n"));
}

TEST_F(FoundProbes, AProgramBuiltByARelativePathInAnotherCloneIsRecognised) {
  record();
  const auto clone = bench_.repository().place() / "moved" / "elsewhere";
  std::filesystem::create_directories(clone.parent_path());
  bench_.repository().run_git(
      {"clone", "-q", "-b", "flor.shadow", root().string(), clone.string()});
  std::string text = read_file(clone / "src/train.cpp");
  write_file(clone / "src/train.cpp",
             text.replace(text.find("      std::printf("), 0, "      flor::log(\"w\", rate);\n"));
  build(clone / "src", "../src/./train.cpp");
  std::filesystem::remove_all(root() / ".git");
  ProcessOptions there = bench_.options();
  there.directory = clone / "src";
  const auto replayed =
      run_process({executable().string(), "--replay_flor", "--flor_run", "test"}, there);
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("stepping into train: src/train.cpp:19 logs \"w\""));
  EXPECT_THAT(replayed.err, HasSubstr("executed train 3 times"));
}

}  // namespace
}  // namespace flor::testing::probes_test
