// Checkpoints as users name them: which one a text means, and what is said where there is none.
#include "retention/checkpoint_address.h"

#include "retention_fixture.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

namespace flor::store {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CheckpointChoiceTest : public RetentionTest {
 protected:
  RunAndPlace split(const Store& store, std::string_view text) const {
    return run_and_place(text, [&](std::string_view run) { return store.catalog().resolve(run); });
  }
  /// The epoch that is meant.
  std::int64_t epoch(const Store& store, const Run& run, std::string_view place) const {
    return find_place(store, run, place).epoch.value_or(-1);
  }
};

TEST_F(CheckpointChoiceTest, AMetricAndItsOrderAreReadAsFlorKeepHasThem) {
  EXPECT_EQ(parse_best_by("loss:min")->metric, "loss");
  EXPECT_EQ(parse_best_by("loss:min")->order, ScoreOrder::min);
  EXPECT_EQ(parse_best_by("judge:top:5:max")->metric, "judge:top:5");
  EXPECT_EQ(parse_best_by("judge:top:5:max")->order, ScoreOrder::max);
  for (const char* wrong : {"", "loss", "loss:", ":min", "min", "loss:least"}) {
    EXPECT_FALSE(parse_best_by(wrong)) << wrong;
  }
}

TEST_F(CheckpointChoiceTest, ThePlaceBeginsAtTheAtSignThatIsMeant) {
  for (const char* text : {"linear", "linear@12", "linear@best", "linear@best:loss:min",
                           "linear@best:recall@5:max", "linear@warm"}) {
    EXPECT_EQ(run_of_spec(text), "linear") << text;
  }
  EXPECT_EQ(run_of_spec("me@home@best:loss:min"), "me@home");
  EXPECT_EQ(run_of_spec("linear@best:loss"), "linear");
}

TEST_F(CheckpointChoiceTest, ANameWithAnAtSignIsARunUnlessANumberStandsAfterIt) {
  const auto store = open();
  const Run run = record(*store, {1.0}, 300, new_run("me@best"));
  EXPECT_EQ(split(*store, "me@best").run.key, run.key);
  EXPECT_EQ(split(*store, "me@best").place, "");
  EXPECT_EQ(split(*store, "me@best@latest").place, "latest");
  EXPECT_EQ(split(*store, "me@best@best:loss:min").place, "best:loss:min");
  EXPECT_THROW(split(*store, "you@best"), NotFound);
}

TEST_F(CheckpointChoiceTest, LatestIsTheNewestStoredEpochAndBestRanksStoredOnes) {
  const auto store = open();
  const Run run = record(*store, {3.0, 1.0, kNaN, 2.0, std::nullopt});
  finish(*store, run);
  EXPECT_EQ(epoch(*store, run, "3"), 3);
  EXPECT_EQ(epoch(*store, run, "latest"), 4);
  EXPECT_EQ(epoch(*store, run, "best:loss:min"), 1);
  EXPECT_EQ(epoch(*store, run, "best:loss:max"), 0);
  retain(*store, run.id, {.every = 2}, Sizes::skipped);  // 1, 3 and the newest
  EXPECT_EQ(epoch(*store, run, "best:loss:max"), 3);
  EXPECT_EQ(epoch(*store, run, "latest"), 4);
}

TEST_F(CheckpointChoiceTest, BestAloneIsWhatTheStrategyOfTheRunSays) {
  const auto store = open();
  const Run run = record(*store, {3.0, 1.0, 2.0});
  EXPECT_THAT([&] { find_place(*store, run, "best"); },
              ThrowsMessage<UsageError>(
                  HasSubstr("name a metric, as in " + run.key.substr(0, 8) + "@best:loss:min")));
  store->catalog().put_strategy(run.id,
                                {.score_attribute = "loss", .score_order = ScoreOrder::min});
  EXPECT_EQ(epoch(*store, run, "best"), 1);
  store->catalog().put_strategy(run.id, {.num_to_keep = 2});
  EXPECT_EQ(epoch(*store, run, "best"), 2) << "newer ones rank higher";
}

TEST_F(CheckpointChoiceTest, ASavedCheckpointWinsByItsNameAndRanksBeforeEpochs) {
  const auto store = open();
  const Run run = record(*store, {3.0, 1.0});
  save(*store, run, 1, "s1", 5.0);
  save(*store, run, 2, "latest", 4.0);
  EXPECT_EQ(find_place(*store, run, "s1").saved, "s1");
  EXPECT_EQ(find_place(*store, run, "latest").saved, "latest");
  EXPECT_EQ(find_place(*store, run, "best:loss:min").saved, "latest");
  EXPECT_EQ(find_place(*store, run, "best:loss:max").saved, "s1");
}

TEST_F(CheckpointChoiceTest, WhereThereIsNoneALineNamesTheNextCommand) {
  const auto store = open();
  const Run run = record(*store, {kNaN, std::nullopt});
  finish(*store, run);
  const std::string key = run.key.substr(0, 8);
  const auto said = [&](const char* place, const std::string& part) {
    EXPECT_THAT([&] { find_place(*store, run, place); }, ThrowsMessage<Error>(HasSubstr(part)))
        << place;
  };
  said("best:los:min", "did you mean 'loss'?");
  said("best:loss:min", "'flor best loss --min --run " + key + "'");
  said("best:loss", "as in " + key + "@best:loss:min");
  said("lastest", "did you mean 'latest'?");
  said("warm", "give an epoch");
  const Run other = record(*store, {1.0, 2.0});
  for (std::int64_t i = 0; i < 2; ++i) {
    const CheckpointKey key_of_epoch = boundary(i + 1);
    store->catalog().drop_checkpoints(other.id, std::span(&key_of_epoch, 1));
  }
  EXPECT_THAT([&] { find_place(*store, other, "latest"); },
              ThrowsMessage<NotFound>(HasSubstr("see 'flor show " + other.key.substr(0, 8))));
  EXPECT_THROW(find_place(*store, other, "best:loss:min"), NotFound);
}

TEST_F(CheckpointChoiceTest, EpochsThatAreNotStoredHaveScoresToo) {
  const auto store = open();
  const Run run = record(*store, {3.0, 1.0, 2.0});
  finish(*store, run);
  const CheckpointKey gone = boundary(2);
  store->catalog().drop_checkpoints(run.id, std::span(&gone, 1));
  const std::vector<FoundCheckpoint> all = scored_checkpoints(*store, run.id, "loss");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].score, 1.0);
  EXPECT_EQ(all[1].id, 0);
  EXPECT_NE(all[2].id, 0);
  EXPECT_EQ(all[2].number, 2);
  EXPECT_EQ(epoch(*store, run, "best:loss:min"), 2);
}

}  // namespace
}  // namespace flor::store
