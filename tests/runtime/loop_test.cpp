// flor::loop without a session: what it wraps is iterated as if it were not wrapped.
#include <flor/flor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flor {
namespace {

using ::testing::ElementsAre;

TEST(Loop, CountsFromZero) {
  std::vector<int> seen;
  for (const int i : loop("epoch", 3)) seen.push_back(i);
  for (const std::uint8_t i : loop(std::uint8_t{2})) seen.push_back(i);
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 0, 1));
}

TEST(Loop, CountsByStepsAndDownAndWithTwoKindsOfIntegers) {
  const auto numbers = [](auto range) {
    std::vector<std::int64_t> seen;
    for (const auto i : loop("x", range)) seen.push_back(static_cast<std::int64_t>(i));
    return seen;
  };
  EXPECT_THAT(numbers(range(1, std::int64_t{4})), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(range(0, 7, 3)), ElementsAre(0, 3, 6));
  EXPECT_THAT(numbers(range(10, 0, -4)), ElementsAre(10, 6, 2));
  EXPECT_THAT(numbers(range(10u, 0, -5)), ElementsAre(10, 5));
  EXPECT_THAT(numbers(range(-2, std::size_t{2})), ElementsAre(-2, -1, 0, 1));
  EXPECT_THAT(numbers(range(std::uint8_t{250}, std::uint8_t{255}, 2)), ElementsAre(250, 252, 254));
  EXPECT_THAT(numbers(range(INT64_MIN, INT64_MAX, INT64_MAX)),
              ElementsAre(INT64_MIN, -1, INT64_MAX - 1));
  for (const auto& empty : {range(3, 3), range(4, 3), range(3, 4, -1), range(3, 3, 2)}) {
    EXPECT_THAT(numbers(empty), ElementsAre());
  }
  EXPECT_THROW((void)range(1, 5, 0), UsageError);
  EXPECT_THROW((void)range(-1, UINT64_MAX), UsageError);
  static_assert(std::is_same_v<decltype(*range(1, 2L).begin()), long>);
  static_assert(std::is_same_v<decltype(*range(1, 2).begin()), int>);
}

TEST(Loop, OfNoneOrFewerIsEmpty) {
  for (const int count : {0, -5}) {
    for ([[maybe_unused]] const int i : loop("epoch", count)) FAIL();
  }
  for ([[maybe_unused]] const int i : loop("epoch", std::vector<int>())) FAIL();
}

TEST(Loop, GivesReferencesToTheElements) {
  std::vector<std::unique_ptr<int>> owned;
  owned.push_back(std::make_unique<int>(1));
  for (auto& element : loop("x", owned)) *element = 7;
  EXPECT_EQ(*owned[0], 7);
  std::map<std::string, int> map{{"a", 1}};
  for (auto& [key, value] : loop("y", map)) value += static_cast<int>(key.size());
  EXPECT_EQ(map["a"], 2);
}

TEST(Loop, OwnsTemporariesForAsLongAsItRuns) {
  std::vector<std::string> seen;
  const auto make = [] { return std::list<std::string>{"a long enough string to be allocated"}; };
  for (const auto& text : loop("x", make())) seen.push_back(text);
  for (const int i : loop("y", {5, 6})) seen.push_back(std::to_string(i));
  EXPECT_THAT(seen, ElementsAre("a long enough string to be allocated", "5", "6"));
}

TEST(Loop, TakesArraysAndConstRanges) {
  const std::array<int, 2> array{1, 2};
  int plain[] = {3, 4};
  std::vector<int> seen;
  for (const int i : loop("x", array)) seen.push_back(i);
  for (const int i : loop("y", plain)) seen.push_back(i);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
}

TEST(Loop, IsLeftByBreakAndThrow) {
  int count = 0;
  for (const int i : loop("x", 10)) {
    ++count;
    if (i == 3) break;
  }
  EXPECT_THROW(
      for (const int i : loop("y", 10)) {
        if (i == 2) throw 1;
        ++count;
      },
      int);
  EXPECT_EQ(count, 6);
}

TEST(Loop, TouchesItsRangeOnlyWhenItIsBegun) {
  struct Counted {
    int* begun;
    const int* begin() const { return ++*begun, values.data(); }
    const int* end() const { return values.data() + values.size(); }
    std::array<int, 2> values{1, 2};
  };
  int begun = 0;
  {
    [[maybe_unused]] auto unused = loop("x", Counted{&begun});
  }
  EXPECT_EQ(begun, 0);
  for ([[maybe_unused]] const int i : loop("x", Counted{&begun})) {
  }
  EXPECT_EQ(begun, 1);
}

TEST(Log, ReturnsWhatItIsGiven) {
  EXPECT_EQ(log("x", 3), 3);
  EXPECT_EQ(log("x", std::string("text")), "text");
  EXPECT_STREQ(log("x", "literal"), "literal");
  EXPECT_TRUE(log("x", true));
}

TEST(Checkpoints, CostNothingWithoutASession) {
  int value = 1;
  const auto state = checkpoints(value, named("again", value));
  EXPECT_EQ(mode(), Mode::off);
  EXPECT_FALSE(catching_up());
}

}  // namespace
}  // namespace flor
