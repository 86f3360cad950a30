// The catalog: runs and how they are found, values bit for bit, summaries, loops, replays.
#include "base/edit_distance.h"
#include "database/sqlite.h"
#include "store_fixture.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CatalogTest : public StoreTest {
 protected:
  CatalogTest() : store_(open()), catalog_(store_->catalog()) {}

  Run add_run(const std::string& experiment, const std::string& commit = {}) {
    NewRun run = new_run(experiment);
    if (!commit.empty()) run.commit = commit;
    return catalog_.add_run(run);
  }

  static Value value(const std::string& name, Scalar scalar, std::int64_t epoch = 0,
                     std::int64_t step = 0) {
    Value value;
    value.name = name;
    value.place = {"epoch/train", epoch, step, ""};
    value.type = std::holds_alternative<double>(scalar)         ? ValueType::real
                 : std::holds_alternative<std::int64_t>(scalar) ? ValueType::integer
                                                                : ValueType::text;
    value.value = std::move(scalar);
    return value;
  }

  void add(std::int64_t run, std::vector<Value> values) { catalog_.add_values(run, values); }

  std::shared_ptr<Store> store_;
  Catalog& catalog_;
};

TEST_F(CatalogTest, ARunComesBackAsItWasGiven) {
  NewRun start = new_run();
  start.command = {"./linear", "--note", "quote \" and\nnewline", ""};
  start.environment = {{"OMP_NUM_THREADS", "2"}, {"empty", ""}};
  const Run added = catalog_.add_run(start);
  EXPECT_EQ(added.key.size(), 16u);
  const Run run = catalog_.run(added.id).value();
  EXPECT_EQ(run.key, added.key);
  EXPECT_EQ(run.start.experiment, "linear");
  EXPECT_EQ(run.start.started_us, start.started_us);
  EXPECT_EQ(run.start.commit, start.commit);
  EXPECT_EQ(run.start.command, start.command);
  EXPECT_EQ(run.start.environment, start.environment);
  EXPECT_EQ(run.start.program_digest, "00ff");
  EXPECT_FALSE(run.finished_us);
}

TEST_F(CatalogTest, TheStateOfARunIsItsEndOrElseItsLock) {
  const Run run = add_run("linear");
  EXPECT_EQ(catalog_.run(run.id)->state, RunState::interrupted);
  {
    const auto lock = store_->lock_run(run.key);
    ASSERT_TRUE(lock);
    EXPECT_EQ(catalog_.run(run.id)->state, RunState::running);
    EXPECT_FALSE(store_->lock_run(run.key));
  }
  EXPECT_EQ(catalog_.run(run.id)->state, RunState::interrupted);
  catalog_.finish_run(run.id, 17, true, "loss is NaN");
  EXPECT_EQ(catalog_.run(run.id)->state, RunState::failed);
  EXPECT_EQ(catalog_.run(run.id)->message, "loss is NaN");
  catalog_.reopen_run(run.id);
  EXPECT_EQ(catalog_.run(run.id)->state, RunState::interrupted);
  catalog_.finish_run(run.id, 18, false, "");
  EXPECT_EQ(catalog_.run(run.id)->state, RunState::finished);
  EXPECT_EQ(catalog_.run(run.id)->finished_us, 18);
  EXPECT_TRUE(std::filesystem::is_empty(home() / "locks"));
}

TEST_F(CatalogTest, ListsRunsNewestFirst) {
  const Run a = add_run("linear"), b = add_run("convnet"), c = add_run("linear");
  std::vector<std::int64_t> all, linear;
  for (const Run& run : catalog_.runs()) all.push_back(run.id);
  for (const Run& run : catalog_.runs("linear")) linear.push_back(run.id);
  EXPECT_THAT(all, ElementsAre(c.id, b.id, a.id));
  EXPECT_THAT(linear, ElementsAre(c.id, a.id));
  EXPECT_EQ(catalog_.runs({}, 1).size(), 1u);
  EXPECT_EQ(catalog_.runs({}, 1)[0].start.environment, new_run().environment);
  const Run summary = catalog_.runs({}, 1, RunDetail::summary).at(0);
  EXPECT_EQ(summary.key, c.key);
  EXPECT_EQ(summary.start.directory, c.start.directory);
  EXPECT_TRUE(summary.start.command.empty() && summary.start.environment.empty());
  EXPECT_TRUE(summary.start.program.empty() && summary.start.repository.empty());
  EXPECT_THAT(catalog_.runs("nothing"), IsEmpty());
  EXPECT_THAT(catalog_.experiments(), ElementsAre("convnet", "linear"));
}

