// Programs that run as several processes: each rank records a run of its own, what all have is
// stored once, all are replayed together or one alone, and an interrupted group goes on as a whole.
#include "ranks_fixture.h"
#include "told_numbers.h"

#include <fcntl.h>
#include <sys/file.h>

#include <csignal>

namespace flor::testing::ranks_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(Ranks, OnMachinesWithIndexesOfTheirOwnTheyMeetInTheHome) {
  on_machines_ = true;
  ::setenv("FLOR_INDEX", index_of(9).c_str(), 1);
  const Words kwargs{"--kwargs", "pause_ms=15", "epochs=6"};
  const auto plain = record(3, kwargs);
  const auto whole = records();
  ASSERT_EQ(whole.size(), 3u);
  for (const int victim : {0, 2}) {
    SCOPED_TRACE("rank " + std::to_string(victim));
    const Words recording = Words{"--flor", "test", "--flor_every", "1"} + kwargs;
    const auto killed = run_all(3, recording, victim, {{"RAISE", "9:15"}});
    EXPECT_EQ(killed[static_cast<std::size_t>(victim)].signal, SIGKILL);
    const auto resumed = run_all(3, {"--flor", "test", "--flor_resume"});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(resumed[i].status, 0) << resumed[i].err;
      EXPECT_EQ(lines_of(resumed[i].out).back(), lines_of(plain[i].out).back());
    }
    EXPECT_EQ(records(), whole) << "no value is missing, none is there twice";
  }
  EXPECT_THAT(bench_.damage(), IsEmpty());
  ::unsetenv("FLOR_INDEX");
}

TEST_F(Ranks, EachRecordsARunAndRankZeroCommitsTheSources) {
  const auto results = record(3);
  const auto runs = ranks();
  ASSERT_EQ(runs.size(), 3u);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto& run = runs[static_cast<std::size_t>(i)];
    EXPECT_EQ(run.start.rank, (store::RankPlace{runs[0].id, i, 3}));
    EXPECT_EQ(run.state, store::RunState::finished);
    EXPECT_EQ(run.start.commit, runs[0].start.commit);
    EXPECT_EQ(run.epochs, 5);
  }
  EXPECT_THAT(results[0].err,
              HasSubstr("recorded test as run " + runs[0].key.substr(0, 8) + " (rank 0 of 3)"));
  EXPECT_EQ(results[1].err, "") << "rank 0 speaks for all";
  EXPECT_EQ(results[2].err, "");
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Ranks, OneThatFailsIsNotSaidToBeRecorded) {
  for (const int killed : {0, 1}) {
    const auto results =
        run_all(2, {"--flor", "test", "--flor_every", "1"}, killed, {{"RAISE", "9:10"}});
    const std::string& err = results[static_cast<std::size_t>(1 - killed)].err;
    EXPECT_THAT(err, AllOf(HasSubstr("failed after 2 epochs"), HasSubstr("--flor_resume goes on"),
                           Not(HasSubstr("recorded test as run"))));
    EXPECT_EQ(ranks().at(static_cast<std::size_t>(1 - killed)).state, store::RunState::failed);
  }
}

TEST_F(Ranks, TheNumbersOfEachAreTheSameWhereverTheyAreSaid) {
  const auto first = expect_told_numbers(bench_, record(2)[0].err);
  const auto second = listed(bench_, ranks().at(1).key.substr(0, 8));
  const auto list = nlohmann::json::parse(flor({"list", "--json"}).out)["runs"];
  ASSERT_EQ(list.size(), 1u) << "one line for all";
  for (const char* fact : {"checkpoints", "stored_bytes"}) {
    EXPECT_EQ(list[0][fact], first[fact].get<int>() + second[fact].get<int>()) << fact;
  }
  EXPECT_EQ(list[0]["epochs"], first["epochs"]);
}

