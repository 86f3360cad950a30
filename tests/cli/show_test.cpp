// flor show.
#include "cli/fixture.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ShowTest : public CliTest {};

TEST_F(ShowTest, SaysEverythingAboutARun) {
  RunPlan plan;
  plan.commit = std::string(40, 'c');
  const store::Run run = record(plan);
  replay(run, 3, 4);
  const Outcome outcome = flor({"show", "linear", "--all"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const char* part :
       {"status       finished", "2023-11-14T22:13:20.000000Z (2023-11-14), took 1 min 30 s",
        "./train --flor linear", "epochs       3\n", "  lr      0.001\n", "  threads  2\n",
        "  epoch  0..2             3  complete\n", "train: 4 in 500 ms", "0.2 %",
        "end of train, epoch 1", "after epoch 2", "loop end", "boundary", "verified",
        "15 values, 3 states", "hindsight"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_THAT(outcome.out, HasSubstr("run " + run.key + " (linear)\n"));
  EXPECT_THAT(outcome.out, HasSubstr(plan.commit));
}

TEST_F(ShowTest, IsShortUnlessAskedForAll) {
  const store::Run run = record({});
  replay(run, 3, 4);
  const Outcome outcome = flor({"show", "linear"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* part :
       {"status       finished", "./train --flor linear", "arguments    epochs=3 lr=0.001",
        "epochs       3\n", "replays      1, verified: 15 new values", "hindsight"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  EXPECT_THAT(outcome.err, HasSubstr("flor show " + run.key.substr(0, 8) + " --all"));
  const std::string all = flor({"show", "linear", "--all"}).out;
  for (const char* part : {"main loops", "compared", "environment", "boundary"}) {
    EXPECT_THAT(all, HasSubstr(part));
    EXPECT_THAT(outcome.out, Not(HasSubstr(part)));
  }
  EXPECT_LT(std::ranges::count(outcome.out, '\n'), 20);
}

TEST_F(ShowTest, FindsARunByAllItsNames) {
  RunPlan plan;
  plan.commit = std::string(40, 'c');
  const store::Run first = record(plan);
  plan.commit = std::string(40, 'd');
  const store::Run second = record(plan);
  const auto id = [&](const std::string& name) {
    return flor({"show", name, "--json"}).json()["run"]["id"].get<std::string>();
  };
  EXPECT_EQ(id("linear"), second.key);
  EXPECT_EQ(id("linear~1"), first.key);
  EXPECT_EQ(id("linear:cccc"), first.key);
  EXPECT_EQ(id(first.key.substr(0, 12)), first.key);
  EXPECT_EQ(flor({"show", "--json"}).json()["run"]["id"], second.key);
  EXPECT_EQ(flor({"show", "linear~2"}).status, 3);
}

TEST_F(ShowTest, PromisesItsJsonFieldByField) {
  const store::Run run = record({});
  replay(run, 3, 4);
  const Json json = flor({"show", run.key, "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "show");
  const Json& shown = json["run"];
  EXPECT_EQ(shown["id"], run.key);
  EXPECT_EQ(shown["command"], (Json{"./train", "--flor", "linear"}));
  EXPECT_EQ(shown["program_digest"], "00ff");
  EXPECT_EQ(shown["environment"], (Json{{"host", "node1"}, {"threads", "2"}}));
  EXPECT_EQ(shown["arguments"]["lr"], 0.001);
  EXPECT_EQ(shown["main_loops"][0], (Json{{"name", "epoch"},
                                          {"first_epoch", 0},
                                          {"iterations", 3},
                                          {"ended", true},
                                          {"broke", false}}));
  EXPECT_EQ(shown["iterations"][1], (Json{{"epoch", 1},
                                          {"main_loop", "epoch"},
                                          {"iteration", 1},
                                          {"seconds", 0.75},
                                          {"flor_seconds", 0.0015}}));
  EXPECT_EQ(
      shown["nested_loops"][2],
      (Json{
          {"epoch", 2}, {"loop", "train"}, {"iterations", 4}, {"broke", false}, {"seconds", 0.5}}));
  ASSERT_EQ(shown["stored_checkpoints"].size(), 6u);
  const Json& checkpoint = shown["stored_checkpoints"][0];
  EXPECT_EQ(checkpoint["kind"], "loop_end");
  EXPECT_EQ(checkpoint["loop"], "train");
  EXPECT_EQ(checkpoint["epoch"], 0);
  EXPECT_EQ(checkpoint["raw_bytes"], 1024);
  EXPECT_GT(checkpoint["stored_bytes"].get<int>(), 0);
  EXPECT_EQ(checkpoint["digest"].get<std::string>().size(), 32u);
  EXPECT_EQ(shown["stored_checkpoints"][1]["kind"], "boundary");
  EXPECT_TRUE(shown["stored_checkpoints"][1]["loop"].is_null());
  const Json& replay = shown["replays"][0];
  EXPECT_EQ(replay["segments"], 1);
  EXPECT_EQ(replay["last_epoch"], 2);
  EXPECT_EQ(replay["probes"], "train");
  EXPECT_EQ(replay["result"]["verdict"], "verified");
  EXPECT_EQ(replay["result"]["values_compared"], 15);
  EXPECT_EQ(replay["result"]["values_found"], 15);
  EXPECT_TRUE(replay["result"]["first_difference"].is_null());
  EXPECT_EQ(shown["metrics"]["gradient"]["hindsight"], true);
}

TEST_F(ShowTest, ShowsAnEpochWithItsTablesDrawnOut) {
  replay(record({}), 3, 4);
  const Outcome outcome = flor({"show", "linear@1"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("epoch 1 of run "));
  EXPECT_THAT(outcome.out, HasSubstr("750 ms, of which Flor 1.5 ms (0.2 %)"));
  EXPECT_THAT(outcome.out, HasSubstr("\nconfusion\n"
                                     "       cat  dog\n"
                                     "  cat    1    2\n"
                                     "  dog  3.5    4\n"));
  const Json epoch = flor({"show", "linear@1", "--json"}).json()["epoch"];
  EXPECT_EQ(epoch["epoch"], 1);
  EXPECT_EQ(epoch["main_loop"], "epoch");
  EXPECT_EQ(epoch["complete"], true);
  EXPECT_EQ(epoch["seconds"], 0.75);
  ASSERT_EQ(epoch["stored_checkpoints"].size(), 3u);
  EXPECT_EQ(epoch["values"].size(), 10u);
  EXPECT_EQ(epoch["nested_loops"].size(), 1u);
}

TEST_F(ShowTest, CountsEpochsOnOverSeveralMainLoops) {
  const store::Run run = record({});
  catalog().put_main_loop(run.id, {1, "finetune", 3, 2, true, true});
  catalog().add_iteration(run.id, {1, 0, 2.5, 0});
  catalog().add_iteration(run.id, {1, 1, 2.5, 0});
  const Json epoch = flor({"show", "linear@4", "--json"}).json()["epoch"];
  EXPECT_EQ(epoch["main_loop"], "finetune");
  EXPECT_EQ(epoch["iteration"], 1);
  EXPECT_EQ(epoch["seconds"], 2.5);
  EXPECT_THAT(flor({"show", "linear", "--all"}).out,
              HasSubstr("finetune  3..4             2  left early"));
}

TEST_F(ShowTest, SaysWhichEpochsThereAre) {
  record({});
  const Outcome outcome = flor({"show", "linear@3"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("has no epoch 3: it has 0..2"));
}

TEST_F(ShowTest, NamesWhatIsMissingOfARunAndWhyItFailed) {
  const store::Run run = record({});
  catalog().put_gaps(run.id, std::vector<store::Gap>{{1, 1, false, "disk full"}});
  catalog().finish_run(run.id, run.start.started_us + 5, true, "loss is NaN");
  EXPECT_THAT(flor({"show", "linear"}).out,
              AllOf(HasSubstr("failed, epoch 1 not stored"), HasSubstr("because      loss is NaN"),
                    HasSubstr("missing      epoch 1 not stored: disk full")));
  const auto json = flor({"show", "linear", "--json"}).json();
  EXPECT_EQ(json["run"]["degraded"], "epoch 1 not stored");
  EXPECT_EQ(json["run"]["gaps"].dump(),
            R"([{"first_epoch":1,"last_epoch":1,"values_lost":false,"why":"disk full"}])");
}

TEST_F(ShowTest, NamesTheFirstDifferenceThatAReplayFound) {
  const store::Run run = record({});
  store::NewReplay start;
  start.run = run.id;
  start.last_epoch = 2;
  store::ReplayResult result;
  result.verdict = store::Verdict::differs;
  result.values_compared = 3;
  result.values_different = 1;
  result.first_difference = "loss at epoch 1, step 2: recorded 0.5, replayed 0.25";
  catalog().finish_replay(catalog().add_replay(start), result);
  catalog().add_replay(start);
  EXPECT_THAT(flor({"show", "linear"}).out,
              HasSubstr("replays      2, the last of them running or died"));
  EXPECT_THAT(flor({"show", "linear", "--all"}).out,
              AllOf(HasSubstr("differs"), HasSubstr("running or died"),
                    HasSubstr("loss at epoch 1, step 2: recorded 0.5, replayed 0.25")));
}

TEST_F(ShowTest, ExplainsWhyEpochsAreStoredAndWhatRecordingCost) {
  const store::Run run = record({});
  EXPECT_THAT(flor({"show", "linear", "--all"}).out, Not(HasSubstr("why epochs are stored")));
  EXPECT_TRUE(flor({"show", "linear", "--json"}).json()["run"]["recording"].is_null());
  store::Progress progress;
  progress.decisions = {{0, 0, 0, store::StorageReason::worthwhile, 0.25, 10},
                        {0, 1, 1, store::StorageReason::budget, 0.68, 10},
                        {0, 2, 2, store::StorageReason::last, 0.5, 12.5}};
  progress.recording = store::Recording{.epsilon = 1.0 / 15,
                                        .materialization = 0.25,
                                        .computation = 4,
                                        .restore_factor = 1.5,
                                        .cost = 0.5,
                                        .computed = 12.5,
                                        .forced = 0.1,
                                        .startup = 0.03,
                                        .iterations = 3,
                                        .stored = 2,
                                        .hurried = 2,
                                        .fast = 1};
  catalog().add_progress(run.id, progress);
  EXPECT_THAT(flor({"show", "linear"}).out,
              HasSubstr("recording    500 ms of 12.5 s computing (4.00 %)"));
  const std::string text = flor({"show", "linear", "--all"}).out;
  for (const char* part :
       {"adaptive, at most 6.67 % of the computing time", "2 of 3 epochs",
        "500 ms of 12.5 s computing (4.00 %)", "forced checkpoints 100 ms, start-up 30 ms",
        "M 250 ms to store an epoch, C 4 s to compute one, c 1.5",
        "hurried 2 times, cheaper codec once", "stored: within the overhead budget",
        "not stored: budget", "6.80 %", "stored: the last"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json shown = flor({"show", "linear", "--json"}).json()["run"];
  EXPECT_EQ(shown["recording"]["stored"], 2);
  EXPECT_EQ(shown["recording"]["cost_seconds"], 0.5);
  EXPECT_TRUE(shown["recording"]["every"].is_null());
  ASSERT_EQ(shown["decisions"].size(), 3u);
  EXPECT_EQ(shown["decisions"][1]["stored"], false);
  EXPECT_EQ(shown["decisions"][1]["reason"], "not stored: budget");
  EXPECT_THAT(flor({"show", "linear@1"}).out, HasSubstr("checkpoints  not stored: budget"));
  EXPECT_EQ(flor({"show", "linear@2", "--json"}).json()["epoch"]["decision"], "stored: the last");
}

TEST_F(ShowTest, PutsEpochsWithOneReasonInOneLine) {
  const store::Run run = record({});
  store::Progress progress;
  for (std::int64_t i = 0; i < 30; ++i) {
    progress.decisions.push_back({0, 100 * i, 100 * i, store::StorageReason::worthwhile, 0.1, 10});
    progress.decisions.push_back(
        {0, 100 * i + 1, 100 * i + 99, store::StorageReason::budget, 0.1, 10});
  }
  catalog().add_progress(run.id, progress);
  EXPECT_THAT(flor({"show", "linear", "--all"}).out,
              AllOf(HasSubstr("   1..99  not stored: budget"), HasSubstr("1501..1599")));
}

}  // namespace
}  // namespace flor::testing
