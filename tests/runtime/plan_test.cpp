// Which epochs a segment replays and where it starts.
#include "protocol/plan.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace flor::detail {
namespace {

TEST(Plan, PidNineOfTwoHundredIsTheTenthEpoch) {
  EXPECT_EQ(segment_of(200, 9, 200), (Epochs{9, 10}));
}

TEST(Plan, LargerSegmentsComeFirst) {
  EXPECT_EQ(segment_of(8, 0, 3), (Epochs{0, 3}));
  EXPECT_EQ(segment_of(8, 1, 3), (Epochs{3, 6}));
  EXPECT_EQ(segment_of(8, 2, 3), (Epochs{6, 8}));
}

TEST(Plan, SegmentsBeyondTheEpochsAreEmpty) {
  EXPECT_EQ(segment_of(2, 1, 4), (Epochs{1, 2}));
  EXPECT_TRUE(segment_of(2, 2, 4).empty());
  EXPECT_TRUE(segment_of(2, 3, 4).empty());
  EXPECT_TRUE(segment_of(0, 0, 1).empty());
}

TEST(Plan, UnionOfTheSegmentsCoversEachEpochOnceInOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto epochs = *rc::gen::inRange<std::int64_t>(0, 300);
    const auto segments = *rc::gen::inRange<std::int64_t>(1, 320);
    std::int64_t next = 0, least = epochs, most = 0;
    for (std::int64_t pid = 0; pid < segments; ++pid) {
      const Epochs segment = segment_of(epochs, pid, segments);
      RC_ASSERT(segment.first == next);
      RC_ASSERT(segment.count() >= 0);
      RC_ASSERT(pid == 0 || segment.count() <= segment_of(epochs, pid - 1, segments).count());
      next = segment.end;
      least = std::min(least, segment.count());
      most = std::max(most, segment.count());
    }
    RC_ASSERT(next == epochs);
    RC_ASSERT(most - least <= 1);
  }));
}

TEST(Plan, SeveralMainLoopsShareOutTheSameEpochs) {
  EXPECT_TRUE(rc::check([] {
    const auto lengths =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
    std::int64_t epochs = 0;
    for (const std::int64_t length : lengths) epochs += length;
    const auto segments = *rc::gen::inRange<std::int64_t>(1, 20);
    std::vector<int> visits(static_cast<std::size_t>(epochs));
    for (std::int64_t pid = 0; pid < segments; ++pid) {
      const Epochs segment = segment_of(epochs, pid, segments);
      std::int64_t first = 0;
      for (const std::int64_t length : lengths) {
        const Epochs part = part_of_loop(segment, first, length);
        RC_ASSERT(part.empty() || (part.first >= 0 && part.end <= length));
        for (auto i = part.first; i < part.end; ++i) ++visits[static_cast<std::size_t>(first + i)];
        first += length;
      }
    }
    for (const int count : visits) RC_ASSERT(count == 1);
  }));
}

TEST(Plan, AWeakStartIsTheNearestStoredBoundaryAndAStrongOneTheFirst) {
  const std::set<std::int64_t> stored{0, 3, 6};
  EXPECT_EQ(start_boundary(stored, 5, false), 3);
  EXPECT_EQ(start_boundary(stored, 6, false), 6);
  EXPECT_EQ(start_boundary(stored, 2, false), 0);
  EXPECT_EQ(start_boundary(stored, 6, true), 0);
}

TEST(Plan, NeverStartsFromALaterBoundary) {
  EXPECT_EQ(start_boundary({4, 5}, 3, false), std::nullopt);
  EXPECT_EQ(start_boundary({4, 5}, 3, true), std::nullopt);
  EXPECT_EQ(start_boundary({}, 3, false), std::nullopt);
}

StepChoice steps(const std::string& text) { return StepChoice::parse(text); }

/// The chosen ones of so many iterations.
std::vector<std::int64_t> chosen(const StepChoice& choice, std::int64_t iterations) {
  std::vector<std::int64_t> list;
  for (std::int64_t step = 0; step < iterations; ++step) {
    if (choice.has(step, iterations)) list.push_back(step);
  }
  return list;
}