TEST_F(CatalogTest, DroppingARunLeavesNothingOfIt) {
  const Run kept = add_run("linear");
  const Run run = add_run("mistake");
  catalog_.add_argument(run.id, {"lr", "real", "0.1"});
  add(run.id, {value("loss", 1.0)});
  catalog_.drop_run(run.id);
  EXPECT_FALSE(catalog_.run(run.id));
  EXPECT_THAT(catalog_.experiments(), ElementsAre("linear"));
  EXPECT_THAT(catalog_.metrics(run.id), IsEmpty());
  EXPECT_EQ(damage(*store_), "");
  EXPECT_GT(add_run("again").id, run.id);  // its number never comes back
  add(kept.id, {value("loss", 1.0)});
  EXPECT_EQ(catalog_.values({.run = kept.id}).size(), 1u);
}

TEST_F(CatalogTest, ResolvesNamesDistancesCommitsAndPrefixes) {
  const Run a = add_run("linear", std::string(40, 'a'));
  const Run b = add_run("linear", std::string(40, 'b'));
  const Run c = add_run("linear", std::string(40, 'a'));
  const Run d = add_run("odd:name~1");
  EXPECT_EQ(catalog_.resolve("linear").id, c.id);
  EXPECT_EQ(catalog_.resolve("linear~0").id, c.id);
  EXPECT_EQ(catalog_.resolve("linear~2").id, a.id);
  EXPECT_EQ(catalog_.resolve("linear:bbbb").id, b.id);
  EXPECT_EQ(catalog_.resolve("linear:AAAAAA").id, c.id);
  EXPECT_EQ(catalog_.resolve(b.key).id, b.id);
  EXPECT_EQ(catalog_.resolve(b.key.substr(0, 9)).id, b.id);
  EXPECT_EQ(catalog_.resolve("odd:name~1").id, d.id);
  const Run named = add_run(a.key.substr(0, 8));
  EXPECT_EQ(catalog_.resolve(a.key.substr(0, 8)).id, named.id);  // a name wins over a key
}

TEST_F(CatalogTest, SaysWhatIsNearestToAnUnknownName) {
  add_run("linear");
  add_run("charlm");
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("linaer"); }),
              HasSubstr("did you mean 'linear'?"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("lin"); }), HasSubstr("'linear'"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("zebra"); }), HasSubstr("`flor list`"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("linaer~1"); }), HasSubstr("'linear'"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("linear~5"); }),
              HasSubstr("has only 1 run"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("linear:ffff"); }),
              HasSubstr("recorded at commit ffff"));
  EXPECT_THAT(message_of<UsageError>([&] { catalog_.resolve("linear:ff"); }),
              HasSubstr("at least 4"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve(""); }), HasSubstr("''"));
  EXPECT_THAT(message_of<NotFound>([&] { catalog_.resolve("abc"); }), HasSubstr("'abc'"));
}

TEST_F(CatalogTest, RefusesAmbiguousPrefixes) {
  add_run("linear", "abcd1" + std::string(35, '0'));
  add_run("linear", "abcd2" + std::string(35, '0'));
  EXPECT_THAT(message_of<UsageError>([&] { catalog_.resolve("linear:abcd"); }),
              HasSubstr("'abcd' is ambiguous (abcd10000000, abcd20000000)"));
}

