// A disk without a free byte: what frees space still works. On a file system in memory of the
// test's own where it may mount one, and by a quota that is taken over at link time elsewhere.
#include "behind.h"
#include "database/reserve.h"
#include "database/sqlite.h"
#include "file/filesystem.h"
#include "file/paths.h"
#include "index/catalog/checkpoint_rows.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "retention/retention.h"
#include "store_fixture.h"
#include "support/disk.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace flor::store::full_disk_test {
namespace {

using flor::testing::Disk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kStateBytes = 256 << 10;

class FullDisk : public StoreTest {
 protected:
  void TearDown() override {
    Disk::heal();
    if (!mounted_.empty()) ::umount2(mounted_.c_str(), MNT_DETACH);
  }

  /// A file system of the test's own; empty where the user may mount none.
  std::filesystem::path mounted(const char* options) {
    const std::filesystem::path disk = home() / "disk";
    std::filesystem::create_directories(disk);
    if (::mount("flor-test", disk.c_str(), "tmpfs", 0, options) != 0) return {};
    return mounted_ = disk;
  }
  static void fill(const std::filesystem::path& disk) {
    std::ofstream filler(disk / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
    ASSERT_EQ(Filesystem::system().available(disk.c_str()), 0u);
  }

  static Snapshot state(unsigned run, int step) {
    const unsigned seed = 1000 * run + static_cast<unsigned>(step);
    return bytes_snapshot("model", random_bytes(seed, kStateBytes));
  }
  /// A run of forty epochs with 10 MiB of checkpoints.
  static Run record(Store& store, unsigned number, int epochs = 40) {
    const Run run = store.catalog().add_run(new_run(fmt_name(number)));
    CheckpointWriter writer(store, run.id);
    Progress progress;
    for (int step = 1; step <= epochs; ++step) {
      writer.write(boundary(step), state(number, step));
      progress.iterations.push_back({0, step - 1, 1, 0});
    }
    progress.loops.push_back({0, "epoch", 0, epochs, true, false});
    store.catalog().add_progress(run.id, progress);
    store.catalog().finish_run(run.id, run.start.started_us + 1, false, "");
    return run;
  }
  static std::string fmt_name(unsigned number) { return "run" + std::to_string(number); }

  static std::uint64_t bytes_in(const std::filesystem::path& directory) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }

  /// The same without the holes.
  static std::uint64_t bytes_on_disk(const std::filesystem::path& directory) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      bytes += File(Filesystem::system(), entry.path(), O_RDONLY).size_on_disk();
    }
    return bytes;
  }

  /// `fill` leaves no byte. After it keep, gc and repair do their work, and lose nothing.
  void expect_frees(const std::filesystem::path& home, const std::function<void()>& fill) {
    {
      const auto store = Store::open(home, OpenMode::create);
      record(*store, 1);
      record(*store, 2);
    }
    ASSERT_TRUE(std::filesystem::exists(home / "reserve") ||
                Filesystem::system().available(home.c_str()) < 2 * kReserveBytes);
    if (!std::filesystem::exists(home / "reserve")) {
      std::ofstream(home / "reserve") << std::string(kReserveBytes, 'x');
    }
    const std::uint64_t before = bytes_on_disk(home / "packs");
    fill();
    const auto store = Store::open(home, OpenMode::freeing);
    const Run first = store->catalog().resolve("run1"), second = store->catalog().resolve("run2");
    EXPECT_EQ(retain(*store, first.id, {.last = 1}, Sizes::weighed).deleted, 39);
    const CollectReport report = collect(*store, false);
    EXPECT_THAT(report.remarks, IsEmpty());
    EXPECT_EQ(report.checkpoints, 39);
    EXPECT_GE(report.freed, 9 * kMiB);
    EXPECT_LE(bytes_on_disk(home / "packs"), before - 9 * kMiB);
    std::printf("freed %.1f MiB of %.1f\n", static_cast<double>(report.freed) / kMiB,
                static_cast<double>(before) / kMiB);
    EXPECT_EQ(damage(*store), "");
    const auto kept = store->catalog().checkpoint(first.id, boundary(40));
    ASSERT_TRUE(kept);
    expect_holds(*store, kept->id, state(1, 40));
    EXPECT_EQ(store->catalog().checkpoints(second.id).size(), 40u);
    EXPECT_THAT(repair(*store).dropped, IsEmpty());
  }

  std::filesystem::path mounted_;
};

