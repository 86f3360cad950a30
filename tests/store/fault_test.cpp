// A disk that is full or fails at the Nth call: the store stays as it was, the writer can go on.
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "made_again.h"
#include "store_fixture.h"

#include <flor/store/error.h>

#include <sys/resource.h>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kWeights = 200'000;

class FaultTest : public StoreTest {
 protected:
  std::shared_ptr<Store> open_on(FaultyFilesystem& files) {
    return Store::Impl::open(home(), OpenMode::create, files);
  }

  /// Fails one checkpoint at each of its calls in turn, the first or a later one of its writer.
  void fail_everywhere(int error, bool stays_broken, bool first) {
    FaultyFilesystem files;
    files.error = error;
    files.stays_broken = stays_broken;
    const auto store = open_on(files);
    const Run run = store->catalog().add_run(new_run());
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      ASSERT_LT(n, 100);
      CheckpointWriter writer(*store, run.id);
      const auto seed = static_cast<unsigned>(n);
      files.heal();
      if (!first) writer.write(boundary(2 * n), make_snapshot(seed, 0, kWeights));
      const std::uint64_t bytes = bytes_in_packs();
      const auto before = store->catalog().run(run.id)->checkpoints;

      files.heal();
      files.fail_at = n;
      const Snapshot snapshot = make_snapshot(seed, 1, kWeights);
      try {
        writer.write(boundary(2 * n + 1), snapshot);
      } catch (const Error& caught) {
        EXPECT_EQ(store->catalog().run(run.id)->checkpoints, before);
        const bool in_pack = std::string_view(caught.what()).find("/packs") != std::string::npos;
        EXPECT_TRUE(in_pack ||
                    std::string_view(caught.what()).find("/journal") != std::string::npos ||
                    std::string_view(caught.what()).find("/runs") != std::string::npos)
            << caught.what();
        // What a journal may say after a crash keeps its bytes until the next commit.
        if (in_pack) {
          EXPECT_EQ(bytes_in_packs(), bytes) << "call " << n;
        }
      }
      const bool failed = files.has_failed();
      files.heal();
      EXPECT_EQ(damage(*store), "") << "call " << n;
      if (!failed) break;
      // The same writer, as if nothing had happened.
      const CheckpointInfo info = writer.write(boundary(2 * n + 1), snapshot);
      expect_holds(*store, info.id, snapshot);
      expect_same_when_made_again(home());
    }
    EXPECT_GE(failures, first ? 4 : 2);  // create, sync of the directory, write, sync
    EXPECT_EQ(damage(*store), "");
  }
};

TEST_F(FaultTest, AFullDiskLeavesTheStoreAsItWas) { fail_everywhere(ENOSPC, true, true); }
TEST_F(FaultTest, AFullDiskLeavesAPackInUseAsItWas) { fail_everywhere(ENOSPC, true, false); }
TEST_F(FaultTest, ASingleErrorOfTheDiskIsSurvived) { fail_everywhere(EIO, false, true); }
TEST_F(FaultTest, ASingleErrorInAPackInUseIsSurvived) { fail_everywhere(EIO, false, false); }

TEST_F(FaultTest, AFullDiskIsReportedWithTheRemedy) {
  FaultyFilesystem files;
  const auto store = open_on(files);
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  files.heal();
  files.fail_at = 3;
  EXPECT_THAT(
      message_of<Error>([&] { writer.write(boundary(0), make_snapshot(1, 0, kWeights)); }),
      HasSubstr("No space left on device: free some space, or put the store on another disk"));
}

TEST_F(FaultTest, ShortWritesAreContinued) {
  FaultyFilesystem files;
  const auto store = open_on(files);
  const Run run = store->catalog().add_run(new_run());
  files.fault = FaultyFilesystem::Fault::short_write;
  const Snapshot snapshot = make_snapshot(1, 0, kWeights);
  const CheckpointInfo info = CheckpointWriter(*store, run.id).write(boundary(0), snapshot);
  EXPECT_GT(files.calls, 10);
  expect_holds(*store, info.id, snapshot);
}

TEST_F(FaultTest, KilledAtEveryCallTheStoreHoldsWhatWasReported) {
  open();
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    const pid_t child = start_process([&] {
      FaultyFilesystem files;
      const auto store = open_on(files);
      const Run run = store->catalog().add_run(new_run());
      CheckpointWriter writer(*store, run.id);
      files.heal();
      files.fault = FaultyFilesystem::Fault::kill;
      files.fail_at = n;
      for (int step = 0; step < 3; ++step) {
        writer.write(boundary(step), make_snapshot(static_cast<unsigned>(n), step, 1000));
        store->catalog().put_main_loop(run.id, {0, "epoch", 0, step + 1, false, false});
      }
      return 0;
    });
    const int status = wait_for(child);
    const auto store = open();
    EXPECT_EQ(damage(*store), "") << "call " << n;
    const Run run = store->catalog().runs().at(0);
    const auto loops = store->catalog().main_loops(run.id);
    const auto checkpoints = store->catalog().checkpoints(run.id);
    ASSERT_GE(checkpoints.size(),
              loops.empty() ? 0u : static_cast<std::size_t>(loops[0].iterations));
    for (const CheckpointInfo& info : checkpoints) {
      expect_holds(
          *store, info.id,
          make_snapshot(static_cast<unsigned>(n), static_cast<int>(info.key.iteration), 1000));
    }
    expect_same_when_made_again(home());
    if (status == 0) break;
    ASSERT_EQ(status, -SIGKILL);
  }
}

TEST_F(FaultTest, ACatalogThatCannotGrowLeavesTheStoreAsItWas) {
  const pid_t child = start_process([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    writer.write(boundary(0), make_snapshot(1, 0, 10));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit unlimited = limit;
    // Room for the small pack, but not for another page of the write-ahead log.
    limit.rlim_cur = std::filesystem::file_size(home() / "catalog.db-wal");
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int failed = 0;
    try {
      writer.write(boundary(1), make_snapshot(1, 1, 10));
    } catch (const Error& error) {
      failed = std::string(error.what()).find("catalog.db") != std::string::npos ? 1 : 2;
    }
    ::setrlimit(RLIMIT_FSIZE, &unlimited);
    if (failed != 1) return 10 + failed;
    if (store->catalog().run(run.id)->checkpoints != 1) return 20;
    const CheckpointInfo info = writer.write(boundary(1), make_snapshot(1, 1, 10));
    expect_holds(*store, info.id, make_snapshot(1, 1, 10));
    return damage(*store).empty() ? 0 : 21;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(damage(*open()), "");
  expect_same_when_made_again(home());
}

TEST_F(FaultTest, OnANetworkFileSystemTheIndexLiesOnALocalDisk) {
  FaultyFilesystem files;
  files.type = 0x6969;  // NFS
  ::setenv("FLOR_INDEX", (directory_ / "indexes").c_str(), 1);
  ::testing::internal::CaptureStderr();
  const auto store = open_on(files);
  const auto again = open_on(files);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("network file system"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  const Run run = store->catalog().add_run(new_run());
  EXPECT_FALSE(std::filesystem::exists(home() / "catalog.db"));
  EXPECT_TRUE(store->impl().database->has_log);
  const CheckpointInfo info =
      CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 0, 1000));
  expect_holds(*again, info.id, make_snapshot(1, 0, 1000));
  ::unsetenv("FLOR_INDEX");
}

}  // namespace
}  // namespace flor::store