TEST_F(CatalogTest, EditDistanceCountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("linear", "linear"), 0u);
  EXPECT_EQ(edit_distance("linaer", "linear"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST_F(CatalogTest, RemembersTheNameLastUsedInARepository) {
  EXPECT_FALSE(catalog_.last_name("/src"));
  const auto record = [&](const char* name, std::int64_t rank, const RunOrigin& origin) {
    NewRun run = new_run(name);
    run.repository = "/src";
    if (rank > 0) run.rank = RankPlace{1, rank, 2};
    return catalog_.add_run(run, {}, origin).id;
  };
  const std::int64_t first = record("linear", 0, {});
  record("convnet", 0, {});
  EXPECT_EQ(catalog_.last_name("/src"), "convnet");
  record("fetched", 0, {RunOrigin::Kind::fetched, "s3://bucket", 1});
  record("rank", 1, {});
  EXPECT_EQ(catalog_.last_name("/src"), "convnet");
  catalog_.resume_run(first, {});
  EXPECT_EQ(catalog_.last_name("/src"), "linear");
}

TEST_F(CatalogTest, EveryScalarSurvivesBitForBit) {
  const auto nan = [](std::uint64_t payload) {
    return std::bit_cast<double>(0x7FF0000000000000u | payload);
  };
  using Limits = std::numeric_limits<double>;
  const std::vector<double> reals = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.1,
                                     1e300,
                                     Limits::denorm_min(),
                                     Limits::max(),
                                     Limits::lowest(),
                                     Limits::infinity(),
                                     -Limits::infinity(),
                                     Limits::quiet_NaN(),
                                     -Limits::quiet_NaN(),
                                     nan(1),
                                     nan(0x000DEADBEEF00001u),
                                     3.0,
                                     9007199254740993.0,
                                     -123456789.0};
  const std::vector<std::int64_t> integers = {
      0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, 9007199254740993};
  const std::vector<std::string> texts = {
      "",    "a",   std::string("nul\0inside", 10), "1",
      "1.0", "NaN", "\xff\xfe not UTF-8",           "äöü\n\t\"'"};
  const Run run = add_run("linear");
  std::vector<Value> written;
  std::int64_t step = 0;
  for (const double real : reals) written.push_back(value("x", real, 0, step++));
  for (const std::int64_t integer : integers) written.push_back(value("x", integer, 0, step++));
  for (const std::string& text : texts) written.push_back(value("x", text, 0, step++));
  add(run.id, written);
  store_ = open();  // through the file
  const std::vector<Value> read = store_->catalog().values({.run = run.id});
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].type, written[i].type);
    EXPECT_EQ(read[i].place, written[i].place);
    ASSERT_EQ(read[i].value.index(), written[i].value.index()) << i;
    if (const auto* real = std::get_if<double>(&written[i].value)) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(std::get<double>(read[i].value)),
                std::bit_cast<std::uint64_t>(*real));
    } else {
      EXPECT_EQ(read[i].value, written[i].value);
    }
  }
}

TEST_F(CatalogTest, OrdersValuesByPlaceAndCountsInnerLoopsAsNumbers) {
  const Run run = add_run("linear");
  std::vector<Value> values;
  for (const char* inner : {"10", "9", "4,10", "4,9", "4", ""}) {
    values.push_back(value("a", 1.0, 2, 5));
    values.back().place.inner = inner;
  }
  values.push_back(value("b", 1.0, 2, 4));
  values.push_back(value("b", 1.0, 1, 7));
  values.push_back(value("c", 1.0, -1, -1));
  add(run.id, values);
  std::vector<std::string> order;
  for (const Value& v : catalog_.values({.run = run.id})) {
    order.push_back(v.name + std::to_string(v.place.epoch) + "/" + v.place.inner);
  }
  EXPECT_THAT(order, ElementsAre("c-1/", "b1/", "b2/", "a2/", "a2/4", "a2/4,9", "a2/4,10", "a2/9",
                                 "a2/10"));
}

TEST_F(CatalogTest, SelectsValuesByNameEpochAndOrigin) {
  const Run run = add_run("linear");
  std::vector<Value> values;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    values.push_back(value("loss", 1.0, epoch));
    values.push_back(value("accuracy", 0.5, epoch));
    values.back().replay = 1;
  }
  add(run.id, values);
  EXPECT_EQ(catalog_.values({.run = run.id}).size(), 10u);
  EXPECT_EQ(catalog_.values({.run = run.id, .names = {"loss"}}).size(), 5u);
  EXPECT_EQ(catalog_.values({.run = run.id, .first_epoch = 1, .last_epoch = 2}).size(), 4u);
  EXPECT_EQ(catalog_.values({.run = run.id, .recorded = false}).size(), 5u);
  EXPECT_EQ(catalog_.values({.run = run.id, .hindsight = false}).at(0).name, "loss");
  EXPECT_THAT(catalog_.values({.run = 4711}), IsEmpty());
}

