// The disk fails at any of the calls by which a checkpoint is written, those of SQLite included:
// the store keeps what it had, and when the disk works again the same writer goes on.
#include "behind.h"
#include "database/store_impl.h"
#include "file/mount_locks.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "promises.h"
#include "support/disk.h"
#include "support/packs.h"
#include "support/some_points.h"
#include "support/temporary_directory.h"

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace flor::store::disk_fault_test {
namespace {

using flor::testing::Disk;

constexpr std::size_t kWeights = 300;

/// What is being done when the disk fails.
enum class Moment {
  first_checkpoint,  ///< of a writer: a new pack
  later_checkpoint,
  copied_log,  ///< a later one, after which the log is copied into the database
  object,
  progress,  ///< only the catalog is written
  values,    ///< of names that were logged before, and of a new one
};

struct Fault {
  Disk::Calls calls;
  int error;
  bool stays;
};

std::string name_of(Moment moment) {
  static constexpr const char* kNames[] = {"a first checkpoint", "a later checkpoint",
                                           "a checkpoint that copies the log", "an object",
                                           "progress", "values"};
  return kNames[static_cast<int>(moment)];
}

class DiskFaultTest : public StoreTest, public ::testing::WithParamInterface<Moment> {
 protected:
  void SetUp() override { Disk::do_not_sync(); }
  void TearDown() override {
    Disk::heal();
    Disk::do_not_sync(false);
  }
  std::filesystem::path fast_home() const { return memory_ / "home"; }

  /// The steps of what may fail, and what must be true when they did not.
  void act(Store& store, CheckpointWriter& writer, const Run& run, int step) {
    const Snapshot snapshot = make_snapshot(run_seed(run), step, kWeights);
    switch (GetParam()) {
      case Moment::object:
        object_ = writer.write_object(snapshot.items[0].item,
                                      {snapshot.items[0].content.get(), kWeights * 4});
        return;
      case Moment::progress:
        store.catalog().put_main_loop(run.id, {0, "epoch", 0, step, false, false});
        return;
      case Moment::values:
        store.catalog().add_values(run.id, values_of(step));
        return;
      default:
        writer.write(boundary(step), snapshot);
    }
  }

  static std::vector<Value> values_of(int step) {
    std::vector<Value> values(2);
    values[0].name = "loss";
    values[1].name = "new" + std::to_string(step);
    for (Value& value : values) {
      value.place.epoch = step;
      value.value = 0.5 * step;
    }
    return values;
  }

  void expect_done(const Store& store, const Run& run, int step) {
    const Snapshot snapshot = make_snapshot(run_seed(run), step, kWeights);
    switch (GetParam()) {
      case Moment::object:
        EXPECT_EQ(std::memcmp(read_object(store, object_).content.data(),
                              snapshot.items[0].content.get(), kWeights * 4),
                  0);
        return;
      case Moment::progress:
        EXPECT_EQ(store.catalog().main_loops(run.id).at(0).iterations, step);
        return;
      case Moment::values: {
        const auto values =
            store.catalog().values({.run = run.id, .first_epoch = step, .last_epoch = step});
        EXPECT_EQ(values.size(), 2u);
        return;
      }
      default: {
        const auto info = store.catalog().checkpoint(run.id, boundary(step));
        ASSERT_TRUE(info);
        expect_holds(store, info->id, snapshot, 1);
      }
    }
  }

  static unsigned run_seed(const Run& run) { return static_cast<unsigned>(run.id); }

  void expect_earlier(const Store& store) {
    for (const Run& run : store.catalog().runs()) {
      for (const CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
        const int step = static_cast<int>(info.key.iteration);
        expect_holds(store, info.id, make_snapshot(run_seed(run), step, kWeights), 1);
      }
    }
    EXPECT_EQ(damage(store), "");
  }

  /// Fails at call `n`. False if the writing does not have as many.
  bool fail_at(const std::shared_ptr<Store>& store, const Fault& fault, int n, int& failures) {
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    const bool first = GetParam() == Moment::first_checkpoint;
    if (!first) writer.write(boundary(0), make_snapshot(run_seed(run), 0, kWeights));
    const int pages = GetParam() == Moment::copied_log ? 1 : 1000;
    store->impl().database->connection.execute(
        ("PRAGMA wal_autocheckpoint=" + std::to_string(pages)).c_str());
    if (fault.calls == Disk::Calls::reads) {
      // Otherwise hardly anything is read that was written a moment ago.
      store->impl().database->connection.execute("PRAGMA cache_size=1");
    }
    const int before = first ? 0 : 1;
    const bool is_checkpoint = GetParam() < Moment::object;

    Disk::fail(memory_.path(), fault.calls, n, fault.error, fault.stays);
    bool done = false;
    try {
      act(*store, writer, run, 1);
      done = true;
    } catch (const Error&) {
      ++failures;
    }
    const bool reached = Disk::heal() >= n;
    if (done) {
      expect_done(*store, run, 1);
    } else {
      EXPECT_EQ(store->catalog().checkpoints(run.id).size(), static_cast<std::size_t>(before));
    }
    expect_earlier(*store);
    // The same writer, twice, as if nothing had happened.
    for (int step = 1; step <= 2; ++step) {
      act(*store, writer, run, step);
      expect_done(*store, run, step);
    }
    EXPECT_EQ(store->catalog().run(run.id)->checkpoints, before + (is_checkpoint ? 2 : 0));
    expect_same_when_made_again(*store);
    store->catalog().drop_run(run.id);
    return reached;
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  std::string object_;
};

TEST_P(DiskFaultTest, TheStoreKeepsWhatItHadAndTheWriterGoesOn) {
  int points = 0, failures = 0;
  for (const Fault& fault :
       {Fault{Disk::Calls::changes, ENOSPC, true}, Fault{Disk::Calls::changes, ENOSPC, false},
        Fault{Disk::Calls::changes, EIO, true}, Fault{Disk::Calls::changes, EIO, false},
        Fault{Disk::Calls::changes, EINTR, false}, Fault{Disk::Calls::reads, EIO, true},
        Fault{Disk::Calls::reads, EIO, false}}) {
    // A store of its own, whose every page is read anew: what is cached does not fail.
    std::filesystem::remove_all(fast_home());
    testing::SomePoints calls(6, 5);
    for (int n = calls.next();; n = calls.next(), ++points) {
      ASSERT_LT(n, 1000);
      const auto store = Store::open(fast_home(), OpenMode::create);
      const bool reached = fail_at(store, fault, n, failures);
      if (HasFailure()) {
        FAIL() << "error " << fault.error << " at call " << n
               << (fault.stays ? " and all after" : "")
               << (fault.calls == Disk::Calls::reads ? ", a read" : "");
      }
      if (!reached) break;
    }
  }
  std::printf("%s: the disk failed at %d points, %d of them were errors: nothing lost\n",
              name_of(GetParam()).c_str(), points, failures);
  RecordProperty("points", points);
  EXPECT_GT(failures, 5);
}

INSTANTIATE_TEST_SUITE_P(Moments, DiskFaultTest,
                         ::testing::Values(Moment::first_checkpoint, Moment::later_checkpoint,
                                           Moment::copied_log, Moment::object, Moment::progress,
                                           Moment::values));

/// A commit that failed may be in the log all the same, as far as a crash is concerned.
class RevivalTest : public StoreTest {
 protected:
  std::filesystem::path fast_home() const { return memory_ / "home"; }

  void copy_without_shared_memory(const std::filesystem::path& to) const {
    std::filesystem::copy(fast_home(), to, std::filesystem::copy_options::recursive);
    std::filesystem::remove(to / "catalog.db-shm");
  }

  static void make_packs_old(const std::filesystem::path& home) {
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
    for (const auto& entry : flor::testing::packs_of(home)) {
      std::filesystem::last_write_time(entry.path(), old);
    }
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
};

TEST_F(RevivalTest, WhatAFailedCommitRefersToIsNotCollectedUnderIt) {
  Disk::do_not_sync();
  int failures = 0, revived = 0;
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 1000);
    std::filesystem::remove_all(fast_home());
    const auto store = Store::open(fast_home(), OpenMode::create);
    const Run run = store->catalog().add_run(new_run());
    Promises promises;
    auto writer = std::make_unique<CheckpointWriter>(*store, run.id);
    for (int step = 0; step < 2; ++step) {
      promises.attempt(run.id, boundary(step), make_snapshot(1, step, kWeights));
    }
    writer->write(boundary(0), promises[1].snapshot);
    Disk::fail(memory_.path(), Disk::Calls::changes, n, EIO, false);
    bool failed = false;
    try {
      writer->write(boundary(1), promises[2].snapshot);
    } catch (const Error&) {
      failed = true;
      ++failures;
    }
    if (Disk::heal() < n) break;
    if (!failed) continue;
    writer.reset();
    // The machine crashes before garbage is collected, and after it.
    const auto before = memory_ / "before", after = memory_ / "after";
    copy_without_shared_memory(before);
    make_packs_old(fast_home());
    collect(*Store::open(fast_home(), OpenMode::existing), false);
    copy_without_shared_memory(after);
    promises.expect_kept(before, {1});
    if (Store::open(before, OpenMode::existing)->catalog().checkpoint(run.id, boundary(1))) {
      ++revived;
    }
    promises.expect_kept(after, {1});
    for (const auto& home : {fast_home(), before, after}) expect_same_when_made_again(home);
    if (HasFailure()) FAIL() << "call " << n;
    std::filesystem::remove_all(before);
    std::filesystem::remove_all(after);
  }
  Disk::do_not_sync(false);
  EXPECT_GT(failures, 3);
  std::printf("%d commits failed, and a crash brought %d of them to life\n", failures, revived);
}

class NewStoreFaultTest : public StoreTest {};

TEST_F(NewStoreFaultTest, AStoreThatCouldNotBeMadeIsMadeTheNextTime) {
  Disk::do_not_sync();
  int points = 0;
  for (const int error : {ENOSPC, EIO}) {
    testing::SomePoints calls(12, 6);
    for (int n = calls.next();; n = calls.next(), ++points) {
      ASSERT_LT(n, 1000);
      const flor::testing::TemporaryDirectory memory{flor::testing::fast_parent()};
      Disk::fail(memory.path(), Disk::Calls::changes, n, error, true);
      try {
        Store::open(memory / "home", OpenMode::create)->catalog().add_run(new_run());
      } catch (const Error&) {
        EXPECT_GE(Disk::heal(), n);
      }
      const bool reached = Disk::heal() >= n;
      Promises::expect_usable(memory / "home");
      expect_same_when_made_again(memory / "home");
      if (!reached) break;
    }
  }
  Disk::do_not_sync(false);
  std::printf("a new store: the disk failed at %d points\n", points);
  EXPECT_GT(points, 20);
}

TEST_F(NewStoreFaultTest, CallsThatAreInterruptedOrDoHalfOfTheirWorkAreContinued) {
  for (const bool interrupted : {false, true}) {
    const flor::testing::TemporaryDirectory memory{flor::testing::fast_parent()};
    Disk::hesitate(memory.path(), interrupted);
    Promises promises;
    {
      const auto store = Store::open(memory / "home", OpenMode::create);
      const Run run = store->catalog().add_run(new_run());
      CheckpointWriter writer(*store, run.id);
      for (int step = 0; step < 4; ++step) {
        const Snapshot snapshot = make_snapshot(1, step, 20'000);
        promises.attempt(run.id, boundary(step), snapshot);
        writer.write(boundary(step), snapshot);
      }
    }
    promises.expect_kept(memory / "home", {1, 2, 3, 4});
    Disk::heal();
    promises.expect_kept(memory / "home", {1, 2, 3, 4});
    expect_same_when_made_again(memory / "home");
  }
}

/// What could not be read of a journal is read the next time, of the index that there is and of one
/// that is made again.
TEST_F(NewStoreFaultTest, AJournalThatCouldNotBeReadOnceIsReadLater) {
  for (const bool has_index : {true, false}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 100);
      std::filesystem::remove_all(home());
      const Run run = open()->catalog().add_run(new_run());
      for (const char* name : {"a", "b"}) leave_argument_in_journal(home(), run.key, name);
      if (!has_index) std::filesystem::remove(home() / "catalog.db");
      Disk::fail(home() / "runs", Disk::Calls::reads, n, EIO, false);
      open(OpenMode::existing);
      const bool reached = Disk::heal() >= n;
      const auto store = open(OpenMode::existing);
      const auto runs = store->catalog().runs();
      ASSERT_EQ(runs.size(), 1u) << n;
      EXPECT_EQ(store->catalog().arguments(runs[0].id).size(), 2u) << n;
      if (!reached || HasFailure()) break;
    }
  }
}

class LockFaultTest : public StoreTest {
 protected:
  void SetUp() override { Disk::do_not_sync(); }
  void TearDown() override {
    Disk::heal();
    Disk::do_not_sync(false);
  }
  static double seconds_of(const std::function<void()>& body) {
    const auto began = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
};

/// As where the lock service of a network file system is gone. SQLite alone would wait 10 s and
/// more for each statement, whatever its timeout is.
TEST_F(LockFaultTest, LocksThatFailAreWaitedForAsLongAsThePatienceSaysAndNameARemedy) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  EXPECT_EQ(store->why_locks_fail(), "");
  store->set_patience(std::chrono::milliseconds(50));
  for (const int error : {ENOLCK, EIO, EINVAL}) {
    Disk::fail(home(), Disk::Calls::locks, 1, error, true);
    EXPECT_EQ(store->why_locks_fail(), std::generic_category().message(error));
    std::string message;
    const double took = seconds_of([&] {
      try {
        store->catalog().add_iteration(run.id, {});
      } catch (const Error& refused) {
        message = refused.what();
      }
    });
    EXPECT_LT(took, 8);  // of the 10 s that SQLite alone would wait
    EXPECT_THAT(message, ::testing::HasSubstr("cannot be locked (" +
                                              std::generic_category().message(error) + ")"));
    EXPECT_THAT(message, ::testing::HasSubstr("or put the store on a local disk"));
    EXPECT_EQ(message.find('\n'), message.npos);
    Disk::heal();
    store->catalog().add_iteration(run.id, {});
  }
}

/// A store is opened with all patience, before anything says how long a training may wait.
TEST_F(LockFaultTest, AStoreIsNotOpenedForHalfAMinuteWhereLocksAreRefused) {
  open();
  const auto usual = std::exchange(lock_outage, std::chrono::milliseconds(100));
  for (const int error : {ENOLCK, EIO}) {
    for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
      Disk::fail(home(), Disk::Calls::locks, 1, error, true);
      const double took = seconds_of([&] {
        try {
          Store::open(home(), mode)->catalog().runs();
        } catch (const Error& refused) {
          EXPECT_THAT(refused.what(), ::testing::HasSubstr("cannot be locked ("));
        }
      });
      EXPECT_LT(took, 10);
      Disk::heal();
    }
  }
  lock_outage = usual;
}

