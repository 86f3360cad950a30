// Every value carries its verdict: what a differing replay finds replaces nothing and is marked
// wherever it is shown; what was found with loops skipped is verified by executing an epoch.
#include "edited_program.h"

#include <nlohmann/json.hpp>

namespace flor::testing {
namespace {

using store::ValueVerdict;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kShrinking = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int step : flor::loop("train", 10)) w *= 0.9 + 0.001 * step;
    flor::log("w", w);
  }
}
)code";

class Verdicts : public EditedProgram {
 protected:
  /// The values that stand, as "epoch value verdict".
  std::vector<std::string> standing(const std::string& name) const {
    std::vector<std::string> lines;
    for (const store::Value& value : bench_.values(name)) {
      if (value.name != name) continue;
      lines.push_back(std::to_string(value.place.epoch) + " " + std::to_string(real(value)) + " " +
                      std::string(to_string(value.verdict)));
    }
    return lines;
  }
  void ask() const {
    edit("    flor::log(\"w\", w);", "    flor::log(\"w\", w);\n    flor::log(\"w2\", w * w);");
  }
  void make_a_mistake() const { edit("0.9 + 0.001", "0.8 + 0.001"); }
};

TEST_F(Verdicts, ADifferingReplayInAnyFormLeavesWhatStandsAndWhatTheRunRecorded) {
  record(kShrinking, {"--flor_epsilon", "0"});
  ask();
  const auto asked = run({"--replay_flor"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  const auto w = standing("w"), w2 = standing("w2");
  ASSERT_EQ(w2.size(), 5u);
  make_a_mistake();
  const std::string program = executable().string();
  const std::vector<Words> forms = {
      {program, "--replay_flor"},
      {program, "--replay_flor", "1/2"},
      {program, "--replay_flor", "--flor_init", "strong"},
      {program, "--replay_flor", "--flor_epochs", "1..3", "--flor_probe", "train"},
      {FLOR_CLI, "replay", "test", "--again", "--workers", "2", "--", program},
      {FLOR_CLI, "replay", "test", "--again", "--strong", "--probe", "train", "--", program}};
  for (const Words& form : forms) {
    const auto replayed = run_process(form, bench_.options());
    EXPECT_EQ(replayed.status, 7) << replayed.out << replayed.err;
    EXPECT_EQ(standing("w"), w);
    EXPECT_EQ(standing("w2"), w2) << ::testing::PrintToString(form);
  }
}

TEST_F(Verdicts, WhatIsDoubtfulIsMarkedWhereverItIsShown) {
  record(kShrinking, {"--flor_epsilon", "0"});
  ask();
  ASSERT_EQ(run({"--replay_flor"}).status, 0);
  make_a_mistake();
  ASSERT_EQ(run({"--replay_flor"}).status, 7);
  const std::string mark = "w2 (doubtful, replay 2)";
  for (const Words& command :
       std::vector<Words>{{"query", "w2"},
                          {"query", "w2", "--csv"},
                          {"query", "w2", "--json"},
                          {"list", "--json"},
                          {"show", "test"},
                          {"show", "test@2"},
                          {"show", "test", "--json"},
                          {"export", "test", "--format", "csv"},
                          {"plot", "test", "-m", "w2", "--json"},
                          {"plot", "test", "-m", "w2"},
                          {"sql", "SELECT DISTINCT metric, verdict FROM points ORDER BY 1"}}) {
    const auto shown = flor(command);
    EXPECT_THAT(shown.out, HasSubstr(mark)) << ::testing::PrintToString(command) << shown.err;
  }
  EXPECT_THAT(flor({"list"}).out, Not(HasSubstr(mark))) << "it is no last value of the run's";
  const auto metrics = nlohmann::json::parse(flor({"list", "--json"}).out)["runs"][0]["metrics"];
  EXPECT_EQ(metrics[mark]["doubtful"], true);
  EXPECT_EQ(metrics["w2"]["doubtful"], false);
  const auto curves = nlohmann::json::parse(flor({"plot", "-m", "w2", "--json"}).out)["series"];
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0]["doubtful"], curves[0]["metric"] == mark);
  EXPECT_EQ(curves[1]["doubtful"], curves[1]["metric"] == mark);
  // Hollow, and no number of it in the legend.
  EXPECT_THAT(flor({"plot", "-m", "w2"}).out, ::testing::ContainsRegex("replay 2\\) +doubtful"));
  const auto drawing = (bench_.home() / "w2.svg").string();
  ASSERT_EQ(flor({"plot", "-m", "w2", "-o", drawing}).status, 0);
  EXPECT_THAT(read_file(drawing), AllOf(HasSubstr(mark), HasSubstr("<circle")));
  const auto page = (bench_.home() / "report.html").string();
  ASSERT_EQ(flor({"report", "test", "-o", page}).status, 0);
  EXPECT_THAT(read_file(page), AllOf(HasSubstr(mark), HasSubstr("\"doubtful\":true")));
  // In no last, least or greatest of the metric.
  const auto greatest = flor({"sql", "SELECT maximum, minimum FROM metrics WHERE metric = 'w2'"});
  EXPECT_THAT(greatest.out, HasSubstr("0.134315"));
  EXPECT_EQ(standing("w2").size(), 5u);
}

