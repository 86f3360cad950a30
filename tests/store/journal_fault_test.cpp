// Disks that fail while journals are written: what failed is in no index, and nothing is left of
// it.
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "journal_fixture.h"
#include "maintain/collect.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

namespace flor::store::journal_fault_test {
namespace {

namespace fs = std::filesystem;

/// The disk leaves what it was to write and cut off. The change failed, so no index says it.
TEST_F(JournalTest, WhatFailedIsInNoIndexThatIsMadeAgain) {
  for (const int error : {ENOSPC, EIO, EROFS}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 100);
      fs::remove_all(home());
      FaultyFilesystem disk;
      disk.error = error;
      const auto store = Store::Impl::open(home(), OpenMode::create, disk);
      const Run run = store->catalog().add_run(new_run());
      store->catalog().add_argument(run.id, {"first", "int", "1"});
      disk.calls = 0;
      disk.fail_at = n;
      std::vector<std::string> said{"first"};
      const auto say = [&](const std::string& name) {
        try {
          store->catalog().add_argument(run.id, {name, "int", "1"});
          said.push_back(name);
        } catch (const Error&) {  // it says so
        }
      };
      say("a-much-longer-name-of-one-that-the-disk-refuses");
      const bool failed = disk.has_failed();
      say("refused-while-the-disk-fails");
      disk.heal();
      say("b");
      say("c");
      remove_index(home());
      std::vector<std::string> found;
      const auto made = open();
      for (const auto& argument : made->catalog().arguments(run.id)) found.push_back(argument.name);
      EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(said))
          << "error " << error << " at " << n;
      EXPECT_EQ(damage(*made), "");
      if (HasFailure() || !failed) break;
    }
  }
}

/// As a damaged disk leaves it: what another process has read meanwhile is cut off.
TEST_F(JournalTest, AnIndexThatHasReadWhatFailedIsMadeAgain) {
  FaultyFilesystem disk;
  disk.error = EIO;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  disk.calls = 0;
  disk.fail_at = 2;  // what is written is not synced, and then not cut off
  EXPECT_THROW(store->catalog().add_argument(run.id, {"failed", "int", "1"}), Error);
  ASSERT_EQ(open()->catalog().arguments(run.id).size(), 1u) << "this disk has cut it off";
  disk.heal();
  store->catalog().add_argument(run.id, {"later", "int", "1"});
  for (int i = 0; i < 2; ++i) open();
  const auto now = open();
  ASSERT_EQ(now->catalog().arguments(run.id).size(), 1u);
  EXPECT_EQ(now->catalog().arguments(run.id)[0].name, "later");
}

/// Whatever fails when a run is added, and whichever run has its id then.
TEST_F(JournalTest, EveryJournalBeginsWithItsWriterWhateverFailedBefore) {
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    fs::remove_all(home());
    FaultyFilesystem disk;
    disk.error = EIO;
    const auto store = Store::Impl::open(home(), OpenMode::create, disk);
    disk.calls = 0;
    disk.fail_at = n;
    disk.stays_broken = false;
    bool failed = false;
    try {
      store->catalog().add_run(new_run("first"));
    } catch (const Error&) {
      failed = true;
    }
    disk.heal();
    const Run run = store->catalog().add_run(new_run("second"));
    for (const std::string& key : find_runs(Paths{home()})) {
      const auto journals = find_journals(Paths{home()}, key);
      EXPECT_EQ(journals.size(), key == run.key || !failed ? 1u : 0u) << n;
      for (const FoundJournal& journal : journals) {
        const auto kinds = kinds_of(journal.path);
        ASSERT_GE(kinds.size(), 2u) << n;
        EXPECT_EQ(kinds[0], EventKind::writer) << n;
        EXPECT_EQ(kinds[1], EventKind::run) << n;
      }
    }
    EXPECT_EQ(damage(*store), "") << n;
    remove_index(home());
    EXPECT_EQ(open()->catalog().runs().size(), failed ? 1u : 2u) << n;
    if (!failed || HasFailure()) break;
  }
}

