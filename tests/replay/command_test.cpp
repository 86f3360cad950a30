// `flor replay` with real programs: exact in every shape, each value once whatever happens to the
// workers, and nothing computed twice.
#include "maintain/collect.h"
#include "replay/replay_command.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ReplayShapes : public ReplayCommand, public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_like_one_process(const Words& record_flags) {
    bench_.record("loops", Words{"--kwargs", std::string("scenario=") + GetParam()} + record_flags);
    std::set<std::string> loops;
    for (const auto& execution : bench_.store()->catalog().executions(bench_.last_run().id)) {
      loops.insert(execution.loop.substr(0, execution.loop.find('~')));
    }
    Words probe, flag;
    for (const auto& loop : loops) {
      probe = probe + Words{"--probe", loop};
      flag = flag + Words{"--flor_probe", loop};
    }
    for (const bool probed : {false, true}) {
      ASSERT_EQ(bench_.replay("loops", probed ? flag : Words{}).status, 0);
      const std::int64_t alone = compared_by_last();
      for (const char* workers : {"1", "2", "3", "9"}) {
        const auto result =
            replay(Words{"test", "--again", "--workers", workers} + (probed ? probe : Words{}));
        SCOPED_TRACE(std::string(GetParam()) + " with " + workers + " workers: " + result.err);
        EXPECT_EQ(result.status, 0) << result.out;
        EXPECT_EQ(compared_by_last(), alone) << "each recorded value is compared once";
        EXPECT_EQ(result.out.find("DIFFERS"), std::string::npos) << result.out;
        EXPECT_TRUE(found().empty());
      }
    }
  }
};

TEST_P(ReplayShapes, AreReplayedLikeByOneProcess) { expect_like_one_process({}); }
TEST_P(ReplayShapes, AreReplayedLikeByOneProcessWithFewCheckpoints) {
  expect_like_one_process({"--flor_every", "3"});
}

INSTANTIATE_TEST_SUITE_P(Loops, ReplayShapes,
                         ::testing::Values("plain", "without_nested", "break_nested", "break_main",
                                           "return_nested", "early_stopping", "thrown_out_of_main",
                                           "two_mains", "same_main_twice", "nested_of_nothing",
                                           "words_in_a_list", "shuffled_main", "shuffled_nested",
                                           "attached_locals", "attached_to_main", "grows",
                                           "repeated_names"),
                         [](const auto& parameter) { return std::string(parameter.param); });

/// Of a program that registers more while it trains, a worker that has come some of the way goes on
/// from there: the state of a later epoch does not fit yet, that of an earlier one not any more.
TEST_F(ReplayCommand, WalksOnInAProgramThatGrows) {
  bench_.record("loops", {"--kwargs", "scenario=grows"});
  for (const char* epochs : {"0,4", "0,2,4", "1..2,4", "3"}) {
    const auto result = replay({"test", "--again", "--workers", "1", "--epochs", epochs});
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("ended with status"))) << epochs;
    const auto alone = bench_.replay("loops", {"--flor_epochs", epochs});
    EXPECT_EQ(alone.status, 0) << alone.err;
  }
}

TEST_F(ReplayCommand, TakesWhatStandsBehindTheDashesForTheProgramWhereNoRunIsNamed) {
  bench_.record("trainer");
  const auto result = replay({"--probe", "train", "--", other("trainer_inner")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("(test)"), HasSubstr("executed train 6 times")));
  const auto unknown = replay({other("trainer_inner")});
  EXPECT_EQ(unknown.status, 3);
}

TEST_F(ReplayCommand, FindsWhatOneProcessFindsEachValueOnce) {
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  ASSERT_EQ(alone.size(), 6u * 4u + 6u + 2u);
  for (const char* workers : {"1", "2", "3", "12"}) {
    bench_.record("trainer");
    const auto result =
        replay({"test", "--probe", "train", "--workers", workers, "--", other("trainer_inner")});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("verified: "));
    EXPECT_THAT(result.out, HasSubstr("executed train 6 times"));
    EXPECT_EQ(found(), alone) << workers << " workers";
    EXPECT_TRUE(bench_.damage().empty());
  }
}

