// What stays while a run, or a group of ranks, may still be resumed, and what each rank finds.
#include "retention_fixture.h"

namespace flor::store::retention_resume_test {
namespace {

using ::testing::ElementsAre;

class ResumableRetentionTest : public RetentionTest {};

TEST_F(ResumableRetentionTest, RanksKeepTheLastStateThatAllOfThemHave) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 6);
  const Run second = record_rank(*store, first.id, 1, 5);  // its writer is behind
  retain(*store, first.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 5, 6));
  EXPECT_THAT(epochs(*store, second), ElementsAre(0, 5));
  finish(*store, first);
  retain(*store, first.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 5, 6)) << "rank 1 has not finished";
  finish(*store, second);
  retain(*store, second.id, best(1), Sizes::skipped);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 5)) << "of equal ones the older";
  EXPECT_THAT(epochs(*store, second), ElementsAre(0, 5));
  EXPECT_EQ(restore_discarded(*store, second.id).restored, (4 + 1) * 3 + 4 * 3);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST_F(ResumableRetentionTest, TheLastExecutionOfALoopThatIsNotInEveryEpochStays) {
  const auto store = open();
  const Run run = record(*store, {5.0, 4.0, 3.0, 2.0, 1.0});
  store->catalog().add_execution(run.id, {0, 1, "validate", 4, false, 0.5});
  CheckpointWriter(*store, run.id, kOneThread).write(loop_end(1, "validate"), state(9, 8));
  retain(*store, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 2, 5));
  EXPECT_TRUE(keys(*store, run).contains("validate1"));
  EXPECT_TRUE(keys(*store, run).contains("train@begin0")) << "it says that something is attached";
}

TEST_F(ResumableRetentionTest, WhatALoopLeftBeforeTheLastBoundaryStaysThoughTheLoopRanLater) {
  const auto store = open();
  const Run run = record(*store, std::vector<Score>(12, 1.0));
  for (const std::int64_t epoch : {4, 9, 14}) execute(*store, run, epoch, epoch < 14);
  complete(*store, run, 15);  // of the last three nothing is stored
  retain(*store, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 10, 12));
  EXPECT_TRUE(keys(*store, run).contains("eval9"));
}

TEST_F(ResumableRetentionTest, WhereWhatALoopLeftWasNeverStoredTheBoundaryBeforeItStays) {
  const auto store = open();
  const Run run = record(*store, std::vector<Score>(8, 1.0));
  execute(*store, run, 2, true);
  execute(*store, run, 6, false);
  retain(*store, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 3, 6, 7, 8)) << "before 6 all is there";
  const Run other = record(*store, std::vector<Score>(8, 1.0));
  execute(*store, other, 0, false);
  retain(*store, other.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, other), ElementsAre(0, 1, 5, 6, 7, 8)) << "so many are tried";
}

TEST_F(ResumableRetentionTest, RanksKeepWhatALoopLeftBeforeTheBoundaryThatAllHave) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 12);
  const Run second = record_rank(*store, first.id, 1, 11);
  for (const Run& run : {first, second}) execute(*store, run, 5, true);
  execute(*store, first, 11, true);
  retain(*store, first.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 6, 11, 12));
  EXPECT_THAT(epochs(*store, second), ElementsAre(0, 6, 11));
}

TEST_F(ResumableRetentionTest, ALoopThatOnlyAnotherRankRunsIsProtected) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 6);
  const Run second = record_rank(*store, first.id, 1, 6);
  execute(*store, second, 3, true);
  retain(*store, first.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, second), ElementsAre(0, 4, 6));
}

TEST_F(ResumableRetentionTest, WhatALateRankComesToNextIsStillThereInTheOthers) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 8);
  const Run second = record_rank(*store, first.id, 1, 4);
  retain(*store, first.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(*store, first), ElementsAre(0, 4, 5, 8));
  EXPECT_THAT(epochs(*store, second), ElementsAre(0, 4));
}

TEST_F(ResumableRetentionTest, ARankFindsWhatItHasStoredItself) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 6);
  const Run second = record_rank(*store, first.id, 1, 4);  // its writer is behind
  const auto latest = latest_checkpoint(*store, second.id, {});
  ASSERT_TRUE(latest);
  EXPECT_EQ(latest->number, 3);
  EXPECT_EQ(latest->id, store->catalog().checkpoint(second.id, boundary(4))->id);
  add(*store, first, logged("score", 1, ValueType::real, 1.0));
  add(*store, first, logged("score", 5, ValueType::real, 9.0));
  const auto found = best_checkpoint(*store, second.id, {.score_attribute = "score"});
  EXPECT_EQ(found->number, 1);
  EXPECT_EQ(found->score, 1.0) << "rank 0 says how good it is";
  EXPECT_EQ(latest_checkpoint(*store, first.id, {})->number, 5);
}

TEST_F(ResumableRetentionTest, WhatOnlyAnotherRankSavesIsFoundRankedAndDeleted) {
  const auto store = open();
  const Run first = record_rank(*store, 0, 0, 2);
  const Run second = record_rank(*store, first.id, 1, 2);
  save(*store, first, 1, "both", 0.3);
  save(*store, second, 1, "mine", 0.9);
  save(*store, second, 2, "both", 0.8);
  save(*store, second, 3, "own", 0.5);
  const CheckpointStrategy least{.score_attribute = "loss", .score_order = ScoreOrder::min};
  EXPECT_EQ(latest_checkpoint(*store, second.id, {})->name, "own");
  EXPECT_EQ(best_checkpoint(*store, second.id, least)->name, "both") << "by what rank 0 gave it";
  EXPECT_EQ(best_checkpoint(*store, second.id, {.score_attribute = "loss"})->name, "mine");
  EXPECT_EQ(latest_checkpoint(*store, first.id, {})->name, "both");

  retain(*store, first.id, best(1), Sizes::skipped);
  EXPECT_TRUE(keys(*store, second).contains("own0")) << "the last one of a rank that may go on";
  EXPECT_FALSE(keys(*store, second).contains("mine0"));
  for (const Run& run : {first, second}) finish(*store, run);
  const RetentionReport report = retain(*store, first.id, best(1), Sizes::weighed);
  EXPECT_EQ(report.deleted, 2) << "and an epoch";
  EXPECT_EQ(report.units.back().name, "own");
  EXPECT_EQ(report.units.back().candidate.scores.front(), 0.5);
  EXPECT_FALSE(keys(*store, second).contains("own0"));
  EXPECT_TRUE(keys(*store, second).contains("both0"));
}

}  // namespace
}  // namespace flor::store::retention_resume_test
