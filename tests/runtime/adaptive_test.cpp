// The policy that decides which iterations are stored, on simulated programs.
#include "ranks/rank_board.h"
#include "schedule/adaptive.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <functional>
#include <optional>
#include <vector>

namespace flor::detail {
namespace {

using store::StorageReason;

/// A training whose iterations take `seconds(i)` and whose checkpoints cost `cost(i)`.
struct Program {
  std::int64_t iterations = 0;
  std::function<double(std::int64_t)> seconds;
  std::function<double(std::int64_t)> cost;
  std::function<std::uint64_t(std::int64_t)> bytes = [](std::int64_t) { return 1'000'000; };
  bool known_length = true;
};

struct Outcome {
  std::vector<std::int64_t> stored;  ///< iterations
  std::vector<StorageReason> reasons;
  double worst_share = 0;  ///< of cost in computing, after any iteration
  double cost = 0, computed = 0;

  /// Longest stretch of iterations without a stored one, from `first` on.
  std::int64_t longest_gap(std::int64_t first, std::int64_t end) const {
    std::int64_t last = first, longest = 0;
    for (const std::int64_t i : stored) {
      if (i < first) continue;
      longest = std::max(longest, i - last);
      last = i;
    }
    return std::max(longest, end - last);
  }
};

Outcome simulate(const Program& program, double epsilon) {
  Adaptive policy(epsilon);
  policy.estimate({.training = program.cost(0), .charged = program.cost(0), .bytes = 1'000'000}, 1);
  Outcome outcome;
  for (std::int64_t i = 0; i < program.iterations; ++i) {
    outcome.computed += program.seconds(i);
    Situation now{.computed = outcome.computed, .cost = outcome.cost, .bytes = program.bytes(i)};
    if (program.known_length) now.remaining = program.iterations - i - 1;
    const Choice choice = policy.decide(now);
    outcome.reasons.push_back(choice.reason);
    if (choice.stored()) {
      const double cost = program.cost(i);
      outcome.cost += cost;
      policy.add({.training = cost, .charged = cost, .bytes = program.bytes(i)});
      policy.stored(outcome.computed);
      outcome.stored.push_back(i);
    }
    outcome.worst_share = std::max(outcome.worst_share, outcome.cost / outcome.computed);
    policy.completed(outcome.computed);
  }
  return outcome;
}

std::function<double(std::int64_t)> always(double value) {
  return [value](std::int64_t) { return value; };
}

constexpr double kEpsilon = 1.0 / 15;

TEST(Adaptive, LongIterationsAreAllStored) {
  const Outcome outcome = simulate({100, always(5), always(0.05)}, kEpsilon);
  EXPECT_EQ(outcome.stored.size(), 100u);
}

TEST(Adaptive, ShortIterationsOfALargeStateAreStoredNowAndThenAndEvenly) {
  // 1 ms and 0.1 s: the budget pays for one in 1500.
  for (const bool known : {true, false}) {
    Program program{30'000, always(0.001), always(0.1)};
    program.known_length = known;
    const Outcome outcome = simulate(program, kEpsilon);
    EXPECT_LE(outcome.worst_share, kEpsilon);
    EXPECT_GE(outcome.stored.size(), 18u);
    EXPECT_LE(outcome.stored.size(), 20u);
    EXPECT_LE(outcome.longest_gap(0, program.iterations), 1700);
  }
}

TEST(Adaptive, TheBudgetIsNeverExceededWhereCostsAreSteady) {
  rc::check([] {
    const double seconds = std::pow(10, *rc::gen::inRange(-40, 20) / 10.0);
    const double cost = std::pow(10, *rc::gen::inRange(-40, 10) / 10.0);
    const double epsilon = *rc::gen::element(0.001, 0.01, kEpsilon, 0.3, 1.0);
    Program program{*rc::gen::inRange(1, 3000), always(seconds), always(cost)};
    program.known_length = *rc::gen::arbitrary<bool>();
    const Outcome outcome = simulate(program, epsilon);
    RC_ASSERT(outcome.worst_share <= epsilon * (1 + 1e-9));
  });
}

TEST(Adaptive, WhateverChangesTheExcessIsLessThanOneCheckpoint) {
  rc::check([] {
    const auto seconds = *rc::gen::container<std::vector<int>>(500, rc::gen::inRange(1, 1000));
    const auto costs = *rc::gen::container<std::vector<int>>(500, rc::gen::inRange(1, 1000));
    Program program{500,
                    [&](std::int64_t i) { return seconds[static_cast<std::size_t>(i)] * 1e-3; },
                    [&](std::int64_t i) { return costs[static_cast<std::size_t>(i)] * 1e-3; }};
    program.known_length = *rc::gen::arbitrary<bool>();
    const Outcome outcome = simulate(program, kEpsilon);
    RC_ASSERT(outcome.cost <= kEpsilon * outcome.computed + 1.0);
  });
}

TEST(Adaptive, StateThatGrowsIsPaidForInAdvance) {
  // Nothing at the entry, a hundred times as much from the first step on, in proportion to size.
  Program program{20'000, always(0.001), [](std::int64_t i) { return i == 0 ? 0.001 : 0.1; }};
  program.bytes = [](std::int64_t) { return 100'000'000; };
  const Outcome outcome = simulate(program, kEpsilon);
  EXPECT_LE(outcome.worst_share, kEpsilon);
  EXPECT_GE(outcome.stored.size(), 10u);
}

TEST(Adaptive, SavingsOfLongIterationsAreSpreadOverTheShortOnes) {
  // 100 s at a cost of a hundredth leave 5.7 s: 570 of the short ones, if they were not spread.
  const auto seconds = [](std::int64_t i) { return i < 100 ? 1.0 : 0.01; };
  for (const bool known : {true, false}) {
    Program program{10'100, seconds, always(0.01)};
    program.known_length = known;
    const Outcome outcome = simulate(program, kEpsilon);
    EXPECT_LE(outcome.worst_share, kEpsilon);
    const auto bunched =
        std::ranges::count_if(outcome.stored, [](std::int64_t i) { return i >= 100 && i < 600; });
    EXPECT_LT(bunched, 130) << known;
    EXPECT_LE(outcome.longest_gap(110, program.iterations), 20) << known;
  }
}

TEST(Adaptive, TheExpectedReexecutionIsNearTheLeastThatTheBudgetAllows) {
  rc::check([] {
    const double cost = *rc::gen::inRange(1, 100) * 0.01;
    const Program program{4000, always(0.01), always(cost)};
    const Outcome outcome = simulate(program, kEpsilon);
    double sum = 0;
    std::int64_t last = -1;  // the entry is always stored
    const auto gap_ends = [&](std::int64_t at) {
      const auto gap = static_cast<double>(at - last);
      sum += gap * (gap - 1) / 2;
      last = at;
    };
    for (const std::int64_t at : outcome.stored) gap_ends(at);
    gap_ends(program.iterations - 1);
    const double affordable = std::floor(kEpsilon * 40 / cost);
    const double gap = 4000 / (affordable + 1);
    const double least = 4000 * (gap - 1) / 2;
    RC_ASSERT(sum <= 1.35 * least + 4000);
  });
}

TEST(Adaptive, WithAToleranceOfZeroNothingIsStored) {
  EXPECT_TRUE(simulate({100, always(5), always(1e-6)}, 0).stored.empty());
}

TEST(Adaptive, WhatReplaysCannotGainIsNotSpent) {
  // Everything allowed, but restoring takes as long as storing: half the time at most.
  Adaptive policy(100);
  policy.set_restore_rate(1e6);
  policy.add({.training = 1, .background = 0, .charged = 1, .bytes = 1'000'000});
  EXPECT_DOUBLE_EQ(policy.restore_factor(), 1);
  EXPECT_EQ(policy.decide({.computed = 1.9}).reason, StorageReason::gain);
  EXPECT_EQ(policy.decide({.computed = 2.1}).reason, StorageReason::worthwhile);
}

TEST(Adaptive, NothingIsStoredWhileTheWriterIsLateOrTheCostUnknown) {
  Adaptive policy(kEpsilon);
  EXPECT_EQ(policy.decide({.computed = 1000}).reason, StorageReason::unmeasured);
  policy.estimate({.training = 0.01, .background = 0.02, .charged = 0.02, .bytes = 100}, 2);
  EXPECT_EQ(policy.decide({.computed = 1000}).reason, StorageReason::worthwhile);
  EXPECT_EQ(policy.decide({.computed = 1000, .writing = true}).reason, StorageReason::late);
}

TEST(Adaptive, BackgroundWorkThatTheProgramMayHaveToWaitForCountsInFull) {
  Adaptive policy(0.1);
  policy.add({.training = 0.1, .background = 1, .charged = 0.2, .bytes = 100});
  EXPECT_EQ(policy.decide({.computed = 10.9}).reason, StorageReason::budget);
  EXPECT_EQ(policy.decide({.computed = 11.1}).reason, StorageReason::worthwhile);
}

TEST(Adaptive, TellsWhatItMeasured) {
  Adaptive policy(kEpsilon);
  policy.set_restore_rate(1e9);
  policy.estimate({.training = 1, .background = 1, .charged = 1, .bytes = 1'000'000'000}, 2);
  EXPECT_DOUBLE_EQ(policy.materialization(), 2);
  EXPECT_DOUBLE_EQ(policy.restore_factor(), 0.5);
  policy.add({.training = 0.5, .background = 1, .charged = 0.5, .bytes = 1'000'000'000});
  EXPECT_DOUBLE_EQ(policy.materialization(), 0.5);
  policy.completed(3);
  policy.completed(8);
  EXPECT_DOUBLE_EQ(policy.computation(), 4);
}

// What the ranks of a group decide together
// ---------------------------------------------------------

TEST(RankBoard, HasRoomOnTheDiskBeforeItIsWrittenTo) {
  const testing::TemporaryDirectory directory;
  const auto path = directory.path() / "board.ranks";
  const RankBoard board(path, RankBoard::Mode::create);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, status.st_size) << "a hole would be filled when it is too late";
}

TEST(RankBoard, WhatTheFirstRankSaysOfAnIterationHoldsForAllWhetherItIsStoredOrForced) {
  const testing::TemporaryDirectory directory;
  const auto path = directory.path() / "board.ranks";
  RankBoard first(path, RankBoard::Mode::create), second(path, RankBoard::Mode::join);
  EXPECT_FALSE(first.agree(0, 7, false));
  EXPECT_TRUE(second.force(0, 7, true)) << "another question";
  EXPECT_FALSE(second.agree(0, 7, true));
  EXPECT_TRUE(first.force(0, 7, false));
  second.set_spent(1, true);
  EXPECT_FALSE(first.agree(0, 8, true));
  EXPECT_TRUE(first.force(0, 8, true)) << "whatever was spent";
  EXPECT_TRUE(first.force(0, 8 + 256, true));
  EXPECT_FALSE(second.force(0, 8, true)) << "too late to know";
}

TEST(RankBoard, WithoutRoomIsAnErrorAndLeavesNothing) {
  const testing::TemporaryDirectory directory;
  const auto path = directory.path() / "board.ranks";
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 1000, .rlim_max = limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(RankBoard(path, RankBoard::Mode::create), Error);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace flor::detail
