// A process is killed before and after each of its system calls, while it writes a checkpoint,
// makes a store, or collects garbage: what was reported is there, the rest is there wholly or not
// at all, and others go on.
#include "database/store_impl.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "promises.h"
#include "support/sanitized.h"
#include "support/some_points.h"
#include "support/syscall_tracer.h"

#include <fcntl.h>

#include <map>
#include <optional>
#include <sstream>

namespace flor::store {
namespace {

using flor::testing::SharedCounter;
using flor::testing::SyscallTracer;
using flor::testing::TraceResult;

constexpr std::size_t kWeights = 300;
constexpr int kEarlier = 3;

class KillTest : public StoreTest {
 protected:
  /// What the child has: all of it is made there.
  struct Child {
    std::shared_ptr<Store> store;
    std::optional<Run> run;
    std::unique_ptr<CheckpointWriter> writer;
  };

  struct Scenario {
    std::string name;
    bool has_store = true;                ///< with checkpoints 0, 1, ... of a first run
    std::function<void(Child&)> prepare;  ///< uncounted
    std::function<void(Child&)> body;     ///< killed
    std::vector<int> kept = {1, 2, 3};    ///< whatever happens
  };

  std::filesystem::path original() const { return memory_ / "original"; }
  std::filesystem::path fast_home() const { return memory_ / "home"; }

  static constexpr unsigned kFirst = 1, kSecond = 2;  // seeds of the runs

  Snapshot snapshot_of(unsigned seed, int step) const {
    const unsigned other = unrelated_ ? 100 * seed + static_cast<unsigned>(step) : seed;
    return make_snapshot(other, step, weights_);
  }

  void write(Child& child, unsigned seed, int step) {
    child.writer->write(boundary(step), snapshot_of(seed, step));
    if (seed == kSecond) reported_.set(step + 1);
  }

  void make_original() {
    Child child;
    child.store = Store::open(original(), OpenMode::create);
    start(child);
    for (int step = 0; step < kEarlier; ++step) {
      promises_.attempt(child.run->id, boundary(step), snapshot_of(kFirst, step));
      write(child, kFirst, step);
    }
    // Those of the child, in a run of its own.
    for (int step = 0; step < kEarlier; ++step) {
      promises_.attempt(child.run->id + 1, boundary(step), snapshot_of(kSecond, step));
    }
  }

  void start(Child& child) const {
    child.run = child.store->catalog().add_run(new_run());
    WriterOptions options;
    options.threads = threads_;
    child.writer = std::make_unique<CheckpointWriter>(*child.store, child.run->id, options);
  }

  void open(Child& child) const { child.store = Store::open(fast_home(), OpenMode::create); }

