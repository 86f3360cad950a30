// A home that several machines share, each with an index of its own: two directories of indexes
// stand for two machines.
#include "file/shared_home.h"

#include "database/store_impl.h"
#include "index/announcements.h"
#include "index/catalog/labels.h"
#include "index/refresh.h"
#include "journal/run_journal.h"
#include "made_again.h"
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "retention/removal.h"
#include "retention/retention.h"
#include "shared_fixture.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>

#include <array>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(SharedHome, EachMachineHasAnIndexWithALogOnItsOwnDisk) {
  const auto a = open_on(0), b = open_on(1);
  const Run run = record(*a, 1, 2);
  for (const auto& store : {a, b}) {
    EXPECT_TRUE(store->impl().database->has_log);
    EXPECT_TRUE(fs::exists(index_of(*store)));
    EXPECT_EQ(fs::status(index_of(*store).parent_path()).permissions(), fs::perms::owner_all);
  }
  EXPECT_NE(index_of(*a), index_of(*b));
  EXPECT_FALSE(fs::exists(home() / "catalog.db"));
  EXPECT_TRUE(b->catalog().follow());
  expect_run(*b, run.key, 1, 2);
  EXPECT_EQ(announcements().size(), 1u) << "a third machine needs it";
}

TEST_F(SharedHome, WhatOneMachineSaysTheOtherKnowsBeforeItChangesAnything) {
  const auto a = open_on(0), b = open_on(1);
  const Run run = record(*a, 1, 1);
  ASSERT_TRUE(b->catalog().follow());
  const std::int64_t there = b->catalog().resolve(run.key).id;
  change_tags(*a, run.id, std::vector<std::string>{"good"}, {});
  // Without a look in between: the word of the other machine is known, and later than it.
  change_tags(*b, there, {}, std::vector<std::string>{"good"});
  EXPECT_TRUE(a->catalog().follow());
  EXPECT_EQ(known_of_runs(*a), known_of_runs(*b));
  expect_same_when_made_again(*b);
}

TEST_F(SharedHome, AnAnnouncementIsServedOnlyWithItsJournal) {
  const auto a = open_on(0), b = open_on(1);
  Database& index = *b->impl().database;
  const Paths& paths = index.paths;
  RunJournal journal(index.files, a->impl().database->paths, "5d0c7b0e9a3f4412");
  ASSERT_TRUE(b->catalog().follow());
  EXPECT_EQ(waiting_announcements(index).size(), 1u) << "nothing is said in the journal yet";
  // One whose writer was killed before it had a journal, or is about to make one.
  announce(paths, "5d0c7b0e9a3f4413");
  ASSERT_TRUE(b->catalog().follow());
  EXPECT_EQ(waiting_announcements(index).size(), 2u);
  const Run run = record(*a, 1, 1);
  ASSERT_TRUE(b->catalog().follow());
  for (const Announcement& one : waiting_announcements(index)) EXPECT_NE(one.run, run.key);
  EXPECT_EQ(waiting_announcements(index).size(), 2u);
  EXPECT_EQ(find_announcements(paths).size(), 3u);
}

