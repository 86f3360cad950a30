// flor list.
#include "cli/fixture.h"

#include <flor/data/sample_stream.h>

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::int64_t kHour = 3'600'000'000;

class ListTest : public CliTest {
 protected:
  /// Three runs of two experiments; the newest is of the second.
  void record_three() {
    RunPlan plan;
    plan.commit = std::string(40, 'a');
    first_ = record(plan);
    plan.started_us += kHour;
    plan.commit = std::string(40, 'b');
    plan.arguments[1].value = "0.01";
    plan.loss = 0.5;
    second_ = record(plan);
    plan.started_us += kHour;
    plan.experiment = "charlm";
    plan.arguments = {{"width", "int", "64"}};
    plan.epochs = 1;
    third_ = record(plan);
  }
  std::vector<std::string> ids(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"list", "-q"});
    return flor(arguments).lines();
  }

  store::Run first_, second_, third_;
};

TEST_F(ListTest, ShowsEveryRunNewestFirst) {
  record_three();
  const Outcome outcome = flor({"list"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto lines = outcome.lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], StartsWith("run       experiment  when"));
  EXPECT_THAT(lines[1], StartsWith(third_.key.substr(0, 8) + "  charlm"));
  EXPECT_THAT(lines[2], StartsWith(second_.key.substr(0, 8) + "  linear"));
  EXPECT_THAT(lines[2], HasSubstr("2023-11-14  finished  bbbbbbbb       3"));
  EXPECT_THAT(lines[2], HasSubstr("loss=0.425 accuracy=0.96875 note=all well"));
  EXPECT_THAT(lines[3], StartsWith(first_.key.substr(0, 8)));
}

TEST_F(ListTest, KeepsColumnsAlignedAndEndsNoLineInSpaces) {
  record_three();
  const auto lines = flor({"list"}).lines();
  ASSERT_THAT(lines, SizeIs(4));
  const std::size_t status = lines[0].find("status");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].find("finished"), status);
    EXPECT_NE(lines[i].back(), ' ');
  }
}

TEST_F(ListTest, ShowsOneExperimentAndLimitsTheNumber) {
  record_three();
  EXPECT_THAT(ids({"linear"}), ElementsAre(second_.key, first_.key));
  EXPECT_THAT(ids({"-n", "2"}), ElementsAre(third_.key, second_.key));
  EXPECT_THAT(ids({"--limit=0"}), IsEmpty());
  EXPECT_EQ(flor({"list", "--limit", "0"}).err, "");
  for (const char* wrong : {"-1", "x", "1.5", "99999999999999999999", ""}) {
    const Outcome refused = flor({"list", "--limit", wrong});
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.err, HasSubstr("give a whole number from 0 on")) << wrong;
  }
}

TEST_F(ListTest, TakesMetricsAndArgumentsAsColumns) {
  record_three();
  const auto lines = flor({"list", "-c", "lr,loss,loss:max,accuracy:min,loss:count"}).lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], "run          lr   loss  loss:max  accuracy:min  loss:count");
  EXPECT_EQ(lines[2],
            second_.key.substr(0, 8) + "   0.01  0.425       0.8         0.875          12");
  EXPECT_THAT(lines[1], HasSubstr(third_.key.substr(0, 8) + "      -"));
}

TEST_F(ListTest, AddsColumnsToTheUsualOnes) {
  record_three();
  const auto lines = flor({"list", "-c", "+lr"}).lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], HasSubstr("experiment"));
  EXPECT_THAT(lines[0], ::testing::EndsWith("lr"));
}

TEST_F(ListTest, SortsByAColumnWithRunsThatLackItLast) {
  record_three();
  EXPECT_THAT(ids({"--sort", "lr"}), ElementsAre(first_.key, second_.key, third_.key));
  EXPECT_THAT(ids({"--sort", "lr", "-r"}), ElementsAre(second_.key, first_.key, third_.key));
  EXPECT_THAT(ids({"--sort", "when"}), ElementsAre(first_.key, second_.key, third_.key));
  EXPECT_THAT(ids({"--sort", "loss:min", "-n", "1"}), ElementsAre(second_.key));
}

TEST_F(ListTest, KeepsOnlyRunsForWhichEveryConditionHolds) {
  record_three();
  EXPECT_THAT(ids({"--where", "lr>0.001"}), ElementsAre(second_.key));
  EXPECT_THAT(ids({"--where", "lr <= 0.01", "--where", "loss:max>1"}), ElementsAre(first_.key));
  EXPECT_THAT(ids({"--where", "experiment=charlm"}), ElementsAre(third_.key));
  EXPECT_THAT(ids({"--where", "status!=finished"}), IsEmpty());
  EXPECT_THAT(ids({"--where", "note~well", "linear"}), ElementsAre(second_.key, first_.key));
}

