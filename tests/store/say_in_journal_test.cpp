// Recordings that say of their runs in journals alone: the index hears of it late, and nothing of it is
// lost meanwhile.
#include "checkpoint/peer_checkpoints.h"
#include "collect_fixture.h"
#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "index/journal_writing.h"
#include "index/refresh.h"
#include "made_again.h"
#include "maintain/archive.h"
#include "maintain/collect.h"

#include <flor/store/error.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

Value loss(std::int64_t epoch, double value) {
  Value logged;
  logged.name = "loss";
  logged.place.path = "epoch";
  logged.place.epoch = epoch;
  logged.value = value;
  return logged;
}

class SayInJournal : public CollectTest {
 protected:
  Run begin(Store& store, const std::string& experiment = "linear") {
    const Run run = store.catalog().add_run(new_run(experiment));
    store.catalog().say_in_journal(run.id);
    return run;
  }

  static std::int64_t one(const Store& store, const std::string& sql) {
    const auto connection = open_for_reading(store.impl().database->paths);
    const auto row = (*connection)(sql);
    return row->step() ? row->integer(0) : -1;
  }

  void expect_step(const Store& store, const Run& run, unsigned seed, int step,
                   std::size_t weights = 20'000) {
    const auto info = store.catalog().checkpoint(run.id, boundary(step));
    ASSERT_TRUE(info) << step;
    expect_holds(store, info->id, make_snapshot(seed, step, weights), 1);
  }
};

TEST_F(SayInJournal, WhatIsSaidWhileOthersReadIsFoundThoughTheRecordingHasEnded) {
  const auto reader = open();
  Database& index = *reader->impl().database;
  std::int64_t run = 0;
  {
    const auto recording = open();
    const Run begun = begin(*recording);
    run = begun.id;
    recording->catalog().add_values(run, std::vector{loss(0, 0.5)});
    reader->catalog().follow();
    recording->catalog().add_values(run, std::vector{loss(1, 0.25)});
  }
  {
    // As a command does that has read the journal before the last value came.
    const std::lock_guard lock(index.mutex);
    Transaction transaction(index.connection);
    close_ended_journals(index, {});
    transaction.commit();
  }
  reader->catalog().follow();
  EXPECT_EQ(reader->catalog().metrics(run).at(0).count, 2);
  EXPECT_EQ(one(*reader, "SELECT count(*) FROM journal WHERE NOT closed"), 0);
}