/// What the index has stays in the journal, whatever goes wrong once it has it.
TEST_F(JournalTest, AnErrorAfterTheCommitTakesNothingBack) {
  Run run;
  {
    const auto store = open();
    store->impl().database->connection.before_lasting([] { throw std::bad_alloc(); });
    run = store->catalog().add_run(new_run());
    store->catalog().add_argument(run.id, {"lr", "real", "0.5"});
  }
  EXPECT_EQ(damage(*open()), "");
  remove_index(home());
  EXPECT_EQ(open()->catalog().arguments(run.id).size(), 1u);
}

/// An hour in which nothing can be synced, and one in which nothing can be made.
TEST_F(JournalTest, AFaultThatLastsLeavesNoNames) {
  FaultyFilesystem disk;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  const auto other = Store::Impl::open(home(), OpenMode::create, disk);
  for (const int error : {EIO, ENOSPC}) {
    disk.error = error;
    for (int i = 0; i < 100; ++i) {
      disk.calls = 0;
      disk.fail_at = 1 + i % 6;
      disk.stays_broken = i % 12 < 6;
      for (const auto& each : {store, other}) {
        try {
          each->catalog().add_argument(run.id, {"a" + std::to_string(i), "int", "1"});
        } catch (const Error&) {  // it says so
        }
      }
    }
  }
  disk.heal();
  for (const auto& each : {store, other}) {
    each->catalog().add_argument(run.id, {"last", "int", "1"});
  }
  const Paths paths{home()};
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  const auto journals = find_journals(paths, run.key);
  EXPECT_EQ(names_in(paths.run(run.key)).size(), journals.size());
  for (const FoundJournal& journal : journals) {
    EXPECT_GE(kinds_of(journal.path).size(), 2u) << journal.path;
  }
  EXPECT_EQ(damage(*store), "");
}

/// What killed processes leave, of earlier versions, too.
TEST_F(JournalTest, GcRemovesNamesThatLeadToNothing) {
  FaultyFilesystem disk;
  const auto store = Store::Impl::open(home(), OpenMode::create, disk);
  const Run run = store->catalog().add_run(new_run());
  const Run waiting = open()->catalog().add_run(new_run("waits"));
  const Paths paths{home()};
  const std::string lost = run.key.substr(0, 2) + "0123456789abcd";
  const auto touch = [](const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file).flush();
  };
  for (const char* end : {".0000000000000000", ".0000000000000001", ".0000000000000002"}) {
    touch(paths.announced() / (run.key + end));
  }
  touch(paths.announced() / (lost + ".0000000000000000"));
  touch(paths.runs() / lost.substr(0, 2) / (lost + ".gone") / "1/journal");
  fs::create_directories(paths.run(run.key) / "7");
  fs::create_directories(paths.run(lost));
  touch(paths.run(run.key) / "8/journal");
  touch(paths.run(run.key) / "notes");
  touch(paths.run(run.key) / "9/notes");
  // A process whose first change failed, and that goes on.
  disk.calls = 0;
  disk.fail_at = 5;
  disk.stays_broken = false;
  EXPECT_THROW(store->catalog().add_argument(waiting.id, {"a", "int", "1"}), Error);
  disk.heal();
  const auto make_all_old = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(paths.runs())) make_old(entry);
  };
  collect(*store, false);
  EXPECT_EQ(names_in(paths.run(run.key)).size(), 5u) << "younger than an hour";
  EXPECT_TRUE(fs::exists(paths.run(lost)));
  make_all_old();
  collect(*store, false);
  EXPECT_THAT(names_in(paths.run(run.key)), ::testing::UnorderedElementsAre("1", "notes", "9"));
  EXPECT_FALSE(fs::exists(paths.run(lost)));
  EXPECT_FALSE(fs::exists(paths.run(lost).string() + ".gone"));
  EXPECT_THAT(names_in(paths.announced()),
              ::testing::ElementsAre(::testing::StartsWith(waiting.key)));
  store->catalog().add_argument(waiting.id, {"a", "int", "1"});
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  EXPECT_EQ(damage(*store), "");
  remove_index(home());
  EXPECT_EQ(open()->catalog().arguments(open()->catalog().resolve("waits").id).size(), 1u);
}

}  // namespace
}  // namespace flor::store::journal_fault_test