TEST_F(ReplayCommand, ACoarseOneFindsTheSameAndTellsOfTheFirstAnswers) {
  bench_.record("trainer");
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  for (const char* workers : {"1", "3"}) {
    bench_.record("trainer");
    const auto result = replay({"test", "--coarse", "--probe", "train", "--workers", workers, "--",
                                other("trainer_inner")});
    EXPECT_EQ(result.status, 0) << result.err;
    const auto told =
        ContainsRegex("[2-5] of 6 epochs, spread over the run, are answered: `flor plot " +
                      bench_.last_run().key.substr(0, 8) + "` draws");
    // Three workers may be done with all of them before the last of the first is answered.
    const auto silent = Not(HasSubstr("spread over the run"));
    EXPECT_THAT(result.err, AnyOf(told, silent));
    if (std::string(workers) == "1") {
      EXPECT_THAT(result.err, told);
    }
    EXPECT_EQ(found(), alone) << workers << " workers";
  }
  const auto plan = replay({"test", "--coarse", "--again", "--workers", "1", "--dry-run"});
  EXPECT_THAT(plan.out, HasSubstr("\n  first      epochs 0, 3\n")) << plan.err;
}

TEST_F(ReplayCommand, ACheckExecutesASampleAndFailsWhereTheProgramComputesSomethingElse) {
  bench_.record("trainer");
  const auto same = replay({"test", "--check", "--workers", "1"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, AllOf(HasSubstr("epochs 0, 3, 5 in"), HasSubstr("executed train 3 times"),
                              HasSubstr("verified: ")));
  const auto looks =
      replay({"test", "--check", "--epochs", "sample:2", "--", other("trainer_inner")});
  EXPECT_EQ(looks.status, 0) << "more is logged, and the same computed: " << looks.err;
  EXPECT_THAT(looks.out, HasSubstr("epochs 0, 5 in"));
  EXPECT_EQ(replay({"test", "--epochs", "sample:0"}).status, 2);
  EXPECT_EQ(replay({"test", "--check", "--own"}).status, 2);
  EXPECT_EQ(replay({"test", "--check", "--epochs", "sample:1000"}).status, 0);
  bench_.record("trainer", {"--kwargs", "forgotten=velocity"});
  const auto changed = replay({"test", "--check"});
  EXPECT_EQ(changed.status, 7) << changed.out;
  EXPECT_THAT(changed.out, HasSubstr("differs: "));
}

// There need not be such GPUs: which of them a process sees is decided before libtorch looks.
TEST_F(ReplayCommand, EachGpuHasAProcessThatSeesNoOther) {
  ASSERT_EQ(bench_.record("trainer").status, 0);
  const auto seen = bench_.home().parent_path() / "seen", script = seen.parent_path() / "see.sh";
  std::ofstream(script) << "#!/bin/sh\necho $CUDA_VISIBLE_DEVICES >> " << seen.string() << "\nexec "
                        << other("trainer_hindsight") << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const ProcessResult result = replay({"test", "--gpus", "3,7", "--", script.string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  std::ifstream in(seen);
  std::multiset<std::string> devices;
  for (std::string line; std::getline(in, line);) devices.insert(line);
  // The process that verifies the new values has that of the worker whose place it takes.
  EXPECT_THAT(devices, ::testing::AnyOf(std::multiset<std::string>{"3", "3", "7"},
                                        std::multiset<std::string>{"3", "7", "7"}));
}

TEST_F(ReplayCommand, ComputesOnlyWhatIsMissing) {
  bench_.record("trainer");
  const Words program{"--", other("trainer_hindsight")};
  const auto some = replay(Words{"test", "--epochs", "1..2,4", "--workers", "2"} + program);
  EXPECT_EQ(some.status, 0) << some.err;
  EXPECT_EQ(found().size(), 3u);
  const auto rest = replay(Words{"test"} + program);
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("epochs 0, 3, 5"));
  EXPECT_THAT(rest.out, HasSubstr("epochs 1..2, 4, not computed again"));
  EXPECT_EQ(found().size(), 6u + 2u);
  const auto again = replay(Words{"test"} + program);
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.out, AllOf(HasSubstr("nothing to do"), HasSubstr("verified: ")));
  EXPECT_THAT(replay(Words{"test", "--again"} + program).out, HasSubstr("epochs 0..5"));
  EXPECT_EQ(found().size(), 6u + 2u);
}

TEST_F(ReplayCommand, ARunInAnObjectStoreIsReplayedWithNothingOfItHere) {
  bench_.record("trainer", {"--flor_every", "1"});
  const TemporaryDirectory elsewhere;
  const std::string url = "file://" + (elsewhere / "archive").string();
  const std::string far = (elsewhere / "home").string();
  const auto sent = run_process({FLOR_CLI, "spool", "test", url}, bench_.options());
  ASSERT_EQ(sent.status, 0) << sent.err;
  const auto result = replay(
      {"test@4", "--from", url, "--home", far, "--probe", "train", "--", other("trainer_inner")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("verified: "), HasSubstr("executed train once")));
  EXPECT_THAT(result.err, HasSubstr("checkpoints came from"));
  const auto store = store::Store::open(far, store::OpenMode::read_only);
  const auto run = store->catalog().resolve("test");
  EXPECT_LE(store->catalog().checkpoints(run.id).size(), 2u);
}

TEST_F(ReplayCommand, OneEpochOutOf50FetchesTheStateBeforeItAndWhatThatIsADifferenceTo) {
  bench_.record("trainer", {"--flor_every", "1", "--kwargs", "epochs=50", "size=30000"});
  const TemporaryDirectory elsewhere;
  const std::string url = "file://" + (elsewhere / "archive").string();
  const std::string far = (elsewhere / "home").string();
  ASSERT_EQ(run_process({FLOR_CLI, "spool", "test", url}, bench_.options()).status, 0);
  const auto result =
      replay({"test@25", "--from", url, "--home", far, "--probe", "train", "--", other("trainer")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("verified: "), HasSubstr("executed train once"),
                                HasSubstr("1 checkpoint,")));
  const auto store = store::Store::open(far, store::OpenMode::existing);
  const auto checkpoints = store->catalog().checkpoints(store->catalog().resolve("test").id);
  ASSERT_EQ(checkpoints.size(), 1u);
  EXPECT_EQ(checkpoints[0].key.kind, store::CheckpointKind::boundary);
  EXPECT_EQ(checkpoints[0].key.iteration, 25);
  // Nothing else came: whatever is there is needed by it.
  EXPECT_EQ(store::collect(*store, true).freed, 0u);
  // Several workers at once ask for what they need.
  const auto more = replay({"test", "--epochs", "30..35", "--from", url, "--home", far, "--workers",
                            "3", "--again", "--", other("trainer")});
  EXPECT_EQ(more.status, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("verified: "));
  EXPECT_EQ(store::check(*store, true).findings.size(), 0u);
}

TEST_F(ReplayCommand, AnObjectStoreThatIsGoneWhenACheckpointIsNeededIsSaid) {
  bench_.record("trainer", {"--flor_every", "1"});
  const TemporaryDirectory elsewhere;
  const std::string url = "file://" + (elsewhere / "archive").string();
  const std::string far = (elsewhere / "home").string();
  ASSERT_EQ(run_process({FLOR_CLI, "spool", "test", url}, bench_.options()).status, 0);
  std::filesystem::remove_all(elsewhere / "archive" / "parcels");
  const auto result =
      replay({"test@4", "--from", url, "--home", far, "--probe", "train", "--", other("trainer")});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.out + result.err, HasSubstr("there is no"));
}

