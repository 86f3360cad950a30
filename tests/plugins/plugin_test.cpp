// Plug-ins that ask recorded runs something new, without libtorch: what they see, when they are
// called, what is kept, and what happens when they are wrong.
#include "programs/trainer_test.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plugin(const std::string& name) {
  return std::string(FLOR_TEST_PLUGINS) + "/" + name + ".so";
}

std::string text(const store::Value& value) { return std::get<std::string>(value.value); }

class PluginTest : public TrainerTest {
 protected:
  ProcessResult replay(const Words& arguments) const {
    return run_process(Words{FLOR_CLI, "replay", "test"} + arguments, bench_.options());
  }
  /// The program itself, with the flag.
  ProcessResult direct(const std::string& name, const Words& arguments = {}) const {
    return bench_.replay("trainer", Words{"--flor_plugin", plugin(name)} + arguments);
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> found;
    for (const auto& value : bench_.values(name, false)) found.push_back(text(value));
    return found;
  }
};

TEST_F(PluginTest, EveryPastEpochGetsWhatTheProgramWouldHaveLoggedAndNothingOfItIsExecuted) {
  record();
  const auto replayed = direct("norm");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(replayed.out, "");
  EXPECT_EQ(found("norm"), printed_norms());
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("for norm.so"),
                                  HasSubstr("the plug-in saw the states as they were stored; "
                                            "6 new values")));
  const auto place = bench_.values("norm").at(2).place;
  EXPECT_EQ(place.path, "epoch");
  EXPECT_EQ(place.epoch, 2);
}

TEST_F(PluginTest, SeveralWorkersFindTheSameAndOnlyWhatIsMissing) {
  record();
  const Words asked{"--plugin", plugin("norm"), "--workers", "2"};
  EXPECT_EQ(replay(asked + Words{"--epochs", "1,4"}).status, 0);
  EXPECT_EQ(found("norm").size(), 2u);
  const auto rest = replay(asked);
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("epochs 1, 4, not computed again"));
  EXPECT_EQ(found("norm"), printed_norms());
  const auto again = replay(asked);
  EXPECT_THAT(again.out, HasSubstr("epochs 0..5 answered before, nothing to do"));
}

TEST_F(PluginTest, APluginIsKnownByItsContent) {
  record();
  const auto copy = bench_.repository().root() / "copy.so";
  std::filesystem::copy_file(plugin("norm"), copy);
  ASSERT_EQ(replay({"--plugin", plugin("norm")}).status, 0);
  EXPECT_THAT(replay({"--plugin", "copy.so"}).out, HasSubstr("answered before"));
  EXPECT_THAT(replay({"--plugin", plugin("more")}).out, HasSubstr("epochs 0..5 in"));
  // What the one found stays beside what the other found.
  ASSERT_EQ(replay({"--plugin", plugin("sums")}).status, 0);
  EXPECT_EQ(found("norm"), printed_norms());
  EXPECT_EQ(bench_.replays().front().start.probes, "norm.so");
}

TEST_F(PluginTest, EpochsThatWereNotStoredAreExecuted) {
  record({"--flor_every", "3", "--kwargs", "epochs=10"});
  const auto replayed = direct("norm");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(found("norm"), printed_norms());
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  // Those that are stored, and only those, were not.
  EXPECT_THAT(lines_with(replayed.out, {"tail"}),
              ::testing::IsSubsetOf(lines_with(recorded_.out, {"tail"})));
  const std::size_t executed = lines_with(replayed.out, {"tail"}).size();
  EXPECT_GT(executed, 3u);
  EXPECT_LT(executed, 8u);
  const auto workers = replay({"--plugin", plugin("more"), "--workers", "3"});
  EXPECT_EQ(workers.status, 0) << workers.err;
  EXPECT_EQ(found("norm"), printed_norms());
}

TEST_F(PluginTest, SegmentsShareTheEpochs) {
  record();
  for (const char* segment : {"0/3", "1/3", "2/3"}) {
    const auto part = bench_.replay("trainer", {segment, "--flor_plugin", plugin("norm")});
    EXPECT_EQ(part.status, 0) << part.err;
    EXPECT_THAT(part.err, HasSubstr("2 new values"));
  }
  EXPECT_EQ(found("norm"), printed_norms());
}

TEST_F(PluginTest, SeesTheRunsArgumentsAndLogsWhateverAProgramLogs) {
  record();
  ASSERT_EQ(direct("more").status, 0);
  const auto facts = nlohmann::json::parse(texts("facts").at(5));
  EXPECT_EQ(facts.at("run"), bench_.last_run().key);
  EXPECT_EQ(facts.at("experiment"), "test");
  EXPECT_EQ(facts.at("steps"), 4);
  EXPECT_TRUE(facts.at("nothing").is_null());
  EXPECT_EQ(found("rate after").at(0), static_cast<double>(static_cast<float>(0.1 * 0.8)));
  EXPECT_EQ(bench_.values("is there", false).size(), 6u);
  EXPECT_EQ(bench_.values("weights").at(0).type, store::ValueType::histogram);
  EXPECT_EQ(bench_.values("table").at(0).type, store::ValueType::table);
  EXPECT_EQ(bench_.values("velocity").at(0).type, store::ValueType::tensor);
}

