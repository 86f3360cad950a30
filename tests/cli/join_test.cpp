// Values of several metrics, joined on the loop indices that they have in common.
#include "choose/asked.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace flor::cli {
namespace {

using store::Value;
using ::testing::ElementsAre;

Value value(std::string name, std::string path, std::int64_t epoch, std::int64_t step,
            std::int64_t number, std::string inner = "", std::int64_t ordinal = 0) {
  Value result;
  result.name = std::move(name);
  result.place = {std::move(path), epoch, step, std::move(inner)};
  result.ordinal = ordinal;
  result.type = store::ValueType::integer;
  result.value = number;
  return result;
}

/// Each row as "epoch step inner: a b", with "-" for what is not there.
std::vector<std::string> rows(const std::vector<std::string>& names,
                              const std::vector<Value>& values) {
  const Join join(names, values);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < join.size(); ++i) {
    const store::Place& place = *join.row(i).place;
    std::string line = fmt::format("{} {} {}:", place.epoch, place.step, place.inner);
    for (const Value* cell : join.cells(i)) {
      line += cell ? fmt::format(" {}", std::get<std::int64_t>(cell->value)) : " -";
    }
    result.push_back(line);
  }
  return result;
}

TEST(Join, PutsValuesOfOnePlaceIntoOneRow) {
  EXPECT_THAT(rows({"a", "b"}, {value("a", "epoch", 0, -1, 1), value("b", "epoch", 0, -1, 2),
                                value("a", "epoch", 1, -1, 3)}),
              ElementsAre("0 -1 : 1 2", "1 -1 : 3 -"));
}

TEST(Join, RepeatsAnEpochsValueInEachOfItsSteps) {
  EXPECT_THAT(rows({"loss", "acc"},
                   {value("acc", "epoch", 0, -1, 90), value("loss", "epoch/train", 0, 0, 1),
                    value("loss", "epoch/train", 0, 1, 2), value("acc", "epoch", 1, -1, 91),
                    value("loss", "epoch/train", 1, 0, 3)}),
              ElementsAre("0 0 : 1 90", "0 1 : 2 90", "1 0 : 3 91"));
}

TEST(Join, ShowsEpochsOnceWhenAllMetricsAreOfEpochs) {
  EXPECT_THAT(rows({"acc"}, {value("acc", "epoch", 0, -1, 90), value("acc", "epoch", 1, -1, 91)}),
              ElementsAre("0 -1 : 90", "1 -1 : 91"));
}

TEST(Join, KeepsAnEpochWithoutSteps) {
  EXPECT_THAT(rows({"loss", "acc"},
                   {value("acc", "epoch", 0, -1, 90), value("loss", "epoch/train", 0, 0, 1),
                    value("acc", "epoch", 1, -1, 91)}),
              ElementsAre("0 0 : 1 90", "1 -1 : - 91"));
}

TEST(Join, RepeatsWhatIsOutsideEveryLoopEverywhere) {
  EXPECT_THAT(rows({"seed", "acc"}, {value("seed", "", -1, -1, 7), value("acc", "epoch", 0, -1, 90),
                                     value("acc", "epoch", 1, -1, 91)}),
              ElementsAre("0 -1 : 7 90", "1 -1 : 7 91"));
}

TEST(Join, DoesNotMixSiblingLoops) {
  EXPECT_THAT(rows({"loss", "error"},
                   {value("loss", "epoch/train", 0, 0, 1), value("error", "epoch/test", 0, 0, 2),
                    value("loss", "epoch/train", 0, 1, 3)}),
              ElementsAre("0 0 : 1 -", "0 1 : 3 -", "0 0 : - 2"));
}

TEST(Join, JoinsDeeperLoopsOnTheirIndices) {
  EXPECT_THAT(rows({"norm", "loss", "acc"},
                   {value("acc", "epoch", 0, -1, 90), value("loss", "epoch/train", 0, 1, 5),
                    value("norm", "epoch/train/layer", 0, 1, 2, "2"),
                    value("norm", "epoch/train/layer", 0, 1, 10, "10"),
                    value("norm", "epoch/train/layer", 0, 2, 3, "0")}),
              ElementsAre("0 1 2: 2 5 90", "0 1 10: 10 5 90", "0 2 0: 3 - 90"));
}

TEST(Join, GivesEachOrdinalARowOfItsOwn) {
  EXPECT_THAT(
      rows({"a", "b"}, {value("a", "epoch", 0, -1, 1, "", 0), value("a", "epoch", 0, -1, 2, "", 1),
                        value("b", "epoch", 0, -1, 3, "", 0)}),
      ElementsAre("0 -1 : 1 3", "0 -1 : 2 -"));
}

TEST(Join, DoesNotGuessWhichOfSeveralOuterValuesIsMeant) {
  EXPECT_THAT(rows({"loss", "acc"}, {value("acc", "epoch", 0, -1, 90, "", 0),
                                     value("acc", "epoch", 0, -1, 91, "", 1),
                                     value("loss", "epoch/train", 0, 0, 1)}),
              ElementsAre("0 0 : 1 -", "0 -1 : - 90", "0 -1 : - 91"));
}

TEST(Join, KeepsAMetricOfTwoDepthsApart) {
  EXPECT_THAT(
      rows({"loss"}, {value("loss", "epoch", 0, -1, 5), value("loss", "epoch/train", 0, 0, 1),
                      value("loss", "epoch/train", 0, 1, 2)}),
      ElementsAre("0 0 : 1", "0 1 : 2", "0 -1 : 5"));
}

TEST(Join, IgnoresOtherMetricsAndNothing) {
  EXPECT_TRUE(rows({"a"}, {value("b", "epoch", 0, -1, 1)}).empty());
  EXPECT_TRUE(rows({"a"}, {}).empty());
}

TEST(Join, DropsWhatIsOutsideEveryLoopOnRequest) {
  const std::vector<Value> values{value("a", "", -1, -1, 1), value("b", "", -1, -1, 2),
                                  value("a", "epoch", 0, -1, 3)};
  const std::vector<std::string> names{"a"};
  Join join(names, values);
  ASSERT_EQ(join.size(), 2u);
  join.drop_outside_loops();
  ASSERT_EQ(join.size(), 1u);
  EXPECT_EQ(join.row(0).place->epoch, 0);
  EXPECT_EQ(join.cells(0)[0], &values[2]);
}

TEST(Join, LosesNoValue) {
  std::vector<Value> values;
  const std::vector<std::string> names{"a", "b", "c"};
  for (const char* path : {"", "x", "x/y", "x/z", "x/y/w"}) {
    const std::string text(path);
    const bool deep = text.size() > 3, nested = text.size() > 1, outside = text.empty();
    for (std::int64_t i = 0; i < (outside ? 1 : 12); ++i) {
      const auto number = static_cast<std::int64_t>(values.size());
      values.push_back(value(names[static_cast<std::size_t>(number * 7 % 3)], text,
                             outside ? -1 : i % 3, nested ? i / 3 : -1, number, deep ? "1" : "",
                             number));
    }
  }
  const Join join(names, values);
  std::set<const Value*> seen;
  for (std::size_t i = 0; i < join.size(); ++i) {
    for (const Value* cell : join.cells(i)) {
      if (cell) seen.insert(cell);
    }
  }
  EXPECT_EQ(seen.size(), values.size());
}

}  // namespace
}  // namespace flor::cli
