// A replay on another device or with other workers: `--override device=cpu`.
#include "edited_program.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kTraining = R"code(#include <flor/flor.h>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const auto device = flor::arg("device", std::string("gpu"));
  const auto rate = flor::arg("rate", 0.9);
  const auto shards = flor::arg("shards", 4);
  std::printf("on %s, %d shards\n", device.c_str(), shards);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int step : flor::loop("train", 10)) w *= rate - (device == "odd" ? 0.01 * step : 0);
    flor::log("w", w);
  }
}
)code";

class Override : public EditedProgram {
 protected:
  Override() {
    record(kTraining);
    edit("    flor::log(\"w\", w);", "    flor::log(\"w\", w);\n    flor::log(\"w2\", w * w);");
  }
  /// The verdicts of what was found.
  std::vector<std::string> verdicts() const {
    std::vector<std::string> all;
    for (const store::Value& value : bench_.values("w2")) {
      all.emplace_back(to_string(value.verdict));
    }
    return all;
  }
};

TEST_F(Override, WhatIsFoundWithAnotherArgumentIsUnverifiedUntilItIsCompared) {
  const auto found = run({"--replay_flor", "--flor_verify", "none", "--flor_override",
                          "device=cpu"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("on cpu, 4 shards"));
  EXPECT_THAT(found.err, HasSubstr(", with device=cpu instead of what was recorded"));
  EXPECT_THAT(verdicts(), AllOf(SizeIs(5), Each("unverified")));
  const auto compared =
      run({"--replay_flor", "--flor_verify", "all", "--flor_override=device=cpu"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.err, HasSubstr("5 new values (verified by execution)"));
  EXPECT_THAT(verdicts(), AllOf(SizeIs(5), Each("verified")));
}

TEST_F(Override, IsAQuestionOfItsOwnToWorkers) {
  const Words ask = {"replay", "test", "--workers", "2", "--verify-epochs", "none"};
  const Words program = {"--", executable().string()};
  const auto other = flor(ask + Words{"--override", "device=cpu"} + program);
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(verdicts(), AllOf(SizeIs(5), Each("unverified")));
  EXPECT_THAT(flor({"show", "test", "--all"}).out, HasSubstr("device=cpu"));
  const auto plan = flor(ask + Words{"--dry-run", "--override", "device=cpu", "--again"} + program);
  EXPECT_THAT(plan.out, HasSubstr(", with device=cpu instead of what was recorded"));
  const auto again = flor(ask + program);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(verdicts(), AllOf(SizeIs(5), Each("proven"))) << "the other answer is none to this";
}

TEST_F(Override, IsNamedWhereTheResultIsAnother) {
  const auto differs =
      run({"--replay_flor", "--flor_probe", "train", "--flor_override", "device=odd"});
  EXPECT_EQ(differs.status, 7);
  EXPECT_THAT(differs.err, HasSubstr("likely cause: device=odd instead of what was recorded"));
  EXPECT_THAT(verdicts(), Each("doubtful"));
}

TEST_F(Override, OfWhatMayDecideTheResultIsRefused) {
  const auto refused = [&](const Words& words) {
    const auto result = run(Words{"--replay_flor"} + words);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("shards"))) << "it must not run";
    return result.err;
  };
  EXPECT_THAT(refused({"--flor_override", "rate=0.8"}),
              AllOf(HasSubstr("argument 'rate' may decide the results"),
                    HasSubstr(" --kwargs rate=0.8; "), HasSubstr("the setting overridable")));
  EXPECT_THAT(refused({"--flor_override", "devise=cpu"}),
              HasSubstr("recorded no argument 'devise': it has device, rate, shards"));
  EXPECT_THAT(refused({"--flor_override", "device"}), HasSubstr("for example --flor_override"));
  EXPECT_THAT(run({"--flor", "x", "--flor_override", "device=cpu"}).err,
              HasSubstr("add --replay_flor"));
  const auto command = [&](const Words& words) {
    const auto result = flor(Words{"replay", "test"} + words + Words{"--", executable().string()});
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    return result.err;
  };
  EXPECT_THAT(command({"--override", "rate=0.8"}), HasSubstr("may decide the results"));
  EXPECT_THAT(command({"--override", "device"}), HasSubstr("expected NAME=VALUE"));
}

TEST_F(Override, MayBeOfWhatTheSettingNames) {
  ProcessOptions options = bench_.options();
  options.environment["FLOR_OVERRIDABLE"] = "fold, Shards";
  Words words = {executable().string(), "--replay_flor", "--flor_verify",  "none",
                 "--flor_override",     "shards=1",      "device=cpu"};
  const auto replayed = run_process(words, options);
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("on cpu, 1 shards"));
  // The setting of the store that is replayed from, which the environment does not name.
  write_file(bench_.home() / "config", "overridable = shards\n");
  options.environment.erase("FLOR_OVERRIDABLE");
  options.environment["FLOR_HOME"] = (root() / "another").string();
  words.insert(words.end(), {"--flor_home", bench_.home().string()});
  const auto there = run_process(words, options);
  EXPECT_EQ(there.status, 0) << there.err;
}

}  // namespace
}  // namespace flor::testing
