// Which checkpoints are kept: every rule alone, together, and over random histories.
#include <flor/store/error.h>
#include <flor/store/keep_rules.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace flor::store::keep_rules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Score kMissing = std::nullopt;

std::vector<Candidate> epochs(const std::vector<Score>& scores) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    candidates.push_back({.number = static_cast<std::int64_t>(i), .scores = {scores[i]}});
  }
  return candidates;
}

KeepRules best(std::int64_t count, ScoreOrder order, Tie tie = Tie::older) {
  return {.best = {{.count = count, .metric = "loss", .order = order}}, .tie = tie};
}

/// Counted from 1, in the order of their time.
std::vector<int> kept(const std::vector<Candidate>& candidates, const KeepRules& rules,
                      Weigher* weigher = nullptr) {
  std::vector<int> numbers;
  const Decisions decisions = decide(candidates, rules, weigher);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (decisions.by_candidate[i].kept) numbers.push_back(static_cast<int>(i) + 1);
  }
  return numbers;
}

int first(const std::vector<Score>& scores, ScoreOrder order, Tie tie = Tie::older) {
  return static_cast<int>(ranking(scores, order, tie).front()) + 1;
}

TEST(Ranking, KeepsTheTwoSmallestLossesOfFour) {
  const std::vector<Score> losses{2.0, 4.0, 1.0, 3.0};
  EXPECT_THAT(kept(epochs(losses), best(2, ScoreOrder::min)), ElementsAre(1, 3));
  EXPECT_EQ(first(losses, ScoreOrder::min), 3);
  EXPECT_THAT(kept(epochs(losses), best(2, ScoreOrder::max)), ElementsAre(2, 4));
}

TEST(Ranking, OfEqualScoresTheOlderIsKeptOrTheNewerIfAsked) {
  const std::vector<Score> losses{3.0, 1.0, 1.0, 1.0};
  EXPECT_THAT(kept(epochs(losses), best(2, ScoreOrder::min)), ElementsAre(2, 3));
  EXPECT_THAT(kept(epochs(losses), best(2, ScoreOrder::min, Tie::newer)), ElementsAre(3, 4));
  EXPECT_EQ(first(losses, ScoreOrder::min), 2);
  EXPECT_EQ(first(losses, ScoreOrder::min, Tie::newer), 4);
  const std::vector<Score> zeros{0.0, -0.0};
  EXPECT_EQ(first(zeros, ScoreOrder::min), 1);
  EXPECT_EQ(first(zeros, ScoreOrder::max), 1);
}

TEST(Ranking, NaNIsWorstWhereverItComesAndHidesNothing) {
  for (const ScoreOrder order : {ScoreOrder::min, ScoreOrder::max}) {
    EXPECT_THAT(kept(epochs({kNaN, 4.0, 1.0, 3.0}), best(3, order)), ElementsAre(2, 3, 4));
    EXPECT_THAT(kept(epochs({4.0, kNaN, 1.0, 3.0}), best(3, order)), ElementsAre(1, 3, 4));
    EXPECT_THAT(kept(epochs({4.0, 1.0, 3.0, kNaN}), best(3, order)), ElementsAre(1, 2, 3));
  }
  EXPECT_EQ(first({kNaN, 4.0, 1.0, 3.0, 0.5}, ScoreOrder::min), 5);
  EXPECT_THAT(kept(epochs({4.0, kNaN, 1.0, 3.0, 0.5}), best(2, ScoreOrder::min)),
              ElementsAre(3, 5));
  EXPECT_THAT(kept(epochs({kNaN, -kNaN}), best(1, ScoreOrder::max)), ElementsAre(1));
}

