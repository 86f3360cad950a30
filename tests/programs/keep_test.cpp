// Runs that keep only some of their checkpoints: while they are recorded, afterwards with `flor
// keep`, after kills, and what replays make of it.
#include "maintain/collect.h"
#include "retention/retention.h"
#include "whole_record.h"
#include "workbench.h"

#include <chrono>
#include <csignal>
#include <thread>

namespace flor::testing::keep_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Keys = std::set<std::string>;
const Words kAll{"--flor_every", "1"};

class Keep : public ::testing::Test {
 protected:
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  ProcessResult keep(const Words& rules) const { return flor(Words{"keep", "test"} + rules); }

  ProcessResult record(const Words& kwargs) const {
    return bench_.record("keeper", Words{"--kwargs"} + kwargs);
  }
  WholeRecord whole() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  std::vector<store::SavedCheckpoint> saved() const {
    return bench_.store()->catalog().saved(bench_.last_run().id);
  }
  Keys saved_names() const {
    Keys names;
    for (const auto& checkpoint : saved()) names.insert(checkpoint.name);
    return names;
  }

  /// All lines of the record are computed again, whether nested loops are stepped into or not.
  void expect_replays_exactly(const std::vector<std::string>& recorded) const {
    for (const int count : {1, 3}) {
      const auto inner =
          replay_segments(bench_, "keeper", {.count = count, .flags = {"--flor_probe", "train"}});
      for (const ProcessResult& result : inner.results) {
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.err, Not(HasSubstr("differs")));
      }
      EXPECT_EQ(lines_with(join(inner.out), {"step", "tail"}),
                lines_with(join(recorded), {"step", "tail"}));
      const auto outer = replay_segments(bench_, "keeper", {.count = count, .flags = {}});
      for (const ProcessResult& result : outer.results) EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_EQ(lines_with(join(outer.out), {"tail"}), lines_with(join(recorded), {"tail"}));
    }
  }
  static std::string join(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }

  Workbench bench_;
};

TEST_F(Keep, ARunKeepsTheTwoSmallestLossesAndKnowsTheBest) {
  const auto result = record({"losses=2,4,1,3", "keep=2"});
  EXPECT_EQ(bench_.checkpoints(),
            (Keys{"boundary 0/0", "train@begin 0/0", "boundary 0/1", "train 0/0", "train@begin 0/1",
                  "boundary 0/3", "train 0/2", "train@begin 0/3"}));
  EXPECT_THAT(lines_with(result.out, {"best"}), ElementsAre(HasSubstr("best 2  0x1p+0")));
  EXPECT_THAT(lines_with(result.out, {"latest"}), ElementsAre(HasSubstr("latest 3 ")))
      << "it is there until the run has finished";
  expect_replays_exactly(lines_of(result.out));
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Keep, WhileARunGoesOnItsBestAndItsLatestAreThere) {
  const auto result = record({"losses=nan,4,nan,1,3,inf,0.5,nan", "keep=1", "ask=true"});
  EXPECT_THAT(lines_with(result.out, {"best"}),
              ElementsAre(HasSubstr("best none"), HasSubstr("best 0 "), HasSubstr("best 1 "),
                          HasSubstr("best 1 "), HasSubstr("best 3 "), HasSubstr("best 3 "),
                          HasSubstr("best 3 "), HasSubstr("best 6 "), HasSubstr("best 6 ")))
      << "asked inside an epoch, whose own state is not stored yet";
  EXPECT_EQ(bench_.checkpoints(), (Keys{"boundary 0/0", "train@begin 0/0", "boundary 0/7",
                                        "train 0/6", "train@begin 0/7"}));
}

TEST_F(Keep, AStrategyThatKeepsNothingIsRefused) {
  for (const char* count : {"keep=0", "keep=-1"}) {
    const auto result = bench_.run("keeper", Words{"--flor", "test", "--kwargs", count} + kAll);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr("num_to_keep is "));
    EXPECT_EQ(bench_.run_count(), 0u);
  }
}