TEST_F(FullDisk, KeepAndGcFreeSpaceOnAFileSystemWithoutAFreeByte) {
  const std::filesystem::path disk = mounted("size=25m");
  if (disk.empty()) GTEST_SKIP() << "this user may not mount a file system";
  expect_frees(disk / "home", [&] { fill(disk); });
}

/// As a training leaves it: what is to stay lies in the one pack in which all the rest lies, and a
/// copy of it has no room, reserve or not.
TEST_F(FullDisk, GcFreesSpaceOfTheOnePackThatThereIsThoughNothingCanBeCopied) {
  const std::filesystem::path disk = mounted("size=16m");
  if (disk.empty()) GTEST_SKIP() << "this user may not mount a file system";
  {
    const auto store = Store::open(disk / "home", OpenMode::create);
    record(*store, 1);
  }
  fill(disk);
  const auto store = Store::open(disk / "home", OpenMode::freeing);
  const Run run = store->catalog().resolve("run1");
  EXPECT_EQ(retain(*store, run.id, {.last = 10}, Sizes::weighed).deleted, 30);
  EXPECT_EQ(damage(*store), "");
  EXPECT_GE(collect(*store, false).freed, 7 * kMiB);
  EXPECT_GE(Filesystem::system().available(disk.c_str()), 7 * kMiB - kReserveBytes);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 10u);
  const auto kept = store->catalog().checkpoint(run.id, boundary(35));
  ASSERT_TRUE(kept);
  expect_holds(*store, kept->id, state(1, 35));
}

TEST_F(FullDisk, KeepAndGcFreeSpaceWhereTheQuotaIsUsedUp) {
  std::filesystem::create_directories(home());
  expect_frees(home(), [&] { Disk::limit(home(), bytes_in(home())); });
}

/// Packs of which a part is alive: of those whose copy has no room the dead part goes where it
/// lies.
TEST_F(FullDisk, APackIsCopiedOnlyWhereTheCopyFits) {
  const auto store = open();
  const Run large = record(*store, 1), small = record(*store, 2, 6);
  retain(*store, large.id, {.last = 18}, Sizes::weighed);
  retain(*store, small.id, {.last = 1}, Sizes::weighed);
  // Room for a copy of one checkpoint, not of eighteen; the small pack frees less than is missing.
  Disk::limit(home(), bytes_in(home()) + kMiB);
  const CollectReport report = collect(*store, false);
  EXPECT_EQ(report.packs_compacted, 2);
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_GE(report.freed, 6 * kMiB);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(store->catalog().checkpoints(large.id).size(), 18u);
  Disk::heal();
  EXPECT_EQ(collect(*store, false).packs_compacted, 0);
  EXPECT_EQ(damage(*store), "");
}

/// What is to be written takes more than the reserve: the rows of 12,000 checkpoints that go.
class FullOfRows : public FullDisk {
 protected:
  static constexpr int kRows = 12'000;

  /// As checkpoint 1, which has a chunk of its own, in packs that no other checkpoint needs.
  static void multiply(const std::filesystem::path& home, std::int64_t run) {
    Connection catalog(home / "catalog.db", Connection::Mode::existing);
    Transaction transaction(catalog);
    catalog(
        "INSERT INTO checkpoint (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
        "stored_bytes, digest, layout, chunks) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
        "+ 1 FROM n WHERE i < ?2) SELECT run, 1, main_loop, (i - 1) * 39 / ?2, hex(zeroblob(100)) "
        "|| i, "
        "created_us, raw_bytes, stored_bytes, digest, layout, chunks FROM checkpoint, n WHERE run "
        "= ?1 AND kind = 0 AND iteration = 1",
        run, kRows)
        ->run();
    recount_checkpoints(catalog, run);
    transaction.commit();
  }
  /// `fill` leaves no byte.
  void expect_all_goes(const std::filesystem::path& home, const std::function<void()>& fill) {
    {
      const auto store = Store::open(home, OpenMode::create);
      multiply(home, record(*store, 1).id);
      record(*store, 2);
    }
    ASSERT_EQ(std::filesystem::file_size(home / "reserve"), kReserveBytes);
    fill();
    const auto store = Store::open(home, OpenMode::freeing);
    const Run first = store->catalog().resolve("run1"), second = store->catalog().resolve("run2");
    const RetentionReport kept = retain(*store, first.id, {.last = 1}, Sizes::weighed);
    EXPECT_EQ(kept.deleted, 39);
    EXPECT_EQ(kept.left, 0);
    EXPECT_EQ(store->catalog().checkpoints(first.id).size(), 1u);
    const CollectReport report = collect(*store, false);
    EXPECT_EQ(report.checkpoints, kRows + 39);
    EXPECT_GE(report.freed, 9 * kMiB);
    EXPECT_GE(report.bytes_before, report.freed);
    EXPECT_EQ(damage(*store), "");
    EXPECT_EQ(store->catalog().checkpoints(second.id).size(), 40u);
  }
};