TEST_F(CatalogTest, SummarisesMetricsInTheOrderOfTheirFirstAppearance) {
  const Run run = add_run("linear");
  const double nan = std::nan("");
  add(run.id, {value("loss", 3.0, 0, 0), value("accuracy", std::int64_t{7}, 0, 1),
               value("loss", nan, 0, 2)});
  add(run.id, {value("loss", -1.0, 1, 0), value("note", std::string("hello"), 1, 1)});
  const auto metrics = catalog_.metrics(run.id);
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].name, "loss");
  EXPECT_EQ(metrics[0].count, 3);
  EXPECT_EQ(metrics[0].last, Scalar(-1.0));
  EXPECT_EQ(metrics[0].minimum, -1.0);
  EXPECT_EQ(metrics[0].maximum, 3.0);
  EXPECT_FALSE(metrics[0].hindsight);
  EXPECT_EQ(metrics[1].type, ValueType::integer);
  EXPECT_EQ(metrics[1].maximum, 7.0);
  EXPECT_EQ(metrics[2].last, Scalar(std::string("hello")));
  EXPECT_TRUE(std::isnan(metrics[2].minimum));
}

TEST_F(CatalogTest, AReplacedValueCountsOnce) {
  const Run run = add_run("linear");
  add(run.id, {value("loss", 9.0, 0, 0), value("loss", 2.0, 0, 1)});
  add(run.id, {value("loss", 1.0, 0, 0)});
  const auto values = catalog_.values({.run = run.id});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].value, Scalar(1.0));
  const MetricSummary metric = catalog_.metrics(run.id).at(0);
  EXPECT_EQ(metric.count, 2);
  EXPECT_EQ(metric.maximum, 2.0);
  EXPECT_EQ(metric.last, Scalar(2.0));
}

TEST_F(CatalogTest, HindsightNeverReplacesWhatWasRecorded) {
  const Run run = add_run("linear");
  add(run.id, {value("loss", 9.0)});
  Value found = value("loss", 1.0);
  found.replay = 3;
  Value hindsight = value("confusion", std::string("{}"));
  hindsight.replay = 3;
  add(run.id, {found, hindsight});
  EXPECT_EQ(catalog_.values({.run = run.id, .names = {"loss"}}).at(0).value, Scalar(9.0));
  const auto metrics = catalog_.metrics(run.id);
  EXPECT_FALSE(metrics.at(0).hindsight);
  EXPECT_TRUE(metrics.at(1).hindsight);
  hindsight.value = std::string("{2}");
  hindsight.replay = 4;
  add(run.id, {hindsight});
  const Value again = catalog_.values({.run = run.id, .names = {"confusion"}}).at(0);
  EXPECT_EQ(again.value, Scalar(std::string("{2}")));
  EXPECT_EQ(again.replay, 4);
}

TEST_F(CatalogTest, AValueThatIsNotWhatItSaysIsRefusedAndNothingIsWritten) {
  const Run run = add_run("linear");
  Value wrong = value("loss", std::string("text"));
  wrong.type = ValueType::real;
  EXPECT_THAT(message_of<Error>([&] { add(run.id, {value("a", 1.0), wrong}); }),
              HasSubstr("'loss'"));
  EXPECT_THAT(catalog_.values({.run = run.id}), IsEmpty());
  add(run.id, {value("a", 1.0)});  // and what was cached on the way is not believed
  EXPECT_EQ(catalog_.values({.run = run.id}).size(), 1u);
}

TEST_F(CatalogTest, KeepsArgumentsInOrder) {
  const Run run = add_run("linear");
  catalog_.add_argument(run.id, {"lr", "real", "0.1"});
  catalog_.add_argument(run.id, {"epochs", "int", "8"});
  catalog_.add_argument(run.id, {"lr", "real", "0.2"});
  const auto arguments = catalog_.arguments(run.id);
  ASSERT_EQ(arguments.size(), 2u);
  EXPECT_EQ(arguments[0].name, "lr");
  EXPECT_EQ(arguments[0].value, "0.2");
  EXPECT_EQ(arguments[1].type, "int");
}

