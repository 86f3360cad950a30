// When a replayed value counts as the recorded one, and in which words a difference is told.
#include "base/process_facts.h"
#include "protocol/value_text.h"
#include "verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace flor::detail {
namespace {

using store::ValueType;
using ::testing::HasSubstr;

store::Value real(double number) {
  return {.name = "loss",
          .place = {"epoch/train", 3, 17, ""},
          .type = ValueType::real,
          .value = number};
}

TEST(SameValue, MeansBitForBit) {
  EXPECT_TRUE(same_value(real(0.1), real(0.1)));
  EXPECT_FALSE(same_value(real(0.1), real(std::nextafter(0.1, 1))));
  EXPECT_FALSE(same_value(real(0.0), real(-0.0)));
  EXPECT_TRUE(same_value(real(NAN), real(NAN)));
  EXPECT_TRUE(same_value(real(INFINITY), real(INFINITY)));
}

TEST(SameValue, KnowsTypesApart) {
  store::Value integer = real(0);
  integer.type = ValueType::integer;
  integer.value = std::int64_t{1};
  store::Value boolean = integer;
  boolean.type = ValueType::boolean;
  EXPECT_FALSE(same_value(integer, boolean));
  EXPECT_FALSE(same_value(integer, real(1)));
}

TEST(PrintValue, ShowsAllDigitsThatMatter) {
  EXPECT_EQ(print_value(real(0.1)), "0.1");
  EXPECT_EQ(print_value(real(std::nextafter(0.1, 1))), "0.10000000000000002");
}

TEST(PrintPlace, ReadsLikeAPlace) {
  EXPECT_EQ(print_place({"", -1, -1, ""}), "outside the loops");
  EXPECT_EQ(print_place({"epoch", 3, -1, ""}), "epoch 3");
  EXPECT_EQ(print_place({"epoch/train", 3, 17, ""}), "epoch 3, train 17");
  EXPECT_EQ(print_place({"epoch/train/micro", 3, 17, "2"}), "epoch 3, train 17, micro 2");
}

TEST(Comparison, OfNothingIsUnchecked) {
  Comparison comparison;
  comparison.value_found(0);
  EXPECT_EQ(comparison.result().verdict, store::Verdict::unverified);
}

TEST(Comparison, OfEqualValuesIsExact) {
  Comparison comparison;
  comparison.value(0, real(1), real(1));
  comparison.state(0, "end of epoch 1", {});
  EXPECT_EQ(comparison.result().verdict, store::Verdict::verified);
  EXPECT_EQ(comparison.result().values_compared, 1);
  EXPECT_EQ(comparison.result().states_compared, 1);
}

TEST(Comparison, NamesTheFirstDifference) {
  Comparison comparison;
  comparison.value(0, real(1), real(2));
  comparison.state(0, "end of epoch 3", {{"model/fc.weight", "content differs"}, {"x", "y"}});
  const store::ReplayResult result = comparison.result();
  EXPECT_EQ(result.verdict, store::Verdict::differs);
  EXPECT_EQ(result.first_difference, "loss at epoch 3, train 17: recorded 1, replayed 2");
  EXPECT_THAT(comparison.lines().at(1), HasSubstr("model/fc.weight: content differs (and 1 more)"));
}

TEST(Comparison, TellsTheFirstFewOnly) {
  Comparison comparison;
  for (int i = 0; i < 100; ++i) comparison.value(0, real(i), real(i + 1));
  EXPECT_EQ(comparison.lines().size(), 5u);
  EXPECT_EQ(comparison.result().values_different, 100);
}

TEST(Environment, WhatResultsDependOnAndBothKnowIsComparedTheLikeliestCauseFirst) {
  const std::map<std::string, std::string> then{{"libtorch", "1.13.1"}, {"cpu capability", "AVX2"},
                                                {"cuda0", "A card"},    {"cuda1", "A card"},
                                                {"host", "here"},       {"cudnn.benchmark", "off"},
                                                {"tf32", "off/on"},     {"OMP_NUM_THREADS", "4"}};
  const std::map<std::string, std::string> now{
      {"libtorch", "1.13.1"},    {"cpu capability", "AVX512"},
      {"cuda0", "Another card"}, {"blas", "some"},
      {"host", "there"},         {"cudnn.benchmark", "on"},
      {"tf32", "off/off"},       {"OMP_NUM_THREADS", "2"}};
  std::string names;
  for (const ChangedFact& fact : changed_facts(then, now)) {
    names += fact.name + ": " + fact.before + " -> " + fact.after + "; ";
  }
  EXPECT_EQ(names,
            "cpu capability: AVX2 -> AVX512; cuda0: A card -> Another card; "
            "cudnn.benchmark: off -> on; tf32: off/on -> off/off; ");
  EXPECT_TRUE(changed_facts(then, then).empty());
}

}  // namespace
}  // namespace flor::detail