TEST_F(FullOfRows, KeepAndGcDoInPartsWhatTheReserveHasNoRoomFor) {
  const std::filesystem::path disk = mounted("size=64m");
  if (disk.empty()) GTEST_SKIP() << "this user may not mount a file system";
  expect_all_goes(disk / "home", [&] { fill(disk); });
}

TEST_F(FullOfRows, KeepAndGcDoInPartsWhatTheQuotaHasNoRoomFor) {
  std::filesystem::create_directories(home());
  expect_all_goes(home(), [&] { Disk::limit(home(), bytes_in(home())); });
}

/// Where rows of a part alone can be written, these go and the rest is said.
TEST_F(FullOfRows, WhatTheDiskHasNoRoomForStaysAndIsCounted) {
  std::filesystem::create_directories(home());
  {
    const auto store = open();
    multiply(home(), record(*store, 1).id);
  }
  const auto store = Store::open(home(), OpenMode::existing);
  const Run run = store->catalog().resolve("run1");
  std::filesystem::remove(home() / "reserve");
  // The rows of a few checkpoints, and no room to write the log anew.
  Disk::limit(home(), bytes_in(home()) + (768 << 10));
  const RetentionReport report = [&] {
    try {
      return retain(*store, run.id, {.last = 1}, Sizes::weighed);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is full, and its reserve is used up"));
      return RetentionReport{};
    }
  }();
  EXPECT_EQ(report.deleted + report.left, report.units.empty() ? 0 : 39);
  EXPECT_EQ(damage(*store), "");
  Disk::heal();
  const RetentionReport rest = retain(*store, run.id, {.last = 1}, Sizes::weighed);
  EXPECT_EQ(rest.left, 0);
  EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 1u);
}

TEST_F(FullDisk, TheReserveIsMadeWhereThereIsRoomAndMadeAgain) {
  { const auto store = open(); }
  const std::filesystem::path reserve = home() / "reserve";
  EXPECT_EQ(std::filesystem::file_size(reserve), kReserveBytes);
  std::filesystem::remove(reserve);
  const auto store = Store::open(home(), OpenMode::existing);
  collect(*store, false);
  EXPECT_EQ(std::filesystem::file_size(reserve), kReserveBytes);
}

TEST_F(FullDisk, AReserveOfAnotherSizeIsSetRight) {
  { const auto store = open(); }
  const std::filesystem::path reserve = home() / "reserve";
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{10}, kReserveBytes - 1, kReserveBytes + 1, 40 * kMiB}) {
    std::filesystem::resize_file(reserve, size);
    { const auto store = open(); }
    EXPECT_EQ(std::filesystem::file_size(reserve), kReserveBytes) << size;
  }
}

/// Commands that look, record or replay leave the reserve to those that free space.
TEST_F(FullDisk, OnlyWhatFreesSpaceGivesUpTheReserve) {
  {
    const auto store = open();
    record(*store, 1);
  }
  const std::filesystem::path reserve = home() / "reserve";
  ASSERT_EQ(std::filesystem::file_size(reserve), kReserveBytes);
  Disk::limit(home(), bytes_in(home()));
  for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
    try {
      const auto store = Store::open(home(), mode);
      if (mode != OpenMode::read_only) record(*store, 2, 1);
    } catch (const Error&) {  // the disk is full
    }
    EXPECT_EQ(std::filesystem::file_size(reserve), kReserveBytes) << static_cast<int>(mode);
  }
  const auto store = Store::open(home(), OpenMode::freeing);
  EXPECT_FALSE(std::filesystem::exists(reserve));
  retain(*store, store->catalog().resolve("run1").id, {.last = 1}, Sizes::weighed);
  EXPECT_GE(collect(*store, false).freed, 9 * kMiB);
  EXPECT_EQ(std::filesystem::file_size(reserve), kReserveBytes);
}

/// As a recording leaves it that was killed on a full disk.
TEST_F(FullDisk, WhatOnlyLooksWorksThoughTheIndexIsBehind) {
  Run run;
  {
    const auto store = open();
    run = record(*store, 1);
  }
  leave_argument_in_journal(home(), run.key, "lr");
  for (const bool has_reserve : {true, false}) {
    if (!has_reserve) std::filesystem::remove(home() / "reserve");
    Disk::limit(home(), bytes_in(home()));
    ::testing::internal::CaptureStderr();
    const auto store = open(OpenMode::read_only);
    EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 40u);
    EXPECT_EQ(damage(*store), "");
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("flor: what is shown is older than what journals say: no space"));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    Disk::heal();
  }
  EXPECT_EQ(open(OpenMode::read_only)->catalog().arguments(run.id).size(), 1u);
}

