// The power fails at any instant of a history: whatever of the writes that were not synced the disk
// still has, every checkpoint whose write had returned is there, and nothing else is damaged.
#include "support/power_loss.h"

#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "promises.h"
#include "queue/job_queue.h"
#include "queue/queue_file.h"
#include "support/content.h"
#include "support/some_points.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace flor::store::power_loss_test {
namespace {

using flor::testing::Disk;
using flor::testing::DiskEvent;
using flor::testing::PowerLoss;
using flor::testing::Survival;

constexpr std::size_t kWeights = 300;

/// Added to a checkpoint's number in a mark: it need not be there any more.
constexpr std::uint64_t kGivenUp = 1u << 20;

class PowerLossTest : public StoreTest {
 protected:
  void SetUp() override {
    Disk::do_not_sync();
    std::filesystem::create_directory(disk_);
    std::filesystem::create_directory(rebuilt_);
  }
  void TearDown() override { Disk::do_not_sync(false); }

  std::filesystem::path store_home() const { return disk_ / "deep" / "home"; }

  /// Records what `body` does to a disk that was empty.
  void record(const std::function<void()>& body) {
    Disk::record(disk_);
    body();
    events_ = Disk::stop();
  }

  std::shared_ptr<Store> open_store(Filesystem& files = Filesystem::system()) {
    return Store::Impl::open(store_home(), OpenMode::create, files);
  }

  /// The log is copied into the database after that many pages, instead of 1000.
  static void copy_log_after(const Store& store, int pages) {
    store.impl().database->connection.execute(
        ("PRAGMA wal_autocheckpoint=" + std::to_string(pages)).c_str());
  }

  void write(CheckpointWriter& writer, const Run& run, unsigned seed, int step) {
    const Snapshot snapshot = make_snapshot(seed, step, kWeights);
    const int number = promises_.attempt(run.id, boundary(step), snapshot);
    writer.write(boundary(step), snapshot);
    Disk::mark(static_cast<std::uint64_t>(number));
  }

  void give_up(Store& store, const Run& run, const CheckpointKey& key) {
    for (int number = 1; number <= promises_.size(); ++number) {
      if (promises_[number].run == run.id && promises_[number].key == key) {
        Disk::mark(kGivenUp + static_cast<std::uint64_t>(number));
      }
    }
    store.catalog().drop_checkpoints(run.id, std::span(&key, 1));
  }

  /// Loses the power after every event, `rounds` times for each way in which writes survive; 0: one
  /// of them in turn. Insists on more than `least` disks.
  void lose_power_everywhere(int rounds, int least = 100) {
    std::mt19937 random(4711);
    PowerLoss disk(disk_);
    std::set<int> kept;
    int points = 0;
    // Of a long recording half of the later events, others each time.
    std::mt19937 chance{std::random_device()()};
    const auto some = [&] { return testing::every_point() ? 0 : chance() % 2; };
    for (std::size_t i = 0; i < events_.size(); ++i) {
      disk.play(events_[i]);
      if (events_[i].kind == DiskEvent::Kind::mark) remember(events_[i].offset, kept);
      for (const Survival survival : flor::testing::kSurvivals) {
        if (rounds == 0 && static_cast<std::size_t>(survival) != i % 5) continue;
        if (rounds == 0 && i > 2 * static_cast<std::size_t>(least) && some() != 0) continue;
        for (int round = 0; round < std::max(rounds, 1); ++round, ++points) {
          lose_power(disk, survival, random, kept);
          if (HasFailure()) {
            FAIL() << "after " << i + 1 << " of " << events_.size() << " events, survival "
                   << static_cast<int>(survival) << ", round " << round;
          }
        }
      }
    }
    std::printf("power lost at %zu instants, %d disks: %zu reported, none lost\n", events_.size(),
                points,
                std::max<std::size_t>(static_cast<std::size_t>(promises_.size()), kept.size()));
    RecordProperty("instants", static_cast<int>(events_.size()));
    RecordProperty("disks", points);
    EXPECT_GT(points, least);
  }