TEST_F(CatalogTest, KeepsLoopsAndCountsIterationsOnce) {
  const Run run = add_run("linear");
  catalog_.put_main_loop(run.id, {0, "epoch", 0, 1, false, false});
  catalog_.put_main_loop(run.id, {0, "epoch", 0, 2, true, true});
  catalog_.add_iteration(run.id, {0, 0, 1.5, 0.1});
  catalog_.add_iteration(run.id, {0, 1, 2.5, 0.2});
  catalog_.add_iteration(run.id, {0, 1, 3.5, 0.3});
  catalog_.add_execution(run.id, {0, 0, "train", 10, false, 1.0});
  catalog_.add_execution(run.id, {0, 0, "eval", 3, true, 0.5});
  EXPECT_EQ(catalog_.run(run.id)->epochs, 2);
  const auto loops = catalog_.main_loops(run.id);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].iterations, 2);
  EXPECT_TRUE(loops[0].ended && loops[0].broke);
  const auto iterations = catalog_.iterations(run.id);
  ASSERT_EQ(iterations.size(), 2u);
  EXPECT_EQ(iterations[1].seconds, 3.5);
  const auto executions = catalog_.executions(run.id);
  ASSERT_EQ(executions.size(), 2u);
  EXPECT_EQ(executions[0].loop, "train");
  EXPECT_EQ(executions[1].iterations, 3);
  EXPECT_TRUE(executions[1].broke);
}

TEST_F(CatalogTest, KeepsReplaysAndTheirResults) {
  const Run run = add_run("linear");
  NewReplay start;
  start.run = run.id;
  start.segment = 1;
  start.segments = 3;
  start.first_epoch = 4;
  start.last_epoch = 6;
  start.probes = "train";
  start.command = {"./linear", "--replay_flor", "1/3"};
  const std::int64_t id = catalog_.add_replay(start);
  EXPECT_FALSE(catalog_.replays(run.id).at(0).result);
  ReplayResult result;
  result.finished_us = 5;
  result.verdict = Verdict::differs;
  result.values_compared = 10;
  result.values_different = 1;
  result.first_difference = "loss at epoch 4";
  catalog_.finish_replay(id, result);
  const Replay replay = catalog_.replays(run.id).at(0);
  EXPECT_EQ(replay.id, id);
  EXPECT_EQ(replay.start.last_epoch, 6);
  EXPECT_EQ(replay.start.command, start.command);
  ASSERT_TRUE(replay.result);
  EXPECT_EQ(replay.result->verdict, Verdict::differs);
  EXPECT_EQ(replay.result->first_difference, "loss at epoch 4");
}

// Answers of replays under one name.
class AnswersTest : public CatalogTest {
 protected:
  AnswersTest() : run_(add_run("linear").id) {}

  std::int64_t replay(const std::string& question) {
    NewReplay start;
    start.run = run_;
    start.question = question;
    return catalog_.add_replay(start);
  }
  void find(std::int64_t replay, double number, ValueVerdict verdict, std::int64_t epoch = 0,
            Verdict of_part = Verdict::verified) {
    Value found = value("w2", number, epoch);
    found.replay = replay;
    ReplayedPart part;
    part.part = epoch;
    part.found = verdict;
    part.result.verdict = of_part;
    part.result.values_found = 1;
    catalog_.add_replayed(run_, replay, std::span(&found, 1), std::span(&part, 1));
  }
  /// As "name epoch value verdict".
  std::vector<std::string> values(bool others = false) {
    std::vector<std::string> lines;
    for (const Value& value : catalog_.values({.run = run_, .names = {"w2"}, .others = others})) {
      lines.push_back(fmt::format("{} {} {} {}", value.name, value.place.epoch,
                                  std::get<double>(value.value), to_string(value.verdict)));
    }
    return lines;
  }
  MetricSummary metric() { return catalog_.metrics(run_).at(0); }

  std::int64_t run_;
};