/// The place for temporary files is the test's own.
class WithoutIndex : public FullDisk {
 protected:
  void SetUp() override {
    if (const char* set = std::getenv("TMPDIR")) before_ = set;
    ::setenv("TMPDIR", temporary_.path().c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
    FullDisk::TearDown();
  }
  static void remove_index(const std::filesystem::path& home) {
    for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
      std::filesystem::remove(home / file);
    }
  }
  /// The message of an error, if there is one; `said_` is what came on standard error.
  std::string try_to_open(const std::filesystem::path& home, OpenMode mode,
                          const std::function<void(Store&)>& use = {}) {
    std::string message;
    ::testing::internal::CaptureStderr();
    try {
      const auto store = Store::open(home, mode);
      if (use) use(*store);
    } catch (const Error& error) {
      message = error.what();
    }
    said_ = ::testing::internal::GetCapturedStderr();
    for (const auto& entry : std::filesystem::directory_iterator(home)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("catalog.new")) << entry.path();
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_.path())) {
      EXPECT_TRUE(entry.is_directory()) << entry.path() << " is left";
    }
    return message;
  }
  static void make_old(const std::filesystem::path& packs) {
    for (const auto& pack : std::filesystem::recursive_directory_iterator(packs)) {
      std::filesystem::last_write_time(
          pack, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    }
  }

  const flor::testing::TemporaryDirectory temporary_;
  std::string before_, said_;
};

TEST_F(WithoutIndex, WhatOnlyLooksHasOneElsewhereAndNothingIsLeftOfIt) {
  Run run;
  {
    const auto store = open();
    run = record(*store, 1);
  }
  const auto use = [&](Store& store) {
    EXPECT_EQ(store.catalog().checkpoints(store.catalog().resolve("run1").id).size(), 40u);
    EXPECT_EQ(damage(store), "");
    EXPECT_EQ(store.home(), home());
    EXPECT_GE(collect(store, true).bytes_before, 9 * kMiB) << "as gc --dry-run";
  };
  for (const bool has_reserve : {true, false}) {
    if (!has_reserve) std::filesystem::remove(home() / "reserve");
    remove_index(home());
    Disk::limit(home(), bytes_in(home()));
    EXPECT_EQ(try_to_open(home(), OpenMode::read_only, use), "");
    EXPECT_THAT(said_, HasSubstr("is missing, and cannot be made again there ("));
    EXPECT_THAT(said_,
                HasSubstr("): for this command it was made in " + temporary_.path().string()));
    EXPECT_EQ(std::ranges::count(said_, '\n'), 1) << said_;
    EXPECT_FALSE(std::filesystem::exists(home() / "catalog.db"));
    Disk::heal();
  }
  // No room there either: then it is in memory.
  Disk::limit(home(), bytes_in(home()));
  ::setenv("TMPDIR", (home() / "none").c_str(), 1);
  EXPECT_EQ(try_to_open(home(), OpenMode::read_only, use), "");
  EXPECT_THAT(said_, HasSubstr("it was made in /dev/shm/flor-index-"));
  Disk::heal();
  EXPECT_EQ(open(OpenMode::read_only)->catalog().runs().size(), 1u);
}

TEST_F(WithoutIndex, WhatChangesNamesWhatToDoAndThatWorks) {
  {
    const auto store = open();
    record(*store, 1);
  }
  remove_index(home());
  Disk::limit(home(), bytes_in(home()));
  EXPECT_THAT(try_to_open(home(), OpenMode::existing),
              HasSubstr("is missing, and the disk has no room to make it again: run `flor gc`, "
                        "which has a reserve"));
  EXPECT_EQ(try_to_open(home(), OpenMode::freeing), "");
  EXPECT_FALSE(std::filesystem::exists(home() / "reserve"));
  EXPECT_TRUE(std::filesystem::exists(home() / "catalog.db"));
  // Nothing is garbage.
  remove_index(home());
  Disk::limit(home(), bytes_in(home()));
  EXPECT_THAT(try_to_open(home(), OpenMode::existing), HasSubstr("run `flor gc`, or remove"));
  for (int times = 0; times < 2; ++times) {
    const std::string message = try_to_open(home(), OpenMode::freeing);
    EXPECT_THAT(message, HasSubstr("is full, and its reserve is used up: remove other files"));
  }
  Disk::heal();
  EXPECT_EQ(open()->catalog().checkpoints(open()->catalog().resolve("run1").id).size(), 40u);
  expect_same_when_made_again(home());
}

