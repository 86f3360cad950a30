// Archiving: a run comes out shorter and the same, whatever is killed or done at once.
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "store_fixture.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <sys/wait.h>

#include <map>
#include <memory>
#include <optional>

namespace flor::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kCheckpoints = 12;
constexpr std::size_t kWeights = 30'000;

class ArchiveTest : public StoreTest {
 protected:
  /// Checkpoints 0, 1, ... of a run that has ended.
  Run record(Store& store, unsigned seed, int count = kCheckpoints) {
    const Run run = store.catalog().add_run(new_run());
    CheckpointWriter writer(store, run.id);
    for (int i = 0; i < count; ++i) writer.write(boundary(i), make_snapshot(seed, i, kWeights));
    store.catalog().finish_run(run.id, new_run().started_us + 1, false, "");
    return *store.catalog().run(run.id);
  }

  static void expect_all(const Store& store, const Run& run, unsigned seed) {
    const auto checkpoints = store.catalog().checkpoints(run.id);
    EXPECT_EQ(checkpoints.size(), static_cast<std::size_t>(kCheckpoints));
    for (const CheckpointInfo& info : checkpoints) {
      expect_holds(store, info.id,
                   make_snapshot(seed, static_cast<int>(info.key.iteration), kWeights));
    }
  }

  static std::int64_t one(const Store& store, const char* sql) {
    Database& database = *store.impl().database;
    const std::lock_guard lock(database.mutex);
    const auto row = database.connection(sql);
    return row->step() ? row->integer(0) : -1;
  }

  static std::int64_t deepest(const Store& store) {
    return one(store, "SELECT max(depth) FROM chunk");
  }

  std::uint64_t bytes_in_packs() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : flor::testing::packs_of(home())) {
      bytes += entry.file_size();
    }
    return bytes;
  }
};

TEST_F(ArchiveTest, MakesARunShorterAndKeepsEveryByteOfIt) {
  const auto store = open();
  const Run run = record(*store, 1);
  const std::uint64_t before = bytes_in_packs();

  const ArchiveReport report = archive(*store, run, {});
  EXPECT_EQ(report.checkpoints, kCheckpoints);
  EXPECT_GT(report.chunks_written, 0);
  EXPECT_EQ(report.chunks_pinned, 0);
  EXPECT_LT(report.after, report.before);
  EXPECT_LT(report.before, report.raw_bytes);
  EXPECT_GT(deepest(*store), 4);
  EXPECT_LE(deepest(*store), 16);
  expect_all(*store, run, 1);
  EXPECT_THAT(damage(*store), IsEmpty());

  collect(*store, false);
  EXPECT_LT(bytes_in_packs(), before);
  expect_all(*store, run, 1);
  EXPECT_THAT(damage(*store), IsEmpty());
  EXPECT_EQ(store->catalog().run(run.id)->stored_bytes,
            run.stored_bytes - (report.before - report.after));
}

TEST_F(ArchiveTest, KeepsChainsAsShortAsItIsTold) {
  const auto store = open();
  const Run run = record(*store, 1);
  ArchiveOptions options;
  options.depth_max = 7;
  archive(*store, run, options);
  EXPECT_EQ(deepest(*store), 7);
  options.depth_max = 0;
  EXPECT_THROW(archive(*store, run, options), UsageError);
}

TEST_F(ArchiveTest, ASecondTimeChangesNothing) {
  const auto store = open();
  const Run run = record(*store, 1);
  archive(*store, run, {});
  collect(*store, false);
  const std::uint64_t size = bytes_in_packs();
  const ArchiveReport again = archive(*store, run, {});
  EXPECT_EQ(again.chunks_written, 0);
  EXPECT_EQ(again.before, again.after);
  EXPECT_EQ(bytes_in_packs(), size);
}

TEST_F(ArchiveTest, LeavesWhatOtherRunsBuildUponAsItIs) {
  const auto store = open();
  const Run run = record(*store, 1);
  // The other begins with the same states and goes its own way from there.
  const Run other = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, other.id);
  for (int i = 0; i < 3; ++i) writer.write(boundary(i), make_snapshot(1, i, kWeights));
  const CheckpointInfo last = writer.write(boundary(3), make_snapshot(1, 100, kWeights));
  const ArchiveReport report = archive(*store, run, {});
  EXPECT_GT(report.chunks_pinned, 0);
  expect_all(*store, run, 1);
  expect_holds(*store, last.id, make_snapshot(1, 100, kWeights));
  EXPECT_THAT(damage(*store), IsEmpty());
  collect(*store, false);
  expect_holds(*store, last.id, make_snapshot(1, 100, kWeights));
  EXPECT_THAT(damage(*store), IsEmpty());
}

