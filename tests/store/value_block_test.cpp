// Blocks of values: every bit comes back, whatever the order and the kind, in few bytes; what is no
// block is refused within bounds.
#include "journal/value_block.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <random>

namespace flor::store {
namespace {

using Bytes = std::vector<std::byte>;

/// A point by its bits: NaN is equal to the same NaN.
std::string bits_of(const Point& point) {
  std::string bits = std::to_string(point.epoch) + '/' + std::to_string(point.step) + '/' +
                     std::to_string(point.ordinal) + '/' + point.inner + '/' +
                     std::to_string(static_cast<int>(point.type)) + '=';
  if (const auto* integer = std::get_if<std::int64_t>(&point.value))
    return bits + std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&point.value)) {
    return bits + std::to_string(std::bit_cast<std::uint64_t>(*real));
  }
  return bits + std::get<std::string>(point.value);
}

std::vector<std::string> bits_of(const std::vector<Point>& points) {
  std::vector<std::string> bits;
  for (const Point& point : points) bits.push_back(bits_of(point));
  return bits;
}

Bytes block_of(const std::vector<Point>& points) {
  CodecContext context;
  Bytes block;
  encode_block(context, points, block);
  return block;
}

std::vector<Point> points_of(const Bytes& block) {
  CodecContext context;
  return decode_block(context, block);
}

Point real(std::int64_t epoch, std::int64_t step, double number) {
  return {.epoch = epoch,
          .step = step,
          .ordinal = 0,
          .inner = "",
          .type = ValueType::real,
          .value = number};
}

/// What a training logs: a loss each step.
std::vector<Point> losses(std::int64_t epochs, std::int64_t steps, bool floats) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(1, 0.1);
  std::vector<Point> points;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::int64_t step = 0; step < steps; ++step) {
      const double share =
          static_cast<double>(epoch * steps + step) / static_cast<double>(epochs * steps);
      const double loss = 0.05 + 2.3 * std::exp(-3 * share) * noise(random);  // as in fill_store
      points.push_back(
          real(epoch, step, floats ? static_cast<double>(static_cast<float>(loss)) : loss));
    }
  }
  return points;
}

TEST(ValueBlock, OfEveryKindComesBackBitForBit) {
  const double signalling = std::bit_cast<double>(0x7FF0000000000123);
  const std::vector<Point> points = {
      real(-1, -1, 0.0),
      real(0, 0, -0.0),
      real(0, 1, std::numeric_limits<double>::quiet_NaN()),
      real(0, 2, signalling),
      real(0, 3, std::bit_cast<double>(0xFFF8000000ABCDEF)),
      real(0, 4, std::numeric_limits<double>::denorm_min()),
      real(0, 5, -std::numeric_limits<double>::infinity()),
      real(INT64_MAX, INT64_MIN, std::numeric_limits<double>::max()),
      {1, 2, INT64_MAX, "4,0", ValueType::integer, std::numeric_limits<std::int64_t>::min()},
      {1, 2, 3, "10", ValueType::integer, std::numeric_limits<std::int64_t>::max()},
      {1, 3, 0, "", ValueType::boolean, std::int64_t{1}},
      {2, 0, 0, "", ValueType::text, std::string("NUL \0 and no UTF-8 \xff", 20)},
      {2, 0, 1, "", ValueType::text, std::string()},
      {2, 1, 0, "", ValueType::json, std::string(R"({"a": 1})")},
      {2, 2, 0, "", ValueType::tensor, std::string(32, 'a')},
      {2, 3, 0, "", ValueType::histogram, std::string("{}")},
      {2, 4, 0, "", ValueType::image, std::string(32, 'b')},
      {2, 5, 0, "", ValueType::table, std::string("[]")},
  };
  EXPECT_EQ(bits_of(points_of(block_of(points))), bits_of(points));
  EXPECT_EQ(bits_of(points_of(block_of({}))), std::vector<std::string>{});
  for (const Point& point : points)
    EXPECT_EQ(bits_of(points_of(block_of({point}))), bits_of(std::vector{point}));
}

