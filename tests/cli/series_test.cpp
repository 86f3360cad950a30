// Metrics as curves: where their points lie, how they are smoothed, thinned, and what is written
// beside their axes.
#include "cli/fixture.h"
#include "curves/curve.h"
#include "curves/series.h"
#include "plot/scale.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace flor::testing {
namespace {

using cli::Axis;
using cli::Point;
using cli::Range;
using cli::Scale;
using cli::ScaleKind;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class SeriesTest : public CliTest {
 protected:
  cli::SeriesAnswer answer(const store::Run& run, std::vector<std::string> metrics, Axis axis) {
    return cli::series_of(store(), run, {std::move(metrics), axis}, 0);
  }
  std::vector<double> xs(const store::Run& run, const std::string& metric, Axis axis) {
    std::vector<double> result;
    for (const cli::Series& series : answer(run, {metric}, axis).series) {
      for (const Point& point : series.points) result.push_back(point.x);
    }
    return result;
  }
  /// A run without values: two epochs of 1 s, in each 4 steps of "train" in 0.8 s, then 2 of
  /// "check" in 0.1 s.
  store::Run two_epochs() {
    store::NewRun start;
    start.experiment = "linear";
    start.started_us = 1'000'000;
    const store::Run run = catalog().add_run(start);
    catalog().put_main_loop(run.id, {0, "epoch", 0, 2, true, false});
    for (const std::int64_t epoch : {0, 1}) {
      catalog().add_execution(run.id, {0, epoch, "train", 4, false, 0.8});
      catalog().add_execution(run.id, {0, epoch, "check", 2, false, 0.1});
      catalog().add_iteration(run.id, {0, epoch, 1.0, 0.001});
    }
    catalog().finish_run(run.id, 4'000'000, false, "");
    return *catalog().run(run.id);
  }
  static store::Value at(const std::string& name, const std::string& path, std::int64_t epoch,
                         std::int64_t step, const std::string& inner = "") {
    store::Value result;
    result.name = name;
    result.place = {path, epoch, step, inner};
    result.value = 0.5;
    return result;
  }
};

TEST_F(SeriesTest, StepsAreCountedOverTheEpochsInTheirOwnLoop) {
  const store::Run run = two_epochs();
  catalog().add_values(
      run.id, std::vector{at("loss", "epoch/train", 0, 0), at("loss", "epoch/train", 0, 3),
                          at("loss", "epoch/train", 1, 1), at("error", "epoch/check", 1, 1)});
  EXPECT_THAT(xs(run, "loss", Axis::step), ElementsAre(0, 3, 5));
  EXPECT_THAT(xs(run, "error", Axis::step), ElementsAre(3));
}

TEST_F(SeriesTest, WhatIsLoggedOnceAnEpochLiesBehindTheEpochsStepsAndAtItsNumber) {
  const store::Run run = two_epochs();
  catalog().add_values(run.id,
                       std::vector{at("accuracy", "epoch", 0, -1), at("accuracy", "epoch", 1, -1)});
  EXPECT_THAT(xs(run, "accuracy", Axis::step), ElementsAre(4, 8));
  EXPECT_THAT(xs(run, "accuracy", Axis::epoch), ElementsAre(0, 1));
  EXPECT_THAT(xs(run, "accuracy", Axis::time), ElementsAre(1, 2));
}

TEST_F(SeriesTest, StepsAreSpreadOverTheirEpochAndOverTheTimeOfTheirLoop) {
  const store::Run run = two_epochs();
  catalog().add_values(run.id,
                       std::vector{at("loss", "epoch/train", 0, 1), at("loss", "epoch/train", 1, 2),
                                   at("error", "epoch/check", 0, 1)});
  EXPECT_THAT(xs(run, "loss", Axis::epoch), ElementsAre(0.25, 1.5));
  EXPECT_THAT(xs(run, "loss", Axis::time), Pointwise(DoubleNear(1e-9), {0.4, 1.6}));
  // Behind the other loop of the epoch.
  EXPECT_THAT(xs(run, "error", Axis::time), Pointwise(DoubleNear(1e-9), {0.9}));
}

TEST_F(SeriesTest, ValuesOfDeeperLoopsAreSpreadOverTheirStepInTheOrderOfTheirIndices) {
  const store::Run run = two_epochs();
  std::vector<store::Value> values;
  for (const char* inner : {"10", "2", "0"}) {
    values.push_back(at("deep", "epoch/train/line", 0, 1, inner));
    values.back().value = std::stod(inner);
  }
  values.push_back(at("deep", "epoch/train/line", 0, 2, "0"));
  catalog().add_values(run.id, values);
  const auto series = answer(run, {"deep"}, Axis::step).series;
  ASSERT_THAT(series, SizeIs(1));
  std::vector<double> xs, ys;
  for (const Point& point : series[0].points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  EXPECT_THAT(xs, Pointwise(DoubleNear(1e-9), {1.0, 1 + 1.0 / 3, 1 + 2.0 / 3, 2.0}));
  EXPECT_THAT(ys, ElementsAre(0, 2, 10, 0.5));
}

TEST_F(SeriesTest, EpochsThatAreNotOverAreCountedByWhatWasLoggedInThem) {
  const store::Run run = two_epochs();
  catalog().add_values(run.id,
                       std::vector{at("loss", "epoch/train", 2, 0), at("loss", "epoch/train", 2, 1),
                                   at("loss", "epoch/train", 3, 0)});
  EXPECT_THAT(xs(run, "loss", Axis::step), ElementsAre(8, 9, 10));
  EXPECT_THAT(xs(run, "loss", Axis::epoch), ElementsAre(2, 2.5, 3));
}

TEST_F(SeriesTest, LoopsAreSeriesOfTheirOwnAndWhatIsNoNumberOrHasNoLoopIsCounted) {
  const store::Run run = two_epochs();
  std::vector<store::Value> values = {at("loss", "epoch/train", 0, 0),
                                      at("loss", "epoch/check", 0, 0), at("loss", "", -1, -1),
                                      at("loss", "epoch/train", 0, 1)};
  values[3].type = store::ValueType::text;
  values[3].value = std::string("diverged");
  catalog().add_values(run.id, values);
  const cli::SeriesAnswer found = answer(run, {"loss"}, Axis::step);
  ASSERT_THAT(found.series, SizeIs(2));
  EXPECT_EQ(found.series[0].path, "epoch/train");
  EXPECT_EQ(found.series[1].path, "epoch/check");
  EXPECT_EQ(found.no_numbers, 1);
  EXPECT_EQ(found.no_place, 1);
  EXPECT_THAT(answer(run, {}, Axis::step).series, IsEmpty());
}

std::vector<double> ys_of(std::span<const Point> points) {
  std::vector<double> result;
  for (const Point& point : points) result.push_back(point.y);
  return result;
}

TEST(Smoothing, IsTheMovingAverageWithoutTheBiasToZero) {
  const std::vector<Point> points = {{0, 4}, {1, 8}, {2, 0}};
  // m1 = 2, m2 = 5, m3 = 2.5; divided by 1/2, 3/4, 7/8.
  EXPECT_THAT(ys_of(cli::smoothed(points, 0.5)),
              Pointwise(DoubleNear(1e-12), {4.0, 5 / 0.75, 2.5 / 0.875}));
  EXPECT_THAT(ys_of(cli::smoothed(points, 0)), ElementsAre(4, 8, 0));
}

TEST(Smoothing, PassesOverWhatIsNoNumber) {
  const std::vector<Point> points = {{0, 4}, {1, kNan}, {2, kInfinity}, {3, 8}};
  const std::vector<Point> result = cli::smoothed(points, 0.5);
  EXPECT_DOUBLE_EQ(result[0].y, 4);
  EXPECT_TRUE(std::isnan(result[1].y));
  EXPECT_TRUE(std::isinf(result[2].y));
  EXPECT_DOUBLE_EQ(result[3].y, 5 / 0.75);
}

TEST(Thinning, KeepsTheExtremesOfEveryColumnOfAMillionPoints) {
  constexpr std::size_t kCount = 1'000'000, kColumns = 400;
  std::vector<Point> points;
  for (std::size_t i = 0; i < kCount; ++i) {
    points.push_back({static_cast<double>(i), std::sin(static_cast<double>(i))});
  }
  points[123'456].y = 50;
  points[654'321].y = -50;
  const std::vector<Point> kept = cli::thinned(points, 0, kCount - 1, kColumns);
  EXPECT_LE(kept.size(), 4 * kColumns);
  EXPECT_GE(kept.size(), 2 * kColumns);
  const auto [least, greatest] = std::ranges::minmax(ys_of(kept));
  EXPECT_EQ(least, -50);
  EXPECT_EQ(greatest, 50);
  EXPECT_EQ(kept.front().x, 0);
  EXPECT_EQ(kept.back().x, kCount - 1);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &Point::x));
}

TEST(Thinning, KeepsGapsThatAreAColumnWide) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({1.0 * i, i >= 400 && i < 600 ? kNan : 1.0});
  int gaps = 0;
  for (const Point& point : cli::thinned(points, 0, 999, 10)) gaps += std::isnan(point.y) ? 1 : 0;
  EXPECT_EQ(gaps, 2);
}

std::vector<std::string> labels(Range range, ScaleKind kind, int most) {
  std::vector<std::string> result;
  for (const cli::Tick& tick : Scale(range, kind).ticks(most)) result.push_back(tick.label);
  return result;
}

TEST(Ticks, AreMultiplesOfOneTwoOrFive) {
  EXPECT_THAT(labels({0, 1}, ScaleKind::linear, 6),
              ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels({-3, 7}, ScaleKind::linear, 6), ElementsAre("-2", "0", "2", "4", "6"));
  EXPECT_THAT(labels({0.0871, 0.1322}, ScaleKind::linear, 5),
              ElementsAre("0.09", "0.10", "0.11", "0.12", "0.13"));
  EXPECT_THAT(labels({0, 3e-6}, ScaleKind::linear, 4), ElementsAre("0", "1e-6", "2e-6", "3e-6"));
  EXPECT_THAT(labels({0, 2.5e9}, ScaleKind::linear, 4), ElementsAre("0", "1e9", "2e9"));
}

TEST(Ticks, OfEpochsAreWholeNumbers) {
  EXPECT_THAT(labels({0, 3}, ScaleKind::whole, 10), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(labels({7, 7}, ScaleKind::whole, 10), ElementsAre("7"));
}

TEST(Ticks, OfALogarithmicAxisArePowersOfTen) {
  EXPECT_THAT(labels({1e-4, 10}, ScaleKind::logarithmic, 6),
              ElementsAre("0.0001", "0.001", "0.01", "0.1", "1", "10"));
  EXPECT_THAT(labels({0.1, 1}, ScaleKind::logarithmic, 6), ElementsAre("0.1", "0.2", "0.5", "1"));
  EXPECT_THAT(labels({1e-20, 1}, ScaleKind::logarithmic, 5),
              ElementsAre("1e-20", "1e-15", "1e-10", "1e-5", "1"));
  EXPECT_THAT(labels({3, 4}, ScaleKind::logarithmic, 5), SizeIs(::testing::Ge(2u)));
}

TEST(Ticks, NeverAreMoreThanThereIsRoomFor) {
  for (const double size : {1e-300, 1e-9, 0.37, 1.0, 9.99, 12345.0, 1e15, 1e300}) {
    for (const double low : {-size, 0.0, size / 3}) {
      for (const int most : {2, 3, 5, 9}) {
        EXPECT_LE(static_cast<int>(labels({low, low + size}, ScaleKind::linear, most).size()), most)
            << low << " " << size;
      }
    }
  }
}

TEST(Scales, WidenARangeOfASingleValue) {
  for (const double value : {0.0, 5.0, -1e-12, 1e300}) {
    const Scale scale({value, value}, ScaleKind::linear);
    EXPECT_NEAR(scale.share(value), 0.5, 1e-6) << value;
  }
  EXPECT_NEAR(Scale({0.01, 0.01}, ScaleKind::logarithmic).share(0.01), 0.5, 1e-6);
  EXPECT_NEAR(Scale({-1.7e308, 1.7e308}, ScaleKind::linear).share(0), 0.5, 1e-6);
}

}  // namespace
}  // namespace flor::testing