TEST(Steps, AreChosenByNumbersRangesAndAsTheLastOne) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(chosen(steps("0,3..5,last"), 9), (List{0, 3, 4, 5, 8}));
  EXPECT_EQ(chosen(steps("0,3..5,last"), 5), (List{0, 3, 4})) << "of each loop as far as it goes";
  EXPECT_EQ(chosen(steps("last"), 1), (List{0}));
  EXPECT_EQ(chosen(steps("7.."), 9), (List{7, 8}));
  EXPECT_EQ(chosen(steps("..1"), 9), (List{0, 1}));
  EXPECT_EQ(chosen(steps("sample:3"), 9), (List{2, 5, 8}));
  EXPECT_EQ(chosen(steps("sample:3"), 2), (List{0, 1}));
  EXPECT_EQ(chosen(steps("12"), 9), List());
  EXPECT_TRUE(steps("12").has(12, -1)) << "of a loop that the record does not have";
  EXPECT_FALSE(steps("last").has(12, -1));
  EXPECT_FALSE(steps("0..").has(-1, 5)) << "before the first";
}

TEST(Steps, AreRefusedInOneLineThatShowsTheForm) {
  for (const char* text : {"", "a", "1,,2", "5..3", "-1", "..", "first", "sample:0",
                           "sample:", "sample:x", "1,sample:2", "last..", "1.5"}) {
    try {
      steps(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "'" + std::string(text) +
                    "' is no list of steps: write A..B (both included, counted from 0), A, last, "
                    "or several of these with commas; or sample:N");
    }
  }
}

TEST(Steps, HaveOneTextForEachChoice) {
  EXPECT_EQ(steps("last,5,3..4,0").text(), "0,3..5,last");
  EXPECT_EQ(steps("0,3..5,last,4").text(), "0,3..5,last");
  EXPECT_EQ(steps("7..,9").text(), "7..");
  EXPECT_EQ(steps("sample:4").text(), "sample:4");
  EXPECT_EQ(print_steps(steps("12")), "step 12");
  EXPECT_EQ(print_steps(steps("0,10..20,last")), "steps 0, 10 to 20 and the last one");
  EXPECT_EQ(print_steps(steps("last")), "the last step");
  EXPECT_EQ(print_steps(steps("3..")), "steps 3 and later");
}

TEST(Steps, EndWithTheLastChosenOne) {
  EXPECT_TRUE(rc::check([] {
    StepChoice choice;
    const auto ranges = *rc::gen::inRange(0, 4);
    std::string text;
    for (int i = 0; i < ranges; ++i) {
      const auto first = *rc::gen::inRange(0, 30);
      text += (text.empty() ? "" : ",") + std::to_string(first) + ".." +
              std::to_string(first + *rc::gen::inRange(0, 9));
    }
    if (*rc::gen::arbitrary<bool>()) text += text.empty() ? "last" : ",last";
    if (text.empty()) text = "sample:" + std::to_string(*rc::gen::inRange(1, 40));
    choice = steps(text);
    const auto iterations = *rc::gen::inRange<std::int64_t>(0, 40);
    const std::vector<std::int64_t> list = chosen(choice, iterations);
    RC_ASSERT(choice.end_in(iterations) == (list.empty() ? 0 : list.back() + 1));
    RC_ASSERT(steps(choice.text()) == choice);
    if (choice.sample == 0) return;
    RC_ASSERT(static_cast<std::int64_t>(list.size()) == std::min(choice.sample, iterations));
    for (std::size_t i = 2; i < list.size(); ++i) {
      const std::int64_t gap = list[i] - list[i - 1], before = list[i - 1] - list[i - 2];
      RC_ASSERT(std::max(gap, before) - std::min(gap, before) <= 1);
    }
  }));
}

TEST(Steps, ThatNoLoopHasAreRefusedWithTheLongestLoop) {
  const std::vector<store::LoopExecution> executions{
      {.main_loop = 0, .iteration = 0, .loop = "train", .iterations = 9},
      {.main_loop = 0, .iteration = 1, .loop = "test", .iterations = 4}};
  EXPECT_NO_THROW(require_steps(steps("8"), executions));
  EXPECT_NO_THROW(require_steps({}, {}));
  const auto refusal = [](const StepChoice& choice, const auto& all) -> std::string {
    try {
      require_steps(choice, all);
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal(steps("9"), executions),
            "no nested loop of the run has such a step: the longest, train, has 0..8");
  EXPECT_EQ(refusal(steps("last"), std::vector<store::LoopExecution>()),
            "no nested loop of the run has an iteration: leave it out");
}

}  // namespace
}  // namespace flor::detail
