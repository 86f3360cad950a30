// Numbers in blocks and in rows: whatever happens to a series, it has what was logged last in each
// place, in its order, and so has an index that is made again.
#include "database/values/series_blocks.h"

#include "database/store_impl.h"
#include "made_again.h"
#include "run_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

namespace flor::store {
namespace {

using ::testing::ElementsAreArray;

using Key = std::tuple<std::int64_t, std::int64_t, std::string, std::int64_t>;

constexpr const char* kPath = "epoch/train";

Value value_at(const Key& key, Scalar scalar, ValueType type = ValueType::real) {
  Value value;
  value.name = "loss";
  value.place = {kPath, std::get<0>(key), std::get<1>(key), std::get<2>(key)};
  value.ordinal = std::get<3>(key);
  value.type = type;
  value.value = std::move(scalar);
  return value;
}

std::string told(const Value& value) {
  const auto* real = std::get_if<double>(&value.value);
  const auto* integer = std::get_if<std::int64_t>(&value.value);
  return fmt::format("{} {} {} {}: {}{}", value.place.epoch, value.place.step, value.place.inner,
                     value.ordinal,
                     real      ? fmt::format("{:a}", *real)
                     : integer ? fmt::format("{}", *integer)
                               : std::get<std::string>(value.value),
                     value.replay == 0 ? "" : " found");
}

class SeriesBlocksTest : public RunTest {
 protected:
  Catalog& catalog() { return store_->catalog(); }
  std::int64_t blocks() { return query("SELECT count(*) FROM block"); }
  std::int64_t rows() { return query("SELECT count(*) FROM value"); }

  void log(std::vector<Value> values) {
    for (const Value& value : values) known_[key_of(value)] = value;
    catalog().add_values(run_.id, values);
  }
  void log_epoch(std::int64_t epoch, std::int64_t steps) {
    std::vector<Value> values;
    for (std::int64_t step = 0; step < steps; ++step) {
      values.push_back(value_at({epoch, step, "", 0}, 1.0 / static_cast<double>(epoch + step + 1)));
    }
    log(std::move(values));
  }
  /// A replay, always the same, answers in this epoch; what the run logged stays.
  void find(std::int64_t epoch, std::vector<Value> values) {
    if (replay_ == 0) {
      NewReplay start;
      start.run = run_.id;
      start.question = "q";
      replay_ = catalog().add_replay(start);
    }
    for (Value& value : values) {
      value.replay = replay_;
      const auto known = known_.find(key_of(value));
      if (known == known_.end() || known->second.replay != 0) known_[key_of(value)] = value;
    }
    ReplayedPart part{.part = epoch, .result = {}};
    part.result.values_found = static_cast<std::int64_t>(values.size());
    part.found = ValueVerdict::verified;
    catalog().add_replayed(run_.id, replay_, values, std::vector{part});
  }
  void resume(std::int64_t epoch) {
    Resumption resumption;
    resumption.point.iteration = resumption.point.epoch = epoch;
    resumption.point.boundary = true;
    catalog().resume_run(run_.id, resumption);
    std::erase_if(known_, [&](const auto& one) { return std::get<0>(one.first) >= epoch; });
  }

  void expect_what_is_known() {
    std::vector<std::string> expected;
    for (const auto& one : known_) expected.push_back(told(one.second));
    std::vector<std::string> found;
    for (const Value& value : catalog().values({.run = run_.id})) found.push_back(told(value));
    EXPECT_THAT(found, ElementsAreArray(expected));
    const std::int64_t counted = query("SELECT count(*) FROM every_value");
    EXPECT_EQ(counted, static_cast<std::int64_t>(known_.size()));
    for (const MetricSummary& metric : catalog().metrics(run_.id)) {
      EXPECT_EQ(metric.count, counted);
      if (!known_.empty()) {
        EXPECT_EQ(metric.last, known_.rbegin()->second.value);
      }
    }
  }
  /// Each place is in one block or row, and no row is within a block.
  void expect_order() {
    EXPECT_EQ(query("SELECT count(*) FROM block AS a JOIN block AS b ON a.series = b.series AND "
                    "a.id <> b.id AND (b.first_epoch, b.first_step) BETWEEN (a.first_epoch, "
                    "a.first_step) AND (a.last_epoch, a.last_step)"),
              0);
    EXPECT_EQ(query("SELECT count(*) FROM block JOIN value ON value.series = block.series AND "
                    "(epoch, step) BETWEEN (first_epoch, first_step) AND (last_epoch, last_step)"),
              0);
  }

