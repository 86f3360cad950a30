// flor query.
#include "cli/fixture.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class QueryTest : public CliTest {
 protected:
  /// `flor query ... --json`, the rows.
  Json rows(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "query");
    arguments.push_back("--json");
    return flor(arguments).json()["rows"];
  }
  std::vector<std::string> lines(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "query");
    return flor(arguments).lines();
  }
};

TEST_F(QueryTest, ShowsAnEpochsValueOnceForEachEpoch) {
  record({});
  EXPECT_THAT(lines({"accuracy"}), ElementsAre("epoch  accuracy  origin    verdict",   //
                                               "    0      0.75  recorded  recorded",  //
                                               "    1     0.875  recorded  recorded",  //
                                               "    2    0.9375  recorded  recorded"));
}

TEST_F(QueryTest, JoinsValuesOfStepsAndOfEpochs) {
  RunPlan plan;
  plan.epochs = 2;
  plan.steps = 2;
  record(plan);
  EXPECT_THAT(lines({"loss", "accuracy"}),
              ElementsAre("epoch  step  loss  accuracy  origin    verdict",   //
                          "    0     0     1      0.75  recorded  recorded",  //
                          "    0     1   1.1      0.75  recorded  recorded",  //
                          "    1     0   0.5     0.875  recorded  recorded",  //
                          "    1     1   0.6     0.875  recorded  recorded"));
}

TEST_F(QueryTest, ShowsOnlyRowsInWhichAConditionHolds) {
  RunPlan plan;
  plan.epochs = 2;
  plan.steps = 2;
  record(plan);
  EXPECT_THAT(lines({"loss", "accuracy", "--rows", "loss>0.5 and accuracy<0.8"}),
              ElementsAre("epoch  step  loss  accuracy  origin    verdict",
                          "    0     0     1      0.75  recorded  recorded",
                          "    0     1   1.1      0.75  recorded  recorded"));
  EXPECT_THAT(rows({"loss", "--rows", "epoch=1 and step=1"}), SizeIs(1));
  EXPECT_THAT(rows({"loss", "--rows", "not loss>0.55"}), SizeIs(1));
  EXPECT_THAT(rows({"loss", "--rows", "loss>99"}), IsEmpty());
  EXPECT_EQ(flor({"query", "loss", "--rows", "los>1"}).err,
            "flor: the rows have no column 'los': did you mean 'loss'?\n");
  EXPECT_THAT(flor({"query", "loss", "--rows", "accuracy>1"}).err,
              HasSubstr("no column 'accuracy': ask for it, too"));
  EXPECT_EQ(flor({"query", "loss", "--rows", "loss>"}).status, 2);
  EXPECT_THAT(flor({"query", "loss", "--over", "lr", "--rows", "loss>1"}).err,
              HasSubstr("--where chooses the runs of a group"));
}