TEST_F(AnswersTest, ADoubtfulOneStandsApartAndCountsInNothing) {
  const std::int64_t good = replay("a"), bad = replay("b");
  find(good, 2, ValueVerdict::proven);
  find(bad, 9, ValueVerdict::doubtful, 0, Verdict::differs);
  EXPECT_THAT(values(), ElementsAre("w2 0 2 proven", "w2 (doubtful, replay 2) 0 9 doubtful"));
  EXPECT_EQ(metric().maximum, 2);
  EXPECT_EQ(std::get<double>(metric().last), 2);
  EXPECT_EQ(catalog_.metrics(run_).at(1).name, "w2 (doubtful, replay 2)");
}

TEST_F(AnswersTest, OneThatDiffersLaterTakesAllItFoundWithItAndWhatStoodStandsAgain) {
  const std::int64_t good = replay("a"), bad = replay("b");
  for (const std::int64_t epoch : {0, 1, 2}) find(good, 2, ValueVerdict::proven, epoch);
  find(bad, 9, ValueVerdict::proven, 0);
  EXPECT_EQ(metric().maximum, 9) << "the newest of the best";
  find(bad, 8, ValueVerdict::proven, 1, Verdict::differs);
  find(bad, 7, ValueVerdict::proven, 2);
  EXPECT_THAT(values(),
              ElementsAre("w2 0 2 proven", "w2 (doubtful, replay 2) 0 9 doubtful", "w2 1 2 proven",
                          "w2 (doubtful, replay 2) 1 8 doubtful", "w2 2 2 proven",
                          "w2 (doubtful, replay 2) 2 7 doubtful"));
  EXPECT_EQ(metric().maximum, 2);
}

TEST_F(AnswersTest, AWorseOneDoesNotReplaceABetterOneAndAnUpgradeDoes) {
  const std::int64_t first = replay("a"), second = replay("b");
  find(first, 2, ValueVerdict::verified);
  find(second, 3, ValueVerdict::unverified);
  EXPECT_THAT(values(), ElementsAre("w2 0 2 verified"));
  EXPECT_THAT(values(true), ElementsAre("w2 0 2 verified", "w2 (replay 2) 0 3 unverified"));
  const std::int64_t epochs[] = {0};
  catalog_.verify_replay(second, epochs);
  EXPECT_THAT(values(), ElementsAre("w2 0 3 verified"));
  EXPECT_EQ(metric().maximum, 3);
  catalog_.doubt_replay(second, "executed otherwise");
  EXPECT_THAT(values(), ElementsAre("w2 0 2 verified", "w2 (doubtful, replay 2) 0 3 doubtful"));
  EXPECT_EQ(metric().maximum, 2);
}

TEST_F(AnswersTest, TheSameQuestionAskedAgainLeavesOneAnswer) {
  find(replay("a"), 2, ValueVerdict::proven);
  find(replay("a"), 3, ValueVerdict::proven);
  EXPECT_THAT(values(true), ElementsAre("w2 0 3 proven"));
  find(replay("a"), 4, ValueVerdict::doubtful, 0, Verdict::differs);
  find(replay("a"), 5, ValueVerdict::doubtful, 0, Verdict::differs);
  EXPECT_THAT(values(true), ElementsAre("w2 0 3 proven", "w2 (doubtful, replay 4) 0 5 doubtful"));
}

TEST_F(CatalogTest, KeepsWhyIterationsAreStored) {
  const Run run = add_run("linear");
  EXPECT_FALSE(catalog_.recording(run.id));
  Progress progress;
  progress.decisions = {{0, 0, 2, StorageReason::worthwhile, 0.1, 3.5},
                        {0, 3, 3, StorageReason::budget, 0.2, 4.0}};
  catalog_.add_progress(run.id, progress);
  progress.decisions = {{0, 3, 9, StorageReason::budget, 0.25, 11.0}};
  progress.recording = Recording{.epsilon = 0.25, .materialization = 0.5, .stored = 3, .raw = 2};
  catalog_.add_progress(run.id, progress);
  const auto decisions = catalog_.decisions(run.id);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].last, 2);
  EXPECT_EQ(decisions[1].first, 3);
  EXPECT_EQ(decisions[1].last, 9);
  EXPECT_EQ(decisions[1].reason, StorageReason::budget);
  EXPECT_EQ(decisions[1].cost, 0.25);
  const Recording recording = catalog_.recording(run.id).value();
  EXPECT_EQ(recording.epsilon, 0.25);
  EXPECT_EQ(recording.materialization, 0.5);
  EXPECT_EQ(recording.stored, 3);
  EXPECT_EQ(recording.raw, 2);
}

