// Logged values on their way: places, ordinals, batches.
#include "session/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>
#include <vector>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;

LogRecord record_at(std::uint32_t name, std::uint32_t path, std::int64_t epoch, std::int64_t step) {
  LogRecord record;
  record.name = name;
  record.path = path;
  record.epoch = epoch;
  record.step = step;
  return record;
}

TEST(Ordinals, CountTheValuesOfOneNameAtOnePlace) {
  Ordinals ordinals;
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 0), ""), 0);
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 0), ""), 1);
  EXPECT_EQ(ordinals.next(record_at(2, 1, 0, 0), ""), 0) << "another name";
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 0), ""), 2) << "in between does not matter";
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 1), ""), 0) << "another step";
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 1), "3"), 0) << "another inner place";
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, 1), "3"), 1);
}

TEST(Ordinals, GoOnOutsideTheLoopsAfterTheLoops) {
  Ordinals ordinals;
  EXPECT_EQ(ordinals.next(record_at(1, 0, -1, -1), ""), 0);
  EXPECT_EQ(ordinals.next(record_at(1, 1, 0, -1), ""), 0);
  EXPECT_EQ(ordinals.next(record_at(1, 0, -1, -1), ""), 1);
}

TEST(Journal, GivesBackWhatWasLoggedInOrderAndOnce) {
  Journal journal;
  journal.add_number("a", store::ValueType::integer, 7);
  journal.add_text("b", store::ValueType::text, "words");
  LoggedContent content;
  content.item.bytes = 1;
  content.content = {std::byte{9}};
  journal.add_content("c", store::ValueType::tensor, std::move(content));
  const LogBatch batch = journal.take();
  ASSERT_EQ(batch.records.size(), 3u);
  EXPECT_EQ(journal.text_of(batch.records[0].name), "a");
  EXPECT_EQ(batch.records[0].bits, 7u);
  EXPECT_EQ(batch.texts[batch.records[1].bits], "words");
  EXPECT_THAT(batch.contents[batch.records[2].bits].content, ElementsAre(std::byte{9}));
  EXPECT_TRUE(journal.take().empty());
}

TEST(Journal, ValuesCarryThePlaceOfTheMomentInWhichTheyWereLogged) {
  Journal journal;
  const auto path = journal.intern("epoch/train");
  journal.move([&](CurrentPlace& place) {
    place.path = path;
    place.epoch = 4;
    place.nested = true;
    place.inner_depth = 2;
  });
  journal.place().step = 5;
  journal.place().inner[0] = 6;
  journal.place().inner[1] = 7;
  journal.add_number("x", store::ValueType::real, std::bit_cast<std::uint64_t>(1.5));
  journal.move([](CurrentPlace& place) { place.suppressed = true; });
  journal.add_number("x", store::ValueType::real, 0);
  const LogBatch batch = journal.take();
  EXPECT_EQ(journal.text_of(batch.records[0].path), "epoch/train");
  EXPECT_EQ(batch.records[0].epoch, 4);
  EXPECT_EQ(batch.records[0].step, 5);
  EXPECT_EQ(batch.texts[batch.records[0].inner], "6,7");
  EXPECT_FALSE(batch.records[0].suppressed);
  EXPECT_TRUE(batch.records[1].suppressed);
}

TEST(Journal, MakesLoggingThreadsWaitRatherThanGrowWithoutEnd) {
  Journal journal;
  std::size_t largest = 0, total = 0;
  std::atomic<bool> done{false};
  std::thread taker([&] {
    while (!done) {
      const std::size_t count = journal.take().records.size();
      largest = std::max(largest, count);
      total += count;
    }
    total += journal.take().records.size();
  });
  constexpr std::size_t kEach = 400000;
  journal.on_full([] {}, [](const std::function<void()>& wait) { wait(); });
  std::vector<std::thread> loggers;
  for (int i = 0; i < 2; ++i) {
    loggers.emplace_back([&] {
      for (std::size_t j = 0; j < kEach; ++j) {
        journal.add_number("x", store::ValueType::integer, j);
      }
    });
  }
  for (auto& logger : loggers) logger.join();
  done = true;
  taker.join();
  EXPECT_EQ(total, 2 * kEach);
  EXPECT_LE(largest, Journal::kPendingMax + 2);
}

}  // namespace
}  // namespace flor::detail
