// What evaluators found in checkpoints, as metrics of their runs, and what retention makes of it.
#include "index/values/evaluations.h"

#include "checkpoint/named_checkpoints.h"
#include "index/values/overview.h"
#include "queue/job_queue.h"
#include "queue/sightings.h"
#include "queue/watchers.h"
#include "retention/retention.h"
#include "store_fixture.h"

#include <cmath>

namespace flor::store::evaluations_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kSpec = "/src/judge.py:judge";

class EvaluationsTest : public StoreTest {
 protected:
  EvaluationsTest() : store_(open()), queue_(open_home_queue(*store_)) {
    evaluator_ = queue_->add_evaluator(kSpec, "1");
  }

  Run record(int epochs, bool finish = true) {
    const Run run = store_->catalog().add_run(new_run());
    CheckpointWriter writer(*store_, run.id, {.threads = 1, .priority = {}});
    store_->catalog().put_main_loop(run.id, {0, "epoch", 0, 0, false, false});
    writer.write(boundary(0), make_snapshot(7, 0, 8));
    for (int epoch = 0; epoch < epochs; ++epoch) {
      writer.write(boundary(epoch + 1), make_snapshot(7, epoch + 1, 8));
      store_->catalog().put_main_loop(run.id, {0, "epoch", 0, epoch + 1, false, false});
    }
    if (finish) store_->catalog().finish_run(run.id, 1, false, "");
    return run;
  }
  Digest content(const Run& run, std::int64_t epoch) {
    return find_checkpoint(*store_, reference(run, epoch)).info.digest;
  }
  static std::string reference(const Run& run, std::int64_t epoch) {
    return run.key + "@" + std::to_string(epoch);
  }
  void want(const Run& run, std::int64_t epoch, const std::string& arguments = "") {
    queue_->exchange({.owner = "",
                      .retries = {},
                      .additions = {{.content = content(run, epoch),
                                     .evaluator = evaluator_,
                                     .arguments = arguments,
                                     .path = reference(run, epoch)}}});
  }
  void judge(const Run& run, std::int64_t epoch, const std::string& result,
             const std::string& arguments = "") {
    want(run, epoch, arguments);
    const auto lock = store_->lock_run("00000000000000aa");
    const auto leases = queue_
                            ->exchange({.owner = "00000000000000aa",
                                        .retries = {},
                                        .requests = {{.evaluator = evaluator_, .count = 1}}})
                            .leases;
    ASSERT_THAT(leases, SizeIs(1));
    queue_->exchange({.owner = "00000000000000aa",
                      .retries = {},
                      .reports = {{leases[0].lease, JobReport::Kind::done, result}}});
  }
  std::vector<std::int64_t> epochs(const Run& run) {
    std::vector<std::int64_t> list;
    for (const auto& named : named_checkpoints(*store_, {.experiment = {}, .run = run.key})) {
      list.push_back(*named.epoch);
    }
    return list;
  }
  static KeepRules best(std::int64_t count) {
    return {.best = {{.count = count, .metric = "judge.loss", .order = ScoreOrder::min}}};
  }

  std::shared_ptr<Store> store_;
  std::unique_ptr<JobQueue> queue_;
  std::int64_t evaluator_ = 0;
};

TEST_F(EvaluationsTest, AreCalledByTheFunctionOrTheProgramThatJudges) {
  EXPECT_EQ(evaluator_name("/src/judge.py:accuracy"), "accuracy");
  EXPECT_EQ(evaluator_name("/src/libjudge.so:loss"), "loss");
  EXPECT_EQ(evaluator_name("/src/libjudge.so.1:loss"), "loss");
  EXPECT_EQ(evaluator_name("/usr/bin/evaluate --split a:b {}"), "evaluate");
  EXPECT_EQ(evaluator_name("/src/judge.sh {}"), "judge");
  EXPECT_EQ(evaluator_name("package.judges.accuracy"), "accuracy");
}