TEST_F(Keep, AScoreThatNobodyLogsLosesNeitherTheLatestNorTheRun) {
  record({"keep=2", "attribute=accuracy"});
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/2"), 1u) << "the older ones of equal rank";
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/4"), 0u);
  EXPECT_EQ(bench_.replay("keeper").status, 0);
}

TEST_F(Keep, ReplaysOfAThinnedRunComputeWhatIsMissingExactly) {
  const auto result = record({"losses=5,4,3,2,1,2,3,4"});
  const Words rules[] = {
      {"--last", "2", "--best", "1:loss:min"}, {"--best", "1:loss:max"}, {"--under", "1"}};
  for (const Words& rule : rules) {
    SCOPED_TRACE(rule.back());
    const ProcessResult kept = keep(rule);
    EXPECT_TRUE(kept.status == 0 || rule.back() == "1") << kept.err;
    EXPECT_EQ(flor({"gc"}).status, 0);
    expect_replays_exactly(lines_of(result.out));
    const ProcessResult shared = flor({"replay", "test", "--again", "--workers", "2", "--probe",
                                       "train", "--", program("keeper").string()});
    EXPECT_EQ(shared.status, 0) << shared.err;
    EXPECT_THAT(shared.out, HasSubstr("verified"));
  }
  EXPECT_EQ(bench_.checkpoints(),
            (Keys{"boundary 0/0", "train@begin 0/0", "boundary 0/8", "train 0/7"}));
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Keep, LoopsOfEveryShapeAreReplayedAfterTheirLastStatesAreGone) {
  for (const char* scenario :
       {"plain", "two_mains", "break_main", "return_nested", "without_nested", "two_nested",
        "attached_locals", "attached_best", "shuffled_main", "shuffled_nested"}) {
    SCOPED_TRACE(scenario);
    const Words arguments{"--kwargs", std::string("scenario=") + scenario};
    const auto recorded = bench_.run("loops", Words{"--flor", "test"} + arguments + kAll);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    auto store = bench_.store();
    const auto run = store->catalog().runs().at(0);
    // Only the first epoch stays.
    store::Value value;
    value.name = "score";
    value.place = {"late", 0, -1, ""};
    value.value = 1.0;
    store->catalog().add_values(run.id, std::span(&value, 1));
    store::retain(*store, run.id, {.best = {{.count = 1, .metric = "score"}}},
                  store::Sizes::weighed);
    const auto replayed = bench_.replay("loops", {"--flor_run", "test"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_EQ(lines_with(replayed.out, {"tail"}), lines_with(recorded.out, {"tail"}));
  }
}

TEST_F(Keep, ARunIsResumedExactlyHoweverItWasThinned) {
  const Words kwargs{"--kwargs", "losses=5,4,3,2,1,2,3,4", "keep=1", "save_every=3"};
  bench_.record("keeper", kwargs);
  const WholeRecord uninterrupted = whole();
  const Keys names = saved_names();
  EXPECT_EQ(names.size(), 12u);  // 10, "start" and "end"
  for (const int count : {7, 12, 16, 23, 31, 38}) {
    SCOPED_TRACE(count);
    auto options = bench_.options();
    options.environment["RAISE"] = std::to_string(SIGKILL) + ":" + std::to_string(count);
    const auto first = bench_.run("keeper", Words{"--flor", "test"} + kwargs + kAll, options);
    EXPECT_EQ(first.signal, SIGKILL);
    if (count % 2 == 0) {
      EXPECT_EQ(keep({"--last", "1"}).status, 0);
    }
    if (count % 4 == 0) {
      EXPECT_EQ(flor({"gc"}).status, 0);
    }
    const auto second = bench_.run("keeper", {"--flor", "test", "--flor_resume"});
    EXPECT_EQ(second.status, 0) << second.err;
    const WholeRecord resumed = whole();
    EXPECT_EQ(resumed.values, uninterrupted.values);
    EXPECT_EQ(resumed.loops, uninterrupted.loops);
    EXPECT_EQ(resumed.executions, uninterrupted.executions);
    EXPECT_EQ(saved_names(), names) << "none twice, none missing";
    for (const auto& [key, digest] : resumed.checkpoints) {
      const auto same = uninterrupted.checkpoints.find(key);
      if (same == uninterrupted.checkpoints.end()) continue;
      EXPECT_EQ(digest, same->second) << key;
    }
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
  EXPECT_EQ(bench_.replay("keeper", {"--flor_probe", "train"}).status, 0);
}

TEST_F(Keep, SavedCheckpointsAreRankedNamedAndCompared) {
  const auto result = record({"save_every=3"});
  std::vector<std::string> names;
  for (const auto& checkpoint : saved()) names.push_back(checkpoint.name);
  EXPECT_THAT(names, ElementsAre("start", "s2", "s3", "s4", "s5", "s6", "end"));
  EXPECT_EQ(saved()[1].place.path, "epoch/train");
  EXPECT_EQ(saved()[1].place.step, 2);
  EXPECT_EQ(saved()[1].scores.at("count"), 3);
  EXPECT_EQ(saved()[6].scores.at("value"), -1) << "that came later";
  EXPECT_THAT(lines_with(result.out, {"latest"}), ElementsAre(HasSubstr("latest -1 end")));

  const auto replayed = bench_.replay("keeper", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  // Ends of loops, ends of epochs, and the saved ones.
  EXPECT_THAT(replayed.err, HasSubstr("and 15 states equal the record"));

  const ProcessResult kept = keep({"--best", "1:value:min", "--explain"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("keep    saved end"));
  EXPECT_THAT(kept.out, HasSubstr("delete  saved s3"));
  EXPECT_EQ(flor({"export", "test@end", (bench_.home() / "end.safetensors").string()}).status, 0);
  const ProcessResult gone =
      flor({"export", "test@s3", (bench_.home() / "s3.safetensors").string()});
  EXPECT_EQ(gone.status, 3);
  EXPECT_THAT(gone.err, HasSubstr("--undo"));
  EXPECT_EQ(keep({"--undo"}).status, 0);
  EXPECT_EQ(flor({"export", "test@s3", (bench_.home() / "s3.safetensors").string()}).status, 0);
  EXPECT_EQ(bench_.replay("keeper").status, 0);
}

TEST_F(Keep, WhatAReplayReadsIsNeitherDeletedNorCollectedUnderIt) {
  bench_.record("trainer", {"--kwargs", "epochs=12", "steps=8"});
  const auto recorded = bench_.replay("trainer_inner", {"--flor_probe", "train"});
  const auto process = bench_.start("trainer_inner", {"--replay_flor", "--flor_probe", "train"});
  std::int64_t collected = -1;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(keep({"--last", "1"}).status, 0);
    EXPECT_EQ(flor({"gc", "--compact"}).status, 0);
    if (i % 2 == 0) (void)keep({"--undo"});  // refused once it is collected
    collected = i;
  }
  const ProcessResult result = process->wait();
  EXPECT_EQ(result.status, 0) << result.err << collected;
  EXPECT_EQ(result.out, recorded.out);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Keep, ARunThatIsRecordedIsThinnedAndCollectedFromOutside) {
  const Words kwargs{"--kwargs", "epochs=15", "pause_ms=8"};
  const auto process = bench_.start("trainer", Words{"--flor", "test"} + kwargs + kAll);
  int thinned = 0;
  while (!process->ended()) {
    if (keep({"--last", "1", "--best", "1:loss:min"}).status == 0) ++thinned;
    EXPECT_NE(flor({"gc", "--compact"}).status, 1);
  }
  const ProcessResult result = process->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_GT(thinned, 0);
  EXPECT_THAT(result.err, Not(HasSubstr("NO FURTHER CHECKPOINTS")));
  const auto replayed = bench_.replay("trainer", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(replayed.out, result.out);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

}  // namespace
}  // namespace flor::testing::keep_test