TEST_F(Ranks, WhatAllHaveIsStoredOnce) {
  const auto home = bench_.home();
  for (const int world : {2, 3}) {
    bench_.use_home(home / std::to_string(world));
    record(world, {"--kwargs", "size=100000"});
    const auto runs = ranks();
    const auto first = static_cast<double>(runs[0].stored_bytes);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const double share = static_cast<double>(runs[i].stored_bytes) / first;
      std::printf("%d ranks: rank 0 stored %.0f bytes, rank %zu %llu (%.2f %%)\n", world, first, i,
                  static_cast<unsigned long long>(runs[i].stored_bytes), 100 * share);
      EXPECT_NEAR(static_cast<double>(runs[i].raw_bytes), static_cast<double>(runs[0].raw_bytes),
                  1000);
      EXPECT_LT(share, 0.05) << "only the samplers differ";
    }
  }
}

TEST_F(Ranks, ListShowsAGroupInOneLineAndShowNamesItsRanks) {
  record(2);
  const auto runs = ranks();
  const auto lines = [&](const Words& arguments) {
    return lines_of(flor(Words{"list"} + arguments).out);
  };
  EXPECT_EQ(lines({}).size(), 2u);
  EXPECT_THAT(lines({})[0], HasSubstr("ranks"));
  EXPECT_THAT(lines({})[1], AllOf(HasSubstr(runs[0].key.substr(0, 8)), HasSubstr("finished")));
  EXPECT_EQ(lines({"--ranks"}).size(), 3u);
  EXPECT_THAT(flor({"list", "--ranks"}).out, HasSubstr(runs[1].key.substr(0, 8)));
  EXPECT_THAT(flor({"show", "test"}).out,
              HasSubstr("0 of 2; rank 1 is run " + runs[1].key.substr(0, 8) + ", finished"));
  EXPECT_EQ(bench_.store()->catalog().resolve("test").key, runs[0].key) << "a name means rank 0";
}

TEST_F(Ranks, TheRanksOfAReplayAreThoseOfTheRecord) {
  const auto recorded = record(2);
  for (const Words& flags : {Words{"--flor_probe", "train"}, Words{}}) {
    const auto replayed = run_all(2, Words{"--replay_flor"} + flags);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(replayed[i].status, 0) << replayed[i].err;
      const Words kinds = flags.empty() ? Words{"tail", "end"} : Words{"step", "tail", "end"};
      EXPECT_EQ(lines_of(replayed[i].out), lines_with(recorded[i].out, kinds));
    }
  }
}

TEST_F(Ranks, AnotherNumberOfRanksIsRefusedWithTheRemedy) {
  record(2);
  for (const auto& result : run_all(3, {"--replay_flor"})) {
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr("was recorded by 2 ranks, and 3 are here"));
  }
  const auto alone = bench_.replay("averager");
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.err, HasSubstr("flor replay"));
}

TEST_F(Ranks, FlorReplayStartsThemTogetherForEachWorker) {
  record(2);
  const Words hindsight{"--", program("averager_hindsight").string()};
  const auto whole =
      flor(Words{"replay", "test", "--workers", "2", "--probe", "train"} + hindsight);
  EXPECT_EQ(whole.status, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, AllOf(HasSubstr("2 workers of 2 ranks"), HasSubstr("verified: ")));
  const auto together = found();
  ASSERT_EQ(together.size(), 2u);
  EXPECT_EQ(together[0].size(), 5u * 4u + 5u);
  EXPECT_EQ(together[1], together[0]) << "gradients and weights are the same in all ranks";
  const auto again =
      flor(Words{"replay", "test", "--workers", "2", "--probe", "train"} + hindsight);
  EXPECT_THAT(again.out, HasSubstr("answered before"));
  const auto one =
      flor(Words{"replay", "test", "--again", "--workers", "1", "--probe", "train"} + hindsight);
  EXPECT_EQ(one.status, 0) << one.out << one.err;
  EXPECT_EQ(found(), together) << "fewer processes find the same";
}