TEST_F(QueryTest, SetsRecordedAndHindsightValuesSideBySide) {
  RunPlan plan;
  plan.epochs = 1;
  plan.steps = 2;
  replay(record(plan), 1, 2);
  EXPECT_THAT(lines({"loss", "gradient", "confusion"}),
              ElementsAre("epoch  step  loss  gradient  confusion  origin              verdict",
                          "    0     0     1         0  table 2x2  recorded+hindsight  "
                          "recorded+unverified",
                          "    0     1   1.1         1  table 2x2  recorded+hindsight  "
                          "recorded+unverified"));
  const Json all = rows({"loss", "gradient"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["origins"], (Json{{"loss", "recorded"}, {"gradient", "hindsight"}}));
  EXPECT_EQ(all[0]["origin"], "recorded+hindsight");
  EXPECT_EQ(all[0]["verdicts"], (Json{{"loss", "recorded"}, {"gradient", "unverified"}}));
  EXPECT_EQ(all[0]["verdict"], "recorded+unverified");
  const Json found = rows({"loss", "gradient", "--hindsight"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1]["values"], (Json{{"gradient", 1.0}}));
  EXPECT_EQ(found[1]["origin"], "hindsight");
  EXPECT_EQ(found[1]["verdict"], "unverified");
  EXPECT_EQ(rows({"loss", "gradient", "--recorded"})[0]["values"], (Json{{"loss", 1.0}}));
}

TEST_F(QueryTest, PromisesItsJsonFieldByField) {
  const store::Run run = record({});
  replay(run, 3, 4);
  const Json json = flor({"query", "loss", "confusion", "--json", "--run", run.key}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "query");
  EXPECT_EQ(json["metrics"], (Json{"loss", "confusion"}));
  ASSERT_EQ(json["rows"].size(), 12u);
  const Json& row = json["rows"][5];
  std::vector<std::string> keys;
  for (const auto& item : row.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, ElementsAre("run", "experiment", "loop", "epoch", "step", "inner", "ordinal",
                                "values", "origins", "origin", "verdicts", "verdict", "loops"));
  EXPECT_EQ(row["run"], run.key);
  EXPECT_EQ(row["experiment"], "linear");
  EXPECT_EQ(row["loop"], "epoch/train");
  EXPECT_EQ(row["epoch"], 1);
  EXPECT_EQ(row["step"], 1);
  EXPECT_TRUE(row["inner"].is_null());
  EXPECT_EQ(row["loops"], (Json{{"train", 1}}));
  EXPECT_EQ(row["ordinal"], 0);
  EXPECT_EQ(row["values"]["loss"], 0.5 + 0.1);
  EXPECT_EQ(row["values"]["confusion"]["rows"], Json::parse("[[1,2],[3.5,4]]"));
  EXPECT_EQ(row["verdicts"], (Json{{"loss", "recorded"}, {"confusion", "unverified"}}));
  EXPECT_EQ(row["verdict"], "recorded+unverified");
}

TEST_F(QueryTest, WritesOneObjectALineAsJsonl) {
  record({});
  const auto found = lines({"accuracy", "--jsonl"});
  ASSERT_THAT(found, SizeIs(3));
  const Json row = Json::parse(found[2]);
  EXPECT_EQ(row["epoch"], 2);
  EXPECT_EQ(row["values"]["accuracy"], 0.9375);
}

TEST_F(QueryTest, GivesEveryDigitInCsv) {
  const store::Run run = record({});
  store::Value third = value("third", 1.0 / 3, 0);
  store::Value text = value("text", 0, 0);
  text.type = store::ValueType::text;
  text.value = std::string("a \"b\", c");
  catalog().add_values(run.id, std::vector{third, text});
  EXPECT_THAT(lines({"third", "text", "--csv"}),
              ElementsAre("run,experiment,loop,epoch,step,ordinal,third,text,origin,verdict",
                          run.key + ",linear,epoch,0,,0,0.3333333333333333,\"a \"\"b\"\", c\","
                                    "recorded,recorded"));
  EXPECT_EQ(rows({"third"})[0]["values"]["third"], 1.0 / 3);
  EXPECT_THAT(lines({"third"})[1], StartsWith("    0  0.333333  recorded  recorded"));
}

TEST_F(QueryTest, KeepsNumbersThatAreNone) {
  const store::Run run = record({});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  catalog().add_values(run.id,
                       std::vector{value("odd", std::nan(""), 0), value("odd", kInfinity, 1),
                                   value("odd", -kInfinity, 2)});
  const Json found = rows({"odd"});
  EXPECT_EQ(found[0]["values"]["odd"], "NaN");
  EXPECT_EQ(found[1]["values"]["odd"], "Infinity");
  EXPECT_EQ(found[2]["values"]["odd"], "-Infinity");
  EXPECT_THAT(lines({"odd", "--csv"})[1], HasSubstr(",nan,"));
}

TEST_F(QueryTest, KnowsEveryTypeOfValue) {
  const store::Run run = record({});
  const auto typed = [](std::string name, store::ValueType type, store::Scalar scalar) {
    store::Value result = value(std::move(name), 0);
    result.type = type;
    result.value = std::move(scalar);
    return result;
  };
  using store::ValueType;
  catalog().add_values(run.id,
                       std::vector{typed("flag", ValueType::boolean, std::int64_t{1}),
                                   typed("count", ValueType::integer, std::int64_t{INT64_MAX}),
                                   typed("object", ValueType::json, std::string(R"({"a":[1,2]})")),
                                   typed("histogram", ValueType::histogram,
                                         std::string(R"({"edges":[0,1,2],"counts":[3,4]})")),
                                   typed("weights", ValueType::tensor, std::string("object:7"))});
  const std::vector<std::string> names{"flag", "count", "object", "histogram", "weights"};
  const Json values = rows(names)[0]["values"];
  EXPECT_EQ(values["flag"], true);
  EXPECT_EQ(values["count"], INT64_MAX);
  EXPECT_EQ(values["object"]["a"][1], 2);
  EXPECT_EQ(values["histogram"]["counts"][0], 3);
  EXPECT_EQ(values["weights"]["object"], "object:7");
  const auto table = lines(names);
  ASSERT_THAT(table, SizeIs(2));
  EXPECT_THAT(table[1], HasSubstr("true  9223372036854775807  {\"a\":[1,2]}  histogram of 2 bins"));
}

TEST_F(QueryTest, TakesOnlyTheEpochsThatAreAskedFor) {
  const store::Run run = record({});
  catalog().add_values(run.id, std::vector{value("seed", 7)});
  const auto epochs = [&](std::vector<std::string> arguments) {
    std::vector<int> result;
    for (const Json& row : rows(std::move(arguments))) result.push_back(row["epoch"].get<int>());
    return result;
  };
  EXPECT_THAT(epochs({"accuracy", "--epochs", "1..2"}), ElementsAre(1, 2));
  EXPECT_THAT(epochs({"accuracy", "--epochs", "2"}), ElementsAre(2));
  EXPECT_THAT(epochs({"accuracy", "--epochs=..1"}), ElementsAre(0, 1));
  EXPECT_THAT(epochs({"accuracy", "--run", "linear@1"}), ElementsAre(1));
  EXPECT_EQ(rows({"accuracy", "seed", "--epochs", "1"})[0]["values"],
            (Json{{"accuracy", 0.875}, {"seed", 7.0}}));
  const Outcome none = flor({"query", "accuracy", "--epochs", "9.."});
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("no values there"));
}