TEST_F(ListTest, RefusesAColumnThatNoRunHas) {
  record_three();
  const Outcome outcome = flor({"list", "-c", "los"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err,
            "flor: no run here has a metric or an argument 'los', nor is it a column: did you mean "
            "'loss'?\n");
}

TEST_F(ListTest, RefusesAConditionWithoutAnOperator) {
  record_three();
  const Outcome outcome = flor({"list", "--where", "lr"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("column 3: expected one of = != < <= > >= ~"));
}

TEST_F(ListTest, FindsAnExperimentThatIsCalledLikeACommand) {
  RunPlan plan;
  plan.experiment = "show";
  const store::Run run = record(plan);
  EXPECT_THAT(ids({"show"}), ElementsAre(run.key));
}

TEST_F(ListTest, SuggestsTheExperimentThatWasMeant) {
  record_three();
  const Outcome outcome = flor({"list", "linaer"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.err, "flor: no experiment 'linaer': did you mean 'linear'?\n");
}

TEST_F(ListTest, CountsTheRunsOfEachExperiment) {
  record_three();
  const auto lines = flor({"list", "--experiments"}).lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], StartsWith("charlm         1  " + third_.key.substr(0, 8)));
  EXPECT_THAT(lines[2], StartsWith("linear         2  " + second_.key.substr(0, 8)));
  const Json json = flor({"list", "--experiments", "--json"}).json();
  EXPECT_EQ(json["experiments"][1]["experiment"], "linear");
  EXPECT_EQ(json["experiments"][1]["runs"], 2);
  EXPECT_EQ(json["experiments"][1]["latest"]["id"], second_.key);
}

TEST_F(ListTest, PromisesItsJsonFieldByField) {
  record_three();
  const Json json = flor({"list", "linear", "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "list");
  ASSERT_EQ(json["runs"].size(), 2u);
  const Json& run = json["runs"][0];
  EXPECT_EQ(run["id"], second_.key);
  EXPECT_EQ(run["experiment"], "linear");
  EXPECT_EQ(run["started"], "2023-11-14T23:13:20.000000Z");
  EXPECT_EQ(run["finished"], "2023-11-14T23:14:50.000000Z");
  EXPECT_EQ(run["status"], "finished");
  EXPECT_TRUE(run["message"].is_null());
  EXPECT_TRUE(run["degraded"].is_null());
  EXPECT_EQ(run["commit"], std::string(40, 'b'));
  EXPECT_EQ(run["directory"], work_.string());
  EXPECT_EQ(run["epochs"], 3);
  EXPECT_EQ(run["checkpoints"], 6);
  EXPECT_EQ(run["raw_bytes"], second_.raw_bytes);
  EXPECT_EQ(run["stored_bytes"], second_.stored_bytes);
  EXPECT_EQ(run["arguments"], (Json{{"epochs", 3}, {"lr", 0.01}}));
  const Json& loss = run["metrics"]["loss"];
  EXPECT_EQ(loss["type"], "real");
  EXPECT_EQ(loss["count"], 12);
  EXPECT_EQ(loss["last"], 0.125 + 0.1 * 3);
  EXPECT_EQ(loss["min"], 0.125);
  EXPECT_EQ(loss["max"], 0.5 + 0.1 * 3);
  EXPECT_EQ(loss["hindsight"], false);
  EXPECT_EQ(run["metrics"]["note"]["last"], "all well");
  EXPECT_TRUE(run["metrics"]["note"]["min"].is_null());
}

TEST_F(ListTest, KeepsTheOrderOfJsonKeys) {
  record_three();
  const Json json = flor({"--json", "list"}).json();
  std::vector<std::string> keys;
  for (const auto& item : json["runs"][0].items()) keys.push_back(item.key());
  EXPECT_THAT(keys,
              ElementsAre("id", "experiment", "origin", "rank", "ranks", "started", "finished",
                          "status", "message", "degraded", "commit", "repository", "directory", "epochs",
                          "checkpoints", "raw_bytes", "stored_bytes", "tags", "note", "arguments",
                          "metrics"));
}

TEST_F(ListTest, TellsRunningInterruptedFailedAndDegradedApart) {
  store::NewRun start;
  start.experiment = "live";
  const store::Run running = catalog().add_run(start);
  const auto lock = store().lock_run(running.key);
  ASSERT_TRUE(lock);
  catalog().add_run(start);
  const store::Run failed = catalog().add_run(start);
  catalog().finish_run(failed.id, 5, true, "out of memory");
  const store::Run degraded = catalog().add_run(start);
  catalog().put_gaps(degraded.id, std::vector<store::Gap>{{17, 19, true, "disk full"}});
  catalog().finish_run(degraded.id, 5, false, "");
  const Json json = flor({"list", "--json"}).json();
  ASSERT_EQ(json["runs"].size(), 4u);
  EXPECT_EQ(json["runs"][0]["status"], "finished");
  EXPECT_EQ(json["runs"][0]["degraded"],
            "epochs 17..19 not stored; values of epochs 17..19 lost");
  EXPECT_EQ(json["runs"][1]["status"], "failed");
  EXPECT_EQ(json["runs"][1]["message"], "out of memory");
  EXPECT_EQ(json["runs"][2]["status"], "interrupted");
  EXPECT_EQ(json["runs"][3]["status"], "running");
  EXPECT_THAT(flor({"list"}).out, HasSubstr("finished, epochs 17..19 not stored; values"));
}

TEST_F(ListTest, NeverLetsANameActOnTheTerminal) {
  RunPlan plan;
  plan.experiment = "evil\x1b[31m\nname\x9b\xff";
  plan.arguments.clear();
  record(plan);
  plan.experiment = "日本語";
  record(plan);
  const Outcome outcome = flor({"list"});
  const auto lines = outcome.lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(lines[2], HasSubstr("evil\\x1b[31m\\nname\\x9b\\xff"));
  // 3 characters, 6 columns: the next column begins where it does in the other row.
  const std::size_t other = lines[2].find("2023");
  EXPECT_EQ(lines[1].find("2023"), other + std::string("日本語").size() - 6);
}

TEST_F(ListTest, ReplacesBytesThatAreNotUtf8InJson) {
  RunPlan plan;
  plan.experiment = "caf\xe9";
  record(plan);
  EXPECT_EQ(flor({"list", "--json"}).json()["runs"][0]["experiment"], "caf\uFFFD");
}

TEST_F(ListTest, SaysWhatToDoInAnEmptyStore) {
  store();
  const Outcome outcome = flor({"list"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "flor: the store has no runs yet: record one with --flor NAME\n");
  EXPECT_EQ(flor({"list", "--json"}).json()["runs"], Json::array());
}

TEST_F(ListTest, ColoursOnlyWhenAsked) {
  record_three();
  EXPECT_THAT(flor({"list"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(flor({"list", "--color", "always"}).out, HasSubstr("\x1b[32mfinished\x1b[0m"));
  environment_["NO_COLOR"] = "1";
  EXPECT_THAT(flor({"list", "--color", "auto"}).out, Not(HasSubstr("\x1b")));
}

class GroupTest : public CliTest {
 protected:
  GroupTest() {
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      store::NewRun run;
      run.experiment = "fit";
      run.started_us = kStart;
      run.rank = {.group = rank == 0 ? 0 : ranks_[0].id,
                  .rank = static_cast<std::int64_t>(rank),
                  .world = 2};
      ranks_.push_back(catalog().add_run(run));
      SampleStream stream({.samples = 10, .seed = 5}, 2, rank);
      stream.begin();
      while (stream.next(3)) stream.advance();
      store::Value record;
      record.name = "samples";
      record.place.path = "epoch";
      record.place.epoch = 0;
      record.type = store::ValueType::json;
      record.value = stream.epoch_record();
      catalog().add_values(ranks_.back().id, std::span(&record, 1));
      catalog().finish_run(ranks_.back().id, kStart + 1, false, "");
    }
  }

  static constexpr std::int64_t kStart = 1'700'000'000'000'000;
  std::vector<store::Run> ranks_;
};

TEST_F(GroupTest, AuditTakesAllRanksUnlessOneIsNamed) {
  const auto known = [&](const std::vector<std::string>& runs) {
    std::vector<std::string> words{"audit", "--json"};
    words.insert(words.end(), runs.begin(), runs.end());
    return flor(words).json()["epochs"][0]["known_replicas"];
  };
  EXPECT_EQ(known({"fit"}), 2);
  EXPECT_EQ(known({}), 2);
  EXPECT_EQ(known({ranks_[0].key}), 2);
  EXPECT_EQ(known({ranks_[1].key}), 1);
  EXPECT_EQ(known({ranks_[0].key, ranks_[1].key}), 2);
}

TEST_F(GroupTest, ALineForAGroupSaysWhatWentWrongInAnyRank) {
  catalog().put_gaps(ranks_[1].id, std::vector<store::Gap>{{2, 3, false, "the disk is full"}});
  EXPECT_THAT(flor({"list"}).out, HasSubstr("rank 1: epochs 2..3 not stored"));
  EXPECT_THAT(flor({"list", "--json"}).json()["runs"][0].dump(),
              HasSubstr("rank 1: epochs 2..3 not stored"));
}

}  // namespace
}  // namespace flor::testing
