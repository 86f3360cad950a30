// Replays that answer only chosen steps of nested loops: what they find has the bits of a whole
// replay, and what lies beyond the last chosen step is not executed.
#include "edited_program.h"

#include <fmt/format.h>

#include <bit>
#include <map>

namespace flor::testing::steps_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What each step computes depends on all that was computed before.
constexpr const char* kProgram = R"code(#include <flor/flor.h>

#include <cstdio>
#include <random>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double weight = 1;
  std::mt19937 engine{3};
  auto state = flor::checkpoints(weight, engine);
  for (int epoch : flor::loop("epoch", 6)) {
    for (int step : flor::loop("train", 8)) {
      weight = 0.7 * weight + static_cast<double>(engine() % 1000) / 1000;
      std::printf("train %d %d\n", epoch, step);
      flor::log("loss", weight);
      if (BREAKS && step == epoch + 1) break;
    }
    weight *= 1.1;
    for (int round : flor::loop("test", 3)) {
      for (int part : flor::loop("part", 2)) {
        weight += 0.01 * part + 0.001 * round;
        std::printf("test %d %d\n", epoch, round);
      }
    }
    flor::log("end", weight);
  }
}
)code";

constexpr const char* kAtLoss = "flor::log(\"loss\", weight);";
constexpr const char* kAtPart = "weight += 0.01 * part + 0.001 * round;";

class ChosenSteps : public EditedProgram {
 protected:
  void record_program(bool breaks, const Words& flags = {"--flor_every", "1"}) {
    std::string text = kProgram;
    text.replace(text.find("BREAKS"), 6, breaks ? "true" : "false");
    record(text, flags);
    recorded_ = bench_.home();
  }
  /// The store as it was after the recording.
  void begin_anew() {
    const auto copy = recorded_.parent_path() / fmt::format("copy{}", copies_++);
    std::filesystem::copy(recorded_, copy, std::filesystem::copy_options::recursive);
    bench_.use_home(copy);
  }
  /// What replays found, by place, as bits.
  std::map<std::string, std::uint64_t> found() const {
    std::map<std::string, std::uint64_t> values;
    const auto store = bench_.store();
    for (const auto& value :
         store->catalog().values({.run = bench_.last_run().id, .recorded = false})) {
      values[fmt::format("{} {} {}/{}/{}.{}", value.name, value.place.path, value.place.epoch,
                         value.place.step, value.place.inner, value.ordinal)] =
          std::bit_cast<std::uint64_t>(real(value));
    }
    return values;
  }
  /// Those of them in steps that `chosen` takes, given its number and how many there were.
  template <typename Chosen>
  std::map<std::string, std::uint64_t> found_in(const Chosen& chosen) const {
    std::map<std::string, std::uint64_t> values = found();
    std::map<std::string, std::int64_t> lengths;
    const auto place_of = [](const std::string& text) {
      const std::size_t slash = text.find('/', text.rfind(' '));
      return std::pair(text.substr(0, slash), std::stoll(text.substr(slash + 1)));
    };
    for (const auto& [key, bits] : values) {
      const auto [loop, step] = place_of(key);
      lengths[loop] = std::max(lengths[loop], std::int64_t{step} + 1);
    }
    std::erase_if(values, [&](const auto& value) {
      const auto place = place_of(value.first);
      return place.second < 0 || !chosen(place.second, lengths[place.first]);
    });
    return values;
  }
  ProcessResult replay(const Words& arguments) const {
    return flor(Words{"replay", "test"} + arguments + Words{"--", executable().string()});
  }
  std::int64_t lines(const ProcessResult& result, const std::string& beginning) const {
    return std::ssize(lines_with(result.out, {beginning}));
  }

 private:
  std::filesystem::path recorded_;
  int copies_ = 0;
};

struct Choice {
  const char* list;
  bool (*has)(std::int64_t step, std::int64_t length);
};
const std::vector<Choice> kChoices{
    {"0", [](std::int64_t step, std::int64_t) { return step == 0; }},
    {"1,4..5", [](std::int64_t step, std::int64_t) { return step == 1 || step == 4 || step == 5; }},
    {"last", [](std::int64_t step, std::int64_t length) { return step == length - 1; }},
    {"0,last",
     [](std::int64_t step, std::int64_t length) { return step == 0 || step == length - 1; }},
    {"sample:1", [](std::int64_t step, std::int64_t length) { return step == length - 1; }}};

