// What waits for the catalog: a write that fails takes nothing away, and what is written waits no
// longer.
#include "record/outbox.h"
#include "support/temporary_directory.h"

#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

store::Value number(std::int64_t epoch, double value) {
  store::Value made;
  made.name = "loss";
  made.place.epoch = epoch;
  made.value = value;
  return made;
}

LoggedContent content(std::size_t bytes) {
  return {{.name = "image", .type = store::ElementType::u8, .sizes = {}, .bytes = bytes},
          std::vector<std::byte>(bytes)};
}

std::string fail(const LoggedContent&) { throw std::runtime_error("disk full"); }

TEST(ValueOutbox, KeepsWhatCouldNotBeWrittenAndTheOrder) {
  ValueOutbox outbox;
  for (int i = 0; i < 3; ++i) outbox.add(number(i, i));
  EXPECT_THROW(outbox.flush([](auto) { throw std::runtime_error("disk full"); }),
               std::runtime_error);
  EXPECT_FALSE(outbox.empty());
  EXPECT_THAT(outbox.epochs(), ElementsAre(0, 1, 2));
  std::vector<double> written;
  const auto write = [&](std::span<const store::Value> values) {
    for (const store::Value& value : values) written.push_back(std::get<double>(value.value));
  };
  outbox.add(number(3, 3));
  EXPECT_TRUE(outbox.flush(write));
  EXPECT_THAT(written, ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(outbox.empty());
  EXPECT_FALSE(outbox.flush(write)) << "nothing was written";
}

TEST(ValueOutbox, WritesManyInPiecesAndKeepsOnlyWhatIsLeft) {
  ValueOutbox outbox;
  for (int i = 0; i < 250'000; ++i) outbox.add(number(i, i));
  std::size_t written = 0;
  EXPECT_THROW(outbox.flush([&](std::span<const store::Value> values) {
    if (written > 0) throw std::runtime_error("disk full");
    written += values.size();
  }),
               std::runtime_error);
  EXPECT_EQ(outbox.epochs().size(), 250'000 - written);
  EXPECT_EQ(*outbox.epochs().begin(), static_cast<std::int64_t>(written));
}

TEST(ValueOutbox, NumbersNeedNotWaitForContents) {
  ValueOutbox outbox;
  outbox.add(number(1, 1));
  outbox.add(number(2, 2), content(100));
  EXPECT_THROW(outbox.flush_contents(fail), std::runtime_error);
  std::size_t written = 0;
  EXPECT_TRUE(outbox.flush([&](auto values) { written += values.size(); }));
  EXPECT_EQ(written, 1u);
  EXPECT_THAT(outbox.epochs(), ElementsAre(2));
  EXPECT_TRUE(outbox.flush_contents([](const LoggedContent&) { return "reference"; }));
  std::string reference;
  outbox.flush([&](auto values) { reference = std::get<std::string>(values[0].value); });
  EXPECT_EQ(reference, "reference");
  EXPECT_TRUE(outbox.empty());
}

TEST(ValueOutbox, HasRoomUpToABoundAndAgainWhenItWasWritten) {
  ValueOutbox outbox(10'000);
  EXPECT_TRUE(outbox.has_room()) << "for one, however large it is";
  outbox.add(number(0, 0), content(20'000));
  EXPECT_FALSE(outbox.has_room());
  outbox.flush_contents([](const LoggedContent&) { return "reference"; });
  EXPECT_TRUE(outbox.has_room());
  int count = 0;
  for (; outbox.has_room(); ++count) outbox.add(number(count, 0));
  EXPECT_GT(count, 10);
  outbox.flush([](auto) {});
  EXPECT_TRUE(outbox.has_room());
}

class CatalogOutboxTest : public ::testing::Test {
 protected:
  flor::testing::TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ =
      store::Store::open(home_.path(), store::OpenMode::create);
  store::Catalog& catalog_ = store_->catalog();
  std::int64_t run_ = catalog_.add_run(store::NewRun()).id;
};

TEST_F(CatalogOutboxTest, UpdatesAreMadeInOrderAndTheOneThatFailedIsMadeAgain) {
  UpdateOutbox outbox;
  std::vector<int> made;
  bool works = false;
  outbox.add([&](store::Catalog&) { made.push_back(1); });
  outbox.add([&](store::Catalog&) {
    if (!works) throw std::runtime_error("disk full");
    made.push_back(2);
  });
  outbox.add([&](store::Catalog&) { made.push_back(3); });
  EXPECT_THROW(outbox.flush(catalog_), std::runtime_error);
  EXPECT_THAT(made, ElementsAre(1));
  works = true;
  EXPECT_TRUE(outbox.flush(catalog_));
  EXPECT_THAT(made, ElementsAre(1, 2, 3));
  EXPECT_FALSE(outbox.flush(catalog_));
}

TEST_F(CatalogOutboxTest, ProgressThatTheCatalogRefusedIsNotForgotten) {
  ProgressOutbox outbox;
  const auto epoch = [&](std::int64_t i) {
    outbox.put(store::MainLoop{.ordinal = 0, .name = "epoch", .iterations = i + 1});
    outbox.add(store::Iteration{.iteration = i, .seconds = 1});
    outbox.add(store::LoopExecution{.iteration = i, .loop = "train"});
    outbox.put({{0, 0, i, store::StorageReason::every, 0, 0}}, {.every = 1, .iterations = i + 1});
  };
  epoch(0);
  epoch(1);
  constexpr std::int64_t kNoRun = 999;  // a row that its table refuses
  EXPECT_ANY_THROW(outbox.flush(catalog_, kNoRun));
  epoch(2);
  EXPECT_ANY_THROW(outbox.flush(catalog_, kNoRun));
  EXPECT_TRUE(outbox.flush(catalog_, run_));
  EXPECT_FALSE(outbox.flush(catalog_, run_));
  EXPECT_EQ(catalog_.main_loops(run_).at(0).iterations, 3);
  EXPECT_EQ(catalog_.iterations(run_).size(), 3u);
  EXPECT_EQ(catalog_.executions(run_).size(), 3u);
  ASSERT_EQ(catalog_.decisions(run_).size(), 1u);
  EXPECT_EQ(catalog_.decisions(run_)[0].last, 2);
  EXPECT_EQ(catalog_.recording(run_)->iterations, 3);
}

/// What a run has not written down is in the transaction that ends it.
TEST_F(CatalogOutboxTest, ARunEndsWithTheRestOfItsProgressAndItsGapsOrDoesNotEnd) {
  ProgressOutbox outbox;
  outbox.put(store::MainLoop{.ordinal = 0, .name = "epoch", .iterations = 1});
  outbox.add(store::Iteration{.iteration = 0, .seconds = 1});
  const std::vector<store::Gap> gaps = {{2, 3, false, "disk full"}};
  const std::vector<store::Gap> refused = {gaps[0], gaps[0]};
  const auto finish_with = [&](const std::vector<store::Gap>& list) {
    return [&](const store::Progress& progress) {
      catalog_.finish_run(run_, 1, false, "", {{}, progress, list});
    };
  };
  const auto state = [&] { return catalog_.run(run_)->state; };
  EXPECT_ANY_THROW(outbox.hand_on(finish_with(refused)));
  EXPECT_NE(state(), store::RunState::finished);
  EXPECT_THAT(catalog_.iterations(run_), IsEmpty());
  EXPECT_THAT(catalog_.gaps(run_), IsEmpty());
  outbox.hand_on(finish_with(gaps));
  EXPECT_EQ(state(), store::RunState::finished);
  EXPECT_EQ(catalog_.iterations(run_).size(), 1u);
  EXPECT_EQ(catalog_.gaps(run_), gaps);
  EXPECT_EQ(catalog_.run(run_)->degraded, "epochs 2..3 not stored");
  int called = 0;
  outbox.hand_on([&](const store::Progress& progress) {
    ++called;
    EXPECT_TRUE(progress.empty());
  });
  EXPECT_EQ(called, 1) << "also with nothing";
}

}  // namespace
}  // namespace flor::detail