TEST(Ranking, WhatIsMissingIsWorseThanEveryNumberInEitherOrder) {
  for (const ScoreOrder order : {ScoreOrder::min, ScoreOrder::max}) {
    const double worst = order == ScoreOrder::min ? kInfinity : -kInfinity;
    const std::vector<Score> scores{kMissing, 3.0, kNaN, worst, kMissing};
    EXPECT_EQ(ranking(scores, order, Tie::older), (std::vector<std::size_t>{1, 3, 0, 4, 2}));
  }
  EXPECT_THAT(kept(epochs({2.0, 1.0, kMissing, 3.0, 0.5}), best(2, ScoreOrder::min)),
              ElementsAre(2, 5));
}

TEST(Ranking, WhatHasNoScoreYetIsKeptIfAsked) {
  KeepRules rules = best(1, ScoreOrder::min);
  rules.unscored = true;
  EXPECT_THAT(kept(epochs({2.0, kMissing, 1.0, kNaN, kMissing}), rules), ElementsAre(2, 3, 5));
}

TEST(Ranking, RulesKeepTogetherWhatEachKeepsAndSayWhy) {
  const auto candidates = epochs({5.0, 1.0, 4.0, 3.0, 6.0, 7.0, 8.0});
  KeepRules rules = best(2, ScoreOrder::min);
  rules.last = 2;
  rules.every = 3;
  const Decisions decisions = decide(candidates, rules, nullptr);
  std::vector<std::vector<Reason::Rule>> reasons;
  for (const Decision& decision : decisions.by_candidate) {
    auto& list = reasons.emplace_back();
    for (const Reason& reason : decision.reasons) list.push_back(reason.rule);
  }
  using enum Reason::Rule;
  using Rules = std::vector<Reason::Rule>;
  EXPECT_THAT(reasons,
              ElementsAre(Rules{}, Rules{Reason::Rule::best}, Rules{every},
                          Rules{Reason::Rule::best}, Rules{}, Rules{last, every}, Rules{last}));
  EXPECT_EQ(decisions.by_candidate[1].reasons[0].rank, 1);
  EXPECT_EQ(decisions.by_candidate[3].reasons[0].rank, 2);
  EXPECT_EQ(decisions.by_candidate[6].ranks, (std::vector<std::int64_t>{7}));
}

TEST(Ranking, WhatARunNeedsToGoOnStaysBesideTheBest) {
  auto candidates = epochs({2.0, 4.0, 1.0, 3.0});
  candidates[3].needed = true;
  EXPECT_THAT(kept(candidates, best(2, ScoreOrder::min)), ElementsAre(1, 3, 4));
}

TEST(Ranking, WithoutAMetricTheNewestIsTheBest) {
  EXPECT_THAT(kept(epochs({1.0, 1.0, 1.0, 1.0, 1.0}), {.every = 2}), ElementsAre(2, 4, 5));
}

TEST(Ranking, SavedCheckpointsAndEpochsAreCountedApart) {
  auto candidates = epochs({2.0, 1.0, 3.0, 2.0, 1.0, 3.0});
  for (const std::size_t i : {1u, 3u, 5u}) {
    candidates[i].group = Candidate::Group::saved;
    candidates[i].number = static_cast<std::int64_t>(i + 1) / 2;
  }
  EXPECT_THAT(kept(candidates, {.last = 1}), ElementsAre(5, 6));
  EXPECT_THAT(kept(candidates, best(1, ScoreOrder::min)), ElementsAre(2, 5));
}

TEST(Ranking, RulesThatAskForNothingOrLessAreRefused) {
  for (const std::int64_t count : {0, -1, -7}) {
    EXPECT_THROW(check_rules({.last = count}), UsageError);
    EXPECT_THROW(check_rules({.every = count}), UsageError);
    EXPECT_THROW(check_rules(best(count, ScoreOrder::min)), UsageError);
    try {
      rules_of({.num_to_keep = count});
      ADD_FAILURE() << count;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("num_to_keep is " + std::to_string(count)));
    }
  }
  EXPECT_THROW(check_rules({}), UsageError);
  EXPECT_THROW(check_rules({.last = 1, .unscored = true}), UsageError);
  EXPECT_TRUE(rules_of({}).empty());  // all are kept
}