TEST_F(Ranks, OneRankIsReplayedAloneWhereItNeedsNobody) {
  record(2);
  const Words hindsight{"--", program("averager_hindsight").string()};
  ProcessOptions options = bench_.options();
  options.environment["PATIENCE"] = "1";  // to verify it would need rank 0, which does not come
  const auto result = run_process(
      Words{FLOR_CLI, "replay", "test", "--rank", "1", "--no-probe"} + hindsight, options);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  EXPECT_EQ(found()[1].size(), 5u);
  EXPECT_THAT(found()[0], IsEmpty());
  EXPECT_EQ(flor({"replay", "test", "--rank", "2"}).status, 3);
}

#ifdef FLOR_DDP
TEST_F(Ranks, TheExampleThatTrainsOverGlooIsReplayedExactly) {
  const auto recorded = record(2, {"--kwargs", "epochs=3", "pictures=600", "hidden=32"}, FLOR_DDP);
  EXPECT_EQ(lines_with(recorded[0].out, {"epoch"}).size(), 3u);
  for (const char* workers : {"1", "2"}) {
    const auto replayed =
        flor({"replay", "test", "--again", "--workers", workers, "--probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    // Of each rank: 3 epochs of 4 losses, an accuracy, and the states at the end of both loops.
    EXPECT_THAT(replayed.out,
                HasSubstr("verified: 30 of 30 recomputed values and 12 states equal the record"));
  }
  EXPECT_THAT(bench_.damage(), IsEmpty());
}
#endif

TEST_F(Ranks, ARankThatDiesInAReplayIsStartedAgainWithTheOthers) {
  record(2);
  ProcessOptions options = bench_.options();
  options.environment["RAISE"] = "9:7";
  options.environment["RAISE_ONCE"] = bench_.home() / "raised";
  const auto result =
      run_process(Words{FLOR_CLI, "replay", "test", "--workers", "1", "--probe", "train"}, options);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("signal 9"));
  EXPECT_THAT(result.out, HasSubstr("verified: "));
}

TEST_F(Ranks, AGroupWhoseRankWasKilledGoesOnExactly) {
  const Words kwargs{"--kwargs", "pause_ms=15", "epochs=6"};
  const auto plain = record(3, kwargs);
  const auto whole = records();
  int from_a_checkpoint = 0;  // a busy machine may not have completed one before the kill
  for (const int victim : {0, 1, 2}) {
    SCOPED_TRACE("rank " + std::to_string(victim));
    const Words recording = Words{"--flor", "test", "--flor_every", "1"} + kwargs;
    const auto killed = run_all(3, recording, victim, {{"RAISE", "9:15"}});
    EXPECT_EQ(killed[static_cast<std::size_t>(victim)].signal, SIGKILL);
    EXPECT_THAT(flor({"list", "-n", "1"}).out, Not(HasSubstr("finished")));
    const auto resumed = run_all(3, {"--flor", "test", "--flor_resume"});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(resumed[i].status, 0) << resumed[i].err;
      EXPECT_EQ(lines_of(resumed[i].out).back(), lines_of(plain[i].out).back());
    }
    EXPECT_THAT(resumed[0].err, HasSubstr("resuming run"));
    from_a_checkpoint += resumed[0].err.find("the beginning") == std::string::npos;
    EXPECT_EQ(records(), whole) << "no value is missing, none is there twice";
  }
  EXPECT_GT(from_a_checkpoint, 0);
}

TEST_F(Ranks, AResumeThatComesSecondLeavesTheFirstOneAlone) {
  const Words recording{"--flor", "test", "--flor_every", "1", "--kwargs", "epochs=2"};
  run_all(2, recording, 0, {{"RAISE", "9:3"}});
  const auto first = ranks().at(0);
  const auto store = bench_.store();
  store->catalog().open_launch(
      {.group = first.id, .launch = "the first", .commit = {}, .point = {}});
  // As it is for a moment: not yet known to be running, and yet not to be had.
  const auto path = store->rank_board(first.key).replace_extension(".lock");
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::flock(lock, LOCK_SH), 0);
  const auto second = run_all(1, {"--flor", "test", "--flor_resume"}, 0, {{"WORLD_SIZE", "2"}});
  ::close(lock);
  EXPECT_EQ(second[0].status, 6) << second[0].err;
  EXPECT_TRUE(store->catalog().find_launch("the first")) << "its ranks find each other";
}

