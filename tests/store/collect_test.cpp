// Collecting garbage: what can be read stays readable, whatever is dropped, and the rest goes.
#include "maintain/collect.h"

#include "collect_fixture.h"
#include "database/store_impl.h"
#include "lock/maintenance_lock.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(CollectTest, NothingIsTakenFromAStoreInWhichEverythingIsNeeded) {
  const auto store = open();
  record(*store, 1, 3);
  const auto before = everything();
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.chunks, 0);
  EXPECT_EQ(report.freed, 0u);
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_EQ(everything(), before);
}

TEST_F(CollectTest, ADroppedRunGivesItsPackBackAndTheOthersStay) {
  const auto store = open();
  const Run dropped = record(*store, 1, 3);
  const std::uint64_t size = bytes_in_packs();
  const Run kept = record(*store, 100, 2);
  store->catalog().drop_run(dropped.id);
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.chunks, 3);
  EXPECT_EQ(report.packs_removed, 1);
  EXPECT_EQ(report.packs_compacted, 0);
  EXPECT_EQ(report.freed, size);
  EXPECT_EQ(packs().size(), 1u);
  EXPECT_EQ(damage(*store), "");
  for (int step = 0; step < 2; ++step) expect_unique(*store, kept, 100, step);
}

TEST_F(CollectTest, ContentThatAnotherRunSharesStays) {
  const auto store = open();
  const Run first = record(*store, 1, 3);
  const Run second = record(*store, 1, 3);
  store->catalog().drop_run(first.id);
  EXPECT_EQ(collect(*store, false).chunks, 0);
  for (int step = 0; step < 3; ++step) expect_unique(*store, second, 1, step);
}

TEST_F(CollectTest, APackThatIsMostlyGarbageIsCompacted) {
  const auto store = open();
  const Run run = record(*store, 1, 10);
  drop(*store, run, 0, 6);
  const std::uint64_t before = bytes_in_packs();
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.chunks, 7);
  EXPECT_EQ(report.packs_compacted, 1);
  EXPECT_EQ(report.bytes_before, before);
  EXPECT_EQ(report.freed, before - bytes_in_packs());
  EXPECT_NEAR(static_cast<double>(bytes_in_packs()), 3 * 50'064 + 32, 1);
  EXPECT_EQ(damage(*store), "");
  EXPECT_THAT(check(*store, true).remarks, IsEmpty());
  for (int step = 7; step < 10; ++step) expect_unique(*store, run, 1, step);
}

TEST_F(CollectTest, APackThatIsMostlyAliveIsLeftAndItsGarbageCounted) {
  const auto store = open();
  const Run run = record(*store, 1, 10);
  drop(*store, run, 0, 2);
  const std::uint64_t before = bytes_in_packs();
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.chunks, 3);
  EXPECT_EQ(report.freed, 0u);
  EXPECT_EQ(report.kept_garbage, 3u * 50'064u);
  EXPECT_EQ(bytes_in_packs(), before);
}

TEST_F(CollectTest, ADryRunChangesNothingAndSaysWhatWouldBeDone) {
  const auto store = open();
  const Run gone = record(*store, 1, 3);
  const Run thinned = record(*store, 50, 10);
  record(*store, 100, 2);
  store->catalog().drop_run(gone.id);
  drop(*store, thinned, 2, 9);
  std::ofstream(flor::testing::place_of_pack(home(), "00000000000000aa")) << "left behind";
  make_old(flor::testing::place_of_pack(home(), "00000000000000aa"));
  const auto before = everything();
  const CollectReport dry = collect(*open(OpenMode::read_only), true);
  EXPECT_EQ(everything(), before);
  const CollectReport real = collect(*store, false);
  EXPECT_EQ(dry.chunks, 11);
  EXPECT_EQ(dry.freed, real.freed);
  EXPECT_EQ(dry.bytes_before, real.bytes_before);
  for (const CollectReport& report : {dry, real}) {
    EXPECT_EQ(report.chunks, 11);
    EXPECT_EQ(report.packs_removed, 1);
    EXPECT_EQ(report.packs_compacted, 1);
    EXPECT_EQ(report.orphans_removed, 1);
  }
}

TEST_F(CollectTest, WhatADifferenceBuildsUponStays) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 5; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 100'000));
    }
  }
  drop(*store, run, 0, 3);
  EXPECT_GT(collect(*store, false).chunks, 0);
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoint(run.id, boundary(4))->id,
               make_snapshot(1, 4, 100'000));
}

TEST_F(CollectTest, LoggedObjectsStay) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const auto bytes = random_bytes(7, 5000);
  const std::string reference =
      CheckpointWriter(*store, run.id).write_object({"x", ElementType::u8, {5000}, 5000}, bytes);
  EXPECT_EQ(collect(*store, false).chunks, 0);
  EXPECT_EQ(read_object(*store, reference).content, bytes);
}