TEST_F(CatalogTest, KnowsHowFastTheLatestReplaysRestored) {
  EXPECT_FALSE(catalog_.restore_rate());
  NewReplay start;
  start.run = add_run("linear").id;
  catalog_.add_restore_time(catalog_.add_replay(start), 1000, 0.5);
  catalog_.add_restore_time(catalog_.add_replay(start), 3000, 0.5);
  EXPECT_EQ(catalog_.restore_rate(), 4000.0);
}

TEST_F(CatalogTest, KeepsHowProgramsAreBuilt) {
  const RunBuild build{.recipe = R"({"target":"train"})", .remark = {}};
  const Run first = catalog_.add_run(new_run(), build);
  const Run stale = catalog_.add_run(new_run(), RunBuild{build.recipe, "is older than train.cpp"});
  const Run silent = catalog_.add_run(new_run());
  EXPECT_EQ(catalog_.build(first.id)->recipe, build.recipe);
  EXPECT_EQ(catalog_.build(first.id)->remark, "");
  EXPECT_EQ(catalog_.build(stale.id)->remark, "is older than train.cpp");
  EXPECT_FALSE(catalog_.build(silent.id));
  catalog_.drop_run(first.id);
  EXPECT_FALSE(catalog_.build(first.id));
  EXPECT_EQ(catalog_.build(stale.id)->recipe, build.recipe);

  EXPECT_FALSE(catalog_.build_command("/repo", "/repo/train"));
  catalog_.remember_build_command(stale.id, "/repo", "/repo/train", "make");
  catalog_.remember_build_command(stale.id, "/repo", "/repo/train", "make train");
  EXPECT_EQ(catalog_.build_command("/repo", "/repo/train"), "make train");
  EXPECT_FALSE(catalog_.build_command("/repo", "/repo/other"));
}

TEST_F(CatalogTest, KeepsWhichFilesAProgramWroteInItsRepository) {
  EXPECT_THAT(catalog_.outputs("/repo", "train"), IsEmpty());
  const std::int64_t run = catalog_.add_run(new_run()).id;
  using Paths = std::vector<std::string>;
  catalog_.remember_outputs(run, "/repo", "train", Paths{"out/b.png", "out.txt"});
  catalog_.remember_outputs(run, "/repo", "train", Paths{"out.txt", "Z"});
  EXPECT_THAT(catalog_.outputs("/repo", "train"), ElementsAre("Z", "out.txt", "out/b.png"));
  EXPECT_THAT(catalog_.outputs("/repo", "other"), IsEmpty());
  EXPECT_THAT(catalog_.outputs("/other", "train"), IsEmpty());
}

/// Rows of all tables that refer to a run, a replay or a series which is not there.
std::string orphans(const std::filesystem::path& path) {
  const Connection::Mode mode = Connection::Mode::read_only;
  Connection connection(path, mode);
  std::vector<std::pair<std::string, std::string>> columns;
  {
    const auto rows = connection(
        "SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c WHERE "
        "m.type = 'table' AND c.name IN ('run', 'leader', 'replay', 'series')");
    while (rows->step()) columns.emplace_back(rows->text(0), rows->text(1));
  }
  EXPECT_GT(columns.size(), 20u);
  std::string found;
  for (const auto& [table, column] : columns) {
    const std::string parent = column == "leader" ? "run" : column;
    const std::string key = table == "fetched_result" ? "key" : "id";
    const auto row = connection(
        fmt::format("SELECT count(*) FROM {0} WHERE {1} <> 0 AND {1} NOT IN (SELECT {2} FROM {3})",
                    table, column, key, parent));
    row->step();
    if (row->integer(0) > 0) {
      found += fmt::format("{} rows of {} whose {} is gone\n", row->integer(0), table, column);
    }
  }
  return found;
}

