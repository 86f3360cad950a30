// Collecting garbage on file systems that refuse some of it: without room, without holes, with
// files of others, with damage.
#include "codec/decode_scratch.h"
#include "collect_fixture.h"
#include "database/store_impl.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "maintain/usage.h"
#include "pack/chunk_reader.h"
#include "pack/pack_writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  make_packs_old(home());
  collect(*store, false);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(packs().size(), 1u) << "what was copied of two lies in one";
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

}  // namespace
}  // namespace flor::store