/// Asks with each choice, of one process and of three, and then all.
class StepsOfShapes : public ChosenSteps, public ::testing::WithParamInterface<const char*> {};

TEST_P(StepsOfShapes, HaveTheBitsOfAWholeReplay) {
  const std::string shape = GetParam();
  record_program(shape == "break");
  edit(shape == "deep" ? kAtPart : kAtLoss,
       std::string(shape == "deep" ? kAtPart : kAtLoss) + " flor::log(\"seen\", weight * 3);");
  begin_anew();
  const auto whole = replay({"--workers", "1"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  std::map<std::string, std::map<std::string, std::uint64_t>> expected;
  for (const Choice& choice : kChoices) expected[choice.list] = found_in(choice.has);
  ASSERT_THAT(expected["last"], Not(IsEmpty()));
  for (const Choice& choice : kChoices) {
    for (const char* workers : {"1", "3"}) {
      SCOPED_TRACE(fmt::format("{} of {} by {}", choice.list, shape, workers));
      begin_anew();
      const auto result = replay({"--step", choice.list, "--workers", workers});
      EXPECT_EQ(result.status, 0) << result.out << result.err;
      EXPECT_THAT(result.out, AllOf(HasSubstr("epochs 0..5, "), HasSubstr(" alone in ")));
      EXPECT_EQ(found(), expected[choice.list]) << result.out;
    }
    begin_anew();
    const auto alone = run({"--replay_flor", "--flor_step", choice.list});
    EXPECT_EQ(alone.status, 0) << alone.err;
    EXPECT_EQ(found(), expected[choice.list]) << alone.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, StepsOfShapes, ::testing::Values("plain", "break", "deep"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_F(ChosenSteps, WhatFollowsTheLastOfThemIsNotExecuted) {
  record_program(false);
  edit(kAtLoss, std::string(kAtLoss) + " flor::log(\"seen\", weight);");
  const auto result = run({"--replay_flor", "--flor_step", "1..2", "--flor_verify", "none"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(lines(result, "train"), 6 * 3) << result.out;
  EXPECT_EQ(lines(result, "test"), 0);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr(", steps 1 to 2 alone"),
            HasSubstr("executed train 6 times: changed (up to a chosen step)"),
            HasSubstr("verified: 18 of 18 recomputed values equal the record; 12 new values "
                      "(verified by execution)")));
}

TEST_F(ChosenSteps, WithoutAStoredEndTheEpochIsExecutedUnlessItIsTheLastOne) {
  record_program(false, {"--flor_epsilon", "0"});
  edit(kAtLoss, std::string(kAtLoss) + " flor::log(\"seen\", weight);");
  begin_anew();
  const auto whole = run({"--replay_flor", "--flor_verify", "none"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  const auto expected = found_in([](std::int64_t step, std::int64_t) { return step == 2; });
  begin_anew();
  const auto result = run({"--replay_flor", "--flor_step", "2", "--flor_verify", "none"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(lines(result, "train"), 5 * 8 + 3) << result.out;
  EXPECT_EQ(lines(result, "test 5"), 0);
  EXPECT_EQ(found(), expected);
}

TEST_F(ChosenSteps, AnAnswerToThemIsNoneToAllAndIsReplacedByIt) {
  record_program(false);
  edit(kAtLoss, std::string(kAtLoss) + " flor::log(\"seen\", weight);");
  ASSERT_EQ(replay({"--step", "2"}).status, 0);
  EXPECT_EQ(found().size(), 6U);
  EXPECT_THAT(replay({"--step", "2"}).out, HasSubstr("epochs 0..5, step 2 alone, answered before"));
  ASSERT_EQ(replay({"--step", "5,3"}).status, 0);
  EXPECT_EQ(found().size(), 18U) << "answers to other steps stand beside each other";
  ASSERT_EQ(replay({"--step", "2..3"}).status, 0);
  EXPECT_EQ(found().size(), 18U) << "and once where they overlap";
  EXPECT_THAT(replay({"--step", "3,5"}).out, HasSubstr("answered before")) << "the same choice";
  const auto all = replay({});
  EXPECT_THAT(all.out, AllOf(HasSubstr("executed train 6 times"), Not(HasSubstr("answered"))));
  EXPECT_EQ(found().size(), 48U);
  ASSERT_EQ(replay({"--step", "1"}).status, 0);
  EXPECT_EQ(found().size(), 48U) << "the answer to all stays";
}

TEST_F(ChosenSteps, OfALaterLoopMayReadWhatAnEarlierOneLeaves) {
  std::string text = kProgram;
  text.replace(text.find("BREAKS"), 6, "false");
  text.replace(text.find("for (int step"), 0, "double sum = 0;\n    ");
  text.replace(text.find(kAtLoss), 0, "sum += weight; ");
  record(text);
  edit(kAtPart, std::string(kAtPart) + " flor::log(\"summed\", sum + weight);");
  const auto whole = replay({"--workers", "1"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  const auto expected = found_in([](std::int64_t step, std::int64_t) { return step == 1; });
  ASSERT_EQ(expected.size(), 12U);
  const auto chosen = replay({"--step", "1", "--workers", "1", "--again"});
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(chosen.out, HasSubstr("executed train 6 times: read by \"summed\""));
  const auto store = bench_.store();
  std::size_t same = 0;
  for (const auto& value :
       store->catalog().values({.run = bench_.last_run().id, .recorded = false, .others = true})) {
    if (!value.name.starts_with("summed (replay ")) continue;
    const std::string key =
        fmt::format("summed {} {}/{}/{}.{}", value.place.path, value.place.epoch, value.place.step,
                    value.place.inner, value.ordinal);
    ASSERT_TRUE(expected.contains(key)) << key;
    EXPECT_EQ(expected.at(key), std::bit_cast<std::uint64_t>(real(value)));
    ++same;
  }
  EXPECT_EQ(same, expected.size());
}

/// What a loop adds up in a variable that is in no checkpoint, and what is computed from it after
/// the loop, does not get into the state of the next epoch.
TEST_F(ChosenSteps, BeginTheNextEpochWithItsRecordedState) {
  std::string text = kProgram;
  text.replace(text.find("BREAKS"), 6, "false");
  text.replace(text.find("for (int step"), 0, "double sum = 0;\n    ");
  text.replace(text.find(kAtLoss), 0, "sum += weight; ");
  text.replace(text.find("flor::log(\"end\""), 0, "weight += 0.001 * sum; ");
  record(text);
  edit(kAtLoss, std::string(kAtLoss) + " flor::log(\"seen\", weight);");
  const auto chosen = run({"--replay_flor", "--flor_step", "1", "--flor_verify", "none"});
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(chosen.err, HasSubstr("verified: 12 of 12 recomputed values equal the record"));
  const auto found_then = found();
  ASSERT_EQ(run({"--replay_flor", "--flor_verify", "none"}).status, 0);
  EXPECT_EQ(found_then, found_in([](std::int64_t step, std::int64_t) { return step == 1; }));
}

TEST_F(ChosenSteps, AreComparedUpToThemAndVerifiedByWholeEpochs) {
  record_program(false);
  edit(kAtPart, std::string(kAtPart) + " flor::log(\"seen\", weight);");
  const auto verified = run({"--replay_flor", "--flor_step", "1", "--flor_verify", "2"});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.err, HasSubstr("executed beside it"));
  EXPECT_THAT(verified.err, HasSubstr("the new values are the same"));
  begin_anew();
  edit("0.7 * weight", "0.6 * weight");
  const auto other =
      run({"--replay_flor", "--flor_step", "1", "--flor_probe", "train", "--flor_epochs", "2"});
  EXPECT_EQ(other.status, 7) << other.err;
  EXPECT_THAT(other.err, HasSubstr("DIFFERS FROM THE RECORD: 2 of 2 values and 0 of 0 states"));
}

TEST_F(ChosenSteps, ThatAreNotThereAreRefusedInOneLine) {
  record_program(false);
  const auto refused = [&](const Words& arguments) {
    const ProcessResult result = flor(Words{"replay", "test"} + arguments);
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_EQ(lines_of(result.err).size(), 1U) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--step", "8"}),
              HasSubstr("--step 8: no nested loop of the run has such a step: the longest, train, "
                        "has 0..7"));
  EXPECT_THAT(refused({"--step", "first"}), HasSubstr("--step: 'first' is no list of steps"));
  const auto flag = run({"--replay_flor", "--flor_step", "8"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_THAT(flag.err, SaysOnce("--flor_step 8: no nested loop of the run has such a step"));
  EXPECT_THAT(run({"--flor", "x", "--flor_step", "1"}).err,
              HasSubstr("--flor_step belongs to a replay"));
  EXPECT_THAT(run({"--replay_flor", "--flor_step", "1", "--flor_plugin", "x.so"}).err,
              HasSubstr("add --flor_probe LOOP"));
}

}  // namespace
}  // namespace flor::testing::steps_test
