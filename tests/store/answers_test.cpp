// The summary of a name while answers replace each other: it is always that of the values that
// stand.
#include "store_fixture.h"

#include <array>
#include <cmath>
#include <random>

namespace flor::store {
namespace {

class SummaryOfAnswersTest : public StoreTest {
 protected:
  std::int64_t replay(const std::string& question) {
    NewReplay start;
    start.run = run_.id;
    start.question = question;
    return catalog_.add_replay(start);
  }
  void answer(std::int64_t replay, std::int64_t epoch, std::vector<double> found,
              ValueVerdict verdict) {
    std::vector<Value> values;
    for (const double number : found) {
      Value value;
      value.name = "norm";
      value.place = {"epoch/train", epoch, static_cast<std::int64_t>(values.size()), ""};
      value.type = ValueType::real;
      value.value = number;
      value.replay = replay;
      values.push_back(std::move(value));
    }
    ReplayedPart part{.part = epoch, .result = {}};
    part.result.values_found = static_cast<std::int64_t>(found.size());
    part.found = verdict;
    catalog_.add_replayed(run_.id, replay, values, std::vector{part});
  }
  void expect_summary_of_what_stands() const {
    double least = INFINITY, greatest = -INFINITY, last = NAN;
    std::int64_t count = 0;
    for (const Value& value : catalog_.values({.run = run_.id, .names = {"norm"}})) {
      if (value.name != "norm") continue;
      last = std::get<double>(value.value);
      least = std::min(least, last);
      greatest = std::max(greatest, last);
      ++count;
    }
    for (const MetricSummary& metric : catalog_.metrics(run_.id)) {
      if (metric.name != "norm") continue;
      EXPECT_EQ(metric.count, count);
      EXPECT_EQ(metric.minimum, least);
      EXPECT_EQ(metric.maximum, greatest);
      EXPECT_EQ(std::get<double>(metric.last), last);
      return;
    }
    EXPECT_EQ(count, 0);
  }

  std::shared_ptr<Store> store_ = open();
  Catalog& catalog_ = store_->catalog();
  const Run run_ = catalog_.add_run(new_run());
};

TEST_F(SummaryOfAnswersTest, ASummaryIsAlwaysThatOfTheValuesThatStand) {
  std::mt19937 random(7);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  std::vector<std::int64_t> replays;
  for (int i = 0; i < 8; ++i) replays.push_back(replay(i % 2 == 0 ? "asked" : "asked otherwise"));
  constexpr std::array kVerdicts = {ValueVerdict::verified, ValueVerdict::proven,
                                    ValueVerdict::unverified};
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    std::vector<double> found;
    for (int i = below(4); i >= 0; --i) found.push_back(below(5) - 2);
    answer(replays[static_cast<std::size_t>(below(8))], below(6), found,
           kVerdicts[static_cast<std::size_t>(below(3))]);
    expect_summary_of_what_stands();
  }
}

}  // namespace
}  // namespace flor::store