TEST_F(QueryTest, JoinsNothingAcrossRuns) {
  RunPlan plan;
  plan.epochs = 1;
  const store::Run first = record(plan);
  plan.loss = 2;
  const store::Run second = record(plan);
  const auto table = lines({"accuracy", "--run", first.key, "--run", second.key});
  ASSERT_THAT(table, SizeIs(3));
  EXPECT_EQ(table[0], "run       experiment  epoch  accuracy  origin    verdict");
  EXPECT_THAT(table[1], StartsWith(first.key.substr(0, 8)));
  EXPECT_THAT(table[2], StartsWith(second.key.substr(0, 8)));
  const Json both = rows({"accuracy", "--experiment", "linear"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0]["run"], second.key);
}

TEST_F(QueryTest, TakesTheRunThatWasLastRecordedHereOrAbove) {
  RunPlan plan;
  plan.repository = (directory_ / "project").string();
  const store::Run here = record(plan);
  plan.repository = (directory_ / "other").string();
  plan.experiment = "elsewhere";
  plan.started_us += 1;
  const store::Run newest = record(plan);
  work_ = directory_ / "project/src/deep";
  std::filesystem::create_directories(work_);
  const Outcome outcome = flor({"query", "accuracy"});
  EXPECT_EQ(outcome.err, "flor: run " + here.key.substr(0, 8) + " (linear)\n");
  work_ = directory_.path();
  EXPECT_THAT(flor({"query", "accuracy"}).err, HasSubstr(newest.key.substr(0, 8)));
}