/// SQLite takes a lock that it failed to give back for one that is held: by itself, or by another
/// connection of the process, for as long as that has the index open.
TEST_F(LockFaultTest, NoLockIsKeptForEverBecauseGivingItBackFailed) {
  const auto usual = std::exchange(lock_outage, std::chrono::milliseconds(10));
  for (const bool stays : {false, true}) {
    bool reached = true;
    testing::SomePoints points(3, stays ? 9 : 3);
    for (int at = points.next(); reached && !HasFailure(); at = points.next()) {
      SCOPED_TRACE(std::to_string(at) + (stays ? " and all after it" : ""));
      const testing::TemporaryDirectory place(testing::fast_parent());
      const auto store = Store::open(place.path(), OpenMode::create);
      const auto beside = Store::open(place.path(), OpenMode::existing);
      const Run run = store->catalog().add_run(new_run());
      const std::vector<std::shared_ptr<Store>> both{store, beside};
      for (const auto& each : both) each->set_patience(std::chrono::milliseconds(20));
      const auto work = [&](const std::shared_ptr<Store>& in) {
        in->catalog().add_iteration(run.id, {});
        EXPECT_EQ(in->catalog().runs().size(), 1U);
        in->impl().database->connection.truncate_log();
        in->catalog().add_iteration(run.id, {});
      };
      Disk::fail(place.path(), Disk::Calls::locks, at, ENOLCK, stays);
      for (const auto& each : both) {
        try {
          work(each);
          work(Store::open(place.path(), OpenMode::existing));  // one that ends meanwhile
        } catch (const Error&) {  // it says so, which others test
        }
      }
      reached = Disk::heal() >= at;
      for (const auto& each : both) EXPECT_NO_THROW(work(each));
    }
  }
  lock_outage = usual;
}

