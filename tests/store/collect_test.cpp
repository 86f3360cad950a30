// Collecting garbage: what can be read stays readable, whatever is dropped, killed or done at once.
#include "codec/decode_scratch.h"
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "lock/maintenance_lock.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "maintain/usage.h"
#include "pack/chunk_reader.h"
#include "pack/pack_writer.h"
#include "store_fixture.h"
#include "support/content.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <map>
#include <optional>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Also dies or fails where a file is removed.
class UnlinkingFilesystem : public FaultyFilesystem {
 public:
  int unlink(const char* path) override {
    ++calls;
    const bool hit = fail_at != 0 && (stays_broken ? calls >= fail_at : calls == fail_at);
    if (!hit) return Filesystem::unlink(path);
    if (fault == Fault::kill) {
      // After the call: before it is the end of the call before.
      Filesystem::unlink(path);
      ::kill(::getpid(), SIGKILL);
    }
    errno = error;
    return -1;
  }
};

/// Content that shares nothing with any other seed.
Snapshot unique(unsigned seed, std::size_t bytes = 50'000) {
  return bytes_snapshot("model/weight", random_bytes(seed, bytes));
}

void make_old(const std::filesystem::path& path) {
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}

class CollectTest : public StoreTest {
 protected:
  /// A run of its own writer, with unique content at boundaries 0, 1, ... `count`.
  Run record(Store& store, unsigned seed, int count) {
    const Run run = store.catalog().add_run(new_run());
    CheckpointWriter writer(store, run.id);
    for (int step = 0; step < count; ++step) {
      writer.write(boundary(step), unique(seed + static_cast<unsigned>(step)));
    }
    return run;
  }

  void drop(Store& store, const Run& run, int first, int last) {
    std::vector<CheckpointKey> keys;
    for (int step = first; step <= last; ++step) keys.push_back(boundary(step));
    store.catalog().drop_checkpoints(run.id, keys);
  }

  void expect_unique(const Store& store, const Run& run, unsigned seed, int step) {
    const auto info = store.catalog().checkpoint(run.id, boundary(step));
    ASSERT_TRUE(info) << step;
    expect_holds(store, info->id, unique(seed + static_cast<unsigned>(step)));
  }

  /// Every pack's name and content, and how many rows there are.
  std::map<std::string, std::string> everything() {
    std::map<std::string, std::string> all;
    for (const auto& path : packs()) all[path.filename()] = testing::content_of(path);
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    for (const std::string table : {"pack", "chunk", "layout", "checkpoint", "object"}) {
      const auto row = connection("SELECT count(*), sum(id) FROM " + table);
      row->step();
      all[table] = row->text(0) + " " + row->text(1);
    }
    return all;
  }
};

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
  std::ofstream(home() / "packs" / "00000000000000aa.pack") << "left behind";
  make_old(home() / "packs" / "00000000000000aa.pack");
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

