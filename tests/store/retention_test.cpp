// Deleting checkpoints by rules, and bringing them back.
#include "database/sqlite.h"
#include "index/catalog/resume_point.h"
#include "maintain/collect.h"
#include "maintain/usage.h"
#include "pack/pack_record.h"
#include "retention/retention.h"
#include "retention_fixture.h"

#include <signal.h>

#include <chrono>
#include <limits>
#include <set>
#include <thread>

namespace flor::store::retention_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RetentionTest, KeepsTheTwoSmallestLossesOnceTheRunHasFinished) {
  const auto store = open();
  const Run run = record(*store, {2.0, 4.0, 1.0, 3.0});
  const KeepRules rules = best(2);
  RetentionReport report = retain(*store, run.id, rules, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 3, 4)) << "it may still be resumed after 4";
  EXPECT_EQ(report.kept, 3);
  EXPECT_EQ(report.deleted, 1);
  finish(*store, run);
  retain(*store, run.id, rules, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 3));
  const auto found =
      best_checkpoint(*store, run.id, {.score_attribute = "loss", .score_order = ScoreOrder::min});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 2);  // the third epoch
  EXPECT_EQ(found->score, 1.0);
  expect_holds(*store, found->id, state(3, 300));
  EXPECT_EQ(latest_checkpoint(*store, run.id, {})->number, 2);
  expect_intact(*store, run);
}

TEST_F(RetentionTest, AnEpochGoesWithTheEndsOfItsLoopsAndWhatBeginsBehindIt) {
  const auto store = open();
  const Run run = record(*store, {3.0, 2.0, 1.0});
  finish(*store, run);
  retain(*store, run.id, best(1), Sizes::skipped);
  EXPECT_EQ(keys(*store, run),
            (std::set<std::string>{"0", "train@begin0", "3", "train2", "train@begin3"}));
  EXPECT_EQ(store->catalog().run(run.id)->checkpoints, 5);
  EXPECT_EQ(store->catalog().discarded(run.id).size(), 6u);
}

TEST_F(RetentionTest, WhatHasNoNumberRanksWorstAndBooleansAreNumbers) {
  const auto store = open();
  const Run run = record(*store, {2.0, std::nullopt, kNaN, 3.0});
  add(*store, run, logged("good", 0, ValueType::boolean, std::int64_t{0}));
  add(*store, run, logged("good", 1, ValueType::boolean, std::int64_t{1}));
  add(*store, run, logged("good", 2, ValueType::text, std::string("very")));
  add(*store, run, logged("note", 2, ValueType::text, std::string("very")));
  finish(*store, run);
  EXPECT_THAT(message_of<UsageError>(
                  [&] { plan_retention(*store, run.id, best(1, ScoreOrder::min, "note")); }),
              HasSubstr("'note' is no number"));
  EXPECT_THAT(message_of<NotFound>(
                  [&] { plan_retention(*store, run.id, best(1, ScoreOrder::min, "los")); }),
              HasSubstr("did you mean 'loss'?"));
  const auto found = best_checkpoint(*store, run.id, {.score_attribute = "good"});
  EXPECT_EQ(found->number, 1);
  EXPECT_EQ(found->score, 1.0);
  retain(*store, run.id, best(2), Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 4));
}

TEST_F(RetentionTest, ScoresThatComeLaterRankAnewAndWhatAnEpochLoggedItselfCounts) {
  const auto store = open();
  const Run run = record(*store, {1.0, 2.0, 3.0});
  finish(*store, run);
  const CheckpointStrategy strategy{.score_attribute = "loss", .score_order = ScoreOrder::min};
  EXPECT_EQ(best_checkpoint(*store, run.id, strategy)->number, 0);
  // A replay finds values that the run did not log, inside the loop and behind it.
  const std::int64_t replay = add_replay(*store, run);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t step = 9; step < 12; ++step) {
      Value value = logged("late", epoch, ValueType::real,
                           step == 11 ? 10.0 - static_cast<double>(epoch) : 0.0, step);
      value.replay = replay;
      add(*store, run, value);
    }
  }
  CheckpointStrategy late{.score_attribute = "late", .score_order = ScoreOrder::min};
  EXPECT_EQ(best_checkpoint(*store, run.id, late)->number, 2);
  EXPECT_EQ(best_checkpoint(*store, run.id, late)->score, 8.0) << "of the last step, not of 9";
  add(*store, run, logged("late", 1, ValueType::integer, std::int64_t{-5}));
  EXPECT_EQ(best_checkpoint(*store, run.id, late)->number, 1);
}