  void lose_power(const PowerLoss& disk, Survival survival, std::mt19937& random,
                  const std::set<int>& kept) {
    std::filesystem::remove_all(rebuilt_);
    std::filesystem::create_directory(rebuilt_);
    disk.leave(survival, random, rebuilt_);
    const auto home = rebuilt_ / "deep" / "home";
    try {
      expect_kept(home, kept, random);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

  virtual void expect_kept(const std::filesystem::path& home, const std::set<int>& kept,
                           std::mt19937& random) {
    promises_.expect_kept(home, {kept.begin(), kept.end()});
    if (std::filesystem::exists(home / "runs") && random() % 4 == 0) {
      expect_same_when_made_again(home);
    }
    if (random() % 16 == 0) Promises::expect_usable(home);
  }

  static void remember(std::uint64_t mark, std::set<int>& kept) {
    if (mark > kGivenUp) {
      kept.erase(static_cast<int>(mark - kGivenUp));
    } else {
      kept.insert(static_cast<int>(mark));
    }
  }

  // The histories.

  /// A new store, two runs, an object, values; everything is closed in order.
  void live_a_short_life(int pages) {
    const auto store = open_store();
    copy_log_after(*store, pages);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 3; ++step) write(writer, run, 1, step);
    const auto bytes = random_bytes(9, 700);
    Value value;
    value.name = "confusion";
    value.type = ValueType::tensor;
    value.value = writer.write_object({"x", ElementType::u8, {700}, 700}, bytes);
    store->catalog().add_values(run.id, std::span(&value, 1));
    const Run other = store->catalog().add_run(new_run("other"));
    CheckpointWriter(*store, run.id);
    CheckpointWriter second(*store, other.id);
    write(second, other, 2, 0);
    write(writer, run, 1, 3);
    store->catalog().finish_run(run.id, 1, false, "");
  }

  /// Another has the catalog open, and has thereby made the log.
  void live_beside_a_reader() {
    open_store().reset();
    const auto reader = Store::open(store_home(), OpenMode::read_only);
    reader->catalog().runs();
    const auto store = open_store();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 2; ++step) write(writer, run, 1, step);
  }

  /// Checkpoints are given up, and what is garbage then is collected.
  void live_with_a_collection() {
    const auto store = open_store();
    copy_log_after(*store, 4);
    Run runs[2];
    for (unsigned i = 0; i < 2; ++i) {
      runs[i] = store->catalog().add_run(new_run());
      CheckpointWriter writer(*store, runs[i].id);
      for (int step = 0; step < 4; ++step) write(writer, runs[i], 1 + i, step);
    }
    for (int step = 0; step < 3; ++step) give_up(*store, runs[0], boundary(step));
    for (int step = 0; step < 4; ++step) give_up(*store, runs[1], boundary(step));
    const CollectReport report = collect(*store, false);
    EXPECT_GT(report.packs_removed + report.packs_compacted, 0);
    CheckpointWriter writer(*store, runs[1].id);
    write(writer, runs[1], 3, 9);
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  std::filesystem::path disk_ = memory_ / "disk";
  std::filesystem::path rebuilt_ = memory_ / "rebuilt";
  std::vector<DiskEvent> events_;
  Promises promises_;
};

TEST_F(PowerLossTest, TheRecordingHasEverything) {
  record([&] {
    live_a_short_life(4);
    live_with_a_collection();
  });
  PowerLoss disk(disk_);
  for (const DiskEvent& event : events_) disk.play(event);
  std::mt19937 random(1);
  disk.leave(Survival::everything, random, rebuilt_);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(disk_)) {
    if (!entry.is_regular_file() || entry.path().string().ends_with("-shm")) continue;
    ++files;
    const auto same = rebuilt_ / entry.path().lexically_relative(disk_);
    ASSERT_TRUE(std::filesystem::exists(same)) << same;
    EXPECT_TRUE(testing::content_of(same) == testing::content_of(entry.path())) << same;
  }
  EXPECT_GE(files, 3);
}

TEST_F(PowerLossTest, LosesNothingThatWasReported) {
  record([&] { live_a_short_life(1000); });
  lose_power_everywhere(0);
}

TEST_F(PowerLossTest, LosesNothingWhileTheLogIsCopiedIntoTheDatabase) {
  record([&] { live_a_short_life(4); });
  lose_power_everywhere(0);
}

TEST_F(PowerLossTest, LosesNothingBesideAReaderThatMadeTheLog) {
  record([&] { live_beside_a_reader(); });
  lose_power_everywhere(0);
}

TEST_F(PowerLossTest, LosesNothingWhileGarbageIsCollected) {
  record([&] { live_with_a_collection(); });
  lose_power_everywhere(0);
}

/// The index, on another disk, keeps more than the home does: it is that of another home then.
TEST_F(PowerLossTest, LosesNothingOnANetworkFileSystem) {
  const flor::testing::TemporaryDirectory index;
  ::setenv("FLOR_INDEX", index.path().c_str(), 1);
  FaultyFilesystem network;
  network.type = 0x6969;  // NFS
  record([&] {
    const auto store = open_store(network);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 3; ++step) write(writer, run, 1, step);
  });
  lose_power_everywhere(0, 50);  // fewer: the events of the index are not of this disk
  ::unsetenv("FLOR_INDEX");
}