/// Of content that both machines have stored, and one of them has collected.
TEST_F(SharedHome, WhatWasCollectedByAnotherMachineIsStoredAgain) {
  const auto a = open_on(0);
  const Run first = record(*a, 7, 1);
  const auto b = open_on(1);
  const Run mine = b->catalog().add_run(new_run());
  CheckpointWriter writer(*b, mine.id);
  writer.write(boundary(0), make_snapshot(8, 0, 5000));  // has the pack open
  remove_runs(*a, std::vector{first.id});
  make_all_old();
  EXPECT_GT(collect(*a, false).chunks, 0);
  EXPECT_FALSE(a->impl().database->is_replaced());
  EXPECT_TRUE(b->impl().database->is_replaced());
  const CheckpointInfo info = writer.write(boundary(1), make_snapshot(7, 0, 5000));
  EXPECT_GT(info.stored_bytes, 0u) << "what its index lists is gone";
  b->catalog().finish_run(mine.id, 1'700'000'001'000'000, false, "");
  const auto again = open_on(1);
  for (const auto& store : {again, open_on(0)}) {
    const auto found =
        store->catalog().checkpoint(store->catalog().resolve(mine.key).id, boundary(1));
    ASSERT_TRUE(found);
    expect_holds(*store, found->id, make_snapshot(7, 0, 5000), 1);
    EXPECT_EQ(damage(*store), "");
    EXPECT_EQ(store->catalog().runs().size(), 1u);
  }
  expect_same_when_made_again(*again);
}

TEST_F(SharedHome, CollectingKeepsWhatARecordingOfAnotherMachineRefersTo) {
  const auto b = open_on(1);
  const Run old = record(*b, 7, 2);
  const auto a = open_on(0);
  const Run mine = b->catalog().add_run(new_run());
  b->catalog().say_in_journal(mine.id);
  CheckpointWriter writer(*b, mine.id);
  // Names records of the run that goes, which is asked for in the same moment.
  EXPECT_EQ(writer.write(boundary(0), make_snapshot(7, 0, 5000)).stored_bytes, 0u);
  remove_runs(*a, std::vector{a->catalog().resolve(old.key).id});
  make_all_old();
  const CollectReport report = collect(*a, false, 1);
  EXPECT_EQ(report.runs, 1);
  writer.write(boundary(1), make_snapshot(7, 0, 5000));
  for (int machine = 0; machine < kMachines; ++machine) {
    const auto store = open_on(machine);
    const Run found = store->catalog().resolve(mine.key);
    for (int step = 0; step < 2; ++step) {
      expect_holds(*store, store->catalog().checkpoint(found.id, boundary(step))->id,
                   make_snapshot(7, 0, 5000), 1);
    }
    EXPECT_EQ(damage(*store), "");
  }
}

TEST_F(SharedHome, AReaderWhoseRecordsWereMovedNamesTheNextCommand) {
  const auto b = open_on(1);
  const Run run = record(*b, 1, 6);
  const auto a = open_on(0);
  const CheckpointReader reader(*b, b->catalog().checkpoint(run.id, boundary(5))->id);
  const std::int64_t there = a->catalog().resolve(run.key).id;
  std::vector<CheckpointKey> gone;
  for (int step = 0; step < 5; ++step) gone.push_back(boundary(step));
  a->catalog().drop_checkpoints(there, gone);
  make_all_old();
  ASSERT_EQ(collect(*a, false, 1).packs_compacted, 1);
  EXPECT_THAT(message_of<Error>([&] { reader.read(0); }), HasSubstr("run the command again"));
  const auto again = open_on(1);
  const auto info = again->catalog().checkpoint(again->catalog().resolve(run.key).id, boundary(5));
  ASSERT_TRUE(info);
  expect_holds(*again, info->id, make_snapshot(1, 5, 5000), 1);
}

TEST_F(SharedHome, AProcessThatDidNotLookWhileAnnouncementsWentLooksAtAllRuns) {
  const auto a = open_on(0);
  record(*a, 1, 1);
  const auto b = open_on(1);
  const Run late = record(*a, 2, 1);
  make_all_old();
  a->impl().database->renew_mark();
  remove_debris(*a->impl().database);
  EXPECT_THAT(announcements(), IsEmpty());
  EXPECT_TRUE(b->catalog().follow());
  expect_run(*b, late.key, 2, 1);
}

TEST_F(SharedHome, WhatRefersToContentIsRefusedWhereItMayBeGone) {
  const auto b = open_on(1);
  const Run run = record(*b, 1, 2);
  retain(*b, run.id, {.last = 1}, Sizes::skipped);
  open_on(0)->impl().database->renew_mark();
  EXPECT_THAT(message_of<Busy>([&] { restore_discarded(*b, run.id); }),
              HasSubstr("run the command again"));
  EXPECT_THAT(message_of<Busy>([&] { b->impl().database->renew_mark(); }),
              HasSubstr("run the command again"));
  const auto again = open_on(1);
  restore_discarded(*again, again->catalog().resolve(run.key).id);
  expect_run(*again, run.key, 1, 2);
}

TEST_F(SharedHome, ARunThatWasDroppedElsewhereAndComesAgainIsReadAnew) {
  const auto a = open_on(0), b = open_on(1);
  NewRun start = new_run();
  start.key = "5d0c7b0e9a3f4412";
  const Run once = a->catalog().add_run(start);
  ASSERT_TRUE(b->catalog().follow());
  a->catalog().drop_run(once.id);
  start.experiment = "again";
  a->catalog().add_run(start);
  EXPECT_EQ(open_on(1)->catalog().resolve(start.key).start.experiment, "again");
}

TEST_F(SharedHome, AnIndexThatIsGoneDamagedOrOfAnotherHomeIsMadeAgain) {
  const auto a = open_on(0);
  const Run run = record(*a, 1, 2);
  const fs::path index = index_of(*open_on(1));
  fs::remove_all(index.parent_path());
  expect_run(*open_on(1), run.key, 1, 2);
  std::ofstream(index) << std::string(8192, 'x');
  for (const char* log : {"-wal", "-shm"}) fs::remove(index.string() + log);
  expect_run(*open_on(1), run.key, 1, 2);
  EXPECT_EQ(index_of(*open_on(1)), index);
  // A copy of the home is another home, and so is one that was moved.
  fs::copy(home(), directory_ / "copy", fs::copy_options::recursive);
  be(1);
  const auto copy = Store::open(directory_ / "copy", OpenMode::create);
  EXPECT_NE(index_of(*copy), index);
  record(*copy, 2, 1);
  EXPECT_EQ(open_on(1)->catalog().runs().size(), 1u);
  fs::rename(home(), directory_ / "moved");
  const auto moved = Store::open(directory_ / "moved", OpenMode::read_only);
  EXPECT_NE(index_of(*moved), index);
  expect_run(*moved, run.key, 1, 2);
}

TEST_F(SharedHome, AnIndexThatLiesInTheHomeIsNotUsedAnyMore) {
  ::setenv("FLOR_FILESYSTEM", "local", 1);
  const std::string key = record(*open(), 1, 2).key;
  ASSERT_TRUE(fs::exists(home() / "catalog.db"));
  ::setenv("FLOR_FILESYSTEM", "network", 1);
  ::testing::internal::CaptureStderr();
  expect_run(*open_on(0, OpenMode::read_only), key, 1, 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("may be removed"));
  // The server, where the disk is a local one, does as the others do.
  ::setenv("FLOR_FILESYSTEM", "local", 1);
  const auto server = open_on(1);
  record(*server, 2, 1);
  EXPECT_NE(index_of(*server), home() / "catalog.db");
  EXPECT_FALSE(fs::exists(home() / "catalog.db"));
  EXPECT_TRUE(fs::exists(home() / "catalog.db.old"));
  EXPECT_EQ(open_on(0)->catalog().runs().size(), 2u);
  // Without the mark it is a local home again, with an index that lacks nothing.
  fs::remove(Paths{home()}.indexes());
  const auto local = open_on(1);
  EXPECT_EQ(index_of(*local), home() / "catalog.db");
  EXPECT_EQ(local->catalog().runs().size(), 2u);
}

TEST_F(SharedHome, WhereNoDirectoryTakesAnIndexOneIsMadeForTheCommand) {
  const std::string key = record(*open_on(0), 1, 2).key;
  std::ofstream(indexes(1)) << "no directory";
  be(1);
  EXPECT_THROW(open(OpenMode::read_only), Error);
  ::unsetenv("FLOR_INDEX");
  const fs::path cache = directory_ / "cache";
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  expect_run(*open(OpenMode::read_only), key, 1, 2);
  EXPECT_TRUE(fs::exists(cache / "flor/indexes"));
  ::unsetenv("XDG_CACHE_HOME");
  // Without a place the caller that writes gets one, too; nothing of it is left.
  std::string why;
  Paths paths = with_own_index(Paths{home()}, true, Filesystem::system(), why);
  const fs::path made = paths.catalog().parent_path();
  paths.index.clear();
  ::testing::internal::CaptureStderr();
  {
    const auto elsewhere = require_index(paths, OpenMode::create, Filesystem::system(), "no disk");
    ASSERT_TRUE(elsewhere);
    EXPECT_EQ(elsewhere->report().runs, 1);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("FLOR_INDEX"));
  fs::remove_all(made);
}

TEST_F(SharedHome, WhileContentIsMovedOthersLookAtWhatTheyHave) {
  const std::string key = record(*open_on(1), 1, 1).key;
  const auto a = open_on(0);
  a->impl().database->renew_mark();
  const File maintenance(Filesystem::system(), Paths{home()}.maintenance_lock(), O_RDWR | O_CREAT);
  ASSERT_EQ(::flock(maintenance.descriptor(), LOCK_EX | LOCK_NB), 0);
  ::testing::internal::CaptureStderr();
  expect_run(*open_on(1, OpenMode::read_only), key, 1, 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("run the command again"));
  ASSERT_EQ(::flock(maintenance.descriptor(), LOCK_UN), 0);
  EXPECT_FALSE(open_on(1)->impl().database->is_replaced());
}

TEST_F(SharedHome, OfManyAnnouncementsALookCostsLittleAndACollectionRemovesThem) {
  const auto a = open_on(0);
  const Run run = record(*a, 1, 1);
  const auto b = open_on(1);
  Database& index = *b->impl().database;
  {
    Transaction transaction(index.connection);
    for (int i = 2; i < 5000; ++i) {
      const std::string name = fmt::format("{}.{:016x}-1", run.key, i);
      std::ofstream(index.paths.announced() / name).flush();
      index.connection("INSERT INTO announcement VALUES (?1)", std::string_view(name))->run();
    }
    transaction.commit();
  }
  const std::clock_t began = std::clock();  // other processes may want the processor
  constexpr int kLooks = 5;
  for (int i = 0; i < kLooks; ++i) EXPECT_FALSE(is_behind(index));
  const double took = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::printf("a look with 5000 announcements takes %.1f ms\n", 1000 * took / kLooks);
  make_all_old();
  collect(*b, false);
  EXPECT_THAT(announcements(), IsEmpty());
  EXPECT_TRUE(a->impl().database->is_replaced());
  expect_run(*open_on(0), run.key, 1, 1);
}

// Without working order among them: what one removes, another is just about to name.
TEST_F(SharedHome, ProcessesOfSeveralMachinesWriteAtOnceAndLoseNothing) {
  constexpr int kProcesses = 3, kRounds = 12;
  const std::string common = record(*open_on(0), 1, 1).key;
  const auto said_by = [&](int machine) { return directory_ / fmt::format("said{}", machine); };
  std::vector<pid_t> processes;
  for (int machine = 0; machine < kProcesses; ++machine) {
    processes.push_back(start_process([&] {
      std::ofstream said(said_by(machine));
      for (int round = 0; round < kRounds; ++round) {
        const auto store = open_on(machine);
        // Contents that the others store, too, and collect.
        const auto seed = static_cast<unsigned>(100 + (round + machine) % 4);
        const int count = 1 + round % 3;
        const Run run = record(*store, seed, count);
        const std::string tag = fmt::format("m{}-{}", machine, round);
        change_tags(*store, store->catalog().resolve(common).id, std::vector{tag}, {});
        const bool goes = round % 2 == 1;
        if (goes) remove_runs(*store, std::vector{run.id});
        try {
          if (round % 3 == machine) collect(*store, false, 1);
        } catch (const Busy&) {  // another machine collects, or did meanwhile
        }
        if (!goes) said << run.key << ' ' << seed << ' ' << count << '\n';
      }
      return 0;
    }));
  }
  for (const pid_t process : processes) EXPECT_EQ(wait_for(process), 0);
  std::vector<std::string> known;
  for (int machine = 0; machine < kProcesses; ++machine) {
    const auto store = open_on(machine);
    EXPECT_EQ(damage(*store), "");
    EXPECT_EQ(store->catalog().resolve(common).tags.size(),
              static_cast<std::size_t>(kProcesses * kRounds));
    for (int other = 0; other < kProcesses; ++other) {
      std::ifstream said(said_by(other));
      int runs = 0, count = 0;
      unsigned seed = 0;
      for (std::string key; said >> key >> seed >> count; ++runs) {
        expect_run(*store, key, seed, count);
      }
      EXPECT_EQ(runs, kRounds / 2);
    }
    const auto here = known_of_runs(*store);
    EXPECT_EQ(here, machine == 0 ? here : known);
    known = here;
    expect_same_when_made_again(*store);
  }
}

/// Does anything on any of the machines, in any order, and looks whether all of them say the same.
class OnAnyMachine : public SharedHome, public ::testing::WithParamInterface<unsigned> {
 protected:
  using Contents = std::map<int, std::pair<unsigned, int>>;  // seed and step, by boundary

  int any(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  /// Few contents, so that runs share them, and what was collected comes back.
  void write(Store& store, CheckpointWriter& writer, const Run& run, int at) {
    (void)store;
    const unsigned seed = static_cast<unsigned>(any(3));
    const int step = any(4);
    writer.write(boundary(at), make_snapshot(seed, step, 3000));
    written_[run.key][at] = kept_[run.key][at] = {seed, step};
  }

  struct Live {
    std::shared_ptr<Store> store;
    Run run;
    std::optional<RunLock> lock;
    std::unique_ptr<CheckpointWriter> writer;
    int next = 0;
  };

  void go_on(int machine) {
    Live& live = live_[static_cast<std::size_t>(machine)];
    if (!live.store) {
      live.store = open_on(machine);
      live.run = live.store->catalog().add_run(new_run(fmt::format("live{}", machine)));
      live.lock = live.store->lock_run(live.run.key);
      if (any(2) == 0) live.store->catalog().say_in_journal(live.run.id);
      live.writer = std::make_unique<CheckpointWriter>(*live.store, live.run.id);
      live.next = 0;
      kept_[live.run.key];
    }
    write(*live.store, *live.writer, live.run, live.next++);
    if (any(4) == 0) {
      live.store->catalog().finish_run(live.run.id, 1'700'000'001'000'000 + live.next, false, "");
      ended_.push_back(live.run.key);
      live.writer.reset();
      live.lock.reset();
      live.store.reset();
    }
  }

  void record_whole(int machine) {
    const auto store = open_on(machine);
    const Run run = store->catalog().add_run(new_run());
    const bool in_journal = any(2) == 0;
    if (in_journal) store->catalog().say_in_journal(run.id);
    {
      CheckpointWriter writer(*store, run.id);
      const int count = 1 + any(4);
      for (int at = 0; at < count; ++at) write(*store, writer, run, at);
    }
    store->catalog().finish_run(run.id, 1'700'000'001'000'000, any(2) == 0, "why");
    ended_.push_back(run.key);
  }

  /// Is killed somewhere: after it has said how far it is, so that it is killed anywhere.
  void record_and_die(int machine) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const int length = any(8);
    const unsigned seed = static_cast<unsigned>(any(1000));
    const pid_t child = start_process([&] {
      const char byte = 0;
      const auto said = [&] { return ::write(pipe[1], &byte, 1) == 1; };
      const auto store = open_on(machine);
      said();
      for (unsigned i = 0;; ++i) {
        const Run run = store->catalog().add_run(new_run("killed"));
        said();
        if (i % 2 == 0) store->catalog().say_in_journal(run.id);
        CheckpointWriter writer(*store, run.id);
        for (int at = 0; at < 3; ++at) {
          writer.write(boundary(at), make_snapshot(seed % 3, at, 3000));
          said();
        }
        store->catalog().finish_run(run.id, 1'700'000'001'000'000, false, "");
        if (i % 3 == 2) make_packs_old(home());
        said();
      }
      return 0;
    });
    char byte = 0;
    for (int i = 0; i <= length; ++i) ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), -SIGKILL);
    for (const int end : pipe) ::close(end);
  }

  Run find(Store& store, const std::string& key) {
    const bool is_removed = removed_.contains(key);
    return store.catalog().resolve(key, is_removed ? RunPresence::removed : RunPresence::there);
  }
  std::optional<Run> any_ended(Store& store) {
    if (ended_.empty()) return std::nullopt;
    return find(store, ended_[static_cast<std::size_t>(any(static_cast<int>(ended_.size())))]);
  }

  /// What of the run is there now, which is all that may be missing of what there was.
  void learn(const Store& store, const Run& run) {
    Contents now;
    for (const CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
      const int at = static_cast<int>(info.key.iteration);
      ASSERT_TRUE(written_[run.key].contains(at));
      now[at] = written_[run.key][at];
    }
    kept_[run.key] = std::move(now);
  }

  void change(int machine) {
    const auto store = open_on(machine);
    const auto run = any_ended(*store);
    if (!run) return;
    const bool is_removed = removed_.contains(run->key);
    switch (any(8)) {
      case 0:
        return change_tags(*store, run->id, std::vector<std::string>{fmt::format("t{}", any(5))},
                           {});
      case 1:
        return set_note(*store, run->id, fmt::format("note {}", any(100)));
      case 2: {
        const int at = any(4);
        store->catalog().drop_checkpoints(run->id, std::vector{boundary(at)});
        kept_[run->key].erase(at);
        return;
      }
      case 3:
        retain(*store, run->id, {.last = 1 + any(2)}, Sizes::skipped);
        return learn(*store, *run);
      case 4:
        restore_discarded(*store, run->id);
        return learn(*store, *run);
      case 5:
        if (is_removed) return;
        remove_runs(*store, std::vector{run->id});
        removed_.insert(run->key);
        return;
      case 6:
        if (!is_removed) return;
        bring_back(*store, run->id);
        removed_.erase(run->key);
        return;
      default:
        if (!is_removed) archive(*store, *run, {});
    }
  }

  void give_up(int machine) {
    const auto store = open_on(machine);
    const Run run = store->catalog().add_run(new_run("given up"));
    if (any(2) == 0) CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 1, 3000));
    store->catalog().drop_run(run.id);
  }

  void collect_on(int machine) {
    if (any(2) == 0) make_all_old();
    collect(*open_on(machine), false, any(2) == 0 ? 1 : 0.5);
    for (const std::string& key : removed_) std::erase(ended_, key);
    for (const std::string& key : removed_) kept_.erase(key);
    removed_.clear();
  }

  void spoil_index(int machine) {
    const fs::path index = index_of(*open_on(machine));
    if (live_[static_cast<std::size_t>(machine)].store && any(2) == 0) return;
    if (any(2) == 0) {
      fs::remove_all(index.parent_path());
    } else {
      remember_damage(index);
    }
  }

  void act() {
    const int machine = any(kMachines), choice = any(20);
    if (choice < 6) return go_on(machine);
    if (choice < 9) return record_whole(machine);
    if (choice < 14) return change(machine);
    if (choice < 16) return collect_on(machine);
    if (choice < 17) return record_and_die(machine);
    if (choice < 18) return give_up(machine);
    if (choice < 19) return spoil_index(machine);
    compare();
  }

  void compare() {
    std::vector<std::string> first;
    for (int machine = 0; machine < kMachines; ++machine) {
      const auto store = open_on(machine, any(2) == 0 ? OpenMode::create : OpenMode::read_only);
      EXPECT_EQ(damage(*store), "") << "on machine " << machine;
      for (const auto& [key, contents] : kept_) {
        const Run run = find(*store, key);
        EXPECT_EQ(store->catalog().checkpoints(run.id).size(), contents.size()) << key;
        for (const auto& [at, content] : contents) {
          const auto info = store->catalog().checkpoint(run.id, boundary(at));
          ASSERT_TRUE(info) << "checkpoint " << at << " of " << key << " on machine " << machine;
          expect_holds(*store, info->id, make_snapshot(content.first, content.second, 3000), 1);
        }
      }
      const auto known = known_of_runs(*store);
      if (machine == 0) {
        first = known;
      } else {
        EXPECT_EQ(known, first);
      }
    }
  }

  std::mt19937 random_{GetParam()};
  std::map<std::string, Contents> kept_, written_;
  std::vector<std::string> ended_;
  std::set<std::string> removed_;
  std::array<Live, kMachines> live_;
};

TEST_P(OnAnyMachine, AllSayTheSameAndLoseNothing) {
  ::testing::internal::CaptureStderr();
  int done = 0;
  try {
    record_whole(0);
    for (; done < 60 && !HasFailure(); ++done) act();
    compare();
    expect_same_when_made_again(*open_on(0));
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, Not(HasSubstr("lost")));
  if (HasFailure()) std::printf("after %d actions\n%s\n", done, said.c_str());
}

INSTANTIATE_TEST_SUITE_P(, OnAnyMachine, ::testing::Range(0u, 12u));
INSTANTIATE_TEST_SUITE_P(Often, OnAnyMachine, ::testing::Range(1000u, 1300u));

}  // namespace
}  // namespace flor::store
