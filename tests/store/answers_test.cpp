// The summary of a name while answers replace each other: it is always that of the values that
// stand.
#include "store_fixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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

/// Two stores that hear the same: one of many epochs at once, the other of each by itself.
class AnswersOfManyEpochs : public StoreTest {
 protected:
  struct Side {
    std::shared_ptr<Store> store;
    std::int64_t run = store->catalog().add_run(new_run()).id;

    std::int64_t replay(const std::string& question) const {
      NewReplay start;
      start.run = run;
      start.question = question;
      return store->catalog().add_replay(start);
    }
    /// What stands and what is set apart, and which epochs count as answered by whom.
    std::string state(const std::vector<std::int64_t>& replays) const {
      std::string text;
      for (const Value& value : store->catalog().values({.run = run, .names = {}, .others = true})) {
        text += value.name + " " + std::to_string(value.place.epoch) + "." +
                std::to_string(value.place.step) + " of " + std::to_string(value.replay) + " " +
                std::string(to_string(value.verdict)) + " " +
                std::to_string(std::get<double>(value.value)) + "\n";
      }
      for (const MetricSummary& metric : store->catalog().metrics(run)) {
        text += metric.name + ": " + std::to_string(metric.count) + " from " +
                std::to_string(metric.minimum) + " to " + std::to_string(metric.maximum) + "\n";
      }
      for (const std::int64_t replay : replays) {
        text += "answered by " + std::to_string(replay) + ":";
        for (const ReplayedPart& part : store->catalog().replayed_by(replay)) {
          text += " " + std::to_string(part.part);
        }
        text += "\n";
      }
      return text;
    }
  };

  struct Batch {
    std::vector<Value> values;
    std::vector<ReplayedPart> parts;
  };
  Batch batch(std::int64_t replay) {
    constexpr std::array kVerdicts = {ValueVerdict::verified, ValueVerdict::proven,
                                      ValueVerdict::unverified, ValueVerdict::doubtful};
    Batch batch;
    const int first = below(20), count = 1 + below(30);
    const auto usual = static_cast<std::size_t>(below(4));
    for (int epoch = first; epoch < first + count; ++epoch) {
      if (below(15) == 0) continue;
      ReplayedPart part{.part = epoch, .result = {}};
      part.found = kVerdicts.at(below(8) == 0 ? static_cast<std::size_t>(below(4)) : usual);
      for (const char* name : {"norm", "rate"}) {
        for (int step = below(3); step >= 0; --step) {
          batch.values.push_back({name, {"epoch/train", epoch, step, ""}, 0, ValueType::real,
                                  double(below(9)), replay});
          ++part.result.values_found;
        }
      }
      batch.parts.push_back(part);
    }
    return batch;
  }
  int below(unsigned limit) { return static_cast<int>(random_() % limit); }

  std::mt19937 random_{11};
  Side many_{Store::open(directory_ / "many", OpenMode::create)};
  Side single_{Store::open(directory_ / "single", OpenMode::create)};
};

TEST_F(AnswersOfManyEpochs, ReplaceOthersAsTheyDoOneByOne) {
  std::vector<std::int64_t> replays;
  for (int i = 0; i < 6; ++i) {
    const std::string question = i % 2 == 0 ? "asked" : "asked otherwise";
    replays.push_back(many_.replay(question));
    ASSERT_EQ(single_.replay(question), replays.back());
  }
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const std::int64_t replay = replays[static_cast<std::size_t>(below(6))];
    const auto [values, parts] = batch(replay);
    many_.store->catalog().add_replayed(many_.run, replay, values, parts);
    for (const ReplayedPart& part : parts) {
      std::vector<Value> found;
      std::ranges::copy_if(values, std::back_inserter(found), [&](const Value& value) {
        return value.place.epoch == part.part;
      });
      single_.store->catalog().add_replayed(single_.run, replay, found, std::vector{part});
    }
    EXPECT_EQ(many_.state(replays), single_.state(replays));
  }
}

}  // namespace
}  // namespace flor::store