TEST_F(QueryTest, SuggestsTheMetricThatWasMeant) {
  record({});
  const Outcome outcome = flor({"query", "acuracy"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("has no metric 'acuracy': did you mean 'accuracy'?"));
  EXPECT_THAT(flor({"query", "zzz"}).err, HasSubstr("it has loss, accuracy, note"));
}

TEST_F(QueryTest, NamesTheMetricsWhenNoneIsAskedFor) {
  record({});
  const Outcome outcome = flor({"query"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("loss, accuracy, note"));
}

TEST_F(QueryTest, ShowsTheIndicesOfDeeperLoops) {
  const store::Run run = record({});
  std::vector<store::Value> values;
  for (const char* inner : {"0", "1"}) {
    values.push_back(value("norm", 1.5, 0, 2));
    values.back().place.path = "epoch/train/layer";
    values.back().place.inner = inner;
  }
  catalog().add_values(run.id, values);
  EXPECT_THAT(lines({"norm", "loss"}),
              ElementsAre("loop               epoch  train  layer  norm  loss  origin    verdict",
                          ::testing::_, ::testing::_, ::testing::_, ::testing::_, ::testing::_,
                          ::testing::_, ::testing::_, ::testing::_, ::testing::_, ::testing::_,
                          ::testing::_, ::testing::_, ::testing::_));
  const Json found = rows({"norm", "loss", "--epochs", "0"});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[1]["loop"], "epoch/train/layer");
  EXPECT_EQ(found[1]["inner"], Json{1});
  EXPECT_EQ(found[1]["loops"], (Json{{"train", 2}, {"layer", 1}}));
  EXPECT_EQ(found[1]["values"], (Json{{"norm", 1.5}, {"loss", 1 + 0.1 * 2}}));
}

TEST_F(QueryTest, LoopsThatAreCalledAsOtherColumnsAreToldApart) {
  const store::Run run = record({});
  std::vector<store::Value> values{value("loss", 2.5, 0, 1), value("flor:value", 0.5, 0),
                                   value("flor:value", 0.25, 0, 1)};
  values[0].place.path = "epoch/run/loss/loss~2";
  values[0].place.inner = "4,7";
  values[2].place.path = "epoch/run";
  catalog().add_values(run.id, values);
  Json found = rows({"loss", "--epochs", "0"});
  std::erase_if(found.get_ref<Json::array_t&>(),
                [](const Json& row) { return row["loop"] == "epoch/train"; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["loops"], (Json{{"epoch_value", 0.5},
                                     {"loop:run", 1},
                                     {"run_value", 0.25},
                                     {"loop:loss", 4},
                                     {"loss:2", 7}}));
  EXPECT_EQ(found[0]["loop"], "epoch/run/loss/loss~2");
}

TEST_F(QueryTest, ColoursHindsightAndStillSaysSo) {
  replay(record({}), 3, 4);
  const Outcome outcome = flor({"query", "gradient", "--color=always"});
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[36m"));
  EXPECT_THAT(outcome.out, HasSubstr("hindsight"));
}

class BesideTest : public QueryTest {
 protected:
  BesideTest() {
    RunPlan plan;
    plan.epochs = 1;
    plan.steps = 1;
    plan.arguments = {{"lr", "real", "0.1"}, {"seed", "int", "1"}, {"width", "int", "8"}};
    first_ = record(plan);
    plan.started_us += 1'000'000;
    plan.loss = 0.5;
    second_ = record(plan);
    plan.started_us += 1'000'000;
    plan.arguments[0].value = "0.025";
    plan.epochs = 2;
    third_ = record(plan);
  }
  store::Run first_, second_, third_;
};

TEST_F(BesideTest, FactsOfTheRunStandInEachRow) {
  flor({"tag", third_.key, "good"});
  const auto rows = lines({"accuracy", "--experiment", "linear", "-c", "arguments,tag,epochs"});
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_EQ(rows[0],
            "run       experiment  arg:lr   tag  epochs  epoch  accuracy  origin    verdict");
  EXPECT_THAT(rows[1], HasSubstr("linear       0.025  good       2      0     0.875"));
  EXPECT_THAT(rows[4], HasSubstr("linear         0.1     -       1      0      0.75"));
}

TEST_F(BesideTest, WithEveryDigitInCsvAndTypesInJson) {
  const auto rows =
      lines({"accuracy", "--run", third_.key, "-c", "lr,width,accuracy,tag", "--csv"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0], StartsWith("run,experiment,lr,width,accuracy,tag,loop,epoch,"));
  EXPECT_EQ(rows[1], third_.key + ",linear,0.025,8,0.9375,,epoch,0,,0,0.875,recorded,recorded");
  const Json row = this->rows({"accuracy", "--run", third_.key, "-c", "lr,width,tag,when"})[0];
  EXPECT_EQ(row["columns"].dump(),
            R"({"lr":0.025,"width":8,"tag":null,"when":"2023-11-14T22:13:22.000000Z"})");
  EXPECT_FALSE(this->rows({"accuracy"})[0].contains("columns"));
}

TEST_F(BesideTest, OneThatNoRunHasIsAnError) {
  const Outcome outcome = flor({"query", "accuracy", "-c", "lt"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'lr'?"));
  EXPECT_EQ(flor({"query", "accuracy", "-c", "lr", "--over", "seed"}).status, 2);
  EXPECT_EQ(flor({"query", "accuracy", "--latest", "--over", "seed"}).status, 2);
}

TEST_F(BesideTest, TheLatestRunHasThePlacesThatSeveralHave) {
  const auto runs = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"accuracy", "--experiment", "linear", "--latest"});
    std::vector<std::string> ids;
    for (const Json& row : rows(more)) {
      ids.push_back(row["run"].get<std::string>() + " " + row["epoch"].dump());
    }
    return ids;
  };
  EXPECT_THAT(runs({}), ElementsAre(third_.key + " 0", third_.key + " 1"));
  EXPECT_THAT(runs({"-c", "lr"}),
              ElementsAre(third_.key + " 0", third_.key + " 1", second_.key + " 0"));
  // In whatever order they are named.
  EXPECT_THAT(rows({"accuracy", "--run", first_.key, "--run", second_.key, "--latest"})[0]["run"],
              second_.key);
}

TEST_F(BesideTest, AnOlderRunHasThePlacesThatNewerOnesLack) {
  RunPlan plan;
  plan.started_us = third_.start.started_us + 1;
  plan.epochs = 1;
  const store::Run fourth = record(plan);
  const Json found = rows({"accuracy", "--experiment", "linear", "--latest"});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0]["run"], fourth.key);
  EXPECT_EQ(found[1]["run"], third_.key);
  EXPECT_EQ(found[1]["epoch"], 1);
}

}  // namespace
}  // namespace flor::testing