TEST_F(CollectTest, FilesOfKilledWritersAreRemovedOnceTheyAreOld) {
  const auto store = open();
  const auto young = flor::testing::place_of_pack(home(), "0000000000000001");
  const auto old = flor::testing::place_of_pack(home(), "0000000000000002");
  const auto locked = flor::testing::place_of_pack(home(), "0000000000000003");
  for (const auto& path : {young, old, locked}) std::ofstream(path) << "half a record";
  make_old(old);
  make_old(locked);
  const auto owner = own_pack(*store->impl().database, locked);
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.orphans_removed, 1);
  EXPECT_EQ(report.freed, 13u);
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(locked));
}

TEST_F(CollectTest, WhatRanksSharedIsRemovedUnlessTheirRunIsBeingRecorded) {
  const auto store = open();
  const Run killed = record(*store, 1, 1), living = record(*store, 2, 1);
  const auto lock = store->lock_run(living.key);
  for (const Run& run : {killed, living}) std::ofstream(store->rank_board(run.key)) << "board";
  collect(*store, true);
  EXPECT_TRUE(std::filesystem::exists(store->rank_board(killed.key)));
  collect(*store, false);
  EXPECT_FALSE(std::filesystem::exists(store->rank_board(killed.key)));
  EXPECT_TRUE(std::filesystem::exists(store->rank_board(living.key)));
  EXPECT_TRUE(store->lock_run(killed.key)) << "it is free";
}

TEST_F(CollectTest, TheTornTailOfAnOldPackIsCutOff) {
  const auto store = open();
  const Run run = record(*store, 1, 2);
  const auto pack = packs().at(0);
  const std::uint64_t size = std::filesystem::file_size(pack);
  std::ofstream(pack, std::ios::app) << "torn";
  EXPECT_EQ(collect(*store, false).freed, 0u);
  make_old(pack);
  EXPECT_EQ(collect(*store, false).freed, 4u);
  EXPECT_EQ(std::filesystem::file_size(pack), size);
  expect_unique(*store, run, 1, 1);
}

TEST_F(CollectTest, OneCollectsAtATime) {
  const auto store = open();
  const MaintenanceLock lock(*store->impl().database);
  EXPECT_THAT(message_of<Busy>([&] { collect(*store, false); }), HasSubstr("wait for it"));
  collect(*store, true);
}

TEST_F(CollectTest, AStoreThatWasOpenedForReadingIsNotCollected) {
  open();
  const auto store = open(OpenMode::read_only);
  EXPECT_THAT(message_of<Error>([&] { collect(*store, false); }), HasSubstr("for reading only"));
}

/// Whatever was recorded and dropped in whatever order, what was kept is there, and a second
/// collection finds nothing.
TEST(CollectProperty, EveryCheckpointThatIsLeftCanBeRead) {
  rc::check("collect keeps what is referred to", [] {
    const flor::testing::TemporaryDirectory directory;
    const auto store = Store::open(directory / "home", OpenMode::create);
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<unsigned, int>> kept;
    std::vector<std::int64_t> runs;
    std::unique_ptr<CheckpointWriter> writer;
    int next = 0;
    const int length = *rc::gen::inRange(5, 25);
    for (int i = 0; i < length; ++i) {
      const int action = runs.empty() ? 0 : *rc::gen::inRange(0, 10);
      if (action == 0) {
        runs.push_back(store->catalog().add_run(new_run()).id);
        writer = std::make_unique<CheckpointWriter>(*store, runs.back());
      } else if (action <= 5 && writer) {
        const auto seed = *rc::gen::inRange(1u, 4u);
        const int step = *rc::gen::inRange(0, 6);
        writer->write(boundary(next), make_snapshot(seed, step, 3000));
        kept[{runs.back(), next++}] = {seed, step};
      } else if (action <= 7 && !kept.empty()) {
        const auto at = *rc::gen::inRange<std::size_t>(0, kept.size());
        const auto victim = std::next(kept.begin(), static_cast<std::ptrdiff_t>(at));
        const CheckpointKey key = boundary(victim->first.second);
        store->catalog().drop_checkpoints(victim->first.first, std::span(&key, 1));
        kept.erase(victim);
      } else if (action == 8) {
        writer.reset();
      } else {
        collect(*store, false);
      }
    }
    writer.reset();
    collect(*store, false);
    RC_ASSERT(damage(*store) == "");
    for (const auto& [place, content] : kept) {
      const auto info = store->catalog().checkpoint(place.first, boundary(place.second));
      RC_ASSERT(info.has_value());
      expect_holds(*store, info->id, make_snapshot(content.first, content.second, 3000), 1);
    }
    const CollectReport again = collect(*store, false);
    RC_ASSERT(again.chunks == 0);
    RC_ASSERT(again.freed == 0u);
  });
}

}  // namespace
}  // namespace flor::store