TEST_F(EvaluationsTest, AreValuesOfTheEpochThatHasTheContentAndOfNoOther) {
  const Run run = record(3), same = record(3);
  judge(run, 1, R"({"loss": 0.5, "top": {"5": 7}, "ok": true, "note": "fine", "odd": "NaN"})");
  for (const Run& one : {run, same}) {
    const auto values =
        store_->catalog().values({.run = one.id, .first_epoch = -1, .evaluated = true});
    std::vector<std::string> names;
    for (const Value& value : values) {
      names.push_back(value.name);
      EXPECT_EQ(value.place, (Place{"epoch", 1, -1, ""}));
      EXPECT_NE(value.job, 0);
    }
    EXPECT_THAT(names,
                ElementsAre("judge.loss", "judge.note", "judge.odd", "judge.ok", "judge.top.5"));
    EXPECT_EQ(std::get<double>(values[0].value), 0.5);
    EXPECT_TRUE(std::isnan(std::get<double>(values[2].value)));
    EXPECT_EQ(values[3].type, ValueType::boolean);
    EXPECT_EQ(std::get<std::int64_t>(values[4].value), 7);
    EXPECT_THAT(store_->catalog().values({.run = one.id, .first_epoch = -1}), IsEmpty());
    EXPECT_THAT(store_->catalog().values(
                    {.run = one.id, .names = {"judge.loss"}, .first_epoch = 2, .evaluated = true}),
                IsEmpty());
  }
  const auto metrics = store_->catalog().metrics(run.id);
  ASSERT_THAT(metrics, SizeIs(5));
  EXPECT_EQ(metrics[0].name, "judge.loss");
  EXPECT_TRUE(metrics[0].evaluated);
  EXPECT_EQ(metrics[0].minimum, 0.5);
  std::vector<MetricSummary> again;
  AllMetrics(*store_, MetricDetail::all).read(run.id, again);
  EXPECT_THAT(again, SizeIs(5));
}

TEST_F(EvaluationsTest, OfAChangedEvaluatorReplaceThoseOfTheOldOne) {
  const Run run = record(2);
  judge(run, 0, R"({"loss": 1})");
  judge(run, 1, R"({"loss": 2})");
  evaluator_ = queue_->add_evaluator(kSpec, "2");
  judge(run, 1, R"({"loss": 3})");
  const auto values =
      store_->catalog().values({.run = run.id, .first_epoch = -1, .evaluated = true});
  ASSERT_THAT(values, SizeIs(2));
  EXPECT_EQ(std::get<std::int64_t>(values[0].value), 1);
  EXPECT_EQ(std::get<std::int64_t>(values[1].value), 3);
}

TEST_F(EvaluationsTest, WithOtherArgumentsAreOtherMetrics) {
  const Run run = record(1);
  judge(run, 0, R"({"loss": 1})", R"({"split":"test"})");
  judge(run, 0, R"({"loss": 2})", R"({"split":"small"})");
  judge(run, 0, R"({"loss": 3})");
  judge(run, 0, R"({"loss": 4})", R"({"k":2,"ema":true,"of":["a b","c"]})");
  std::map<std::string, std::int64_t> found;
  for (const Value& value :
       store_->catalog().values({.run = run.id, .first_epoch = -1, .evaluated = true})) {
    found[value.name] = std::get<std::int64_t>(value.value);
  }
  EXPECT_EQ(found,
            (std::map<std::string, std::int64_t>{{"judge.split_test.loss", 1},
                                                 {"judge.split_small.loss", 2},
                                                 {"judge.loss", 3},
                                                 {"judge.ema_true.k_2.of___a_b___c__.loss", 4}}));
  retain(*store_, run.id, {.best = {{.metric = "judge.split_test.loss"}}}, Sizes::skipped);
}

TEST_F(EvaluationsTest, DecideWhatIsKeptAndNoNumberRanksLast) {
  const Run run = record(5);
  judge(run, 0, R"({"loss": "NaN"})");
  judge(run, 1, R"({"loss": 3})");
  judge(run, 2, R"({"loss": 1})");
  judge(run, 4, R"({"loss": 2})");
  EXPECT_THROW(plan_retention(*store_, run.id, {.best = {{.metric = "judge.los"}}}), NotFound);
  retain(*store_, run.id, best(4), Sizes::weighed);
  EXPECT_THAT(epochs(run), ElementsAre(1, 2, 3, 4)) << "a missing one is better than NaN";
  retain(*store_, run.id, best(2), Sizes::weighed);
  EXPECT_THAT(epochs(run), ElementsAre(2, 4));
  const auto found = best_checkpoint(
      *store_, run.id, {.score_attribute = "judge.loss", .score_order = ScoreOrder::min});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 2);
  EXPECT_THAT(store_->catalog().values({.run = run.id, .first_epoch = -1, .evaluated = true}),
              SizeIs(4))
      << "what was deleted keeps its score";
}

TEST_F(EvaluationsTest, ThatAreStillToComeKeepTheirCheckpoint) {
  const Run run = record(4);
  judge(run, 0, R"({"loss": 1})");
  want(run, 2);
  const auto report = retain(*store_, run.id, best(1), Sizes::weighed);
  EXPECT_THAT(epochs(run), ElementsAre(0, 2));
  EXPECT_THAT(report.units[2].decision.reasons, ElementsAre(Reason{.rule = Reason::Rule::awaited}));
  judge(run, 2, R"({"loss": 2})");
  retain(*store_, run.id, best(1), Sizes::weighed);
  EXPECT_THAT(epochs(run), ElementsAre(0));
}