TEST_F(LockFaultTest, AnotherProcessIsWaitedForAsLongAsThePatienceSays) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const auto other = open();
  const Transaction held(other->impl().database->connection);
  store->set_patience(std::chrono::milliseconds(50));
  std::string message;
  const double took = seconds_of([&] {
    try {
      store->catalog().add_iteration(run.id, {});
    } catch (const Busy& busy) {
      message = busy.what();
    }
  });
  EXPECT_GE(took, 0.04);
  EXPECT_LT(took, 8);  // of the 10 s that SQLite alone would wait
  EXPECT_THAT(message, ::testing::HasSubstr("is locked by another process since more than 0.05 s"));
}

/// A repair takes a journal for that of a process that has ended when it can lock it.
TEST_F(LockFaultTest, AJournalThatCannotBeLockedIsNotWritten) {
  const Run run = open()->catalog().add_run(new_run());
  const auto store = open();
  for (const int error : {ENOLCK, EIO}) {
    Disk::fail(home() / "runs", Disk::Calls::flocks, 1, error, true);
    EXPECT_THAT(message_of<Error>([&] { store->catalog().add_iteration(run.id, {}); }),
                ::testing::HasSubstr("cannot lock"));
    Disk::heal();
  }
  store->catalog().add_iteration(run.id, {});
  const auto journals = find_journals(Paths{home()}, run.key);
  ASSERT_EQ(journals.size(), 2u) << "nothing is left of those that failed";
  EXPECT_TRUE(is_written(Filesystem::system(), journals[1].path));
  EXPECT_FALSE(is_written(Filesystem::system(), journals[0].path));
  Disk::fail(home() / "runs", Disk::Calls::flocks, 1, ENOLCK, true);
  EXPECT_TRUE(is_written(Filesystem::system(), journals[0].path)) << "it cannot be told";
}

TEST_F(LockFaultTest, AnErrorOfTheDiskNeverSaysSuccess) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  using ::testing::ContainsRegex;
  for (const auto& [error, words] : {std::pair(EIO, "the disk fails"),
                                     {ENOSPC, "[Nn]o space left"},
                                     {EDQUOT, "no space left|Disk quota exceeded"}}) {
    for (int n = 1; n < 4; ++n) {
      Disk::fail(home(), Disk::Calls::changes, n, error, true);
      try {
        store->catalog().add_iteration(run.id, {});
      } catch (const Error& refused) {
        EXPECT_THAT(refused.what(), ContainsRegex(words));
        EXPECT_THAT(refused.what(), ::testing::Not(::testing::HasSubstr("Success")));
      }
      Disk::heal();
    }
  }
}

}  // namespace
}  // namespace flor::store::disk_fault_test