TEST_F(PluginTest, TheEndOfANestedLoopHasItsAttachedLocals) {
  record();
  // Under the name that the program itself logs: then the two are compared.
  const auto stored = direct("sums");
  EXPECT_EQ(stored.status, 0) << stored.err;
  EXPECT_THAT(stored.err, HasSubstr("verified: 6 of 6 recomputed values equal the record"));
}

TEST_F(PluginTest, InsideEpochsItIsCalledWhereTheProgramIsExecuted) {
  record({"--kwargs", "epochs=2", "steps=3"});
  const auto refused = direct("places");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--probe LOOP"));
  const auto replayed = direct("places", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  EXPECT_THAT(texts("epoch end"), ElementsAre("epoch/ 0,0,-1", "epoch/ 1,1,-1"));
  EXPECT_THAT(texts("loop begin"), ElementsAre("epoch/train 0,0,-1", "epoch/train 1,1,-1"));
  EXPECT_THAT(texts("loop end"), ElementsAre("epoch/train 0,0,-1", "epoch/train 1,1,-1"));
  EXPECT_THAT(texts("step end"),
              ElementsAre("epoch/train 0,0,0", "epoch/train 0,0,1", "epoch/train 0,0,2",
                          "epoch/train 1,1,0", "epoch/train 1,1,1", "epoch/train 1,1,2"));
  // As the variant HINDSIGHT_INNER of the program logs it.
  const auto step = bench_.values("weight").at(4).place;
  EXPECT_EQ(step.path, "epoch/train");
  EXPECT_EQ(step.step, 1);
}

TEST_F(PluginTest, AnExceptionIsOneLineWithItsPlaceAndWhatWasFoundBeforeStays) {
  record();
  const auto failed = direct("failing");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.err, HasSubstr("flor: failing.so failed at the end of epoch 3: the state has "
                                    "no 'momentum'; it has weights/values"));
  EXPECT_EQ(bench_.values("seen", false).size(), 3u);
  EXPECT_TRUE(bench_.damage().empty());

  const auto workers = replay({"--plugin", plugin("failing"), "--workers", "2"});
  EXPECT_EQ(workers.status, 1) << workers.out;
  EXPECT_THAT(workers.err, HasSubstr("flor: failing.so failed at the end of epoch 3: "));
  EXPECT_THAT(workers.err, Not(HasSubstr("3 times")));
}

TEST_F(PluginTest, WhatIsNoPluginIsRefusedInOneLineBeforeAnythingRuns) {
  record();
  const auto refusal = [&](const std::string& file) {
    const auto program = bench_.replay("trainer", {"--flor_plugin", file});
    const auto command = replay({"--plugin", file});
    EXPECT_EQ(program.status, command.status) << command.err;
    EXPECT_EQ(program.out, "");
    EXPECT_EQ(lines_of(program.err).size(), 1u) << program.err;
    return std::pair(program.status, program.err + command.err);
  };
  const auto root = bench_.repository().root();
  EXPECT_EQ(refusal("missing.so").first, 3);
  bench_.repository().write("text.so", "hello");
  EXPECT_EQ(refusal("text.so").first, 2);
  EXPECT_THAT(refusal("text.so").second, HasSubstr("no shared library"));
  EXPECT_THAT(refusal("/lib/x86_64-linux-gnu/libm.so.6").second, HasSubstr("no plug-in of Flor"));

  std::ifstream in(plugin("norm"), std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  const std::string mark = "flor-probe-interface=";
  content[content.find(mark) + mark.size()] = '9';
  bench_.repository().write("newer.so", content);
  const auto [status, error] = refusal("newer.so");
  EXPECT_EQ(status, 2);
  EXPECT_THAT(error, HasSubstr("built for interface 9 of Flor's plug-ins, here it is 1"));
  EXPECT_TRUE(bench_.replays().empty());
}

TEST_F(PluginTest, WhatCannotBeLoadedSaysWhy) {
  record();
  const auto nameless = direct("nameless");
  EXPECT_EQ(nameless.status, 2);
  EXPECT_THAT(nameless.err, SaysOnce("has no function flor_probe: define extern \"C\" void "
                                     "flor_probe(flor::Probe& probe)"));
  EXPECT_EQ(replay({"--plugin", plugin("nameless")}).status, 2);
  if (std::filesystem::exists(plugin("unresolved"))) {
    const auto unresolved = direct("unresolved");
    EXPECT_EQ(unresolved.status, 2);
    EXPECT_THAT(unresolved.err, SaysOnce("undefined symbol"));
  }
}

TEST_F(PluginTest, BelongsToAReplay) {
  const auto recording = bench_.run("trainer", {"--flor", "test", "--flor_plugin", "x.so"});
  EXPECT_EQ(recording.status, 2);
  EXPECT_THAT(recording.err, SaysOnce("--flor_plugin belongs to a replay"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
}

TEST_F(PluginTest, APlanCountsOnLoadingAlone) {
  record({"--kwargs", "epochs=4", "pause_ms=30"});
  const auto plan = replay({"--plugin", plugin("norm"), "--dry-run", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const auto whole = replay({"--probe", "train", "--dry-run", "--json"});
  const auto seconds = [](const ProcessResult& result) {
    return nlohmann::json::parse(result.out).at("estimated_seconds_alone").get<double>();
  };
  EXPECT_LT(seconds(plan), seconds(whole) / 2);
  EXPECT_THAT(replay({"--plugin", plugin("norm"), "--dry-run"}).out,
              HasSubstr("epochs 0..3, for norm.so\n"));
}

}  // namespace
}  // namespace flor::testing