// ---------------------------------------------------------------------------------------------
// Properties.

/// Each candidate has a weight of its own, and shares one with the candidate before it.
class Weights final : public Weigher {
 public:
  explicit Weights(std::size_t count) : there_(count, true) {}
  std::uint64_t bytes() const override {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < there_.size(); ++i) {
      if (there_[i]) sum += 10 + i % 7;
      if (there_[i] || (i + 1 < there_.size() && there_[i + 1])) sum += 5;
    }
    return sum;
  }
  void drop(std::size_t candidate) override {
    if (!there_[candidate]) throw std::logic_error("dropped twice");
    there_[candidate] = false;
  }

 private:
  std::vector<bool> there_;
};

rc::Gen<Score> any_score() {
  return rc::gen::weightedOneOf<Score>(
      {{8, rc::gen::map(rc::gen::inRange(-3, 4), [](int n) { return Score(n); })},
       {1, rc::gen::just(Score(kNaN))},
       {1, rc::gen::just(Score())},
       {1, rc::gen::element(Score(kInfinity), Score(-kInfinity))}});
}

std::vector<Candidate> any_candidates() {
  std::vector<Candidate> candidates = epochs(*rc::gen::container<std::vector<Score>>(any_score()));
  std::int64_t saved = 0, epoch = 0;
  for (Candidate& candidate : candidates) {
    if (*rc::gen::inRange(0, 4) == 0) {
      candidate.group = Candidate::Group::saved;
      candidate.number = ++saved;
    } else {
      candidate.number = epoch++;
    }
    candidate.needed = *rc::gen::inRange(0, 8) == 0;
  }
  return candidates;
}

KeepRules any_rules() {
  KeepRules rules;
  const auto count = [] { return *rc::gen::inRange<std::int64_t>(1, 6); };
  const auto sometimes = [] { return *rc::gen::arbitrary<bool>(); };
  if (sometimes()) rules.last = count();
  if (sometimes()) rules.every = count();
  if (sometimes()) {
    rules.best = {{.count = count(),
                   .metric = "loss",
                   .order = sometimes() ? ScoreOrder::min : ScoreOrder::max}};
    rules.unscored = sometimes();
  }
  rules.tie = sometimes() ? Tie::older : Tie::newer;
  return rules;
}

std::set<int> set_of(const std::vector<int>& numbers) { return {numbers.begin(), numbers.end()}; }

RC_GTEST_PROP(RankingProperty, TheBestAndTheNeededAreKeptWhateverElseIs, ()) {
  const auto candidates = any_candidates();
  KeepRules rules = any_rules();
  rules.under = *rc::gen::inRange<std::uint64_t>(0, 200);
  Weights weights(candidates.size());
  const auto numbers = set_of(kept(candidates, rules, &weights));
  for (const auto group : {Candidate::Group::epoch, Candidate::Group::saved}) {
    std::vector<Score> scores;
    std::vector<int> places;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].needed) RC_ASSERT(numbers.contains(static_cast<int>(i) + 1));
      if (candidates[i].group != group) continue;
      scores.push_back(candidates[i].scores[0]);
      places.push_back(static_cast<int>(i) + 1);
    }
    if (places.empty()) continue;
    const std::size_t best_place = rules.best.empty()
                                       ? places.size() - 1
                                       : ranking(scores, rules.best[0].order, rules.tie).front();
    RC_ASSERT(numbers.contains(places[best_place]));
  }
}