TEST_F(Ranks, ASignalToOneRankStopsAllAtTheSameStep) {
  // As a job script has it, which is the same when it is started again.
  const Words script{"--flor",        "test", "--flor_every", "1",
                     "--flor_resume", "auto", "--kwargs",     "pause_ms=15"};
  const auto plain = run_all(2, script);
  const auto whole = records();
  const auto stopped = run_all(2, script, 1, {{"RAISE", "15:6"}});
  for (const auto& result : stopped) EXPECT_EQ(result.status, 75) << result.err;
  EXPECT_THAT(stopped[0].err, HasSubstr(" of train, or earlier if another rank is not that far"));
  const auto runs = ranks();
  EXPECT_THAT(runs[0].message, HasSubstr("preempted by a signal to another rank at epoch 1, step"));
  EXPECT_THAT(runs[1].message, HasSubstr("preempted by SIGTERM at epoch 1, step"));
  const auto resumed = run_all(2, script);
  EXPECT_THAT(resumed[0].err, HasSubstr(" of train")) << "inside the epoch";
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(resumed[i].status, 0) << resumed[i].err;
    EXPECT_EQ(lines_of(resumed[i].out).back(), lines_of(plain[i].out).back());
  }
  EXPECT_EQ(records(), whole);
}

/// A group that was asked to go inside epoch 2 checks the stretch before that step, since its
/// epochs took hours. `forgets` has a bit for each rank that registers not all of its state.
TEST_F(Ranks, AStretchInsideALongEpochIsCheckedByAllOfThem) {
  const auto recording = [](int forgets) {
    return Words{"--flor",   "test",     "--flor_every",
                 "1",        "--kwargs", "pause_ms=5",
                 "epochs=4", "steps=8",  "forgets=" + std::to_string(forgets)};
  };
  const auto plain = run_all(2, recording(0));
  const auto whole = records();
  for (const int forgets : {0, 2, 3}) {
    SCOPED_TRACE(forgets);
    const auto stopped = run_all(2, recording(forgets), 1, {{"RAISE", "15:19"}});
    for (const auto& result : stopped) ASSERT_EQ(result.status, 75) << result.err;
    let_epochs_take_hours();
    const auto resumed = run_all(2, {"--flor", "test", "--flor_resume", "--flor_check", "1000"});
    for (const auto& result : resumed) {
      EXPECT_EQ(result.status, forgets != 0 ? 7 : 0) << result.out << result.err;
    }
    if (forgets != 0) continue;
    EXPECT_THAT(resumed[0].err,
                ::testing::ContainsRegex("checked: epoch 2 computed again from step 0 of train up "
                                         "to step [3-7], [3-8] values and 1 state equal"));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(lines_of(resumed[i].out).back(), lines_of(plain[i].out).back());
    }
    EXPECT_EQ(records(), whole);
  }
}