TEST_F(SayInJournal, TheIndexIsLeftAloneAndWhoOpensTheStoreFindsAll) {
  const auto store = open();
  const Run run = begin(*store);
  Catalog& catalog = store->catalog();
  CheckpointWriter writer(*store, run.id);
  writer.write(boundary(0), make_snapshot(1, 0, 20'000));  // asks what the store has
  const std::int64_t checkpoints = one(*store, "SELECT count(*) FROM checkpoint");
  {
    // Nobody else may write the index now, this store included.
    Connection other(home() / "catalog.db", Connection::Mode::existing);
    const Transaction held(other);
    store->set_patience(std::chrono::milliseconds(0));
    catalog.add_argument(run.id, {"lr", "real", "0.1"});
    for (int step = 1; step < 5; ++step) {
      const std::vector values{loss(step - 1, 1.0 / step)};
      catalog.add_values(run.id, values);
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
      catalog.add_iteration(run.id, {.main_loop = 0, .iteration = step - 1, .seconds = 1});
    }
    const std::vector<std::byte> content(1000, std::byte{7});
    const Item item{"image", ElementType::u8, {1000}, 1000};
    writer.write_object(item, content);
    EXPECT_FALSE(catalog.follow());
  }
  EXPECT_EQ(one(*store, "SELECT count(*) FROM checkpoint"), checkpoints);
  {
    const auto looking = open(OpenMode::read_only);
    EXPECT_EQ(looking->catalog().values({.run = run.id}).size(), 4U);
    EXPECT_EQ(looking->catalog().iterations(run.id).size(), 4U);
    EXPECT_EQ(looking->catalog().arguments(run.id).size(), 1U);
    for (int step = 0; step < 5; ++step) expect_step(*looking, run, 1, step);
    EXPECT_EQ(damage(*looking), "");
  }
  store->set_patience(std::chrono::milliseconds(30'000));
  catalog.finish_run(run.id, 2'000'000'000'000'000, false, "");
  EXPECT_EQ(catalog.run(run.id)->checkpoints, 5);
  EXPECT_EQ(catalog.run(run.id)->state, RunState::finished);
  EXPECT_GE(one(*store, "SELECT count(*) FROM chunk WHERE depth > 0"), 3);
  expect_same_when_made_again(*store);
}

TEST_F(SayInJournal, ARunEndsAlsoWhereTheIndexCannotBeWritten) {
  const auto store = open();
  const Run run = begin(*store);
  {
    Connection other(home() / "catalog.db", Connection::Mode::existing);
    const Transaction held(other);
    store->set_patience(std::chrono::milliseconds(0));
    const std::vector values{loss(0, 0.5)};
    store->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "", {.values = values});
  }
  const auto looking = open(OpenMode::read_only);
  EXPECT_EQ(looking->catalog().run(run.id)->state, RunState::finished);
  EXPECT_EQ(looking->catalog().values({.run = run.id}).size(), 1U);
}

TEST_F(SayInJournal, AWriterThatCannotAskTheIndexStoresItsOwnCopy) {
  const auto store = open();
  const Run before = record(*store, 1, 1);
  const Run run = begin(*store);
  {
    Connection other(home() / "catalog.db", Connection::Mode::existing);
    const Transaction held(other);
    store->set_patience(std::chrono::milliseconds(0));
    CheckpointWriter writer(*store, run.id);
    writer.write(boundary(0), unique(1));
  }
  store->set_patience(std::chrono::milliseconds(30'000));
  store->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "");
  expect_unique(*store, run, 1, 0);
  EXPECT_EQ(one(*store, "SELECT count(*) FROM chunk"), 1);
  make_packs_old(home());  // of a process that has ended long ago
  EXPECT_GT(collect(*store, false).freed, 40'000U);
  expect_unique(*store, run, 1, 0);
  expect_unique(*store, before, 1, 0);
}

/// A collection that knows nothing of what journals alone say.
TEST_F(SayInJournal, WhatJournalsAloneSayIsNoGarbage) {
  const auto store = open();
  const Run run = begin(*store);
  auto writer = std::make_unique<CheckpointWriter>(*store, run.id);
  writer->write(boundary(0), unique(0));
  const auto collecting = open();
  for (int step = 1; step < 12; ++step) {
    if (step % 3 == 0) {
      // Its pack is not being written any more.
      writer = std::make_unique<CheckpointWriter>(*store, run.id);
    }
    writer->write(boundary(step), unique(static_cast<unsigned>(step / 2)));
    if (step % 3 == 1) store->catalog().follow();
    store->catalog().drop_checkpoints(run.id, std::vector{boundary(step - 1)});
    make_packs_old(home());
    collect(*collecting, false, 1);
  }
  store->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "");
  const auto info = store->catalog().checkpoint(run.id, boundary(11));
  ASSERT_TRUE(info);
  expect_holds(*store, info->id, unique(5));
  EXPECT_EQ(damage(*store), "");
  expect_same_when_made_again(*store);
}

TEST_F(SayInJournal, WhileOthersCollectArchiveAndLookNothingIsLost) {
  constexpr int kRecorders = 2, kSteps = 60;
  const auto store = open();
  // The same content as the first recorder's, to be archived meanwhile.
  const Run twin = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, twin.id);
    for (int step = 0; step < 9; ++step) writer.write(boundary(step), make_snapshot(1, step, 9'000));
    store->catalog().finish_run(twin.id, 2'000'000'000'000'000, false, "");
  }
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kRecorders; ++i) {
    children.push_back(start_process([&, i] {
      const auto mine = open();
      const Run run = begin(*mine);
      const auto lock = mine->lock_run(run.key);
      std::unique_ptr<CheckpointWriter> writer;
      for (int step = 0; step < kSteps; ++step) {
        if (step % 13 == 0) writer = std::make_unique<CheckpointWriter>(*mine, run.id);
        writer->write(boundary(step), make_snapshot(1 + i, step % 9, 9'000));
        const std::vector values{loss(step, step)};
        mine->catalog().add_values(run.id, values);
        if (step >= 4) drop(*mine, run, step - 4, step - 4);
        if (step % 7 == 0) mine->catalog().follow();
      }
      mine->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "");
      for (int step = kSteps - 4; step < kSteps; ++step) {
        const auto info = mine->catalog().checkpoint(run.id, boundary(step));
        if (!info) return 3;
        expect_holds(*mine, info->id, make_snapshot(1 + i, step % 9, 9'000), 1);
      }
      const bool whole = mine->catalog().values({.run = run.id}).size() == kSteps;
      return ::testing::Test::HasFailure() || !whole ? 1 : 0;
    }));
  }
  int status = 0;
  for (std::size_t ended = 0; ended < children.size();) {
    const auto mine = open();
    collect(*mine, false, 1);
    try {
      archive(*mine, *mine->catalog().run(twin.id), {});
    } catch (const Busy&) {
      continue;
    }
    const auto looking = open(OpenMode::read_only);
    EXPECT_EQ(damage(*looking), "");
    if (const pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      ++ended;
    }
  }
  EXPECT_EQ(damage(*store), "");
  for (int step = 0; step < 9; ++step) expect_step(*store, twin, 1, step, 9'000);
  expect_same_when_made_again(*open());
}

/// Calls `then` once, after a collection has looked at the packs that there were.
class WhileCollecting final : public Filesystem {
 public:
  int opened = 0;  ///< packs
  std::function<void()> then;

  int open(const char* path, int flags, mode_t mode) override {
    const bool is_pack = std::string_view(path).ends_with(".pack");
    if (is_pack && then && ++opened == 2) std::exchange(then, {})();
    return Filesystem::open(path, flags, mode);
  }
};

TEST_F(SayInJournal, APackThatCameWhileACollectionLookedIsLeftToTheNext) {
  WhileCollecting files;
  {
    const auto store = open();
    record(*store, 1, 1);
  }
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  Run run;
  files.then = [&] {
    const auto recording = open();
    run = begin(*recording);
    CheckpointWriter writer(*recording, run.id);
    for (unsigned step = 0; step < 8; ++step) {
      writer.write(boundary(step), unique(10 + step));
      if (step == 3) recording->catalog().follow();  // the index knows half of the pack
    }
  };
  collect(*store, false, 1);
  EXPECT_FALSE(files.then);
  for (int step = 0; step < 8; ++step) expect_unique(*open(), run, 10, step);
  collect(*open(), false, 1);
  for (int step = 0; step < 8; ++step) expect_unique(*open(), run, 10, step);
  EXPECT_EQ(damage(*open()), "");
}

/// As where a mount has the option nolock: the writer of another machine holds no lock that is seen.
TEST_F(SayInJournal, WhereLocksAreLocalWhatWasWrittenTodayIsLeft) {
  FaultyFilesystem files;
  files.local_locks = "nolock";
  std::int64_t run = 0;
  {
    const auto elsewhere = open();
    const Run begun = begin(*elsewhere);
    run = begun.id;
    CheckpointWriter writer(*elsewhere, run);
    for (unsigned step = 0; step < 4; ++step) writer.write(boundary(step), unique(step));
    drop(*elsewhere, begun, 0, 2);
  }
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const CollectReport report = collect(*store, false, 1);
  EXPECT_EQ(report.packs_compacted + report.packs_removed + report.journals_sealed, 0);
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_THAT(report.remarks.front(), ::testing::HasSubstr("(nolock)"));
  EXPECT_EQ(one(*store, "SELECT count(*) FROM journal WHERE closed"), 0);
  files.local_locks.clear();
  EXPECT_EQ(collect(*store, false, 1).packs_compacted, 1);
  const auto info = store->catalog().checkpoint(run, boundary(3));
  ASSERT_TRUE(info);
  expect_holds(*store, info->id, unique(3));
}

/// Its base has another depth in the index than the recording knows.
TEST_F(SayInJournal, AnArchiveOfTheSameContentBreaksNoChain) {
  const auto store = open();
  const Run twin = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, twin.id);
    for (int step = 0; step < 12; ++step) writer.write(boundary(step), make_snapshot(1, step, 9'000));
    store->catalog().finish_run(twin.id, 2'000'000'000'000'000, false, "");
  }
  const auto recording = open();
  const Run run = begin(*recording);
  CheckpointWriter writer(*recording, run.id);
  for (int step = 0; step < 12; ++step) {
    writer.write(boundary(step), make_snapshot(1, step, 9'000));
    if (step == 5) archive(*store, *store->catalog().run(twin.id), {});
    if (step > 5) collect(*store, false, 1);
  }
  for (int step = 12; step < 16; ++step) writer.write(boundary(step), make_snapshot(1, step, 9'000));
  recording->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "");
  for (int step = 0; step < 16; ++step) expect_step(*recording, run, 1, step, 9'000);
  EXPECT_EQ(damage(*recording), "");
  collect(*recording, false, 1);
  for (int step = 0; step < 16; ++step) expect_step(*recording, run, 1, step, 9'000);
  expect_same_when_made_again(*recording);
}

TEST_F(SayInJournal, ARankNeedNotStoreWhatAnotherHas) {
  const auto first = open(), second = open();
  const Run leader = begin(*first), follower = begin(*second);
  CheckpointWriter one_writer(*first, leader.id), other_writer(*second, follower.id);
  PeerCheckpoints stored(*second, leader.key);
  std::uint64_t added = 0;
  for (unsigned step = 0; step < 6; ++step) {
    one_writer.write(boundary(step), unique(step));
    stored.follow();
    const auto* known = stored.find(boundary(step));
    ASSERT_TRUE(known) << step;
    other_writer.also_stored(known->chunks);
    added += other_writer.write(boundary(step), unique(step)).stored_bytes;
  }
  EXPECT_EQ(added, 0U);
  EXPECT_EQ(stored.last()->key, boundary(5));
  EXPECT_EQ(stored.find(boundary(6)), nullptr);
  // The run of rank 1 is entered first, though it needs the packs of rank 0.
  second->catalog().finish_run(follower.id, 2'000'000'000'000'000, false, "");
  for (int step = 0; step < 6; ++step) expect_unique(*second, follower, 0, step);
  first->catalog().finish_run(leader.id, 2'000'000'000'000'000, false, "");
  for (int step = 0; step < 6; ++step) expect_unique(*first, leader, 0, step);
  expect_same_when_made_again(*first);
}

TEST_F(SayInJournal, ACheckpointThatAnotherRankHasDeletedIsNotReferredTo) {
  const auto store = open();
  const Run run = begin(*store);
  CheckpointWriter writer(*store, run.id);
  for (unsigned step = 0; step < 3; ++step) writer.write(boundary(step), unique(step));
  store->catalog().drop_checkpoints(run.id, std::vector{boundary(1)});
  PeerCheckpoints stored(*store, run.key);
  stored.follow();
  EXPECT_TRUE(stored.find(boundary(0)));
  EXPECT_FALSE(stored.find(boundary(1)));
}

/// An event that was prepared and never written has no layout that a later one could leave out.
TEST_F(SayInJournal, ALayoutThatWasNeverWrittenIsNotKnown) {
  const auto store = open();
  const Run run = begin(*store);
  Database& database = *store->impl().database;
  const Digest layout = digest_of(random_bytes(1, 100));
  { EXPECT_FALSE(JournalWriting(database, run.id).knows_layout(layout)); }
  EXPECT_FALSE(JournalWriting(database, run.id).knows_layout(layout));
}

/// The process before has said something since the store was opened.
TEST_F(SayInJournal, AResumeComesAfterAllThatTheProcessBeforeHasSaid) {
  const auto resuming = open();
  std::optional<Run> run;
  {
    const auto before = open();
    run = begin(*before);
    CheckpointWriter writer(*before, run->id);
    for (unsigned step = 0; step < 4; ++step) writer.write(boundary(step), unique(step));
    const std::vector values{loss(0, 1), loss(1, 2), loss(2, 3)};
    before->catalog().add_values(run->id, values);
  }
  Resumption resumption;
  resumption.point.iteration = resumption.point.epoch = 1;
  resumption.point.boundary = true;
  resuming->catalog().resume_run(run->id, resumption);
  EXPECT_EQ(resuming->catalog().values({.run = run->id}).size(), 1U);
  EXPECT_FALSE(resuming->catalog().checkpoint(run->id, boundary(2)));
  EXPECT_TRUE(resuming->catalog().checkpoint(run->id, boundary(1)));
  resuming->catalog().follow();
  EXPECT_EQ(resuming->catalog().values({.run = run->id}).size(), 1U);
  expect_same_when_made_again(*resuming);
}

TEST_F(SayInJournal, WhoTakesUpARunForgetsWhatWasStoredBefore) {
  const auto store = open();
  const Run run = begin(*store);
  CheckpointWriter writer(*store, run.id);
  for (unsigned step = 0; step < 3; ++step) writer.write(boundary(step), unique(step));
  const auto again = open();
  Resumption resumption;
  resumption.point.iteration = resumption.point.epoch = 1;
  resumption.point.boundary = true;
  again->catalog().resume_run(run.id, resumption);
  PeerCheckpoints stored(*again, run.key);
  stored.follow();
  EXPECT_EQ(stored.last(), nullptr);
}

/// Each call of the disk fails once, or from then on: an event that was taken back is not there, and
/// the next one is.
TEST_F(SayInJournal, AfterEachFaultOfTheDiskTheNextCommitIsWhole) {
  for (const bool stays : {false, true}) {
    for (int fail_at = 1;; ++fail_at) {
      std::filesystem::remove_all(home());
      FaultyFilesystem disk;
      const auto store = Store::Impl::open(home(), OpenMode::create, disk);
      const Run run = begin(*store);
      CheckpointWriter writer(*store, run.id);
      writer.write(boundary(0), unique(0));
      const auto looking = open();
      disk.calls = 0;
      disk.stays_broken = stays;
      disk.error = EIO;
      disk.fail_at = fail_at;
      bool failed = false;
      const auto attempt = [&](const auto& change) {
        try {
          change();
        } catch (const Error&) {
          failed = true;
        }
        looking->catalog().follow();
      };
      attempt([&] {
        const std::vector values{loss(0, 1)};
        store->catalog().add_values(run.id, values);
      });
      attempt([&] { writer.write(boundary(1), unique(1)); });
      attempt([&] { writer.write(boundary(2), unique(2)); });
      const bool reached = disk.has_failed();
      disk.heal();
      const std::vector values{loss(0, 1), loss(1, 2)};
      store->catalog().add_values(run.id, values);
      writer.write(boundary(3), unique(3));
      store->catalog().finish_run(run.id, 2'000'000'000'000'000, false, "");
      const auto after = open();
      EXPECT_EQ(after->catalog().values({.run = run.id}).size(), 2U) << fail_at;
      for (const CheckpointInfo& info : after->catalog().checkpoints(run.id)) {
        expect_holds(*after, info.id, unique(static_cast<unsigned>(info.key.iteration)));
      }
      EXPECT_TRUE(after->catalog().checkpoint(run.id, boundary(3))) << fail_at;
      EXPECT_EQ(damage(*after), "") << fail_at;
      expect_same_when_made_again(*after);
      if (!reached) {
        EXPECT_FALSE(failed);
        break;
      }
      if (HasFailure()) FAIL() << "call " << fail_at << (stays ? " and all after it" : "");
    }
  }
}

}  // namespace
}  // namespace flor::store
