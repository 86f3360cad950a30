// Numbers gathered over steps and ranks.
#include "support/memory_state.h"
#include "support/thread_group.h"

#include <flor/data/metrics.h>
#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace flor::metrics_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ThreadGroups;
using ::testing::ThrowsMessage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Metrics, GatherSumsMeansLeastAndGreatest) {
  Metrics metrics;
  for (const double value : {3.0, -1.0, 4.0}) {
    metrics.sum("sum", value);
    metrics.mean("mean", value);
    metrics.min("min", value);
    metrics.max("max", value);
  }
  EXPECT_THAT(metrics.values(),
              ElementsAre(Pair("max", 4), Pair("mean", 2), Pair("min", -1), Pair("sum", 6)));
}

TEST(Metrics, WeightsCountBatchesBySize) {
  Metrics metrics;
  metrics.mean("loss", 1, 30);
  metrics.mean("loss", 5, 10);
  metrics.mean("loss", kNan, 0);  // an empty batch
  EXPECT_EQ(metrics["loss"], 2);
  EXPECT_THROW(metrics.mean("loss", 1, -1), Error);
  EXPECT_THROW(metrics.mean("loss", 1, kNan), Error);
}

TEST(Metrics, NoNumberIsNotHidden) {
  Metrics metrics;
  for (const double value : {2.0, kNan, 1.0}) {
    metrics.min("min", value);
    metrics.max("max", value);
    metrics.sum("sum", value);
  }
  for (const auto& [name, value] : metrics.values()) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(Metrics, ANameHasOneKind) {
  Metrics metrics;
  metrics.sum("loss", 1);
  EXPECT_THAT([&] { metrics.mean("loss", 1); },
              ThrowsMessage<Error>(HasSubstr("'loss' is a sum already")));
  EXPECT_THAT([&] { metrics["los"]; },
              ThrowsMessage<NotFound>("nothing was gathered as 'los'; there is loss"));
}

TEST(Metrics, AreReducedOverRanksInAnyOrderOfAdding) {
  std::vector<std::map<std::string, double>> results(3);
  const auto errors = ThreadGroups(3).run([&](Group& group) {
    const double rank = group.rank();
    Metrics metrics;
    const auto add = [&](int what) {
      if (what == 0) metrics.sum("sum", rank);
      if (what == 1) metrics.mean("mean", rank, rank + 1);
      if (what == 2) metrics.min("min", rank);
      if (what == 3) metrics.max("max", rank);
    };
    for (int i = 0; i < 4; ++i) add((i + group.rank()) % 4);
    const auto first = metrics.reduced(group);
    EXPECT_EQ(metrics.reduced(group), first);  // not multiplied by being asked twice
    results[static_cast<std::size_t>(group.rank())] = first;
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_THAT(results, Each(ElementsAre(Pair("max", 2), Pair("mean", 8.0 / 6), Pair("min", 0),
                                        Pair("sum", 3))));
}

TEST(Metrics, OfNothingAreReducedToNothing) {
  const auto errors =
      ThreadGroups(2).run([&](Group& group) { EXPECT_TRUE(Metrics().reduced(group).empty()); });
  EXPECT_THAT(errors, Each(""));
}

TEST(Metrics, ANameThatARankLacksIsNamedOnAllRanks) {
  for (const int lacking : {0, 1, 2}) {
    const auto errors = ThreadGroups(3).run([&](Group& group) {
      Metrics metrics;
      metrics.sum("seen", 1);
      if (group.rank() != lacking) metrics.mean("loss", 1);
      metrics.reduced(group);
    });
    EXPECT_THAT(errors, Each(HasSubstr("rank " + std::to_string(lacking) +
                                       " gathered no mean 'loss', but rank ")));
  }
}

TEST(Metrics, ANameOfDifferentKindsIsAnErrorAndNoMixture) {
  const auto errors = ThreadGroups(2).run([&](Group& group) {
    Metrics metrics;
    group.rank() == 0 ? metrics.sum("loss", 1) : metrics.mean("loss", 1);
    metrics.reduced(group);
  });
  EXPECT_THAT(errors,
              Each("rank 1 gathered no sum 'loss', but rank 0 did: all ranks have to gather "
                   "the same"));
}

TEST(Metrics, AreStateAndBeginAnewWhenTheyAreLogged) {
  Metrics metrics, loaded;
  metrics.mean("loss", 3, 2);
  metrics.max("most", 7);
  testing::MemoryState state;
  state.save("metrics", metrics);
  loaded.sum("other", 1);
  state.load("metrics", loaded);
  EXPECT_EQ(loaded.values(), metrics.values());
  loaded.mean("loss", 0, 4);
  EXPECT_EQ(loaded["loss"], 1);
  EXPECT_THAT(loaded.log_and_reset(), ElementsAre(Pair("loss", 1), Pair("most", 7)));
  EXPECT_TRUE(loaded.empty());
}

TEST(StepTimer, SharesTheTimeOfAStepOut) {
  StepTimer timer;
  for (int step = 0; step < 3; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_GE(timer.mark("data"), 2e-3);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    timer.mark("forward");
    EXPECT_GE(timer.step(), 3e-3);
  }
  EXPECT_EQ(timer.steps(), 3u);
  EXPECT_GE(timer.seconds("data"), 6e-3);
  EXPECT_GE(timer.seconds(), timer.seconds("data") + timer.seconds("forward"));
  EXPECT_EQ(timer.seconds("backward"), 0);
  EXPECT_DOUBLE_EQ(timer.rate(), 3 / timer.seconds());
  EXPECT_THAT(timer.summary(),
              ::testing::MatchesRegex("[0-9.]+ ms a step: data [0-9.]+, forward [0-9.]+"));
  timer.log_and_reset();
  EXPECT_EQ(timer.summary(), "no step");
}

}  // namespace
}  // namespace flor::metrics_test
