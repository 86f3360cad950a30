// Listings: runs that the index preselects are the runs that a look at each of them finds.
#include "choose/asked.h"
#include "cli/fixture.h"
#include "database/sqlite.h"
#include "serve/run_table.h"
#include "support/soon.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <random>

namespace flor::testing {
namespace {

using cli::ListedRun;
using cli::ListingPlan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;

class ListingTest : public CliTest {
 protected:
  /// Runs with metrics and arguments that are numbers, or only look like some, or are none.
  void record_many(int runs) {
    std::mt19937 random(7);
    const auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
    constexpr double kReals[] = {0.1,   0.5,  1,
                                 2,     -3,   0.30000000000000004,
                                 1e300, kNan, std::numeric_limits<double>::infinity()};
    constexpr std::int64_t kIntegers[] = {0, 1, 2, kLarge, kLarge - 1, -7};
    const std::string kTexts[] = {"0.5",  "12abc", "abc", "",     "inf", "-inf", "nan",
                                  "1e-3", "1e400", " 1",  "0x10", "2",   "0"};
    for (int i = 0; i < runs; ++i) {
      store::NewRun start;
      start.experiment = i % 3 == 0 ? "other" : "linear";
      const store::Run run = catalog().add_run(start);
      std::vector<store::Value> values;
      for (const char* name : {"loss", "a:min", "x"}) {
        if (random() % 3 == 0) continue;
        store::Value one = value(name, pick(kReals), 0);
        if (random() % 4 == 0) {
          one.type = store::ValueType::integer;
          one.value = pick(kIntegers);
        } else if (random() % 5 == 0) {
          one.type = store::ValueType::text;
          one.value = pick(kTexts);
        }
        values.push_back(one);
        if (random() % 2 == 0) values.push_back(value(name, pick(kReals), 1));
      }
      catalog().add_values(run.id, values);
      for (const char* name : {"lr", "x", "a"}) {
        if (random() % 3 == 0) continue;
        const bool is_text = random() % 2 == 0;
        catalog().add_argument(run.id, {name, is_text ? "text" : "real",
                                        is_text ? pick(kTexts) : fmt::format("{}", pick(kReals))});
      }
      catalog().finish_run(run.id, 5, i % 2 == 0, "");
    }
  }

  std::vector<std::string> listed(const ListingPlan& plan) {
    std::vector<std::string> keys;
    for (const ListedRun& facts : read_listing(store(), plan, 0)) keys.push_back(facts.run.key);
    return keys;
  }
  /// The same by a look at every run.
  std::vector<std::string> looked_at(ListingPlan plan) {
    const auto where = std::exchange(plan.where, {});
    const std::size_t limit = std::exchange(plan.limit, SIZE_MAX);
    plan.metrics = plan.arguments = true;
    std::vector<ListedRun> runs = read_listing(store(), plan, 0);
    cli::keep_where(runs, where, 0);
    if (runs.size() > limit)
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(limit), runs.end());
    std::vector<std::string> keys;
    for (const ListedRun& facts : runs) keys.push_back(facts.run.key);
    return keys;
  }
};

std::string comparison() {
  const auto column = *rc::gen::element<std::string>("loss", "loss:min", "loss:max", "loss:count",
                                                     "a:min", "a:min:max", "x", "arg:x", "metric:x",
                                                     "lr", "a", "epochs", "status", "experiment");
  const auto op = *rc::gen::element<std::string>("=", "!=", "<", "<=", ">", ">=", "~");
  const auto bound = *rc::gen::element<std::string>(
      "0.1", "0.5", "0", "-1", "1e300", "inf", "-inf", "nan", "abc", "12", "9007199254740992",
      "9007199254740993", "0.3", "0.30000000000000004", "finished", "1e400");
  return column + op + bound;
}

std::string condition(int depth) {
  const int form = depth == 0 ? 0 : *rc::gen::inRange(0, 5);
  switch (form) {
    case 1:
      return fmt::format("({}) or ({})", condition(depth - 1), condition(depth - 1));
    case 2:
      return fmt::format("not ({})", condition(depth - 1));
    case 3:
    case 4:
      return fmt::format("({}) and ({})", condition(depth - 1), condition(depth - 1));
    default:
      return comparison();
  }
}

TEST_F(ListingTest, WhatTheIndexPreselectsIsWhatALookAtEachRunFinds) {
  record_many(160);
  std::size_t found = 0;
  EXPECT_TRUE(rc::check([&] {
    ListingPlan plan;
    plan.where = {condition(3)};
    if (*rc::gen::arbitrary<bool>()) plan.where.push_back(comparison());
    if (*rc::gen::arbitrary<bool>()) plan.experiment = "linear";
    if (*rc::gen::arbitrary<bool>()) plan.limit = *rc::gen::inRange<std::size_t>(0, 20);
    if (*rc::gen::arbitrary<bool>()) plan.sample = *rc::gen::inRange<std::size_t>(1, 60);
    const auto keys = listed(plan);
    found += keys.size();
    RC_ASSERT(keys == looked_at(plan));
  }));
  EXPECT_GT(found, 100u) << "conditions that nothing meets show little";
}

TEST_F(ListingTest, ANameThatIsAMetricOfOneRunAndAnArgumentOfAnotherIsEachRunsOwn) {
  RunPlan plan;
  plan.arguments = {{"lr", "real", "30"}};
  const store::Run argument = record(plan);
  plan.arguments = {};
  const store::Run metric = record(plan);
  catalog().add_values(metric.id, std::vector{value("lr", 30, 0)});
  plan.arguments = {{"lr", "real", "1"}};
  record(plan);
  EXPECT_THAT(flor({"list", "-q", "--where", "lr=30"}).lines(),
              ElementsAre(metric.key, argument.key));
  EXPECT_THAT(flor({"list", "-q", "--where", "arg:lr=30"}).lines(), ElementsAre(argument.key));
  EXPECT_THAT(flor({"list", "-q", "--where", "metric:lr=30"}).lines(), ElementsAre(metric.key));
  const auto lines = flor({"list", "-c", "lr"}).lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[2], HasSubstr("30"));
  EXPECT_THAT(lines[3], HasSubstr("30"));
}