TEST_F(RetentionTest, TheRunsOwnStrategyProtectsItsBestFromOtherRules) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0, 4.0, 5.0});
  const CheckpointStrategy strategy{
      .num_to_keep = 3, .score_attribute = "loss", .score_order = ScoreOrder::min};
  store->catalog().put_strategy(run.id, strategy);
  EXPECT_EQ(open(OpenMode::read_only)->catalog().strategy(run.id), strategy);
  finish(*store, run);
  retain(*store, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2, 5));
}

TEST_F(RetentionTest, WhatIsSaidToBeFreedIsWhatACollectionFrees) {
  const auto store = open();
  const std::size_t weights = 60'000;
  const Run other =
      record(*store, {1.0, 2.0}, weights, new_run("other"));  // has some of the same content
  const Run run = record(*store, {5.0, 1.0, 4.0, 2.0, 3.0, 6.0, 7.0, 8.0}, weights);
  finish(*store, run);
  finish(*store, other);
  const UsageReport before = usage(*store);
  EXPECT_EQ(before.unreferenced, 0u);
  const std::uint64_t on_disk = bytes_in_packs();
  const auto usage_of = [&](const UsageReport& report) {
    return *std::ranges::find(report.runs, run.key, &Usage::name);
  };
  KeepRules rules{.under = usage_of(before).stored * 2 / 3};
  const RetentionReport planned = plan_retention(*store, run.id, rules);
  EXPECT_EQ(planned.before, usage_of(before).stored);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));

  const RetentionReport report = retain(*store, run.id, rules, Sizes::weighed);
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.freed, planned.freed);
  EXPECT_LE(report.after, *rules.under);
  EXPECT_EQ(epochs(*store, run).back(), 8) << "without a metric the newest is the best";
  const UsageReport after = usage(*store);
  EXPECT_EQ(usage_of(after).stored, report.after);
  EXPECT_EQ(after.unreferenced, report.freed);
  EXPECT_EQ(before.stored - after.stored, report.freed);
  EXPECT_GT(report.freed, 0u);

  const std::size_t packs_before = packs().size();
  const CollectReport collected = collect(*store, false, 1.0);
  EXPECT_EQ(collected.checkpoints,
            static_cast<std::int64_t>(store->catalog().discarded(run.id).size()));
  const std::uint64_t headers = kPackHeaderBytes * (packs_before - packs().size());
  EXPECT_EQ(on_disk - bytes_in_packs(), report.freed + headers);
  EXPECT_EQ(usage(*store).unreferenced, 0u);
  expect_intact(*store, run, weights);
  expect_intact(*store, other, weights);
}

TEST_F(RetentionTest, DeletingOneAloneFreesWhatItIsSaidToFree) {
  const auto store = open();
  const Run run = record(*store, {1.0, 2.0, 3.0, 4.0}, 60'000);
  finish(*store, run);
  const RetentionReport plan = plan_retention(*store, run.id, {.last = 4});
  ASSERT_EQ(plan.units.size(), 4u);
  EXPECT_EQ(plan.deleted, 0);
  EXPECT_EQ(plan.freed, 0u);
  // The last one is no base of others.
  retain(*store, run.id, best(3), Sizes::weighed);
  EXPECT_EQ(usage(*store).unreferenced, plan.units[3].frees);
  EXPECT_GT(plan.units[3].frees, 0u);
  EXPECT_LT(plan.units[0].frees, plan.units[3].frees) << "the others are differences to it";
}

TEST_F(RetentionTest, WhatDoesNotFitIsSaidAndTheBestStays) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0});
  finish(*store, run);
  KeepRules rules = best(2);
  rules.under = 10;
  const RetentionReport report = retain(*store, run.id, rules, Sizes::weighed);
  EXPECT_FALSE(report.fits);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2));
}

TEST_F(RetentionTest, WhatWasDeletedComesBackUntilItIsCollected) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0});
  finish(*store, run);
  const auto before = keys(*store, run);
  retain(*store, run.id, best(1), Sizes::skipped);
  EXPECT_EQ(restore_discarded(*store, run.id, 2).restored, 3);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2, 3));
  EXPECT_EQ(restore_discarded(*store, run.id).restored, 3);
  EXPECT_EQ(keys(*store, run), before);
  EXPECT_THAT(store->catalog().discarded(run.id), IsEmpty());
  expect_intact(*store, run);
  EXPECT_EQ(collect(*store, false).chunks, 0);

  retain(*store, run.id, best(1), Sizes::skipped);
  EXPECT_EQ(collect(*store, false).checkpoints, 6);
  const RestoreReport refused = restore_discarded(*store, run.id);
  EXPECT_EQ(refused.restored, 0);
  EXPECT_EQ(refused.collected, 6);
  EXPECT_EQ(store->catalog().discarded(run.id).size(), 6u) << "that it was there remains known";
  EXPECT_TRUE(store->catalog().discarded(run.id)[0].collected_us);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2));
  expect_intact(*store, run);
}

