// Samples of the machine in the store: seen by no question about values that does not name them,
// forgotten as values are, no part of a fork, and small.
#include "index/values/machine.h"
#include "index/values/sql.h"
#include "index/values/value_stream.h"
#include "made_again.h"
#include "store_fixture.h"

#include <cmath>

namespace flor::store::machine_samples_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MachineSamples : public StoreTest {
 protected:
  void sample(std::int64_t epoch, std::int64_t second, double value, const char* name = "cpu") {
    const Value one = machine_value(name, epoch, second, value);
    catalog_.add_values(run_.id, std::span(&one, 1));
  }
  void log(const char* name, std::int64_t epoch) {
    const Value value{.name = name, .place = {"epoch", epoch, -1, ""}, .value = 0.5};
    catalog_.add_values(run_.id, std::span(&value, 1));
  }
  /// "EPOCH:SECOND:NUMBER"
  std::vector<std::string> found(std::int64_t run, const std::string& name = "machine/cpu") const {
    std::vector<std::string> lines;
    for (const Value& value : catalog_.values({.run = run, .names = {name}})) {
      EXPECT_EQ(value.name, name);
      lines.push_back(fmt::format("{}:{}:{}", value.place.epoch, value.place.step,
                                  std::get<double>(value.value)));
    }
    return lines;
  }

  std::shared_ptr<Store> store_ = open();
  Catalog& catalog_ = store_->catalog();
  const Run run_ = catalog_.add_run(new_run());
};

TEST_F(MachineSamples, AreNoMetricsAndNoValuesUnlessAskedFor) {
  sample(-1, 1, 25);
  sample(0, 3, 50);
  log("loss", 0);
  EXPECT_THAT(catalog_.values({.run = run_.id}), SizeIs(1));
  ASSERT_THAT(catalog_.metrics(run_.id), SizeIs(1));
  EXPECT_EQ(catalog_.metrics(run_.id)[0].name, "loss");
  EXPECT_THAT(found(run_.id), ElementsAre("-1:1:25", "0:3:50"));
  EXPECT_THAT(found(run_.id, "flor:machine/cpu"), SizeIs(2));
  EXPECT_THAT(found(run_.id, "machine/gpu0"), IsEmpty());
  EXPECT_THAT(found(run_.id, "cpu"), IsEmpty());
  std::size_t streamed = 0;
  each_value(*store_, {.run = run_.id, .names = {"machine/cpu", "loss"}},
             [&](Value&&) { ++streamed; });
  EXPECT_EQ(streamed, 3u);
}

TEST_F(MachineSamples, GiveWayToAMetricThatTheRunLoggedUnderTheName) {
  sample(0, 3, 50);
  log("machine/cpu", 1);
  EXPECT_THAT(found(run_.id), ElementsAre("1:-1:0.5"));
}

TEST_F(MachineSamples, AfterThePointOfAResumeAreForgotten) {
  sample(-1, 0, 1);
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) sample(epoch, 10 * (epoch + 1), 1);
  Resumption resumption;
  resumption.point.iteration = resumption.point.epoch = 1;
  resumption.point.boundary = true;
  catalog_.resume_run(run_.id, resumption);
  EXPECT_THAT(found(run_.id), ElementsAre("-1:0:1", "0:10:1"));
}

TEST_F(MachineSamples, AreNoPartOfAFork) {
  Progress progress;
  progress.loops.push_back({.ordinal = 0, .name = "epoch", .iterations = 2});
  catalog_.add_progress(run_.id, progress);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    sample(epoch, 10 * epoch, 1);
    log("loss", epoch);
  }
  const Run fork = catalog_.fork_run({.parent = run_.key, .iteration = 1, .epoch = 1}, new_run(),
                                     std::nullopt, {});
  EXPECT_THAT(found(fork.id), IsEmpty());
  EXPECT_THAT(found(run_.id), SizeIs(2));
  EXPECT_THAT(catalog_.values({.run = fork.id}), SizeIs(1));
}

TEST_F(MachineSamples, AreInTheJournalsToo) {
  sample(0, 3, 50);
  sample(-1, 9, 25);
  store_.reset();
  expect_same_when_made_again(home());
  EXPECT_THAT(open()->catalog().values({.run = run_.id, .names = {"machine/cpu"}}), SizeIs(2));
}

/// As a recording writes them: sixteen samples of each measure at once. Ten days of eight measures.
TEST_F(MachineSamples, OfTenDaysAreSmall) {
  constexpr int kSamples = 86'400, kAtOnce = 16, kMeasures = 8;
  catalog_.say_in_journal(run_.id);
  const auto size_of_index = [&] { return std::filesystem::file_size(home() / "catalog.db"); };
  std::minstd_rand random(1);
  std::vector<Value> batch;
  for (int i = 0; i < kSamples; ++i) {
    for (int measure = 0; measure < kMeasures; ++measure) {
      const double noise = static_cast<double>(random()) / static_cast<double>(random.max());
      const double value = std::round(512 * (1 + noise)) / 10.24;  // as coarse as samples are
      batch.push_back(machine_value("cpu" + std::to_string(measure), i / 100, 10 * i,
                                    static_cast<double>(static_cast<float>(value))));
    }
    if (i % kAtOnce == kAtOnce - 1) catalog_.add_values(run_.id, std::exchange(batch, {}));
  }
  store_.reset();
  open()->catalog().values({.run = run_.id, .names = {"machine/cpu0"}});
  RecordProperty("index_bytes", std::to_string(size_of_index()));
  EXPECT_LT(size_of_index(), 4u << 20);
}

}  // namespace
}  // namespace flor::store::machine_samples_test