TEST_F(ReplayCommand, WhatTheProgramItselfHasReplayedIsNotComputedAgain) {
  bench_.record("trainer");
  EXPECT_EQ(bench_.replay("trainer_hindsight", {"--flor_epochs", "0..3"}).status, 0);
  const auto rest = replay({"test", "--", other("trainer_hindsight")});
  EXPECT_THAT(rest.out, HasSubstr("epochs 4..5"));
  EXPECT_EQ(found().size(), 6u + 2u);
}

TEST_F(ReplayCommand, OfARunWithoutRanksIsNoRankWhateverStartedIt) {
  bench_.record("trainer");
  ProcessOptions options = bench_.options();
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"RANK", "1"},
                                          {"WORLD_SIZE", "2"},
                                          {"LOCAL_RANK", "1"},
                                          {"SLURM_PROCID", "1"},
                                          {"SLURM_NTASKS", "2"},
                                          {"SLURM_STEP_NUM_TASKS", "2"},
                                          {"MASTER_ADDR", "127.0.0.1"}}) {
    options.environment[name] = value;
  }
  const auto result = run_process(command({"test"}), options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
}

TEST_F(ReplayCommand, AnotherProgramIsAnotherQuestionAndItsAnswersReplaceTheOld) {
  bench_.record("trainer");
  // What an execution verified would stand in some epochs, and not be computed again.
  const auto asked = [&](const char* name) {
    return replay({"test", "--verify-epochs", "none", "--", other(name)}).out;
  };
  asked("trainer_hindsight");
  EXPECT_THAT(asked("trainer_inner"), HasSubstr("epochs 0..5"));
  EXPECT_THAT(asked("trainer_hindsight"), HasSubstr("epochs 0..5"))
      << "its values were replaced meanwhile";
}