  static Key key_of(const Value& value) {
    return {value.place.epoch, value.place.step, value.place.inner, value.ordinal};
  }

  std::map<Key, Value> known_;
  std::int64_t replay_ = 0;
};

TEST_F(SeriesBlocksTest, ManyNumbersAtOnceAreABlockAndFewAreRows) {
  log_epoch(0, 1000);
  EXPECT_EQ(blocks(), 1);
  EXPECT_EQ(rows(), 0);
  log_epoch(1, 3);
  EXPECT_EQ(rows(), 3);
  expect_what_is_known();
}

TEST_F(SeriesBlocksTest, WhatCameOneByOneIsABlockWhenTheRunEnds) {
  for (std::int64_t epoch = 0; epoch < 40; ++epoch) log_epoch(epoch, 1);
  EXPECT_EQ(blocks(), 0);
  catalog().finish_run(run_.id, 1, false, "", {});
  EXPECT_EQ(blocks(), 1);
  EXPECT_EQ(rows(), 0);
  expect_what_is_known();
}

TEST_F(SeriesBlocksTest, WhatComesOneByOneForLongIsABlockBeforeTheRunEnds) {
  constexpr std::int64_t kAtOnce = 8;
  for (std::int64_t first = 0; first < 4096; first += kAtOnce) {
    std::vector<Value> values;
    for (std::int64_t step = first; step < first + kAtOnce; ++step) {
      values.push_back(value_at({0, step, "", 0}, 0.5));
    }
    log(std::move(values));
  }
  EXPECT_EQ(rows(), 1) << "the last step may get more";
  expect_what_is_known();
}

TEST_F(SeriesBlocksTest, StepsOfManyValuesBecomeFewBlocks) {
  constexpr std::int64_t kAtOnce = 18,
                         kOfStep = 7;  // a step begins in one change and ends in another
  for (std::int64_t first = 0; first < 9000; first += kAtOnce) {
    std::vector<Value> values;
    for (std::int64_t i = first; i < first + kAtOnce; ++i) {
      values.push_back(value_at({0, i / kOfStep, "", i % kOfStep}, 0.5));
    }
    log(std::move(values));
  }
  expect_order();
  expect_what_is_known();
  EXPECT_GE(query("SELECT sum(count) FROM block"), 8000);
  EXPECT_EQ(blocks(), 2);
}

TEST_F(SeriesBlocksTest, WhatIsOfOneStepIsTriedAgainWhenThereIsTwiceAsMuch) {
  // As outside of all loops.
  for (std::int64_t first = 0; first < 5000; first += 1000) {
    std::vector<Value> values;
    for (std::int64_t i = first; i < first + 1000; ++i) {
      values.push_back(value_at({-1, -1, "", i}, 0.5));
    }
    log(std::move(values));
  }
  EXPECT_EQ(blocks(), 0);
  catalog().finish_run(run_.id, 1, false, "", {});
  EXPECT_EQ(blocks(), 1);
  EXPECT_EQ(rows(), 0);
  expect_what_is_known();
}

TEST_F(SeriesBlocksTest, ATextAmongThemKeepsItsStepAloneInRows) {
  std::vector<Value> values;
  for (std::int64_t step = 0; step < 60; ++step) {
    values.push_back(value_at({0, step, "", 0}, 0.5));
    if (step == 30) values.push_back(value_at({0, step, "", 1}, "text", ValueType::text));
  }
  log(std::move(values));
  catalog().finish_run(run_.id, 1, false, "", {});
  EXPECT_EQ(blocks(), 2);
  EXPECT_EQ(rows(), 2);
  expect_order();
  expect_what_is_known();
}

TEST_F(SeriesBlocksTest, AnEpochIsFoundByWhateverNumberEqualsIt) {
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) log_epoch(epoch, 20);
  for (const char* two : {"2", "2.0", "4 / 2", "'2'", "20e-1"}) {
    EXPECT_EQ(query(fmt::format("SELECT count(*) FROM every_value WHERE epoch = {}", two)), 20)
        << two;
  }
  for (const char* none : {"2.5", "NULL", "'two'", "x'02'", "1e300", "9e999"}) {
    EXPECT_EQ(query(fmt::format("SELECT count(*) FROM every_value WHERE epoch = {}", none)), 0)
        << none;
  }
}

TEST_F(SeriesBlocksTest, WhatIsReadForAStepOfAStatementTakesOfItsTime) {
  {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) INSERT "
        "INTO series (run, name, path) SELECT (SELECT id FROM run), 'many' || i, '' FROM n");
  }
  Connection made_by_an_attacker(home() / "catalog.db", Connection::Mode::read_only);
  made_by_an_attacker.distrust(std::chrono::milliseconds(20));
  const auto count = made_by_an_attacker(
      "SELECT count(*) FROM series JOIN every_value AS one ON one.series = series.id");
  EXPECT_THROW(count->step(), Damaged);
}