TEST_F(Verdicts, OfAProgramThatComputesSomethingElseNothingIsVerified) {
  record(kShrinking);
  edit("    flor::log(\"w\", w);",
       "    flor::log(\"w2\", w * w);\n    flor::log(\"w\", w);\n    w += 0;");
  const auto replayed = run({"--replay_flor"});
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("changed outside the nested loops"),
                                  HasSubstr("doubtful: "), Not(HasSubstr("verified: "))));
  EXPECT_TRUE(standing("w2").empty());
}

TEST_F(Verdicts, AnEpochIsExecutedToVerifyWhatWasFoundWithItsLoopsSkipped) {
  record(kShrinking);
  ask();
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("skipped train 5 times"));
  EXPECT_THAT(replayed.err, HasSubstr("5 new values (proven by the sources; verified in epoch"));
  const auto all = run({"--replay_flor", "--flor_verify", "all"});
  EXPECT_THAT(all.err, HasSubstr("5 new values (verified by execution)"));
  for (const std::string& line : standing("w2")) EXPECT_THAT(line, HasSubstr(" verified"));
  EXPECT_EQ(standing("w2").size(), 5u);
}

TEST_F(Verdicts, NoneIsVerifiedWhereThatIsSaidAndLaterAllAre) {
  record(kShrinking);
  ask();
  const std::string program = executable().string();
  const auto none = flor({"replay", "test", "--verify-epochs", "none", "--", program});
  EXPECT_THAT(none.out, HasSubstr("5 new values (proven by the sources)")) << none.err;
  const auto one = flor({"replay", "test", "--verify", "--", program});
  EXPECT_THAT(one.out, HasSubstr("nothing to do"));
  EXPECT_THAT(one.out, HasSubstr("5 new values (proven by the sources; verified in epoch ")) << one.err;
  const auto all = flor({"replay", "test", "--verify-epochs", "all", "--", program});
  EXPECT_THAT(all.out, HasSubstr("5 new values (verified by execution)")) << all.err;
  EXPECT_EQ(all.status, 0);
}

constexpr const char* kSumming = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 5)) {
    double sum = 0;
    for (int step : flor::loop("train", 10)) sum += w *= 0.9 + 0.001 * step;
    for (int step : flor::loop("test", 3)) w += 1e-3 * step;
    flor::log("w", w);
  }
}
)code";

TEST_F(Verdicts, NothingIsProvenWhereTheUserSaysWhichLoopsAreExecuted) {
  record(kSumming);
  edit("    flor::log(\"w\", w);", "    flor::log(\"w\", w);\n    flor::log(\"sum\", sum);");
  for (const Words& wrong : std::vector<Words>{{"--flor_no_probe"}, {"--flor_probe", "test"}}) {
    const auto replayed = run(Words{"--replay_flor", "--flor_verify", "none"} + wrong);
    EXPECT_THAT(replayed.err, AllOf(HasSubstr("5 new values (unverified)"),
                                    Not(HasSubstr("proven"))))
        << ::testing::PrintToString(wrong);
    const auto verified = run(Words{"--replay_flor"} + wrong);
    EXPECT_EQ(verified.status, 7) << verified.err;
    EXPECT_THAT(verified.err, HasSubstr("5 new values (doubtful)"));
  }
  const auto found = run({"--replay_flor", "--flor_verify", "none"});
  EXPECT_EQ(found.status, 0);
  EXPECT_THAT(found.err, HasSubstr("executed train 5 times"));
}