TEST_F(RetentionTest, ACollectionByAnOlderVersionIsNoticed) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0});
  finish(*store, run);
  retain(*store, run.id, best(1), Sizes::skipped);
  {  // which knows nothing of deleted checkpoints
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute("CREATE TABLE hidden AS SELECT * FROM discarded; DELETE FROM discarded");
  }
  EXPECT_GT(collect(*store, false).chunks, 0);
  {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute("INSERT INTO discarded SELECT * FROM hidden; DROP TABLE hidden");
  }
  const RestoreReport report = restore_discarded(*store, run.id, 0);
  EXPECT_EQ(report.collected, 2) << "the ends of the loop and of the epoch";
  EXPECT_EQ(report.restored, 1) << "a local whose content is there, since others have the same";
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2));
  expect_intact(*store, run);
}

TEST_F(RetentionTest, WhoeverReadsACheckpointReadsOnWhileItIsDeletedAndCollected) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0});
  finish(*store, run);
  const CheckpointInfo known = *store->catalog().checkpoint(run.id, boundary(1));
  auto use = store->use_run(run.key);
  auto second = open(OpenMode::existing)->use_run(run.key);
  retain(*store, run.id, best(1), Sizes::skipped);
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.checkpoints, 0);
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0], HasSubstr(run.key + " is being replayed"));
  expect_holds(*store, known.id, state(1, 300));
  use.reset();
  EXPECT_EQ(collect(*store, false).checkpoints, 0);
  second.reset();
  EXPECT_THAT(std::filesystem::is_empty(home() / "locks"), true);
  EXPECT_EQ(collect(*store, false).checkpoints, 6);
  EXPECT_THROW(CheckpointReader(*store, known.id), NotFound);
}

TEST_F(RetentionTest, WhatOneRankReadsIsLeftInAllOfThem) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 3);
  const Run second = record_rank(*store, first.id, 1, 3);
  for (const Run& run : {first, second}) finish(*store, run);
  const auto before = keys(*store, second);
  auto use = store->use_run(first.key);
  retain(*store, first.id, best(1), Sizes::skipped);
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.checkpoints, 0);
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0], HasSubstr("and those of its other ranks"));
  EXPECT_EQ(restore_discarded(*store, first.id).collected, 0);
  EXPECT_EQ(keys(*store, second), before);
  EXPECT_EQ(keys(*store, first), before);
}