/// What the training loop left in a variable is lost on the way to a step of the loop after it, in
/// the ranks that have a bit of `sums`.
TEST_F(Ranks, WhatLeadsToAStepIsComparedInEachOfThem) {
  for (const int sums : {0, 2, 3}) {
    SCOPED_TRACE(sums);
    const Words script{"--flor",
                       "test",
                       "--flor_every",
                       "1",
                       "--flor_resume",
                       "auto",
                       "--kwargs",
                       "pause_ms=5",
                       "epochs=3",
                       "evals=8",
                       "sums=" + std::to_string(sums)};
    const auto plain = run_all(2, script);
    const auto whole = records();
    const auto stopped = run_all(2, script, 1, {{"RAISE", "15:19"}});
    for (const auto& result : stopped) ASSERT_EQ(result.status, 75) << result.err;
    auto resumed = run_all(2, script);
    EXPECT_THAT(resumed[0].err, HasSubstr(" of eval; follow")) << "inside the epoch";
    for (std::size_t i = 0; i < 2 && sums != 0; ++i) {
      const bool lost = (sums >> i & 1) != 0;
      EXPECT_EQ(resumed[i].status == 75, lost) << resumed[i].err;
      EXPECT_NE(resumed[i].status, 0) << "it is left alone";
      EXPECT_EQ(resumed[i].err.find("what leads there is not what was recorded: sum at epoch 1: "
                                    "recorded ") != std::string::npos,
                lost)
          << resumed[i].err;
    }
    if (sums != 0) {
      resumed = run_all(2, script);
      EXPECT_THAT(resumed[0].err, HasSubstr(" at epoch 1; follow"));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(resumed[i].status, 0) << resumed[i].err;
      EXPECT_EQ(lines_of(resumed[i].out).back(), lines_of(plain[i].out).back());
    }
    EXPECT_EQ(records(), whole);
  }
}