TEST_F(EvaluationsTest, OfAnEvaluatorThatWasEditedAreAwaitedOnlyWhileSomebodyWatchesWithIt) {
  const Run run = record(3);
  want(run, 1);
  evaluator_ = queue_->add_evaluator(kSpec, "2");
  want(run, 2);
  const std::string key = new_run_key();
  auto lock = store_->lock_run(key);
  const WatcherEntry entry(
      *store_, Watcher{.key = key, .pid = 1, .host = "a", .workers = 1, .places = {{"", kSpec}}});
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(1, 2));
  lock.reset();
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(2));
}

TEST_F(EvaluationsTest, OfAnEvaluatorThatWasEditedBackAreAwaitedAndAWatchElsewhereDoesNotCount) {
  const Run run = record(4);
  const std::int64_t first = evaluator_;
  want(run, 0);
  evaluator_ = queue_->add_evaluator(kSpec, "2");
  want(run, 1);
  evaluator_ = first;
  want(run, 2);
  const std::string key = new_run_key();
  const auto lock = store_->lock_run(key);
  const WatcherEntry entry(*store_, Watcher{.key = key,
                                            .pid = 1,
                                            .host = "a",
                                            .workers = 1,
                                            .places = {{"experiment another", kSpec}}});
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(0, 2, 3)) << "nobody judges 1 as the evaluator was then";
}

TEST_F(EvaluationsTest, OfAWatchThatLivesAreWaitedForAndOfOneThatDiedAreNot) {
  const Run run = record(4);
  const std::string place = "experiment linear", key = new_run_key();
  WatchMemory memory(*store_);
  const auto watch = memory.add(place, kSpec, "");
  auto lock = store_->lock_run(key);
  auto entry = std::make_unique<WatcherEntry>(
      *store_,
      Watcher{.key = key, .pid = 1, .host = "a", .workers = 1, .places = {{place, kSpec}}});
  ASSERT_THAT(watchers(*store_), SizeIs(1));
  const auto see = [&](std::int64_t epoch) {
    const auto named = find_checkpoint(*store_, reference(run, epoch));
    queue_->exchange({.owner = "",
                      .retries = {},
                      .sightings = {{watch.id, named.reference, {.inode = named.info.id}, {}}}});
  };
  see(0);
  see(3);
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(1, 2, 3)) << "the watch has not come to 1 and 2";
  see(1);
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(2, 3));
  lock.reset();  // as the kernel does when the process dies
  EXPECT_THAT(watchers(*store_), IsEmpty());
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_THAT(epochs(run), ElementsAre(3));
}

TEST_F(EvaluationsTest, FindTheirCheckpointByItsReferenceAlsoWhenItWasDeleted) {
  const Run run = record(3);
  const auto all = named_checkpoints(*store_, {.experiment = "linear"});
  ASSERT_THAT(all, SizeIs(3)) << "the state before the loop is no epoch's";
  EXPECT_EQ(all[2].reference, run.key + "@2");
  EXPECT_THAT(named_checkpoints(*store_, {.experiment = "linear"}, all[1].info.id), SizeIs(1));
  EXPECT_THAT(named_checkpoints(*store_, {.experiment = "other"}), IsEmpty());
  retain(*store_, run.id, {.last = 1}, Sizes::skipped);
  EXPECT_EQ(find_checkpoint(*store_, reference(run, 0)).info.digest, all[0].info.digest);
  for (const char* wrong : {"@9", "@x", "@"}) {
    EXPECT_THROW(find_checkpoint(*store_, run.key + wrong), NotFound) << wrong;
  }
  EXPECT_THROW(find_checkpoint(*store_, run.key), NotFound);
}

TEST_F(EvaluationsTest, AskedWatchersHearOfItAndTheDeadAreForgotten) {
  const auto enter = [&](const std::string& key) {
    return std::make_unique<WatcherEntry>(
        *store_, Watcher{.key = key, .pid = 1, .host = "a", .workers = 2, .places = {{"/a", "b"}}});
  };
  const std::string one = new_run_key(), two = new_run_key();
  auto first_lock = store_->lock_run(one), second_lock = store_->lock_run(two);
  const auto first = enter(one), second = enter(two);
  EXPECT_EQ(first->asked(), StopRequest::none);
  second_lock.reset();
  const auto asked = ask_to_stop(*store_, StopRequest::drain);
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].key, one);
  EXPECT_THAT(asked[0].places, ElementsAre(WatchedPlace{"/a", "b"}));
  EXPECT_EQ(first->asked(), StopRequest::drain);
  ask_to_stop(*store_, StopRequest::now);
  ask_to_stop(*store_, StopRequest::drain);
  EXPECT_EQ(first->asked(), StopRequest::now);
}

}  // namespace
}  // namespace flor::store::evaluations_test