TEST_F(RetentionTest, TheUseOfARunEndsWithItsProcess) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0});
  finish(*store, run);
  retain(*store, run.id, best(1), Sizes::skipped);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t reader = start_process([&] {
    const auto use = open(OpenMode::existing)->use_run(run.key);
    (void)!::write(ready[1], "r", 1);
    ::pause();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(collect(*store, false).checkpoints, 0);
  ::kill(reader, SIGKILL);
  wait_for(reader);
  EXPECT_EQ(collect(*store, false).checkpoints, 3);
}

TEST_F(RetentionTest, ARunThatIsRecordedGoesOnAfterItsCheckpointsWereDeletedAndCollected) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const auto lock = store->lock_run(run.key);
  CheckpointWriter writer(*store, run.id, kOneThread);
  for (int epoch = 0; epoch < 12; ++epoch) {  // each is stored as a difference to the one before
    writer.write(boundary(epoch), state(epoch, 60'000));
    if (epoch == 0) continue;
    add(*store, run, logged("loss", epoch - 1, ValueType::real, 20.0 - epoch));
    store->catalog().add_iteration(run.id, {0, epoch - 1, 0.75, 0.0015});
    store->catalog().put_main_loop(run.id, {0, "epoch", 0, epoch, false, false});
    retain(*store, run.id, best(1), Sizes::skipped);
    collect(*store, false, 1.0);
    EXPECT_THAT(epochs(*store, run), ElementsAre(0, epoch));
    expect_intact(*store, run, 60'000);
  }
}

/// A boundary may be durable before the catalog knows that the iteration before it is complete.
TEST_F(RetentionTest, WhereARunCanBeResumedStaysTheSameWhateverIsDeleted) {
  const flor::testing::TemporaryDirectory memory(flor::testing::fast_parent());
  const auto store = Store::open(memory / "home", OpenMode::create);
  std::minstd_rand random(5);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id, kOneThread);
    std::int64_t epoch = 0;
    const auto loops = static_cast<std::int64_t>(random() % 3);
    for (std::int64_t loop = 0; loop <= loops; ++loop) {
      const auto iterations = static_cast<std::int64_t>(random() % 6);
      const std::int64_t first = epoch;
      const bool late = random() % 2 == 0 && loop == loops && iterations > 0;
      writer.write({CheckpointKind::boundary, loop, 0, ""}, make_snapshot(1, 0, 8));
      for (std::int64_t i = 0; i < iterations; ++i, ++epoch) {
        if (random() % 3 > 0 || i + 1 == iterations) {
          writer.write({CheckpointKind::loop_end, loop, i, "train"}, make_snapshot(1, 1, 8));
          writer.write({CheckpointKind::boundary, loop, i + 1, ""}, make_snapshot(1, 1, 8));
        }
        if (late && i + 1 == iterations) continue;
        store->catalog().add_iteration(run.id, {loop, i, 0.75, 0.0015});
      }
      const bool ended = loop < loops;
      store->catalog().put_main_loop(run.id, {loop, "loop" + std::to_string(loop), first,
                                              iterations - (late ? 1 : 0), ended, false});
    }
    if (random() % 2 == 0) {
      writer.write({CheckpointKind::step, loops, 2, "train@3"}, make_snapshot(1, 1, 8));
    }
    const auto point = [&] {
      return print_point(find_resume_point(store->catalog(), run.id)) + " " +
             std::to_string(find_resume_point(store->catalog(), run.id).main_loop);
    };
    const std::string before = point();
    const KeepRules rules =
        round % 2 == 0 ? KeepRules{.last = 1} : KeepRules{.under = std::uint64_t{1}};
    retain(*store, run.id, rules, Sizes::skipped);
    EXPECT_EQ(point(), before);
  }
}

TEST_F(RetentionTest, SavedCheckpointsRankByTheirScoresAndKeepTheirNumbers) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id, kOneThread);
  const double losses[] = {2, 4, 1, 3};
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::string name = "s" + std::to_string(i + 1);
    const CheckpointKey key{CheckpointKind::saved, 0, 0, name};
    writer.write(key, state(i, 300));
    store->catalog().add_saved(run.id, {.number = i + 1,
                                        .name = name,
                                        .key = key,
                                        .place = {"epoch/train", 0, 10 * i, ""},
                                        .scores = {{"loss", losses[i]}}});
  }
  const CheckpointStrategy strategy{.score_attribute = "loss", .score_order = ScoreOrder::min};
  EXPECT_EQ(best_checkpoint(*store, run.id, strategy)->name, "s3");
  EXPECT_EQ(latest_checkpoint(*store, run.id, strategy)->name, "s4");
  finish(*store, run);
  retain(*store, run.id, best(2), Sizes::weighed);
  EXPECT_EQ(keys(*store, run), (std::set<std::string>{"s10", "s30"}));  // name and iteration
  EXPECT_EQ(store->catalog().saved(run.id).size(), 4u);

  // Scores may come later, and be those of the place.
  store->catalog().add_score(run.id, 1, "accuracy", 0.5);
  store->catalog().add_score(run.id, 3, "accuracy", kNaN);
  EXPECT_TRUE(std::isnan(store->catalog().saved(run.id)[2].scores.at("accuracy")));
  EXPECT_EQ(best_checkpoint(*store, run.id, {.score_attribute = "accuracy"})->name, "s1");
  add(*store, run, logged("late", 0, ValueType::real, 7.0, 20));
  add(*store, run, logged("late", 0, ValueType::real, 3.0));
  EXPECT_EQ(best_checkpoint(*store, run.id, {.score_attribute = "late"})->name, "s3");
  EXPECT_EQ(best_checkpoint(*store, run.id, {.score_attribute = "late"})->score, 7.0);
  EXPECT_THROW(store->catalog().add_score(run.id, 9, "accuracy", 1), NotFound);

  EXPECT_EQ(restore_discarded(*store, run.id, {}, "s4").restored, 1);
  EXPECT_EQ(latest_checkpoint(*store, run.id, strategy)->name, "s4");
}

TEST_F(RetentionTest, ASecondCheckpointOfANameReplacesTheFirst) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id, kOneThread);
  for (std::int64_t i = 0; i < 3; ++i) {
    const CheckpointKey key{CheckpointKind::saved, 0, i, "best"};
    writer.write(key, state(i, 300));
    store->catalog().add_saved(
        run.id,
        {.number = i + 1, .name = "best", .key = key, .place = {"epoch", i, -1, ""}, .scores = {}});
  }
  ASSERT_EQ(store->catalog().saved(run.id).size(), 1u);
  ASSERT_EQ(store->catalog().checkpoints(run.id).size(), 1u);
  expect_holds(*store, store->catalog().checkpoints(run.id)[0].id, state(2, 300));
  EXPECT_EQ(damage(*store), "");
}