/// Results of evaluations, which are told of once they are synced: the queue and the logs lie in
/// files of their own, of which a disk keeps what it likes.
class QueuePowerLossTest : public PowerLossTest {
 protected:
  static Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }
  static std::string result(int number) { return "{\"n\":" + std::to_string(number) + "}"; }

  /// `pages`: after that many the log of the queue is copied into it, which syncs both.
  void judge(int pages) {
    const auto store = open_store();
    const auto queue = open_home_queue(*store);
    queue_of(*store->impl().database, QueueUse::look)
        ->connection.execute(("PRAGMA wal_autocheckpoint=" + std::to_string(pages)).c_str());
    JobOrders orders{.owner = "", .retries = {}};
    const std::int64_t evaluator = queue->add_evaluator("eval.py:n", "00");
    for (int i = 1; i <= kJobs; ++i) {
      orders.additions.push_back(
          {.content = content(i), .evaluator = evaluator, .path = std::to_string(i)});
    }
    orders.requests = {{evaluator, kJobs}};
    const auto leases = queue->exchange(orders).leases;
    for (int i = 1; i <= kJobs; ++i) {
      const LeasedJob& leased = leases.at(static_cast<std::size_t>(i - 1));
      queue->exchange({.owner = "",
                       .retries = {},
                       .reports = {{leased.lease, JobReport::Kind::done, result(i)}}});
      if (i % 3 != 0) continue;
      queue->sync();
      for (int told = i - 2; told <= i; ++told) Disk::mark(static_cast<std::uint64_t>(told));
    }
  }

  static std::map<std::string, std::string> results_in(Connection& connection) {
    std::map<std::string, std::string> results;
    const auto rows =
        connection("SELECT content, json FROM job JOIN job_result ON job_result.job = id");
    while (rows->step()) results[rows->digest(0).hex()] = rows->text(1);
    return results;
  }

  void expect_kept(const std::filesystem::path& home, const std::set<int>& kept,
                   std::mt19937&) override {
    const auto store = Store::open(home, OpenMode::create);
    const auto queue = open_home_queue(*store);
    const auto found = results_in(queue_of(*store->impl().database, QueueUse::look)->connection);
    for (const int number : kept) EXPECT_EQ(found.count(content(number).hex()), 1U) << number;
    for (int i = 1; i <= kJobs; ++i) {
      const auto one = found.find(content(i).hex());
      if (one == found.end()) continue;
      EXPECT_EQ(one->second, result(i));
    }
    EXPECT_EQ(results_in(Store::open(home, OpenMode::create)->impl().database->connection), found);
  }

  static constexpr int kJobs = 9;
};

TEST_F(QueuePowerLossTest, LosesNoResultThatWasToldOf) {
  record([&] { judge(1000); });
  lose_power_everywhere(0);
}

TEST_F(QueuePowerLossTest, LosesNoResultThatWasToldOfWhileTheLogIsCopied) {
  record([&] { judge(2); });
  lose_power_everywhere(0);
}

TEST_F(QueuePowerLossTest, AnExchangeWaitsForNoDiskAndASyncForTwoFiles) {
  record([&] {
    const auto store = open_store();
    const auto queue = open_home_queue(*store);
    JobOrders orders{.owner = "", .retries = {}};
    const std::int64_t evaluator = queue->add_evaluator("eval.py:n", "00");
    for (int i = 0; i < 2; ++i) {
      orders.additions.push_back({.content = content(i), .evaluator = evaluator, .path = "a"});
    }
    orders.requests = {{evaluator, 2}};
    const auto leases = queue->exchange(orders).leases;
    const auto say = [&](const LeasedJob& leased) {
      queue->exchange(
          {.owner = "", .retries = {}, .reports = {{leased.lease, JobReport::Kind::done, "{}"}}});
    };
    say(leases.at(0));
    queue->sync();  // the log is new: so are its names
    Disk::mark(1);
    say(leases.at(1));
    Disk::mark(2);
    queue->sync();
    Disk::mark(3);
  });
  std::map<std::uint64_t, int> syncs;  // after each mark
  std::uint64_t mark = 0;
  for (const DiskEvent& event : events_) {
    if (event.kind == DiskEvent::Kind::mark) mark = event.offset;
    const bool is_sync =
        event.kind == DiskEvent::Kind::sync || event.kind == DiskEvent::Kind::sync_directory;
    syncs[mark] += is_sync ? 1 : 0;
  }
  EXPECT_EQ(syncs[1], 0);
  EXPECT_EQ(syncs[2], 2) << "the log of evaluations, and that of the queue";
}

class PowerLossOftenTest : public PowerLossTest {};
class QueuePowerLossOftenTest : public QueuePowerLossTest {};

TEST_F(QueuePowerLossOftenTest, LosesNoResultThatWasToldOfOnAnyOfManyDisks) {
  record([&] { judge(2); });
  lose_power_everywhere(12);
}

TEST_F(PowerLossOftenTest, LosesNothingOnAnyOfManyDisks) {
  record([&] {
    live_a_short_life(4);
    live_with_a_collection();
  });
  lose_power_everywhere(12);
}

TEST_F(PowerLossOftenTest, LosesNothingOnAnyOfManyDisksWithALongLog) {
  record([&] {
    live_a_short_life(1000);
    live_beside_a_reader();
  });
  lose_power_everywhere(12);
}

}  // namespace
}  // namespace flor::store::power_loss_test
