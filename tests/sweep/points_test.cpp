// Which points the words of a command line and the lines of a file say.
#include "sweep/points.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace flor::cli::points_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<SweepAxis> axes(const std::vector<std::string>& words) {
  std::vector<SweepAxis> all;
  for (const std::string& word : words) all.push_back(parse_sweep_axis(word));
  return all;
}

std::vector<std::string> texts(const std::vector<SweepPoint>& points) {
  std::vector<std::string> all;
  for (const SweepPoint& point : points) all.push_back(point_text(point));
  return all;
}

std::vector<std::string> grid_of(const std::vector<std::string>& words) {
  return texts(all_points(axes(words)));
}

/// What a call refuses; empty if it does not.
template <typename Call>
std::string refused(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(PointsTest, AGridHasEveryCombinationAndItsLastAxisChangesFirst) {
  EXPECT_THAT(grid_of({"lr=1e-3,1e-2", "hidden=256,512"}),
              ElementsAre("lr=1e-3 hidden=256", "lr=1e-3 hidden=512", "lr=1e-2 hidden=256",
                          "lr=1e-2 hidden=512"));
  EXPECT_THAT(grid_of({"lr=0.1"}), ElementsAre("lr=0.1"));
}

TEST(PointsTest, WholeRangesAreCountedThrough) {
  EXPECT_THAT(grid_of({"seed=-1..2"}), ElementsAre("seed=-1", "seed=0", "seed=1", "seed=2"));
  EXPECT_THAT(grid_of({"seed=1..2,7"}), ElementsAre("seed=1", "seed=2", "seed=7"));
}

TEST(PointsTest, TextsAreTakenAsTheyAre) {
  EXPECT_THAT(grid_of({"data=../a,b..c", "title=\"a,b\",\"1..3\",\"say \"\"x\"\"\"", "empty="}),
              ElementsAre("data=../a title=a,b empty=", "data=../a title=1..3 empty=",
                          "data=../a title=say \"x\" empty=", "data=b..c title=a,b empty=",
                          "data=b..c title=1..3 empty=", "data=b..c title=say \"x\" empty="));
  EXPECT_THAT(grid_of({"where=a=b"}), ElementsAre("where=a=b"));
}

TEST(PointsTest, WordsThatSayNoPointsAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"lr"}, "expected NAME=VALUE"},
      {{"=1"}, "no name of an argument"},
      {{"a b=1"}, "no name of an argument"},
      {{"t=\"a"}, "a quote is not closed"},
      {{"t=\"a\"b"}, "a quote is not closed"},
      {{"lr=0.1..0.2"}, "--random N draws from it"},
      {{"lr=1..5:log"}, "--random N draws from it"},
      {{"lr=0.1..0.2,0.3"}, "--random N draws from it"},
      {{"seed=1..99999999"}, "--random N draws from it"},
      {{"seed=5..1"}, "from the smaller number to the greater one"},
      {{"lr=0..1:log"}, "begins above 0"},
      {{"lr=1,2", "lr=3"}, "lr is given twice"},
      {{"lr=1,1"}, "lr=1 is there twice"},
      {{"a=1..1000", "b=1..1000"}, "more than 100000 points"}};
  for (const auto& [words, why] : cases) {
    EXPECT_THAT(refused([&, &words = words] { grid_of(words); }), HasSubstr(why)) << words[0];
  }
}

TEST(PointsTest, TheSameSeedDrawsTheSameAndMoreBeginWithThem) {
  const auto all = axes({"lr=1e-5..1e-2:log", "hidden=64..512", "drop=0.0..0.5", "act=relu,gelu"});
  const auto some = texts(draw_points(all, 20, 7));
  const auto more = texts(draw_points(all, 50, 7));
  EXPECT_EQ(texts(draw_points(all, 20, 7)), some);
  EXPECT_EQ(std::vector(more.begin(), more.begin() + 20), some);
  EXPECT_NE(texts(draw_points(all, 20, 8)), some);
  EXPECT_EQ(std::set(more.begin(), more.end()).size(), 50u);
  // The same on every machine: a change would make other sweeps of the same words.
  EXPECT_EQ(some[0], "lr=0.00183297 hidden=490 drop=0.0587071 act=gelu");
}

TEST(PointsTest, DrawsLieInTheirRangesAndLogarithmicOnesInEachPowerOfTenAlike) {
  int small = 0;
  std::set<std::string> whole;
  for (const SweepPoint& point :
       draw_points(axes({"lr=1e-5..1e-1:log", "n=1..4:log", "x=0.0..1.0"}), 2000, 0)) {
    const double lr = std::stod(point[0].second), x = std::stod(point[2].second);
    EXPECT_TRUE(1e-5 <= lr && lr <= 1e-1) << point[0].second;
    EXPECT_TRUE(0 <= x && x <= 1) << point[2].second;
    small += lr < 1e-3 ? 1 : 0;
    whole.insert(point[1].second);
  }
  EXPECT_NEAR(small, 1000, 100);
  EXPECT_THAT(whole, ElementsAre("1", "2", "3", "4"));
}

TEST(PointsTest, MoreDrawsThanThereArePointsAreRefused) {
  const auto all = axes({"a=1,2", "b=1..3"});
  EXPECT_EQ(draw_points(all, 6, 0).size(), 6u);
  EXPECT_THAT(refused([&] { draw_points(all, 7, 0); }), HasSubstr("not more than 6"));
}

TEST(PointsTest, AFileHasAPointALine) {
  const SweepAxis rows = parse_rows("lr,title\r\n0.1,\"a,b\"\r\n\r\n0.2,c\r\n", "points.csv");
  EXPECT_THAT(texts(all_points({rows})), ElementsAre("lr=0.1 title=a,b", "lr=0.2 title=c"));
  const SweepAxis lines = parse_rows("{\"lr\": 1e-3, \"fast\": true}\n{\"title\": \"x\"}\n", "p");
  EXPECT_THAT(texts(all_points({lines, parse_sweep_axis("seed=1,2")})),
              ElementsAre("lr=0.001 fast=true seed=1", "lr=0.001 fast=true seed=2",
                          "title=x seed=1", "title=x seed=2"));
}

TEST(PointsTest, AWrongLineOfAFileIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "p has no points"},
      {"lr,n\n", "p has no points"},
      {"lr,n\n1,2\n1\n", "p, line 3: expected 2 values"},
      {"lr,\n1,2\n", "p, line 1: '' is no name"},
      {"lr\n\"1\n", "p, line 2: expected 1 value"},
      {"{\"a\": [1]}\n", "p, line 1: a is no number"},
      {"{\"a\": 1}\n[1]\n", "p, line 2: expected a JSON object"},
      {"{\"a\": 1}\n{\n", "p, line 2: expected a JSON object"}};
  for (const auto& [text, why] : cases) {
    EXPECT_THAT(refused([&, &text = text] { parse_rows(text, "p"); }), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace flor::cli::points_test
