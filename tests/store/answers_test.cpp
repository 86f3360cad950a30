// The summary of a name while answers replace each other: it is always that of the values that
// stand.
#include "index/question.h"
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

/// Answers to questions of chosen steps, beside those to all steps.
class AnswersToSteps : public SummaryOfAnswersTest {
 protected:
  std::int64_t ask(const std::string& whole, const std::string& steps = "") {
    return replay(steps.empty() ? whole : question_of_steps(whole, steps));
  }
  void answer_steps(std::int64_t replay, std::int64_t epoch, const std::vector<std::int64_t>& steps,
                    ValueVerdict verdict = ValueVerdict::verified) {
    std::vector<Value> values;
    for (const std::int64_t step : steps) {
      Value value;
      value.name = "norm";
      value.place = {"epoch/train", epoch, step, ""};
      value.type = ValueType::real;
      value.value = static_cast<double>(10 * epoch + step);
      value.replay = replay;
      values.push_back(std::move(value));
    }
    ReplayedPart part{.part = epoch, .result = {}};
    part.result.values_found = std::ssize(values);
    part.found = verdict;
    catalog_.add_replayed(run_.id, replay, values, std::vector{part});
  }
  /// "step of replay" of the values that stand in an epoch.
  std::vector<std::string> standing(std::int64_t epoch) const {
    std::vector<std::string> list;
    for (const Value& value : catalog_.values(
             {.run = run_.id, .names = {"norm"}, .first_epoch = epoch, .last_epoch = epoch})) {
      if (value.name != "norm") continue;
      list.push_back(std::to_string(value.place.step) + " of " + std::to_string(value.replay));
    }
    return list;
  }
  std::string of(std::int64_t step, std::int64_t replay) const {
    return std::to_string(step) + " of " + std::to_string(replay);
  }
};

TEST_F(AnswersToSteps, StandBesideEachOther) {
  const std::int64_t one = ask("all", "1"), some = ask("all", "1,4");
  answer_steps(one, 0, {1});
  answer_steps(some, 0, {1, 4});
  EXPECT_EQ(standing(0), (std::vector{of(1, one), of(4, some)}));
  EXPECT_EQ(catalog_.replayed(run_.id, question_of_steps("all", "1")).size(), 1U);
  EXPECT_EQ(catalog_.replayed(run_.id, "all").size(), 0U) << "it answers no other question";
  expect_summary_of_what_stands();
  catalog_.doubt_replay(some, "it differs");
  EXPECT_EQ(standing(0), std::vector{of(1, one)});
  expect_summary_of_what_stands();
}

TEST_F(AnswersToSteps, MakeWayForTheAnswerToAllAndNotTheOtherWayRound) {
  const std::int64_t one = ask("all", "1"), other = ask("all", "2");
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    answer_steps(one, epoch, {1});
    answer_steps(other, epoch, {2});
  }
  const std::int64_t all = ask("all");
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    answer_steps(all, epoch, {0, 1, 2}, ValueVerdict::unverified);
  }
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    EXPECT_EQ(standing(epoch), (std::vector{of(0, all), of(1, all), of(2, all)}));
  }
  expect_summary_of_what_stands();
  const std::int64_t again = ask("all", "0..1");
  answer_steps(again, 3, {0, 1});
  catalog_.verify_replay(again, std::vector<std::int64_t>{3});
  EXPECT_EQ(standing(3), (std::vector{of(0, all), of(1, all), of(2, all)}));
  catalog_.doubt_replay(all, "it differs");
  EXPECT_EQ(standing(3), (std::vector{of(0, again), of(1, again), of(2, other)}));
  EXPECT_EQ(standing(4), (std::vector{of(1, one), of(2, other)})) << "both stand again";
  expect_summary_of_what_stands();
}

TEST_F(AnswersToSteps, OfAnotherProgramAreNotMixedWithIt) {
  const std::int64_t before = ask("old");
  answer_steps(before, 0, {0, 1, 2});
  const std::int64_t now = ask("new", "1");
  answer_steps(now, 0, {1});
  EXPECT_EQ(standing(0), std::vector{of(1, now)});
  catalog_.doubt_replay(now, "it differs");
  EXPECT_EQ(standing(0), (std::vector{of(0, before), of(1, before), of(2, before)}));
  expect_summary_of_what_stands();
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
      for (const Value& value :
           store->catalog().values({.run = run, .names = {}, .others = true})) {
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
          batch.values.push_back({name,
                                  {"epoch/train", epoch, step, ""},
                                  0,
                                  ValueType::real,
                                  double(below(9)),
                                  replay});
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
      std::ranges::copy_if(values, std::back_inserter(found),
                           [&](const Value& value) { return value.place.epoch == part.part; });
      single_.store->catalog().add_replayed(single_.run, replay, found, std::vector{part});
    }
    EXPECT_EQ(many_.state(replays), single_.state(replays));
  }
}

}  // namespace
}  // namespace flor::store