TEST_F(Ranks, ThinningKeepsTheSameOfAllAndTheReplayStaysExact) {
  record(2, {"--kwargs", "epochs=8", "size=20000"});
  const auto stored = [&] {
    std::vector<std::set<std::string>> keys;
    for (const auto& one : records()) {
      auto& own = keys.emplace_back();
      for (const auto& [key, digest] : one.checkpoints) own.insert(key);
    }
    return keys;
  };
  const auto before = stored();
  const auto plan = flor({"keep", ranks()[1].key, "--last", "2", "--dry-run"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  const auto kept = flor({"keep", "test", "--last", "2"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  const auto after = stored();
  EXPECT_EQ(after[1], after[0]);
  EXPECT_LT(after[0].size(), before[0].size());
  EXPECT_EQ(flor({"gc"}).status, 0);
  EXPECT_THAT(bench_.damage(), IsEmpty());
  for (const char* probe : {"--probe=train", "--no-probe"}) {
    const auto replayed = flor({"replay", "test", "--workers", "1", probe});
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    EXPECT_THAT(replayed.out, HasSubstr("verified: "));
  }
}

TEST_F(Ranks, UndoBringsBackWhatAllRanksHad) {
  record(2);
  const auto before = records();
  EXPECT_EQ(flor({"keep", "test", "--last", "1"}).status, 0);
  EXPECT_NE(records(), before);
  EXPECT_EQ(flor({"keep", "test", "--undo"}).status, 0);
  EXPECT_EQ(records(), before);
}

/// A disk may have been full for a moment in which one of them stored, and the other did not.
TEST_F(Ranks, WhereNotAllHaveStoredAnEpochAllExecuteIt) {
  record(2);
  {
    const auto store = bench_.store();
    const store::CheckpointKey first{store::CheckpointKind::loop_end, 0, 1, "train"},
        second[] = {{store::CheckpointKind::boundary, 0, 3, ""},
                    {store::CheckpointKind::loop_end, 0, 3, "train"}};
    store->catalog().drop_checkpoints(ranks()[0].id, std::span(&first, 1));
    store->catalog().drop_checkpoints(ranks()[1].id, second);
  }
  const auto probed = flor({"replay", "test", "--workers", "2", "--probe", "train"});
  EXPECT_EQ(probed.status, 0) << probed.out << probed.err;
  EXPECT_THAT(probed.out, HasSubstr("verified: "));
  const auto skipped =
      flor({"replay", "test", "--again", "--workers", "1", "--verify-epochs", "none"});
  EXPECT_EQ(skipped.status, 0) << skipped.out << skipped.err;
  // Of 5 epochs and 2 ranks.
  EXPECT_THAT(skipped.out, HasSubstr("skipped train 6 times; executed train 4 times: not stored"));
  const auto together = run_all(2, {"--replay_flor"});
  for (const auto& result : together) EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(together[0].err, HasSubstr("executed train 2 times: not stored"));
  const auto alone = flor({"replay", "test", "--again", "--rank", "1", "--epochs", "1"});
  EXPECT_EQ(alone.status, 0) << "its own checkpoints are enough: " << alone.out << alone.err;
}

TEST_F(Ranks, AnInterruptedGroupIsReplayedAsFarAsAllHaveStoredTheSame) {
  record(2);
  const auto runs = ranks();
  {  // As if rank 1 had been killed when its end was known, and its last states not yet stored.
    const auto store = bench_.store();
    const store::CheckpointKey keys[] = {{store::CheckpointKind::loop_end, 0, 4, "train"},
                                         {store::CheckpointKind::boundary, 0, 5, ""}};
    store->catalog().drop_checkpoints(runs[1].id, keys);
    store->catalog().finish_run(runs[1].id, runs[1].finished_us.value(), true, "out of memory");
  }
  const auto replayed = flor({"replay", "test", "--workers", "1", "--probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
  // Of each rank: 4 epochs of 4 losses and a norm, and the states at the ends of both loops.
  EXPECT_THAT(replayed.out,
              HasSubstr("verified: 40 of 40 recomputed values and 16 states equal the record"));
}

TEST_F(Ranks, AdaptiveCheckpointsAreTheSameInAllRanks) {
  const auto results = run_all(3, {"--flor", "test", "--kwargs", "pause_ms=2", "epochs=60"});
  for (const auto& result : results) EXPECT_EQ(result.status, 0) << result.err;
  const auto all = records();
  std::vector<std::set<std::string>> keys(3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto& [key, digest] : all[i].checkpoints) keys[i].insert(key);
  }
  EXPECT_EQ(keys[1], keys[0]);
  EXPECT_EQ(keys[2], keys[0]);
  std::printf("%zu checkpoints of 60 epochs\n", keys[0].size());
}

TEST_F(Ranks, ABoundaryThatTheClockOfOneRankAsksForIsStoredByAllOrNone) {
  // For one of them the last checkpoint is always too long ago, for the other it never is.
  const auto results =
      run_all(2, {"--flor", "test", "--flor_every", "1000", "--flor_every_seconds", "1000"}, 1, {},
              "averager", {"--flor_every_seconds", "0.000001"});
  for (const auto& result : results) EXPECT_EQ(result.status, 0) << result.err;
  const auto replayed = flor({"replay", "test", "--workers", "1", "--probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
}

TEST_F(Ranks, WithoutRankZeroTheOthersSaySo) {
  ProcessOptions options = bench_.options();
  options.environment["RANK"] = "1";
  options.environment["WORLD_SIZE"] = "2";
  options.environment["FLOR_RANK_TIMEOUT"] = "0.2";
  const auto result =
      run_process({program("averager").string(), "--flor", "test"}, std::move(options));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, SaysOnce("rank 0 did not begin to record"));
}

TEST_F(Ranks, NumbersThatCannotBeAreRefused) {
  ProcessOptions options = bench_.options();
  options.environment["RANK"] = "2";
  options.environment["WORLD_SIZE"] = "2";
  const auto result =
      run_process({program("averager").string(), "--flor", "test"}, std::move(options));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, SaysOnce("RANK=2 WORLD_SIZE=2"));
}

TEST_F(Ranks, SlurmSaysItToo) {
  ProcessOptions options = bench_.options();
  options.environment["SLURM_PROCID"] = "0";
  options.environment["SLURM_NTASKS"] = "2";
  const Words command{program("averager").string(), "--flor", "test", "--kwargs", "alone=1"};
  EXPECT_EQ(run_process(command, options).status, 0);
  EXPECT_FALSE(bench_.last_run().start.rank) << "independent trainings that one srun starts";
  options.environment["MASTER_ADDR"] = "127.0.0.1";
  EXPECT_EQ(run_process(command, options).status, 0);
  ASSERT_TRUE(bench_.last_run().start.rank);
  EXPECT_EQ(bench_.last_run().start.rank->world, 2);
}

}  // namespace
}  // namespace flor::testing::ranks_test