TEST_F(ReplayCommand, AProgramThatWasBuiltAgainIsAskedAnew) {
  bench_.record("trainer");
  const auto built = bench_.home() / "built";
  const auto build = [&](const char* name) {
    std::filesystem::copy_file(program(name), built,
                               std::filesystem::copy_options::overwrite_existing);
  };
  const Words question{"test", "--probe", "train", "--", built.string()};
  build("trainer_hindsight");
  EXPECT_EQ(replay(question).status, 0);
  EXPECT_EQ(found().size(), 6u + 2u);
  build("trainer_inner");
  const auto anew = replay(question);
  EXPECT_THAT(anew.out, HasSubstr("epochs 0..5 in"));
  EXPECT_EQ(found().size(), 6u * 4u + 6u + 2u);
  EXPECT_THAT(replay(question).out, HasSubstr("nothing to do"));
}

TEST_F(ReplayCommand, LoopsThatAreNewlyFoundInTheSourcesAreAnotherQuestion) {
  const auto source = [](const std::string& more) {
    return "#include <flor/flor.h>\nint main(int argc, char** argv) {\n"
           "  auto session = flor::init(argc, argv);\n"
           "  for (int epoch : flor::loop(\"epoch\", 6)) {\n"
           "    for (int step : flor::loop(\"train\", 4)) {\n      train(step);\n" +
           more + "    }\n  }\n}\n";
  };
  bench_.repository().write("train.cpp", source(""));
  bench_.repository().commit_all("loops");
  bench_.record("trainer");
  const Words question{"test", "--", other("trainer_inner")};
  EXPECT_THAT(replay(question).out, HasSubstr("skipped train 6 times"));
  EXPECT_THAT(replay(question).out, HasSubstr("nothing to do"));
  bench_.repository().write("train.cpp", source("      flor::log(\"norm\", norm());\n"));
  const auto anew = replay(question);
  EXPECT_THAT(anew.out, HasSubstr("executed train 6 times")) << anew.err;
  EXPECT_EQ(found().size(), 6u * 4u + 6u + 2u);
  EXPECT_THAT(replay(question).out, HasSubstr("nothing to do"));
  EXPECT_EQ(bench_.replays().size(), 2u) << "what was answered is no replay";
}