  /// Kills at every stop, or some; the store is checked after each.
  void kill_everywhere(const Scenario& scenario) {
    make_original();
    std::map<long, int> calls;
    int points = 0;
    testing::SomePoints stops(40, 16);
    for (int stop = stops.next();; stop = stops.next()) {
      ASSERT_LT(stop, 20'000);
      std::filesystem::remove_all(fast_home());
      if (scenario.has_store) {
        std::filesystem::copy(original(), fast_home(), std::filesystem::copy_options::recursive);
      }
      reported_.set(0);
      Child child;  // filled in the child only
      const TraceResult result =
          SyscallTracer::run([&] { scenario.prepare(child); }, [&] { scenario.body(child); }, stop);
      if (result.refused) GTEST_SKIP() << "this system does not let a process trace its child";
      if (result.finished) {
        ASSERT_EQ(result.status, 0);
        break;
      }
      ++points;
      ++calls[result.call];
      expect_sound(scenario);
      if (HasFailure()) FAIL() << "killed at stop " << stop << ", system call " << result.call;
    }
    report(scenario, points, calls);
  }

  void expect_sound(const Scenario& scenario) {
    try {
      std::vector<int> kept = scenario.kept;
      for (int step = 0; step < reported_.get(); ++step) kept.push_back(kEarlier + step + 1);
      promises_.expect_kept(fast_home(), kept);
      Promises::expect_usable(fast_home());
      expect_same_when_made_again(fast_home());
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

  void report(const Scenario& scenario, int points, const std::map<long, int>& calls) {
    static const std::map<long, std::string> kNames = {
        {SYS_pwrite64, "pwrite64"},  {SYS_write, "write"},         {SYS_fdatasync, "fdatasync"},
        {SYS_fsync, "fsync"},        {SYS_ftruncate, "ftruncate"}, {SYS_openat, "openat"},
        {SYS_unlink, "unlink"},      {SYS_rename, "rename"},       {SYS_mkdir, "mkdir"},
        {SYS_fallocate, "fallocate"}};
    int changing = 0;
    std::ostringstream list;
    for (const auto& [call, count] : calls) {
      const auto name = kNames.find(call);
      if (name == kNames.end()) continue;
      changing += count;
      list << (list.str().empty() ? "" : ", ") << name->second << " " << count;
    }
    std::printf(
        "%s: killed at %d points, %d of them at calls that may change files (%s); "
        "nothing lost\n",
        scenario.name.c_str(), points, changing, list.str().c_str());
    RecordProperty("points", points);
    RecordProperty("changing", changing);
    EXPECT_GT(changing, 0);
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  Promises promises_;
  bool unrelated_ = false;  ///< no checkpoint is like the one before
  std::size_t weights_ = kWeights;
  unsigned threads_ = 1;
  SharedCounter reported_;
};

TEST_F(KillTest, TheChildIsKilledWhereItShouldBe) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "its own calls are counted, too";
  const auto path = memory_ / "letters";
  for (int stop = 1; stop <= 7; ++stop) {
    int descriptor = -1;
    const TraceResult result = SyscallTracer::run(
        [&] { descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666); },
        [&] {
          for (const char* letter : {"a", "b", "c"}) {
            if (::write(descriptor, letter, 1) != 1) ::_exit(1);
          }
        },
        stop);
    if (result.refused) GTEST_SKIP() << "this system does not let a process trace its child";
    // Odd stops are before a call, even ones after it.
    EXPECT_EQ(std::filesystem::file_size(path), static_cast<std::uintmax_t>(stop / 2));
    EXPECT_EQ(result.finished, stop == 7);
  }
}

TEST_F(KillTest, WhileACheckpointIsWritten) {
  kill_everywhere({.name = "a checkpoint",
                   .prepare =
                       [&](Child& child) {
                         open(child);
                         start(child);
                         write(child, kSecond, 0);
                       },
                   .body = [&](Child& child) { write(child, kSecond, 1); }});
}

TEST_F(KillTest, WhileTheFirstCheckpointOfAWriterIsWritten) {
  kill_everywhere({.name = "the first checkpoint of a writer",
                   .prepare =
                       [&](Child& child) {
                         open(child);
                         start(child);
                       },
                   .body = [&](Child& child) { write(child, kSecond, 0); }});
}

TEST_F(KillTest, WhileTheLogIsCopiedIntoTheDatabase) {
  kill_everywhere({.name = "a checkpoint that copies the log",
                   .prepare =
                       [&](Child& child) {
                         open(child);
                         start(child);
                         write(child, kSecond, 0);
                         child.store->impl().database->connection.execute(
                             "PRAGMA wal_autocheckpoint=1");
                       },
                   .body = [&](Child& child) { write(child, kSecond, 1); }});
}

TEST_F(KillTest, WhileGarbageIsCollected) {
  unrelated_ = true;  // so that most of the pack is garbage, which is then compacted
  kill_everywhere({.name = "a collection of garbage",
                   .prepare =
                       [&](Child& child) {
                         open(child);
                         start(child);
                         write(child, kSecond, 0);
                         child.writer.reset();
                         child.store->catalog().drop_run(child.run->id);
                         const CheckpointKey keys[] = {boundary(0), boundary(1)};
                         child.store->catalog().drop_checkpoints(1, keys);
                         reported_.set(0);
                       },
                   .body =
                       [&](Child& child) {
                         const CollectReport report = collect(*child.store, false);
                         if (report.packs_compacted != 1 || report.packs_removed != 1) ::_exit(2);
                       },
                   .kept = {3}});
}

class KillOftenTest : public KillTest {};

TEST_F(KillOftenTest, WhileThreeThreadsEncodeACheckpoint) {
  weights_ = 700'000;  // five chunks
  threads_ = 3;
  kill_everywhere({.name = "a checkpoint that three threads encode",
                   .prepare =
                       [&](Child& child) {
                         open(child);
                         start(child);
                       },
                   .body = [&](Child& child) { write(child, kSecond, 0); }});
}

TEST_F(KillOftenTest, WhileAStoreIsMadeAndClosed) {
  kill_everywhere({.name = "a new store with two runs and two checkpoints",
                   .has_store = false,
                   .prepare = [](Child&) {},
                   .body =
                       [&](Child& child) {
                         open(child);
                         start(child);
                         start(child);
                         write(child, kSecond, 0);
                         write(child, kSecond, 1);
                         child.store->catalog().finish_run(child.run->id, 1, false, "");
                         child.writer.reset();
                         child.store.reset();
                       },
                   .kept = {}});
}

}  // namespace
}  // namespace flor::store
