// Who gets which epochs: every part exactly once whatever happens, and all workers done together.
#include "replay/pool.h"

#include <flor/store/catalog.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdio>
#include <random>

namespace flor::cli {
namespace {

using store::part_outside;

RunFacts one_loop(std::vector<double> costs, std::int64_t every = 1, double restore = 0) {
  RunFacts facts;
  LoopFacts loop;
  loop.iterations = static_cast<std::int64_t>(costs.size());
  for (std::int64_t i = 0; i <= loop.iterations; ++i) {
    if (i % every == 0 || i == loop.iterations) loop.boundaries.insert(i);
  }
  facts.loops.push_back(loop);
  for (const double cost : costs) facts.epochs.push_back({cost, cost, restore});
  return facts;
}

std::set<std::int64_t> all_epochs(const RunFacts& facts) {
  std::set<std::int64_t> parts;
  for (std::size_t i = 0; i < facts.epochs.size(); ++i) parts.insert(static_cast<int>(i));
  return parts;
}

std::vector<double> uneven(std::size_t count, double spread) {
  std::mt19937_64 engine(11);
  std::lognormal_distribution<double> draw(0.0, spread);
  std::vector<double> costs(count);
  for (double& cost : costs) cost = draw(engine);
  return costs;
}

RunFacts arbitrary_facts() {
  RunFacts facts;
  std::int64_t first = 0;
  for (int loops = *rc::gen::inRange(1, 4); loops > 0; --loops) {
    LoopFacts loop;
    loop.first_epoch = first;
    loop.iterations = *rc::gen::inRange(0, 12);
    loop.leaves = *rc::gen::arbitrary<bool>();
    for (std::int64_t i = 0; i <= loop.iterations; ++i) {
      if (i == 0 || *rc::gen::inRange(0, 3) == 0) loop.boundaries.insert(i);
    }
    first += loop.iterations;
    facts.loops.push_back(loop);
  }
  for (std::int64_t i = 0; i < first; ++i) {
    const double cost = *rc::gen::inRange(0, 100);
    facts.epochs.push_back({cost, cost * *rc::gen::inRange(0, 2), 1.0 * *rc::gen::inRange(0, 3)});
  }
  return facts;
}

/// Workers as the runtime has them: forward through the main loops, dying now and then.
struct Walker {
  Position position;
  std::vector<std::int64_t> held;
};

/// As a process walks that is asked for the last epoch of a stretch alone.
TEST(ReplayPool, AWalkIsAWholeStretchForAProcessOfItsOwn) {
  const RunFacts facts = one_loop({1, 1, 1, 1, 1, 1, 1}, 3);
  ReplayPool pool(facts, all_epochs(facts), 4, EpochOrder::walks);
  EXPECT_EQ(pool.pieces_at_most(), 3);
  std::vector<Epochs> walks;
  for (int worker = 0; worker < 3; ++worker) {
    const auto given = pool.next(worker, {});
    ASSERT_EQ(given.kind, ReplayPool::NextTask::Kind::epochs);
    walks.push_back(given.piece);
    const Position there{
        .section = 1, .main_loop = 0, .iteration = given.piece.end, .reach = Reach::any};
    EXPECT_EQ(pool.next(worker, there).kind, ReplayPool::NextTask::Kind::finish);
  }
  EXPECT_EQ(walks, (std::vector<Epochs>{{0, 3}, {3, 6}, {6, 7}}));
  EXPECT_FALSE(pool.has_open());
  EXPECT_EQ(simulate(facts, facts, all_epochs(facts), 2, Reach::any, EpochOrder::walks).work, 7);
}

TEST(ReplayPool, GivesEveryPartToSomebodyExactlyOnceWhoeverDies) {
  EXPECT_TRUE(rc::check([] {
    const RunFacts facts = arbitrary_facts();
    std::set<std::int64_t> parts;
    for (const std::int64_t epoch : all_epochs(facts)) {
      if (*rc::gen::inRange(0, 4) > 0) parts.insert(epoch);
    }
    for (std::size_t i = 0; i <= facts.loops.size(); ++i) {
      if (*rc::gen::arbitrary<bool>()) parts.insert(part_outside(static_cast<int>(i)));
    }
    const int workers = *rc::gen::inRange(1, 5);
    const Reach reach = *rc::gen::element(Reach::any, Reach::forward);
    const EpochOrder order = *rc::gen::element(EpochOrder::fastest, EpochOrder::coarse);
    ReplayPool pool(facts, parts, workers, order);
    std::map<std::int64_t, int> done;
    std::vector<Walker> walkers(static_cast<std::size_t>(workers));
    for (int turn = 0; turn < 2000 && !pool.done(); ++turn) {
      const int number = *rc::gen::inRange(0, workers);
      Walker& walker = walkers[static_cast<std::size_t>(number)];
      // Small cases draw small numbers only, so that not every worker dies all the time.
      if (*rc::gen::inRange(0, 12) == 11) {
        pool.released(number);
        walker = {};
        continue;
      }
      for (const std::int64_t part : walker.held) {
        ++done[part];
        pool.completed(number, part);
      }
      walker.held.clear();
      const ReplayPool::NextTask answer = pool.next(number, walker.position);
      for (const std::int64_t section : answer.keep) {
        RC_ASSERT(section >= walker.position.section);
        walker.held.push_back(part_outside(section));
      }
      if (answer.kind == ReplayPool::NextTask::Kind::epochs) {
        RC_ASSERT(!answer.piece.empty());
        std::size_t loop = 0;
        while (facts.loops[loop].first_epoch + facts.loops[loop].iterations <= answer.piece.first) {
          ++loop;
        }
        const LoopFacts& its = facts.loops[loop];
        RC_ASSERT(answer.piece.end <= its.first_epoch + its.iterations);
        const auto ordinal = static_cast<std::int64_t>(loop);
        RC_ASSERT(ordinal >= walker.position.main_loop);
        const std::int64_t first = answer.piece.first - its.first_epoch;
        const bool here = ordinal == walker.position.main_loop;
        if (here && walker.position.reach == Reach::forward) {
          RC_ASSERT(first >= walker.position.iteration);
        }
        for (auto e = answer.piece.first; e < answer.piece.end; ++e) walker.held.push_back(e);
        const std::int64_t reached = answer.piece.end - its.first_epoch;
        walker.position = {ordinal + 1, ordinal, reached, reach};
        if (its.leaves && reached == its.iterations) {
          walker.position = {ordinal + 1, ordinal + 1, 0, Reach::forward};
        }
      } else if (answer.kind == ReplayPool::NextTask::Kind::finish) {
        if (answer.keep.empty()) {
          walker.position = {};
        } else {
          const std::int64_t section = answer.keep.back();
          walker.position = {section + 1, section, 0, Reach::forward};
        }
      }
    }
    RC_ASSERT(pool.done());
    RC_ASSERT(done.size() == parts.size());
    for (const auto& [part, times] : done) RC_ASSERT(times == 1 && parts.contains(part));
  }));
}

TEST(ReplayPool, StartsWithWhatIsExpensive) {
  ReplayPool pool(one_loop({1, 1, 1, 9, 1, 1}), {0, 1, 2, 3, 4, 5}, 2);
  EXPECT_EQ(pool.next(0, {1, 0, 0, Reach::any}).piece, (Epochs{3, 4}));
}

TEST(ReplayPool, AWorkerThatMayNotBeAbleToGoBackStartsAtTheFront) {
  ReplayPool pool(one_loop({1, 1, 1, 9, 1, 1}), {0, 1, 2, 3, 4, 5}, 2);
  EXPECT_EQ(pool.next(0, {1, 0, 0, Reach::forward}).piece, (Epochs{0, 3}));
}

TEST(ReplayPool, HandsOutWhatNobodyHoldsAndLetsTheOthersWait) {
  ReplayPool pool(one_loop({1}), {0}, 2);
  EXPECT_EQ(pool.next(0, {}).piece, (Epochs{0, 1}));
  EXPECT_EQ(pool.next(1, {}).kind, ReplayPool::NextTask::Kind::wait);
  EXPECT_EQ(pool.released(0), 0);
  EXPECT_EQ(pool.next(1, {}).piece, (Epochs{0, 1}));
  pool.completed(1, 0);
  EXPECT_TRUE(pool.done());
  EXPECT_EQ(pool.next(1, {}).kind, ReplayPool::NextTask::Kind::finish);
}

TEST(ReplayPool, AWorkerOnItsWayToWhatFollowsALoopIsNotMadeToWaitForItself) {
  ReplayPool pool(one_loop({1}), {0, part_outside(1)}, 2);
  EXPECT_EQ(pool.next(0, {}).piece, (Epochs{0, 1}));
  const auto first = pool.next(1, {});
  EXPECT_EQ(first.kind, ReplayPool::NextTask::Kind::finish);
  EXPECT_EQ(first.keep, (std::vector<std::int64_t>{1}));
  const Position passing{.section = 1, .main_loop = 0, .iteration = 0, .reach = Reach::any};
  EXPECT_EQ(pool.next(1, passing).kind, ReplayPool::NextTask::Kind::finish) << "others may be busy";
  pool.completed(0, 0);
  EXPECT_EQ(pool.next(1, passing).kind, ReplayPool::NextTask::Kind::finish);
  EXPECT_EQ(pool.next(0, {1, 0, 1, Reach::any}).kind, ReplayPool::NextTask::Kind::wait);
  pool.completed(1, part_outside(1));
  EXPECT_TRUE(pool.done());
}

TEST(ReplayPool, PiecesBeginAtStoredBoundaries) {
  const RunFacts facts = one_loop(std::vector<double>(60, 1.0), 5);
  const Simulation result = simulate(facts, facts, all_epochs(facts), 3);
  for (const auto& pieces : result.pieces) {
    for (const Epochs& piece : pieces) EXPECT_EQ(piece.first % 5, 0) << piece.first;
  }
  EXPECT_DOUBLE_EQ(result.seconds, 20);
}

TEST(ReplayPool, DividesWhatLiesBetweenBoundariesWhereTheWayIsCheap) {
  RunFacts facts = one_loop(std::vector<double>(8, 10.0), 8);
  EXPECT_DOUBLE_EQ(simulate(facts, facts, all_epochs(facts), 4).seconds, 80) << "as dear as asked";
  for (EpochCost& cost : facts.epochs) cost.passed = 0.1;
  EXPECT_LT(simulate(facts, facts, all_epochs(facts), 4).seconds, 35);
}

TEST(ReplayPool, AWorkerThatLeavesALoopComesLast) {
  RunFacts facts = one_loop({1, 1, 1, 50});
  facts.loops[0].leaves = true;
  ReplayPool pool(facts, {0, 1, 2, 3}, 1);
  Position position;
  std::int64_t last = -1;
  while (pool.has_open()) {
    const auto answer = pool.next(0, position);
    ASSERT_EQ(answer.kind, ReplayPool::NextTask::Kind::epochs);
    last = answer.piece.end - 1;
    position = {1, 0, answer.piece.end, Reach::any};
  }
  EXPECT_EQ(last, 3);
}

TEST(EpochOrder, OfACoarseReplayIsATenthFirstThenAThirdOfTheRest) {
  const RunFacts facts = one_loop(std::vector<double>(100, 1.0));
  const auto waves = waves_of(facts, all_epochs(facts), EpochOrder::coarse);
  ASSERT_EQ(waves.size(), 3u);
  EXPECT_EQ(waves[0], (std::set<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(waves[1].size(), 30u);
  EXPECT_EQ(waves[2].size(), 60u);
  EXPECT_EQ(waves_of(facts, all_epochs(facts), EpochOrder::fastest).size(), 1u);
  EXPECT_EQ(waves_of(facts, {3, 4, 5}, EpochOrder::coarse).size(), 1u) << "too few to divide";
  EXPECT_TRUE(waves_of(facts, {}, EpochOrder::coarse).empty());
}

TEST(EpochOrder, OfACoarseReplayBeginsWhereStatesAreStored) {
  const RunFacts facts = one_loop(std::vector<double>(100, 1.0), 7);
  const auto waves = waves_of(facts, all_epochs(facts), EpochOrder::coarse);
  EXPECT_EQ(waves[0], (std::set<std::int64_t>{0, 14, 21, 35, 42, 56, 63, 70, 84, 91}));
}

TEST(Sample, EndsWithTheLastEpochAndHasThoseWhoseEndIsStored) {
  const RunFacts facts = one_loop(std::vector<double>(30, 1.0), 7);
  EXPECT_EQ(sample_of(facts, all_epochs(facts), 3), (std::set<std::int64_t>{6, 20, 29}));
  EXPECT_EQ(sample_of(facts, all_epochs(facts), 1), (std::set<std::int64_t>{6}));
  EXPECT_EQ(sample_of(facts, {4}, 3), (std::set<std::int64_t>{4}));
  EXPECT_EQ(sample_of(facts, all_epochs(facts), 1000), all_epochs(facts));
  EXPECT_TRUE(sample_of(facts, {}, 3).empty());
}

TEST(EpochOrder, OfACoarseReplayTakesEachEpochOnce) {
  EXPECT_TRUE(rc::check([] {
    const RunFacts facts = arbitrary_facts();
    std::set<std::int64_t> epochs, taken;
    for (const std::int64_t epoch : all_epochs(facts)) {
      if (*rc::gen::inRange(0, 4) > 0) epochs.insert(epoch);
    }
    std::size_t count = 0;
    for (const auto& wave : waves_of(facts, epochs, EpochOrder::coarse)) {
      RC_ASSERT(!wave.empty());
      count += wave.size();
      taken.insert(wave.begin(), wave.end());
    }
    RC_ASSERT(taken == epochs);
    RC_ASSERT(count == epochs.size());
  }));
}

TEST(EpochOrder, NoEpochOfALaterWaveIsGivenBeforeAllOfTheEarlier) {
  const RunFacts facts = one_loop(uneven(100, 0.5));
  auto waves = waves_of(facts, all_epochs(facts), EpochOrder::coarse);
  const Simulation result =
      simulate(facts, facts, all_epochs(facts), 1, Reach::any, EpochOrder::coarse);
  ASSERT_EQ(result.pieces.size(), 1u);
  std::size_t wave = 0, given = 0;
  for (const Epochs& piece : result.pieces[0]) {
    for (std::int64_t epoch = piece.first; epoch < piece.end; ++epoch, ++given) {
      if (waves[wave].empty()) ++wave;
      ASSERT_EQ(waves[wave].erase(epoch), 1u) << epoch;
    }
  }
  EXPECT_EQ(given, 100u);
}

/// Prints the figure, too: it is the one that the documentation names.
double efficiency(const char* what, const RunFacts& plan, const RunFacts& actual, int workers) {
  const Simulation result = simulate(plan, actual, all_epochs(plan), workers);
  std::printf("%s, %d workers: %.1f %% efficient\n", what, workers, 100 * result.efficiency());
  return result.efficiency();
}

TEST(Efficiency, SixtyFourWorkersWithUnevenCostsAndACheckpointForEachEpoch) {
  const RunFacts facts = one_loop(uneven(2000, 0.5), 1, 0.02);
  EXPECT_GE(efficiency("2000 uneven epochs", facts, facts, 64), 0.95);
}

TEST(Efficiency, SixtyFourWorkersWithUnevenCostsAndSparseCheckpoints) {
  const RunFacts facts = one_loop(uneven(4000, 0.5), 4, 0.02);
  EXPECT_GE(efficiency("4000 uneven epochs, every fourth boundary", facts, facts, 64), 0.95);
}

TEST(Efficiency, OfCostsThatAreOnlyRoughlyKnown) {
  const RunFacts plan = one_loop(std::vector<double>(4000, 1.0), 1, 0.02);
  const RunFacts actual = one_loop(uneven(4000, 0.5), 1, 0.02);
  EXPECT_GE(efficiency("4000 epochs of costs that were not known", plan, actual, 64), 0.95);
}

TEST(Efficiency, OfACoarseReplay) {
  const RunFacts facts = one_loop(uneven(4000, 0.5), 1, 0.02);
  const Simulation result =
      simulate(facts, facts, all_epochs(facts), 64, Reach::any, EpochOrder::coarse);
  std::printf("4000 uneven epochs, a tenth first, 64 workers: %.1f %% efficient\n",
              100 * result.efficiency());
  EXPECT_GE(result.efficiency(), 0.9);
}

TEST(Efficiency, OfARangeThatOnlyGoesForward) {
  const RunFacts facts = one_loop(uneven(4000, 0.5), 1, 0.02);
  const Simulation result = simulate(facts, facts, all_epochs(facts), 64, Reach::forward);
  std::printf("4000 uneven epochs, forward only, 64 workers: %.1f %% efficient\n",
              100 * result.efficiency());
  EXPECT_GE(result.efficiency(), 0.95);
}

}  // namespace
}  // namespace flor::cli