/// What keeps a store small, and what brings more into it.
TEST_F(ReplayCommand, TheStoreMayBeArchivedAndCollectedMeanwhile) {
  bench_.record("trainer", {"--kwargs", "epochs=16", "pause_ms=8"});
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  bench_.record("trainer", {"--kwargs", "epochs=16", "pause_ms=8"});
  const auto flor = [&](const Words& words) {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  };
  const auto file = (bench_.home() / "state.safetensors").string();
  const auto replaying =
      start({"test", "--probe", "train", "--workers", "2", "--", other("trainer_inner")});
  ASSERT_TRUE(eventually([&] { return epochs_done() >= 1; }));
  int rounds = 0;
  for (; rounds == 0 || (rounds < 20 && !children_of(replaying->pid()).empty()); ++rounds) {
    for (const Words& words :
         {Words{"archive", "test"}, Words{"gc"}, Words{"export", "test@3", file},
          Words{"import", file, "--name", "copy"}, Words{"gc"}}) {
      const auto result = flor(words);
      EXPECT_EQ(result.status, 0) << words.front() << ": " << result.err;
    }
  }
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(bench_.damage().empty());
}

TEST_F(ReplayCommand, WorkersThatAreKilledLoseNothingAndRepeatNothing) {
  bench_.record("trainer", {"--kwargs", "epochs=16", "pause_ms=4"});
  const auto alone = found_alone("trainer_inner", {"--flor_probe", "train"});
  bench_.record("trainer", {"--kwargs", "epochs=16", "pause_ms=4"});
  const auto replaying =
      start({"test", "--probe", "train", "--workers", "3", "--", other("trainer_inner")});
  std::mt19937 engine(5);
  int kills = 0;
  // At most two: on a busy machine they hit workers that are still starting, and three of those are
  // taken for a program that cannot be started.
  for (int i = 0; i < 4 && kills < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + engine() % 60));
    const auto workers = children_of(replaying->pid());
    if (workers.empty()) continue;
    ::kill(workers[engine() % workers.size()], SIGKILL);
    ++kills;
  }
  const auto result = replaying->wait();
  EXPECT_GT(kills, 0);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(bench_.damage().empty());
}

TEST_F(ReplayCommand, AnEpochThatKillsItsWorkerOnceIsGivenToAnother) {
  bench_.record("troubled");
  auto options = bench_.options();
  options.environment["TROUBLE"] = "3 once " + (bench_.home() / "was-here").string();
  const auto result =
      run_process(command({"test", "--workers", "2", "--", other("troubled_hindsight")}), options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("was ended by signal 9"));
  EXPECT_EQ(found().size(), 6u);
}

TEST_F(ReplayCommand, AnEpochThatFailsIsReportedAndTheOthersAreDone) {
  bench_.record("troubled");
  auto options = bench_.options();
  options.environment["TROUBLE"] = "3 throw";
  const auto result =
      run_process(command({"test", "--workers", "2", "--", other("troubled_hindsight")}), options);
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.out, HasSubstr("epoch 3: worker"));
  EXPECT_THAT(result.out, HasSubstr("this epoch cannot be computed"));
  EXPECT_EQ(found().size(), 5u);
  const auto repaired = replay({"test", "--", other("troubled_hindsight")});
  EXPECT_EQ(repaired.status, 0);
  EXPECT_THAT(repaired.out, HasSubstr("epoch 3 in"));
}

TEST_F(ReplayCommand, InterruptedItKeepsWhatWasComputedAndGoesOnFromThere) {
  bench_.record("trainer", {"--kwargs", "epochs=20", "pause_ms=10"});
  const Words question{"test", "--probe", "train", "--workers", "2", "--", other("trainer_inner")};
  const auto replaying = start(question);
  ASSERT_TRUE(eventually([&] { return epochs_done() >= 4; }));
  replaying->kill(SIGINT);
  const auto stopped = replaying->wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("missing"));
  const std::size_t kept = epochs_done();
  ASSERT_LT(kept, 20u);
  const auto rest = replay(question);
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(epochs_done(), 20u) << "no epoch was computed twice";
  EXPECT_EQ(found().size(), 20u * 4u + 20u + 2u);
}