TEST_F(RetentionTest, AResumedRunForgetsWhatWasSavedAndDeletedBehindItsPoint) {
  const auto store = open();
  const Run run = record(*store, {2.0, 1.0, 3.0, 4.0});
  CheckpointWriter writer(*store, run.id, kOneThread);
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const std::string name = "s" + std::to_string(epoch + 1);
    const CheckpointKey key{CheckpointKind::saved, 0, epoch, name};
    writer.write(key, state(epoch, 300));
    store->catalog().add_saved(run.id, {.number = epoch + 1,
                                        .name = name,
                                        .key = key,
                                        .place = {"epoch", epoch, -1, ""},
                                        .scores = {{"loss", 1.0}}});
  }
  KeepRules rules = best(1);
  rules.last = 1;
  retain(*store, run.id, rules, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2, 4));
  Resumption resumption;
  resumption.point.iteration = resumption.point.epoch = 2;
  resumption.point.boundary = true;
  store->catalog().resume_run(run.id, resumption);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2));
  EXPECT_EQ(store->catalog().saved(run.id).size(), 2u);
  for (const DiscardedCheckpoint& gone : store->catalog().discarded(run.id)) {
    EXPECT_LT(gone.info.key.iteration, 2);
  }
  restore_discarded(*store, run.id);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 2));
  expect_intact(*store, run);
}

// ---------------------------------------------------------------------------------------------
// Several at once, and processes that are killed.

TEST_F(RetentionTest, TwoThatDeleteAndOneThatCollectsAtOnceLoseNothingThatIsKept) {
  const auto store = open();
  std::vector<Run> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(
        record(*store, {5.0, 1.0, 4.0, 2.0, 3.0, 6.0}, 300, new_run("r" + std::to_string(i))));
    finish(*store, runs.back());
  }
  std::vector<pid_t> processes;
  for (const bool by_score : {true, false}) {
    processes.push_back(start_process([&] {
      const auto own = open(OpenMode::existing);
      KeepRules rules = by_score ? best(3) : KeepRules{.last = 3};
      for (const Run& run : runs) retain(*own, run.id, rules, Sizes::weighed);
      return 0;
    }));
  }
  processes.push_back(start_process([&] {
    const auto own = open(OpenMode::existing);
    for (int i = 0; i < 20; ++i) collect(*own, false, 1.0);
    return 0;
  }));
  for (const pid_t process : processes) EXPECT_EQ(wait_for(process), 0);
  for (const Run& run : runs) {
    const auto left = epochs(*store, run);
    // The best three are 2, 4, 5, the last three 4, 5, 6, whoever came first.
    const std::set<std::int64_t> set(left.begin(), left.end());
    EXPECT_TRUE(set.contains(4) && set.contains(5)) << ::testing::PrintToString(left);
    EXPECT_TRUE(set.contains(2) || set.contains(6)) << ::testing::PrintToString(left);
    expect_intact(*store, run);
  }
}

TEST_F(RetentionTest, AProcessThatIsKilledHasDeletedAllOfARunOrNothing) {
  const auto store = open();
  std::vector<Run> runs;
  for (int i = 0; i < 8; ++i) {
    runs.push_back(
        record(*store, {5.0, 1.0, 4.0, 2.0, 3.0, 6.0}, 300, new_run("r" + std::to_string(i))));
    finish(*store, runs.back());
  }
  std::minstd_rand random(3);
  for (int round = 0; round < 25; ++round) {
    const pid_t process = start_process([&] {
      const auto own = open(OpenMode::existing);
      for (;;) {
        for (const Run& run : runs) retain(*own, run.id, best(2), Sizes::weighed);
        for (const Run& run : runs) restore_discarded(*own, run.id);
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 20'000));
    ::kill(process, SIGKILL);
    EXPECT_EQ(wait_for(process), -SIGKILL);
    for (const Run& run : runs) {
      const std::size_t count = epochs(*store, run).size();
      EXPECT_TRUE(count == 3 || count == 7) << count;
      EXPECT_EQ(store->catalog().run(run.id)->checkpoints,
                static_cast<std::int64_t>(store->catalog().checkpoints(run.id).size()));
    }
  }
  for (const Run& run : runs) {
    restore_discarded(*store, run.id);
    EXPECT_EQ(epochs(*store, run).size(), 7u);
    expect_intact(*store, run);
  }
}

}  // namespace
}  // namespace flor::store::retention_test