RC_GTEST_PROP(RankingProperty, UnderIsReachedOrNothingMoreMayGoAndOnlyTheWorstWent, ()) {
  const auto candidates = any_candidates();
  KeepRules rules = any_rules();
  const std::vector<int> before = kept(candidates, rules.empty() ? KeepRules{.last = 1000} : rules);
  rules.under = *rc::gen::inRange<std::uint64_t>(0, 400);
  Weights weights(candidates.size());
  const Decisions decisions = decide(candidates, rules, &weights);
  RC_ASSERT(decisions.fits == (weights.bytes() <= *rules.under));
  std::set<int> now;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Decision& decision = decisions.by_candidate[i];
    if (decision.kept) now.insert(static_cast<int>(i) + 1);
    RC_ASSERT(!(decision.kept && decision.over));
    if (!decisions.fits && decision.kept) {
      RC_ASSERT(std::ranges::any_of(decision.reasons, [](const Reason& reason) {
        return reason.rule == Reason::Rule::resume || reason.rule == Reason::Rule::newest ||
               reason.rank == 1;
      }));
    }
    if (!decision.over || rules.best.empty()) continue;
    for (std::size_t k = 0; k < candidates.size(); ++k) {  // none that is worse stayed
      if (!decisions.by_candidate[k].kept || candidates[k].group != candidates[i].group) continue;
      const bool free =
          std::ranges::none_of(decisions.by_candidate[k].reasons, [](const Reason& reason) {
            return reason.rule == Reason::Rule::resume || reason.rank == 1;
          });
      if (free) RC_ASSERT(decisions.by_candidate[k].ranks[0] < decision.ranks[0]);
    }
  }
  for (const int number : now) RC_ASSERT(set_of(before).contains(number));
}

RC_GTEST_PROP(RankingProperty, RulesTogetherKeepTheUnionOfWhatEachKeeps, ()) {
  const auto candidates = any_candidates();
  KeepRules rules = any_rules();
  rules.best = {{.count = 2, .metric = "loss", .order = ScoreOrder::max}};
  std::set<int> each;
  const auto add = [&](const KeepRules& alone) { each.merge(set_of(kept(candidates, alone))); };
  KeepRules alone{.best = rules.best, .unscored = rules.unscored, .tie = rules.tie};
  add(alone);
  alone.unscored = false;
  alone.best[0] = {.count = 1, .metric = "loss", .order = ScoreOrder::max, .implied = true};
  if (rules.last) {
    alone.last = rules.last;
    add(alone);
    alone.last.reset();
  }
  if (rules.every) {
    alone.every = rules.every;
    add(alone);
  }
  RC_ASSERT(set_of(kept(candidates, rules)) == each);
}

RC_GTEST_PROP(RankingProperty, RankingIsAnOrderThatDoesNotDependOnHowScoresAreNegated, ()) {
  const auto scores = *rc::gen::container<std::vector<Score>>(any_score());
  std::vector<Score> negated = scores;
  for (Score& score : negated) {
    if (score) score = -*score;
  }
  const auto tie = *rc::gen::element(Tie::older, Tie::newer);
  const auto order = ranking(scores, ScoreOrder::min, tie);
  RC_ASSERT(order == ranking(negated, ScoreOrder::max, tie));
  auto sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) RC_ASSERT(sorted[i] == i);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Score &a = scores[order[i - 1]], &b = scores[order[i]];
    const bool both = a && b && !std::isnan(*a) && !std::isnan(*b);
    if (both) RC_ASSERT(*a <= *b);
    if (both && *a == *b) RC_ASSERT((order[i - 1] < order[i]) == (tie == Tie::older));
  }
}

/// What Ray's users run into: the same call with a score that comes later gives another answer.
TEST(Ranking, AScoreThatComesLaterRanksAnew) {
  EXPECT_THAT(kept(epochs({2.0, kMissing, 3.0}), best(1, ScoreOrder::min)), ElementsAre(1));
  EXPECT_THAT(kept(epochs({2.0, 0.5, 3.0}), best(1, ScoreOrder::min)), ElementsAre(2));
}

TEST(Ranking, OfNothingNothingIsKept) {
  EXPECT_THAT(kept({}, best(1, ScoreOrder::min)), IsEmpty());
  EXPECT_THAT(kept({}, {.last = 3}), IsEmpty());
}

}  // namespace
}  // namespace flor::store::keep_rules_test