TEST_F(ReplayCommand, NoWorkerOutlivesACoordinatorThatIsKilled) {
  bench_.record("trainer", {"--kwargs", "epochs=50", "pause_ms=20"});
  const auto replaying = start({"test", "--probe", "train", "--workers", "2"});
  ASSERT_TRUE(eventually([&] { return epochs_done() >= 2; }));
  const auto workers = children_of(replaying->pid());
  ASSERT_EQ(workers.size(), 2u);
  replaying->kill(SIGKILL);
  replaying->wait();
  for (const pid_t worker : workers) {
    EXPECT_TRUE(eventually([&] {
      std::ifstream in("/proc/" + std::to_string(worker) + "/stat");
      std::string number, name, state;
      in >> number >> name >> state;
      return !in || state == "Z";
    }));
  }
}

TEST_F(ReplayCommand, ADifferenceIsToldAndIsTheStatus) {
  bench_.record("trainer", {"--kwargs", "forgotten=velocity"});
  const auto result = replay({"test", "--probe", "train", "--epochs", "3.."});
  EXPECT_EQ(result.status, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("differs: "), HasSubstr("DIFFERS FROM THE RECORD")));
  const auto again = replay({"test", "--probe", "train", "--epochs", "3.."});
  EXPECT_EQ(again.status, 7) << "an answer that was given before has not become better";
}

TEST_F(ReplayCommand, TheProgressIsPlainLinesWhereThereIsNoTerminal) {
  bench_.record("trainer", {"--kwargs", "pause_ms=20"});
  const auto result = replay({"test", "--probe", "train", "--workers", "2"});
  EXPECT_THAT(result.err, HasSubstr("flor: 6 of 6 epochs"));
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
}

TEST_F(ReplayCommand, ADryRunSaysWhoWouldDoWhatAndDoesNothing) {
  bench_.record("trainer");
  const auto plan = replay({"test", "--dry-run", "--workers", "2", "--probe", "train"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("would replay run"), HasSubstr("stepping into train"),
                              HasSubstr("worker 1"), HasSubstr("estimate"),
                              HasSubstr(program("trainer").string())));
  EXPECT_TRUE(bench_.replays().empty());
}

TEST_F(ReplayCommand, ListsOfEpochsGoToTheProgramItselfToo) {
  bench_.record("trainer");
  const auto listed = bench_.replay("trainer_hindsight", {"--flor_epochs", "1,3..4"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_THAT(listed.err, HasSubstr("epochs 1, 3 to 4 of 6 recorded epochs"));
  EXPECT_EQ(found().size(), 3u);
  EXPECT_EQ(bench_.replay("trainer", {"--flor_epochs", "6"}).status, 2);
  EXPECT_EQ(bench_.replay("trainer", {"--flor_epochs", "2..1"}).status, 2);
  EXPECT_EQ(bench_.replay("trainer", {"0/2", "--flor_epochs", "1"}).status, 2);
}

TEST_F(ReplayCommand, WhatCannotBeReplayedIsOneLine) {
  bench_.record("trainer");
  const auto line = [&](const Words& arguments, int status, const char* part) {
    const auto result = replay(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, SaysOnce(part));
    EXPECT_EQ(result.out, "");
  };
  line({"nothing"}, 3, "nothing");
  line({"test", "--probe", "trian"}, 2, "train");
  line({"test", "--epochs", "4..9"}, 2, "no epoch 9");
  line({"test", "--workers", "0"}, 2, "--workers 0");
  line({"test", "--", "/nowhere/trainer"}, 3, "/nowhere/trainer");
  line({"test", "--", other("trainer"), "--kwargs", "epochs=3"}, 2, "--kwargs");
}

TEST_F(ReplayCommand, RunsOnAsManyCoresAsWereRecordedThreads) {
  auto options = bench_.options();
  options.environment["OMP_NUM_THREADS"] = "1000";
  const Words flags{"--flor", "test", "--flor_every", "1"};  // an epoch is a piece
  EXPECT_EQ(bench_.run("trainer", flags, options).status, 0);
  const auto result = replay({"test", "--workers", "2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 workers x 1000 threads (as recorded) are more than the"));
}

}  // namespace
}  // namespace flor::testing