/// Garbage of a run that was dropped: a whole pack.
TEST_F(WithoutIndex, GcFreesWithoutAReserveWhereTheQuotaIsUsedUp) {
  for (const bool is_damaged : {false, true}) {
    std::filesystem::remove_all(home());
    Run kept;
    {
      const auto store = open();
      const Run dropped = record(*store, 1);
      kept = record(*store, 2, 3);
      store->catalog().drop_run(dropped.id);
    }
    if (is_damaged) {
      std::ofstream(home() / "catalog.damaged").flush();
    } else {
      remove_index(home());
    }
    std::filesystem::remove(home() / "reserve");
    make_old(home() / "packs");
    Disk::limit(home(), bytes_in(home()));
    const auto use = [&](Store& store) {
      collect(store, false);
      EXPECT_EQ(damage(store), "");
      const auto last = store.catalog().checkpoint(store.catalog().resolve("run2").id, boundary(3));
      ASSERT_TRUE(last);
      expect_holds(store, last->id, state(2, 3));
    };
    EXPECT_EQ(try_to_open(home(), OpenMode::freeing, use), "") << is_damaged;
    EXPECT_THAT(said_, HasSubstr("of garbage were freed to make it again"));
    EXPECT_LT(bytes_in(home() / "packs"), 2 * kMiB);
    expect_same_when_made_again(home());
    Disk::heal();
  }
}

/// Garbage between what is alive: it becomes holes.
TEST_F(WithoutIndex, GcFreesDeletedCheckpointsWithoutAReserveOnAFullDisk) {
  const std::filesystem::path disk = mounted("size=16m");
  if (disk.empty()) GTEST_SKIP() << "this user may not mount a file system";
  {
    const auto store = Store::open(disk / "home", OpenMode::create);
    const Run run = record(*store, 1);
    EXPECT_EQ(retain(*store, run.id, {.last = 10}, Sizes::weighed).deleted, 30);
  }
  remove_index(disk / "home");
  std::filesystem::remove(disk / "home/reserve");
  fill(disk);
  const auto use = [&](Store& store) {
    collect(store, false);
    EXPECT_EQ(damage(store), "");
    const Run run = store.catalog().resolve("run1");
    EXPECT_EQ(store.catalog().checkpoints(run.id).size(), 10u);
    const auto kept = store.catalog().checkpoint(run.id, boundary(35));
    ASSERT_TRUE(kept);
    expect_holds(store, kept->id, state(1, 35));
  };
  EXPECT_EQ(try_to_open(disk / "home", OpenMode::freeing, use), "");
  EXPECT_GE(Filesystem::system().available(disk.c_str()), 5 * kMiB);
  expect_same_when_made_again(disk / "home");
}

TEST_F(WithoutIndex, AFileSystemThatMayOnlyBeReadCanBeLookedAt) {
  const std::filesystem::path disk = mounted("size=16m");
  if (disk.empty()) GTEST_SKIP() << "this user may not mount a file system";
  {
    const auto store = Store::open(disk / "home", OpenMode::create);
    record(*store, 1, 3);
  }
  remove_index(disk / "home");
  ASSERT_EQ(::mount("", disk.c_str(), "", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto use = [&](Store& store) {
    EXPECT_EQ(store.catalog().checkpoints(store.catalog().resolve("run1").id).size(), 3u);
    EXPECT_EQ(damage(store), "");
  };
  EXPECT_EQ(try_to_open(disk / "home", OpenMode::read_only, use), "");
  EXPECT_THAT(said_, HasSubstr("Read-only file system"));
  EXPECT_THAT(try_to_open(disk / "home", OpenMode::existing), HasSubstr("Read-only file system"));
}

TEST_F(FullDisk, WithoutAReserveTheMessageDoesNotAdviseWhatFailed) {
  {
    const auto store = open();
    record(*store, 1);
  }
  std::filesystem::remove(home() / "reserve");
  Disk::limit(home(), bytes_in(home()));
  for (int times = 0; times < 2; ++times) {
    try {
      const auto store = Store::open(home(), OpenMode::freeing);
      collect(*store, false);
      ADD_FAILURE() << "it needed no space";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("is full, and its reserve is used up"));
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("flor gc")));
    }
  }
}

}  // namespace
}  // namespace flor::store::full_disk_test
