// Values that the same program logs now and did not log then, or the other way round.
#include "edited_program.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// `calls` is state of a skipped loop that the program did not register.
constexpr const char* kForgetful = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double weight = 1;
  int calls = 0;
  auto state = flor::checkpoints(weight);
  flor::log("before", 1);
  for (int epoch : flor::loop("epoch", 6)) {
    for (int step : flor::loop("train", 10)) {
      weight *= 0.9;
      ++calls;
      if (calls > 30) flor::log("deep", step);
    }
    if (calls >= 30) flor::log("late", weight);
    else flor::log("early", weight);
    if (argc > 1) flor::log("asked", epoch);
  }
  if (calls > 50) flor::log("all", calls);
}
)code";

class Silence : public EditedProgram {};

TEST_F(Silence, IsADifferenceOfTheSameProgram) {
  record(kForgetful);
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("differs: early at epoch 2: not recorded, replayed 0.0"));
  EXPECT_THAT(replayed.err, HasSubstr("differs: late at epoch 2: not replayed, recorded 0.0"));
  EXPECT_THAT(replayed.err, Not(HasSubstr("deep"))) << "of a loop that is skipped nothing comes";
  for (const store::Value& value : bench_.values("early", false)) {
    EXPECT_EQ(value.verdict, store::ValueVerdict::doubtful);
    EXPECT_EQ(value.name, "early (doubtful, replay 1)");
  }
  EXPECT_EQ(bench_.values("late").size(), 4u) << "as recorded";
}

TEST_F(Silence, IsADifferenceInEverySegmentAndOfWhatFollowsTheLoops) {
  record(kForgetful);
  const auto first = run({"--replay_flor", "0/3"});
  EXPECT_EQ(first.status, 0) << first.err;
  const auto last = run({"--replay_flor", "2/3"});
  EXPECT_EQ(last.status, 7) << last.err;
  EXPECT_THAT(last.err, HasSubstr("differs: late at epoch 4: not replayed"));
  EXPECT_THAT(last.err, HasSubstr("all at outside the loops: not replayed, recorded 60"));
  const auto stepped = run({"--replay_flor", "2/3", "--flor_probe", "train"});
  EXPECT_THAT(stepped.err, HasSubstr("differs: deep at epoch 4, train 0: not replayed"));
  const auto whole = run({"--replay_flor", "--flor_probe", "train"});
  EXPECT_EQ(whole.status, 0) << whole.err;
}

TEST_F(Silence, IsADifferenceWithWorkers) {
  record(kForgetful);
  const auto replayed =
      flor({"replay", "test", "--workers", "2", "--probe", "train", "--", executable().string()});
  EXPECT_EQ(replayed.status, 7) << replayed.out << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("not recorded, replayed"));
}

TEST_F(Silence, SaysNothingWhereTheProgramOrItsArgumentsAreOthers) {
  record(kForgetful);
  const auto asked = run({"--replay_flor", "--flor_probe", "train", "more"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("6 new values"));
  edit("    if (calls >= 30) flor::log(\"late\", weight);\n    else", "    if (calls < 0)");
  const auto edited = run({"--replay_flor", "--flor_epochs", "0..1"});
  EXPECT_THAT(edited.err, Not(HasSubstr("not replayed")));
}

}  // namespace
}  // namespace flor::testing