TEST_F(SeriesBlocksTest, EveryBitOfANumberStays) {
  std::vector<Value> values;
  const double odd[] = {NAN, -0.0, INFINITY, -INFINITY, 5e-324, 1.0000000000000002};
  for (std::int64_t step = 0; step < 60; ++step) {
    values.push_back(value_at({0, step, "", 0}, odd[step % 6]));
  }
  log(std::move(values));
  ASSERT_EQ(blocks(), 1);
  std::int64_t step = 0;
  for (const Value& value : catalog().values({.run = run_.id})) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::get<double>(value.value)),
              std::bit_cast<std::uint64_t>(odd[step++ % 6]));
  }
  EXPECT_EQ(step, 60);
}

TEST_F(SeriesBlocksTest, ADamagedBlockIsNamedAndTheIndexMadeAgain) {
  log_epoch(0, 100);
  catalog().finish_run(run_.id, 1, false, "", {});
  store_->impl().database->connection.execute(
      "UPDATE block SET content = CAST(substr(content, 1, length(content) - 20) || x'00' || "
      "substr(content, length(content) - 18) AS BLOB)");
  const CheckReport report = check(*store_, false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().what, ::testing::HasSubstr("values of series"));
  EXPECT_THROW(catalog().values({.run = run_.id}), Damaged);
  EXPECT_TRUE(std::filesystem::exists(home() / "catalog.damaged"));
  store_.reset();
  store_ = open();
  expect_what_is_known();
}

class SeriesHistoriesTest : public SeriesBlocksTest,
                            public ::testing::WithParamInterface<unsigned> {
 protected:
  Scalar any(std::mt19937& random) { return std::uniform_real_distribution<double>(-1, 1)(random); }
};

TEST_P(SeriesHistoriesTest, HaveWhatWasLoggedLastInEachPlace) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most - 1)(random);
  };
  std::int64_t epoch = 1;
  log_epoch(0, 20);
  EXPECT_EQ(blocks(), 1);
  for (int change = 0; change < 40; ++change) {
    std::vector<Value> values;
    switch (below(9)) {
      case 0:
      case 1:
      case 2: {  // on and on, with loops inside now and then
        const std::int64_t steps = below(2) == 0 ? below(12) : below(150);
        const bool deep = below(4) == 0;
        for (std::int64_t step = 0; step < steps; ++step) {
          values.push_back(value_at({epoch, step, deep ? "0" : "", 0}, any(random)));
          if (deep) values.push_back(value_at({epoch, step, "1", 0}, any(random)));
        }
        ++epoch;
        log(std::move(values));
        break;
      }
      case 3:  // again, or in between
        for (std::int64_t i = below(20); i >= 0; --i) {
          values.push_back(value_at({below(epoch + 1), below(160), "", below(2)}, any(random)));
        }
        log(std::move(values));
        break;
      case 4:
        log({value_at({below(epoch + 1), below(160), "", 0}, "text", ValueType::text)});
        break;
      case 5: {
        const std::int64_t in = below(epoch + 1);
        for (std::int64_t i = below(20); i >= 0; --i) {
          values.push_back(value_at({in, below(200), "", 0}, any(random)));
        }
        find(in, std::move(values));
        break;
      }
      case 6:
        epoch = below(epoch + 1);
        resume(epoch);
        break;
      case 7:
        catalog().finish_run(run_.id, 1, false, "", {});
        break;
      default:
        store_.reset();
        store_ = open();
    }
    expect_order();
    if (HasFailure()) FAIL() << "after change " << change;
  }
  expect_what_is_known();
  expect_same_when_made_again(*store_);
}

INSTANTIATE_TEST_SUITE_P(Some, SeriesHistoriesTest, ::testing::Range(0U, 6U));
INSTANTIATE_TEST_SUITE_P(Often, SeriesHistoriesTest, ::testing::Range(6U, 200U));

}  // namespace
}  // namespace flor::store