TEST_F(ArchiveTest, AWriterThatRemembersTheOldChainsStoresSoundCheckpoints) {
  const auto store = open();
  const Run other = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, other.id);
  const Run run = record(*store, 1);
  for (int i = 0; i < kCheckpoints; ++i) writer.write(boundary(i), make_snapshot(1, i, kWeights));
  archive(*store, run, {});
  const CheckpointInfo next =
      writer.write(boundary(kCheckpoints), make_snapshot(1, kCheckpoints, kWeights));
  expect_holds(*store, next.id, make_snapshot(1, kCheckpoints, kWeights));
  EXPECT_THAT(damage(*store), IsEmpty());
}

TEST_F(ArchiveTest, AReaderThatWasOpenBeforeReadsOn) {
  const auto store = open();
  const Run run = record(*store, 1);
  const CheckpointInfo info = store->catalog().checkpoints(run.id).back();
  const CheckpointReader reader(*store, info.id);
  archive(*store, run, {});
  collect(*store, false);
  const Snapshot expected = make_snapshot(1, kCheckpoints - 1, kWeights);
  for (std::size_t i = 0; i < reader.items().size(); ++i) {
    const auto content = reader.read(i);
    EXPECT_EQ(std::memcmp(content.data(), expected.items[i].content.get(), content.size()), 0);
  }
}

TEST_F(ArchiveTest, ARunThatIsBeingRecordedIsBusy) {
  const auto store = open();
  const Run run = record(*store, 1);
  const auto lock = store->lock_run(run.key);
  ASSERT_TRUE(lock);
  EXPECT_THROW(archive(*store, run, {}), Busy);
}

TEST_F(ArchiveTest, ADamagedChunkIsFoundAndNothingIsChanged) {
  const auto store = open();
  const Run run = record(*store, 1);
  const auto pack = flor::testing::packs_of(home()).at(0);
  {
    FaultyFilesystem files;
    File file(files, pack.path(), O_RDWR);
    const std::array<std::byte, 1> flipped{std::byte{0x5a}};
    file.write_at(flipped, file.size() / 2);
  }
  const std::string before = damage(*store);
  EXPECT_THAT(before, HasSubstr("damaged"));
  EXPECT_THROW(archive(*store, run, {}), Damaged);
  EXPECT_EQ(damage(*store), before);
  EXPECT_EQ(deepest(*store), 4);
}

/// Archives in a process of its own, over a disk that kills it at its call number `call`. True if
/// the process lived to the end.
bool archive_and_die(const std::filesystem::path& home, int call) {
  const pid_t pid = start_process([&] {
    FaultyFilesystem files;
    const auto store = Store::Impl::open(home, OpenMode::existing, files);
    const Run run = store->catalog().runs().front();
    files.calls = 0;
    files.fault = FaultyFilesystem::Fault::kill;
    files.fail_at = call;
    archive(*store, run, {});
    collect(*store, false);
    return 0;
  });
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

TEST_F(ArchiveTest, KilledAtEachCallOfTheDiskItLosesNothing) {
  Run run;
  {
    const auto store = open();
    run = record(*store, 1);
  }
  int call = 0;
  do {
    ASSERT_LT(++call, 100);
  } while ([&] {
    const bool lived = archive_and_die(home(), call);
    const auto store = open();
    expect_all(*store, run, 1);
    EXPECT_THAT(damage(*store), IsEmpty()) << "killed at call " << call;
    return !lived;
  }());
  EXPECT_GT(call, 4);
}

TEST_F(ArchiveTest, AFullDiskLeavesTheRunAsItWas) {
  FaultyFilesystem files;
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = record(*store, 1);
  for (int call = 1; call <= 4; ++call) {
    files.calls = 0;
    files.fail_at = call;
    EXPECT_THROW(archive(*store, run, {}), Error) << call;
    files.heal();
    expect_all(*store, run, 1);
    EXPECT_THAT(damage(*store), IsEmpty());
    EXPECT_EQ(deepest(*store), 4);
  }
  archive(*store, run, {});
  expect_all(*store, run, 1);
}

}  // namespace
}  // namespace flor::store