TEST_F(CatalogTest, ARunThatIsRemovedLeavesNoRowOfItBehind) {
  NewRun start = new_run("gone");
  start.rank = RankPlace{0, 0, 2};
  const Run run = catalog_.add_run(start, RunBuild{.recipe = "{}", .remark = {}},
                                   {RunOrigin::Kind::fetched, "s3://b/x", 17});
  start.rank = RankPlace{run.id, 1, 2};
  const Run rank = catalog_.add_run(start);
  for (const Run& one : {rank, run}) {
    CheckpointWriter writer(*store_, one.id);
    writer.write(boundary(1), make_snapshot(1, 1, 100));
    SavedCheckpoint saved;
    saved.number = 1;
    saved.name = "best";
    saved.key = {CheckpointKind::saved, 0, 0, "best"};
    saved.place = {"epoch", 0, -1, ""};
    saved.scores = {{"accuracy", 0.5}};
    catalog_.add_saved(one.id, saved);
    catalog_.add_score(one.id, 1, "loss", 0.25);
    catalog_.add_argument(one.id, {"lr", "real", "0.1"});
    catalog_.put_main_loop(one.id, {0, "epoch", 0, 1, true, false});
    catalog_.add_iteration(one.id, {0, 0, 1, 0});
    catalog_.add_execution(one.id, {0, 0, "train", 4, false, 0.5});
    catalog_.put_strategy(one.id, {.num_to_keep = 2, .score_attribute = "loss"});
    NewReplay replay;
    replay.run = one.id;
    replay.question = "q";
    const std::int64_t id = catalog_.add_replay(replay);
    std::vector<Value> values{{"grad", {"epoch", 0, -1, ""}, 0, ValueType::real, 1.0, id},
                              {"loss", {"epoch", 0, -1, ""}, 0, ValueType::real, 1.0, 0}};
    ReplayedPart part{.part = 0, .result = {}};
    part.result.values_found = 1;
    catalog_.add_replayed(one.id, id, values, std::span(&part, 1));
    catalog_.add_restore_time(id, 1000, 0.5);
    catalog_.finish_run(one.id, 9, false, "");
  }
  EXPECT_EQ(orphans(home() / "catalog.db"), "");
  catalog_.drop_run(rank.id);
  EXPECT_EQ(orphans(home() / "catalog.db"), "");
  catalog_.drop_run(run.id);
  EXPECT_EQ(orphans(home() / "catalog.db"), "");
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(CatalogTest, AKeyMayBeChosenBeforeTheRunIsAdded) {
  NewRun run = new_run();
  run.key = new_run_key();
  EXPECT_EQ(run.key.size(), 16u);
  EXPECT_NE(run.key, new_run_key());
  EXPECT_EQ(catalog_.add_run(run).key, run.key);
}

TEST_F(CatalogTest, AStoreFromBeforeATableOpensForReadingAndForWriting) {
  const Run run = add_run("linear");
  store_.reset();
  const auto path = home() / "catalog.db";
  const auto tables = [&] {
    Connection connection(path, Connection::Mode::existing);
    const auto count = connection(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('decision', 'recording', 'restoring', "
        "'recipe', 'build', 'build_command', 'output')");
    EXPECT_TRUE(count->step());
    return count->integer(0);
  };
  Connection(path, Connection::Mode::existing)
      .execute(
          "DROP TABLE decision; DROP TABLE recording; DROP TABLE restoring; DROP TABLE build; "
          "DROP TABLE recipe; DROP TABLE build_command; DROP TABLE output");

  const auto reader = Store::open(home(), OpenMode::read_only);
  EXPECT_THAT(reader->catalog().decisions(run.id), IsEmpty());
  EXPECT_FALSE(reader->catalog().recording(run.id));
  EXPECT_FALSE(reader->catalog().restore_rate());
  EXPECT_FALSE(reader->catalog().build(run.id));
  EXPECT_FALSE(reader->catalog().build_command("/repo", "/repo/train"));
  EXPECT_THAT(reader->catalog().outputs("/repo", "/repo/train"), IsEmpty());
  EXPECT_EQ(tables(), 0);
  const auto writer = Store::open(home(), OpenMode::existing);
  EXPECT_EQ(tables(), 7);
  Progress progress;
  progress.recording = Recording{.stored = 3};
  writer->catalog().add_progress(run.id, progress);
  EXPECT_EQ(writer->catalog().recording(run.id)->stored, 3);
}

}  // namespace
}  // namespace flor::store
