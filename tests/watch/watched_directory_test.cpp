// The directory of a watch that is started before its training.
#include "watch/directory_watch.h"

#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace flor::cli {
namespace {

TEST(WatchedDirectory, IsMadeByOneOfSeveralWatchesThatStartAtOnce) {
  constexpr int kWatches = 4, kRounds = 200;
  const testing::TemporaryDirectory scratch;
  std::atomic<int> made = 0, refused = 0;
  std::barrier start(kWatches);
  const auto watch = [&] {
    for (int round = 0; round < kRounds; ++round) {
      start.arrive_and_wait();
      try {
        made += make_watched_directory(scratch / std::to_string(round) / "runs" / "mine") ? 1 : 0;
      } catch (const Error&) {
        ++refused;
      }
    }
  };
  {
    std::vector<std::jthread> watches;
    for (int i = 0; i < kWatches; ++i) watches.emplace_back(watch);
  }
  EXPECT_EQ(refused, 0);
  EXPECT_LE(made, kRounds);
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(std::filesystem::is_directory(scratch / std::to_string(round) / "runs" / "mine"));
  }
}

TEST(WatchedDirectory, InThePlaceOfAFileIsRefused) {
  const testing::TemporaryDirectory scratch;
  std::ofstream(scratch / "runs") << "no directory";
  EXPECT_THROW(make_watched_directory(scratch / "runs"), NotFound);
  EXPECT_THROW(make_watched_directory(scratch / "runs" / "below"), NotFound);
}

}  // namespace
}  // namespace flor::cli