TEST_F(ListingTest, ATableShowsTheNewestThousandUnlessMoreAreAskedFor) {
  store::NewRun start;
  start.experiment = "many";
  catalog().add_run(start);
  // In the index alone, which is what a listing reads.
  store::Connection(home() / "catalog.db", store::Connection::Mode::existing)
      .execute(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001) INSERT "
          "INTO run (key, experiment, started_us, version, repository, directory, program, "
          "program_digest, command, environment) SELECT printf('%016x', i), experiment, 0, '', '', "
          "'', '', '', '[]', environment FROM n, run");
  const Outcome outcome = flor({"list"});
  EXPECT_THAT(outcome.lines(), SizeIs(1001));
  EXPECT_EQ(outcome.err,
            "flor: 1000 runs are shown, and there are older ones: --all shows every run\n");
  EXPECT_THAT(flor({"list", "-n", "1001"}).lines(), SizeIs(1002));
  EXPECT_THAT(flor({"list", "--all"}).err, IsEmpty());
  EXPECT_THAT(flor({"list", "--all"}).lines(), SizeIs(1003));
  EXPECT_THAT(flor({"list", "--where", "status!=finished"}).lines(), SizeIs(1001));
  EXPECT_THAT(flor({"list", "-q"}).lines(), SizeIs(1002)) << "for scripts, which miss no run";
  EXPECT_THAT(flor({"list", "--json"}).json()["runs"], SizeIs(1002));
}

TEST_F(ListingTest, APageOfManyRunsShowsTheNewestBeforeAllAreRead) {
  std::vector<std::string> keys;
  for (int i = 0; i < 21; ++i) {
    store::NewRun start;
    start.experiment = "many";
    keys.push_back(catalog().add_run(start).key);
  }
  cli::RunTable few(store(), 21);
  EXPECT_EQ(few.rows({})["runs"], 21);
  cli::RunTable table(store(), 20);
  const Json first = table.rows({});
  ASSERT_EQ(first["rows"].size(), 2u);
  EXPECT_EQ(first["rows"][0]["id"], keys.back());
  EXPECT_TRUE(soon([&] { return table.rows({})["runs"] == 21; }));
  EXPECT_EQ(table.rows({.search = keys.front()})["found"], 1);
}

TEST_F(ListingTest, ATextIsNeitherLessNorGreaterThanANumber) {
  RunPlan plan;
  plan.arguments = {{"optimizer", "text", "12abc"}};
  record(plan);
  EXPECT_THAT(flor({"list", "-q", "--where", "optimizer<2"}).lines(), IsEmpty());
  EXPECT_THAT(flor({"list", "-q", "--where", "optimizer>2"}).lines(), IsEmpty());
  EXPECT_THAT(flor({"list", "-q", "--where", "optimizer=12abc"}).lines(), SizeIs(1));
}

}  // namespace
}  // namespace flor::testing