TEST_F(CollectTest, ThePackOfALivingWriterIsLeftAndTheWriterStoresAgainWhatWasCollected) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 4; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
    }
    drop(*store, run, 0, 3);
    const std::uint64_t before = bytes_in_packs();
    const CollectReport report = collect(*store, false);
    EXPECT_GT(report.chunks, 0);
    EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("is being written")));
    EXPECT_EQ(bytes_in_packs(), before);
    // The same content, whose rows the writer remembers.
    const CheckpointInfo info = writer.write(boundary(4), make_snapshot(1, 3, 20'000));
    expect_holds(*store, info.id, make_snapshot(1, 3, 20'000));
  }
  EXPECT_EQ(collect(*store, false).packs_compacted, 1);
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoint(run.id, boundary(4))->id,
               make_snapshot(1, 3, 20'000));
}

TEST_F(CollectTest, ReadersThatBeganBeforeACompactionGoOn) {
  const auto store = open();
  const Run run = record(*store, 1, 10);
  const auto id = store->catalog().checkpoint(run.id, boundary(9))->id;
  const CheckpointReader closed(*store, id);  // has loaded the rows, but opened no pack
  const CheckpointReader opened(*store, id);
  const auto expected = opened.read(0);
  drop(*store, run, 0, 8);
  ASSERT_EQ(collect(*store, false).packs_compacted, 1);
  EXPECT_EQ(opened.read(0), expected);
  EXPECT_EQ(closed.read(0), expected);
  // And again, for a reader that has moved once.
  CheckpointWriter(*store, run.id).write(boundary(20), unique(20));
  drop(*store, run, 20, 20);
  collect(*store, false);
  EXPECT_EQ(closed.read(0), expected);
}

TEST_F(CollectTest, AReaderOfACheckpointThatWasDroppedIsToldThatThePackIsMissing) {
  const auto store = open();
  const Run run = record(*store, 1, 1);
  const CheckpointReader reader(*store, store->catalog().checkpoint(run.id, boundary(0))->id);
  store->catalog().drop_run(run.id);
  ASSERT_EQ(collect(*store, false).packs_removed, 1);
  EXPECT_THAT(message_of<Damaged>([&] { reader.read(0); }), HasSubstr("is missing"));
}

TEST_F(CollectTest, FilesOfKilledWritersAreRemovedOnceTheyAreOld) {
  const auto store = open();
  const auto young = home() / "packs" / "0000000000000001.pack";
  const auto old = home() / "packs" / "0000000000000002.pack";
  const auto locked = home() / "packs" / "0000000000000003.pack";
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

/// Without room for the copy of anything.
class FullFilesystem : public Filesystem {
 public:
  bool has_holes = true;  ///< whether the file system knows them
  std::uint64_t available(const char*) override { return 0; }
  int punch_hole(int descriptor, off_t offset, off_t size) override {
    if (has_holes) return Filesystem::punch_hole(descriptor, offset, size);
    errno = EOPNOTSUPP;
    return -1;
  }
};

std::uint64_t blocks_of(const std::filesystem::path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST_F(CollectTest, WithoutRoomForACopyTheDeadPartOfAPackGoesWhereItLies) {
  FullFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = record(*store, 1, 20);
  drop(*store, run, 2, 9);
  drop(*store, run, 11, 18);
  const auto pack = packs().at(0);
  const std::uint64_t before = blocks_of(pack), length = std::filesystem::file_size(pack);
  const CollectReport report = collect(*store, false);
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_EQ(report.packs_compacted, 1);
  EXPECT_GE(report.freed, 700'000u);
  EXPECT_LE(blocks_of(pack), before - 700'000);
  EXPECT_EQ(std::filesystem::file_size(pack), length);
  const auto expect_whole = [&] {
    EXPECT_EQ(damage(*store), "");
    for (const int step : {0, 1, 10, 19}) expect_unique(*store, run, 1, step);
  };
  expect_whole();
  const CollectReport again = collect(*store, false);
  EXPECT_EQ(again.packs_compacted, 0) << "there is nothing more to free";
  EXPECT_LE(again.kept_garbage, 64'000u);
  const RepairReport repaired = repair(*store);
  EXPECT_THAT(repaired.dropped, IsEmpty());
  EXPECT_EQ(repaired.restored + repaired.relocated, 0);
  expect_whole();
  store->impl().database->connection.execute("PRAGMA foreign_keys=OFF; DELETE FROM chunk");
  EXPECT_THAT(repair(*store).dropped, IsEmpty()) << "records after holes are found without rows";
  expect_whole();
  const UsageReport used = flor::store::usage(*store);
  EXPECT_LE(used.on_disk, length - 700'000) << "flor du counts no holes";
  drop(*store, run, 0, 19);
  EXPECT_EQ(collect(*store, false).packs_removed, 1);
}

TEST_F(CollectTest, WhoKnewARecordBeforeItWentLearnsThatItWasCollected) {
  FullFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = record(*store, 1, 20);
  ChunkReader early(store->impl().database->paths, files);
  std::vector<std::uint32_t> ids;
  {
    Connection connection(home() / "catalog.db", Connection::Mode::read_only);
    const auto rows = connection("SELECT id FROM chunk ORDER BY id");
    while (rows->step()) ids.push_back(static_cast<std::uint32_t>(rows->integer(0)));
    early.load_rows(connection, ids);
  }
  drop(*store, run, 1, 18);
  ASSERT_EQ(collect(*store, false).packs_compacted, 1);
  int gone = 0;
  DecodeScratch scratch;
  for (const std::uint32_t id : ids) {
    std::vector<std::byte> raw(early.row(id).raw_bytes);
    try {
      early.read(scratch, id, raw);
    } catch (const PackMissing&) {
      ++gone;
    }
  }
  EXPECT_EQ(gone, 18);
}

TEST_F(CollectTest, WhereAFileSystemKnowsNoHolesALineSaysWhatACopyNeeds) {
  FullFilesystem files;
  files.has_holes = false;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = record(*store, 1, 20);
  drop(*store, run, 1, 18);
  const CollectReport report = collect(*store, false);
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("the disk has no room for a copy of the")));
  EXPECT_EQ(report.freed, 0u);
  EXPECT_EQ(damage(*store), "");
}

/// In which the boards of ranks are another user's.
class StickyFilesystem : public Filesystem {
 public:
  int unlink(const char* path) override {
    if (!std::string_view(path).ends_with(".ranks")) return Filesystem::unlink(path);
    errno = EPERM;
    return -1;
  }
};

TEST_F(CollectTest, WhatOnlyItsOwnerMayRemoveIsLeftAndTheCollectionGoesOn) {
  StickyFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run killed = record(*store, 1, 2);
  drop(*store, killed, 0, 0);
  const auto board = store->rank_board(killed.key);
  std::ofstream(board) << "board";
  const CollectReport report = collect(*store, false, 1.0);
  EXPECT_EQ(report.packs_compacted, 1) << "what comes after";
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0], HasSubstr(board.string() + " is left as it is"));
  std::filesystem::remove(board);
  EXPECT_TRUE(std::filesystem::is_empty(home() / "locks")) << "no lock file is left";
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

TEST_F(CollectTest, ADamagedPackIsNotCompacted) {
  const auto store = open();
  const Run run = record(*store, 1, 10);
  drop(*store, run, 1, 9);
  const auto pack = packs().at(0);
  {
    std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('x').put('y');
  }
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.packs_compacted, 0);
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("flor fsck --repair")));
  EXPECT_EQ(report.refused, 1);
  EXPECT_THAT(packs(), ElementsAre(pack));
}

/// In which one file is another user's.
class StubbornFilesystem : public Filesystem {
 public:
  std::string stays;
  int unlink(const char* path) override {
    if (path != stays) return Filesystem::unlink(path);
    errno = EPERM;
    return -1;
  }
};

TEST_F(CollectTest, APackThatCannotBeRemovedDoesNotKeepTheOthersFromBeingFreed) {
  StubbornFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  for (unsigned seed = 1; seed < 400; seed += 100) {
    drop(*store, record(*store, seed, 10), seed < 200 ? 0 : 1, 9);
  }
  files.stays = packs().at(0).string();
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.refused, 1);
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("cannot remove " + files.stays)));
  EXPECT_EQ(report.packs_removed + report.packs_compacted, 3);
  EXPECT_EQ(damage(*store), "");
  files.stays.clear();
  for (const auto& pack : packs()) make_old(pack);
  collect(*store, false);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(packs().size(), 1u) << "what was copied of two lies in one";
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

class CollectFaultTest : public CollectTest {
 protected:
  /// Three runs: one to be removed, one to be compacted, one to stay.
  void build() {
    const auto store = open();
    std::filesystem::remove_all(home() / "packs");
    std::filesystem::create_directory(home() / "packs");
    for (const Run& run : store->catalog().runs()) store->catalog().drop_run(run.id);
    store->impl().database->connection.execute("DELETE FROM chunk; DELETE FROM pack");
    const Run gone = record(*store, 1, 3);
    thinned_ = record(*store, 50, 10);
    kept_ = record(*store, 100, 2);
    store->catalog().drop_run(gone.id);
    drop(*store, thinned_, 2, 9);
  }

  void expect_everything(const Store& store, int call) {
    EXPECT_EQ(damage(store), "") << "call " << call;
    for (int step = 0; step < 2; ++step) {
      expect_unique(store, thinned_, 50, step);
      expect_unique(store, kept_, 100, step);
    }
  }

  Run thinned_, kept_;
};

TEST_F(CollectFaultTest, KilledAtEveryCallNothingIsLostAndTheNextCollectionFinishes) {
  int kills = 0;
  for (int n = 1;; ++n, ++kills) {
    ASSERT_LT(n, 100);
    build();
    const pid_t child = start_process([&] {
      UnlinkingFilesystem files;
      const auto store = Store::Impl::open(home(), OpenMode::existing, files);
      files.heal();
      files.fault = FaultyFilesystem::Fault::kill;
      files.fail_at = n;
      collect(*store, false);
      return 0;
    });
    const int status = wait_for(child);
    const auto store = open();
    expect_everything(*store, n);
    for (const auto& pack : packs()) make_old(pack);
    collect(*store, false);
    expect_everything(*store, n);
    EXPECT_EQ(packs().size(), 2u) << "call " << n;
    EXPECT_EQ(collect(*store, false).freed, 0u);
    if (status == 0) break;
    ASSERT_EQ(status, -SIGKILL);
  }
  EXPECT_GE(kills, 7);  // lock, removal, create, sync of the directory, write, sync, removal
}

TEST_F(CollectFaultTest, OnAFailingDiskNothingIsLostAndWhatIsNotDoneIsSaid) {
  for (const auto& [error, stays] : {std::pair(EIO, false), {ENOSPC, true}}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 100);
      build();
      UnlinkingFilesystem files;
      files.error = error;
      files.stays_broken = stays;
      bool said = false;
      {
        const auto store = Store::Impl::open(home(), OpenMode::existing, files);
        files.heal();
        files.fail_at = n;
        try {
          const CollectReport report = collect(*store, false);
          said = report.refused > 0;
          EXPECT_LE(static_cast<std::size_t>(report.refused), report.remarks.size());
        } catch (const Error&) {
          said = true;
        }
      }
      EXPECT_TRUE(said || error == ENOSPC || !files.has_failed()) << "call " << n;
      const auto store = open();
      expect_everything(*store, n);
      collect(*store, false);
      expect_everything(*store, n);
      if (!files.has_failed()) break;
    }
  }
}