TEST(ValueBlock, OfFloatsThatAreNoFloatsKeepsThem) {
  std::vector<Point> points = losses(1, 100, true);
  EXPECT_EQ(bits_of(points_of(block_of(points))), bits_of(points));
  points[50].value = 0.1;  // one that a float cannot hold
  EXPECT_EQ(bits_of(points_of(block_of(points))), bits_of(points));
}

TEST(ValueBlock, TakesFewBytesAValue) {
  const auto bytes_each = [](const std::vector<Point>& points) {
    return static_cast<double>(block_of(points).size()) / static_cast<double>(points.size());
  };
  const double floats = bytes_each(losses(10, 3'000, true));
  const double doubles = bytes_each(losses(10, 3'000, false));  // 52 bits of each are noise
  std::printf("bytes a value: floats %.2f, doubles %.2f\n", floats, doubles);
  EXPECT_LT(floats, 3.5);
  EXPECT_LT(doubles, 7.1);
  std::vector<Point> rates;
  for (int i = 0; i < 30'000; ++i)
    rates.push_back(real(i / 3'000, i % 3'000, 0.1 * std::pow(0.5, i / 3'000)));
  EXPECT_LT(bytes_each(rates), 0.1);
  std::vector<Point> counts;
  for (int i = 0; i < 30'000; ++i)
    counts.push_back({i, -1, 0, "", ValueType::integer, std::int64_t{64} * i});
  EXPECT_LT(bytes_each(counts), 0.01);
}

TEST(ValueBlock, ThatIsDamagedIsRefusedOrDecodesToSomethingWithinBounds) {
  std::vector<Point> points = losses(2, 100, false);
  points.push_back({1, 2, 3, "4,0", ValueType::integer, std::int64_t{-5}});
  points.push_back({1, 2, 3, "4,1", ValueType::text, std::string("text")});
  const Bytes sound = block_of(points);
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * sound.size(); ++bit) {
    Bytes block = sound;
    block[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    try {
      EXPECT_LE(points_of(block).size(), kBlockPointsMax);
    } catch (const Damaged&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_THROW(points_of(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size))),
                 Damaged)
        << size;
  }
  Bytes longer = sound;
  longer.push_back({});
  EXPECT_THROW(points_of(longer), Damaged);
}

TEST(ValueBlock, OfMoreThanItTakesIsRefused) {
  EXPECT_THROW(block_of(std::vector<Point>(kBlockPointsMax + 1, real(0, 0, 1))), Error);
  const Point text{0, 0, 0, "", ValueType::text, std::string(kBlockTextMax / 2, 'x')};
  EXPECT_EQ(points_of(block_of({text, text})).size(), 2U);
  EXPECT_THROW(block_of({text, text, text}), Error);
}

RC_GTEST_PROP(ValueBlockProperty, WhateverTheValuesTheyComeBack, ()) {
  std::vector<Point> points(*rc::gen::inRange<std::size_t>(0, 300));
  for (Point& point : points) {
    point.epoch = *rc::gen::arbitrary<std::int64_t>();
    point.step = *rc::gen::inRange<std::int64_t>(-1, 5);
    point.ordinal = *rc::gen::inRange<std::int64_t>(0, 2);
    if (*rc::gen::inRange(0, 4) == 0) point.inner = *rc::gen::arbitrary<std::string>();
    point.type = static_cast<ValueType>(*rc::gen::inRange(0, 9));
    if (point.type == ValueType::boolean || point.type == ValueType::integer) {
      point.value = *rc::gen::arbitrary<std::int64_t>();
    } else if (point.type == ValueType::real) {
      point.value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    } else {
      point.value = *rc::gen::arbitrary<std::string>();
    }
  }
  RC_ASSERT(bits_of(points_of(block_of(points))) == bits_of(points));
}

}  // namespace
}  // namespace flor::store
