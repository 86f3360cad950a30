// Collecting garbage while processes are killed and disks fail.
#include "collect_fixture.h"
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "maintain/collect.h"

#include <flor/store/error.h>

#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace flor::store {
namespace {

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
    make_packs_old(home());
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

}  // namespace
}  // namespace flor::store