TEST_F(CollectTest, WhileOthersRecordReadAndCheckNobodyNoticesIt) {
  constexpr int kRecorders = 2;
  constexpr int kSteps = 60;
  const auto store = open();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kRecorders; ++i) {
    children.push_back(start_process([&, i] {
      const auto mine = open();
      const Run run = mine->catalog().add_run(new_run());
      std::unique_ptr<CheckpointWriter> writer;
      for (int step = 0; step < kSteps; ++step) {
        // A new pack every so often, and content that comes back after it was dropped.
        if (step % 7 == 0) writer = std::make_unique<CheckpointWriter>(*mine, run.id);
        const Snapshot snapshot = make_snapshot(1 + i % 2, step % 9, 10'000);
        const CheckpointInfo info = writer->write(boundary(step), snapshot);
        if (step >= 4) drop(*mine, run, step - 4, step - 4);
        expect_holds(*mine, info.id, snapshot, 1);
      }
      return ::testing::Test::HasFailure() ? 1 : 0;
    }));
  }
  const pid_t checker = start_process([&] {
    const auto mine = open(OpenMode::read_only);
    for (int i = 0; i < 25; ++i) {
      if (const std::string found = damage(*mine); !found.empty()) {
        std::fprintf(stderr, "%s\n", found.c_str());
        return 1;
      }
    }
    return 0;
  });
  std::int64_t chunks = 0, given_back = 0;
  int status = 0;
  for (std::size_t ended = 0; ended < children.size();) {
    const CollectReport report = collect(*store, false);
    chunks += report.chunks;
    given_back += report.packs_removed + report.packs_compacted;
    if (::waitpid(children[ended], &status, WNOHANG) == 0) continue;
    EXPECT_EQ(status, 0);
    ++ended;
  }
  EXPECT_EQ(wait_for(checker), 0);
  EXPECT_GT(chunks, 0);
  EXPECT_GT(given_back, 0);
  collect(*store, false);
  EXPECT_EQ(damage(*store), "");
  for (const Run& run : store->catalog().runs()) {
    EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 4u);
  }
}

