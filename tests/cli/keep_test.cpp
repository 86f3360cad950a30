// flor keep: what it says, deletes, refuses and brings back.
#include "choose/keep_options.h"
#include "cli/fixture.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KeepTest : public CliTest {
 protected:
  store::Run record_eight() {
    RunPlan plan;
    plan.epochs = 8;
    return record(plan);
  }
  std::vector<std::int64_t> epochs(const store::Run& run) {
    std::vector<std::int64_t> list;
    for (const auto& info : catalog().checkpoints(run.id)) {
      if (info.key.kind == store::CheckpointKind::boundary) list.push_back(info.key.iteration - 1);
    }
    return list;
  }
  Outcome keep(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"keep", "linear"});
    return flor(std::move(arguments));
  }
};

TEST_F(KeepTest, ADryRunSaysWhatWouldGoAndWhyTheRestStays) {
  const store::Run run = record_eight();
  const Outcome outcome =
      keep({"--last", "2", "--best", "1:accuracy:min", "--every", "3", "--dry-run"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto lines = outcome.lines();
  ASSERT_GE(lines.size(), 10u);
  EXPECT_THAT(lines[0], HasSubstr("checkpoint  accuracy"));
  EXPECT_THAT(lines[1], HasSubstr("best 1:accuracy:min (rank 1)"));
  EXPECT_THAT(lines[2], ::testing::StartsWith("delete  epoch 1"));
  EXPECT_THAT(lines[3], HasSubstr("every 3"));
  EXPECT_THAT(lines[7], HasSubstr("last 2"));
  EXPECT_THAT(outcome.out, HasSubstr("would keep 5 of 8 checkpoints, delete 3\n"));
  EXPECT_EQ(epochs(run).size(), 8u);
}

TEST_F(KeepTest, WhatIsDeletedComesBackUntilItIsCollected) {
  const store::Run run = record_eight();
  const std::string key = run.key.substr(0, 8);
  const Outcome kept = keep({"--best", "2:loss:min"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("run " + key + " (linear): keeps 2 of 8 checkpoints, deleted 6"));
  EXPECT_THAT(kept.out, HasSubstr("flor keep " + key + " --undo brings them back"));
  EXPECT_THAT(epochs(run), ElementsAre(6, 7));
  EXPECT_THAT(flor({"show", "linear"}).out, HasSubstr("12, of which 12 can be brought back"));
  EXPECT_THAT(flor({"export", "linear@3", "x.pt"}).err,
              HasSubstr("it was deleted, `flor keep " + key + "@3 --undo` brings it back"));

  const Outcome one = flor({"keep", "linear@3", "--undo"});
  EXPECT_THAT(one.out, HasSubstr("2 checkpoints are back"));
  EXPECT_THAT(epochs(run), ElementsAre(3, 6, 7));
  EXPECT_THAT(keep({"--undo"}).out, HasSubstr("10 checkpoints are back"));
  EXPECT_EQ(epochs(run).size(), 8u);
  EXPECT_EQ(keep({"--undo"}).status, 3);

  EXPECT_EQ(keep({"--last", "1"}).status, 0);
  EXPECT_THAT(flor({"gc"}).out,
              HasSubstr("14 deleted checkpoints cannot be brought back any more"));
  const Outcome refused = keep({"--undo"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("14 deleted checkpoints were collected by flor gc"));
  EXPECT_THAT(epochs(run), ElementsAre(7));
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(KeepTest, JsonHasScoresRanksAndBytes) {
  const store::Run run = record_eight();
  const std::uint64_t before = flor({"du", "--json"}).json()["runs"][0]["stored_bytes"];
  const Json json =
      keep({"--best", "3:accuracy:max", "--best", "1:loss:max", "--under", "1KiB", "--json"})
          .json();
  EXPECT_EQ(json["command"], "keep");
  EXPECT_EQ(json["run"], run.key);
  EXPECT_EQ(json["stored_bytes_before"], before);
  const Json du = flor({"du", "--json"}).json();
  EXPECT_EQ(json["stored_bytes"], du["runs"][0]["stored_bytes"]);
  EXPECT_EQ(json["freed_bytes"], du["unreferenced_bytes"]);
  ASSERT_EQ(json["checkpoints"].size(), 8u);
  EXPECT_EQ(json["checkpoints"][7]["ranks"]["accuracy"], 1);
  EXPECT_EQ(json["checkpoints"][0]["ranks"]["loss"], 1);
  EXPECT_EQ(json["checkpoints"][7]["scores"]["loss"], 1.0 / 128 + 0.1 * 3);
  EXPECT_EQ(json["checkpoints"][7]["kept"], true);
  EXPECT_EQ(json["checkpoints"][3]["kept"], false);
  EXPECT_EQ(json["checkpoints"][3]["reason"], nullptr);
}

TEST_F(KeepTest, WhatMustStayMayBeMoreThanThereIsRoomFor) {
  const store::Run run = record_eight();
  const Outcome outcome = keep({"--under", "10B", "--explain"});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_THAT(outcome.err, HasSubstr("what must stay takes "));
  EXPECT_THAT(epochs(run), ElementsAre(7));
}

TEST_F(KeepTest, ARunsOwnStrategyIsWhatNoRulesMean) {
  const store::Run run = record_eight();
  const Outcome none = keep({});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("has no strategy of its own"));
  catalog().put_strategy(
      run.id,
      {.num_to_keep = 2, .score_attribute = "accuracy", .score_order = store::ScoreOrder::min});
  EXPECT_THAT(flor({"show", "linear"}).out, HasSubstr("the 2 with the smallest accuracy"));
  EXPECT_EQ(keep({}).status, 0);
  EXPECT_THAT(epochs(run), ElementsAre(0, 1));
}

TEST_F(KeepTest, WrongRulesChangeNothingAndSayTheRightForm) {
  const store::Run run = record_eight();
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--last", "0"}, "at least 1"},
      {{"--last", "-2"}, "at least 1"},
      {{"--last", "two"}, "give a number"},
      {{"--best", "0:loss:min"}, "at least 1"},
      {{"--best", "2:loss"}, "as in 3:loss:min"},
      {{"--best", "loss:min"}, "as in 3:loss:min"},
      {{"--best", "2::min"}, "as in 3:loss:min"},
      {{"--under", "much"}, "as in 20GiB"},
      {{"--under", "3 EiB"}, "as in 20GiB"},
      {{"--unscored"}, "--best"},
      {{"--last", "2", "--undo"}, "--undo stands alone"},
      {{"--best", "1:note:max"}, "'note' is no number"}};
  for (const auto& [arguments, what] : wrong) {
    const Outcome outcome = keep(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr(what));
  }
  const Outcome unknown = keep({"--best", "1:acuracy:max"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'accuracy'?"));
  EXPECT_EQ(flor({"keep", "linear@3", "--last", "1"}).status, 2);
  EXPECT_EQ(epochs(run).size(), 8u);
  EXPECT_THAT(catalog().discarded(run.id), IsEmpty());
}

TEST_F(KeepTest, SavedCheckpointsAreShownAndExportedByName) {
  const store::Run run = record_eight();
  store::CheckpointWriter writer(store(), run.id);
  store::Snapshot snapshot;
  const auto content = std::shared_ptr<std::byte[]>(new std::byte[8]{});
  snapshot.items.push_back(
      {{"counter", store::ElementType::i64, {}, 8}, store::Content(content, content.get())});
  for (const char* name : {"s1", "warm"}) {
    const store::CheckpointKey key{store::CheckpointKind::saved, 0, 2, name};
    writer.write(key, snapshot);
    store::SavedCheckpoint saved;
    saved.number = name[0] == 's' ? 1 : 2;
    saved.name = name;
    saved.key = key;
    saved.place = {"epoch/train", 2, 3, ""};
    saved.ordinal = saved.number - 1;
    saved.scores["loss"] = 0.5;
    catalog().add_saved(run.id, saved);
  }
  const Outcome shown = flor({"show", "linear"});
  EXPECT_THAT(shown.out, HasSubstr("saved checkpoints\n"));
  EXPECT_THAT(shown.out, HasSubstr("epoch 2, step 3 of train"));
  const Outcome one = flor({"show", "linear@warm"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("saved checkpoint warm of run"));
  EXPECT_THAT(one.out, HasSubstr("loss=0.5"));
  EXPECT_EQ(flor({"show", "linear@warm", "--json"}).json()["saved"]["scores"]["loss"], 0.5);
  const Outcome unknown = flor({"show", "linear@worm"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'warm'?"));
  const auto file = (home() / "warm.safetensors").string();
  EXPECT_THAT(flor({"export", "linear@warm", file}).out, HasSubstr("saved as warm"));
  EXPECT_EQ(flor({"du", "linear@warm"}).status, 2);
  const Outcome kept = keep({"--last", "1", "--explain"});
  EXPECT_THAT(kept.out, HasSubstr("saved warm"));
  EXPECT_EQ(flor({"export", "linear@s1", file}).status, 3);
  EXPECT_EQ(flor({"keep", "linear@s1", "--undo"}).status, 0);
  EXPECT_EQ(flor({"export", "linear@s1", file}).status, 0);
}

TEST(KeepRules, SizesAreBytesInEitherKindOfUnit) {
  EXPECT_EQ(cli::parse_size("4096"), 4096u);
  EXPECT_EQ(cli::parse_size("20GiB"), 20ull << 30);
  EXPECT_EQ(cli::parse_size("1.5T"), 3ull << 39);
  EXPECT_EQ(cli::parse_size("500MB"), 500'000'000u);
  EXPECT_EQ(cli::parse_size("2kB"), 2000u);
  for (const char* wrong : {"", "GiB", "-1", "1e3", "1 GB", "1XiB", "99999999999TiB", "nan"}) {
    EXPECT_THROW(cli::parse_size(wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace flor::testing