/// Each process says in the file `trace` where it is.
constexpr const char* kUneven = R"code(#include <flor/flor.h>

#include <fstream>

void trace(const char* what) { std::ofstream("trace", std::ios::app) << what << "\n"; }

int main(int argc, char** argv) {
  trace("begins");
  auto session = flor::init(argc, argv);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 4)) {
    for (int step : flor::loop("train", 10)) w *= 0.9 + 0.001 * step;
    double sum = 0;
    for (int i = 0; i < (epoch == 3 ? 400'000'000 : 1000); ++i) sum += 1e-9 * i;
    flor::log("w", w + 0 * sum);
    if (epoch == 3) trace("ends");
  }
}
)code";

TEST_F(Verdicts, AWorkerThatHasNothingLeftToDoGivesItsPlaceToTheExecutionOfAnEpoch) {
  record(kUneven);
  edit("    flor::log(\"w\",", "    flor::log(\"w2\", w * w);\n    flor::log(\"w\",");
  std::filesystem::remove(root() / "trace");
  const auto replayed =
      flor({"replay", "test", "--workers", "2", "--", executable().string()});
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("4 new values (proven by the sources; verified in epoch"));
  const std::string trace = read_file(root() / "trace");
  EXPECT_EQ(trace, "begins\nbegins\nbegins\nends\n") << "the third is the one that verifies";
}

TEST_F(Verdicts, WhatAnExecutionDoesNotFindIsDoubtful) {
  std::string text = kShrinking;
  text.replace(text.find("  double w = 1;"), 15,
               "  double w = 1;\n  double* left = new double(0);");
  text.replace(text.find("w *= 0.9 + 0.001 * step;"), 24, "*left += w *= 0.9 + 0.001 * step;");
  record(text);
  ask();
  edit("w * w", "*left");
  const auto replayed = run({"--replay_flor", "--flor_no_probe"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("when executed"), HasSubstr("the skipped way"),
                                  HasSubstr("5 new values (doubtful)")));
  EXPECT_TRUE(standing("w2").empty());
}

TEST_F(Verdicts, AnotherQuestionUnderTheSameNameSetsTheOlderOneApart) {
  record(kShrinking);
  ask();
  ASSERT_EQ(run({"--replay_flor", "--flor_verify", "all"}).status, 0);
  const auto squares = standing("w2");
  edit("w * w", "w + w");
  ASSERT_EQ(run({"--replay_flor", "--flor_verify", "none"}).status, 0);
  EXPECT_EQ(standing("w2"), squares) << "what is not verified replaces nothing that is";
  EXPECT_THAT(flor({"query", "w2"}).out, Not(HasSubstr("replay 2")));
  EXPECT_THAT(flor({"query", "w2", "--all"}).out, HasSubstr("w2 (replay 2)"));
  ASSERT_EQ(run({"--replay_flor", "--flor_verify", "all"}).status, 0);
  EXPECT_NE(standing("w2"), squares) << "the newest of the best";
  EXPECT_THAT(flor({"query", "w2", "--all"}).out, HasSubstr("w2 (replay 1)"));
}

TEST_F(Verdicts, EpochsOnTheWayAreSaidBeforeAndCounted) {
  record(kShrinking, {"--flor_epsilon", "0"});
  ask();
  const auto replayed = run({"--replay_flor", "1/2"});
  EXPECT_THAT(replayed.err, HasSubstr("the nearest stored state is that before epoch 0: 3 epochs "
                                      "are executed on the way to epoch 3"));
  EXPECT_THAT(replayed.err, HasSubstr("3 epochs executed on the way"));
}

}  // namespace
}  // namespace flor::testing