/// Collects a chunk each time that a pack is opened.
class CollectingFilesystem : public Filesystem {
 public:
  explicit CollectingFilesystem(std::filesystem::path catalog) : catalog_(std::move(catalog)) {}
  bool armed = false;
  int collected = 0;

  int open(const char* path, int flags, mode_t mode) override {
    if (armed && std::string_view(path).ends_with(".pack")) {
      Connection connection(catalog_, Connection::Mode::existing);
      const auto row = connection("DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk)");
      row->run();
      collected += static_cast<int>(row->changes());
    }
    return Filesystem::open(path, flags, mode);
  }

 private:
  std::filesystem::path catalog_;
};

TEST_F(CollectTest, DamageOfAPackIsToldThoughSomeOfWhatItHeldIsCollectedMeanwhile) {
  CollectingFilesystem files(home() / "catalog.db");
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 8; ++step) {
      writer.write(boundary(step), unique(static_cast<unsigned>(step)));
    }
  }
  for (const auto& pack : std::filesystem::directory_iterator(home() / "packs")) {
    std::filesystem::resize_file(pack.path(), 4096);
  }
  files.armed = true;
  const std::string found = damage(*store, false);
  files.armed = false;
  EXPECT_GE(files.collected, 3);
  EXPECT_THAT(found, ::testing::HasSubstr("is cut off"));
}

}  // namespace
}  // namespace flor::store
