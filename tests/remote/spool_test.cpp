// Runs go to an object store and come back: bit for bit, only what is missing, whole or not at all.
#include "maintain/archive.h"
#include "maintain/repair.h"
#include "remote_fixture.h"
#include "retention/retention.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

namespace flor::remote {
namespace {

using SpoolTest = RemoteTest;

TEST_F(SpoolTest, ARunComesBackToAnotherStoreBitForBit) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 3);
  const auto remote = objects();
  const SpoolReport sent = spool(*here, run, *remote);
  EXPECT_TRUE(sent.changed);
  EXPECT_EQ(sent.chunks_sent, sent.chunks);

  const auto there = open("other");
  const FetchReport report = fetch(*there, *remote, run.key);
  EXPECT_TRUE(report.added);
  EXPECT_EQ(report.checkpoints, 4);
  expect_boundaries(*there, run.key, 1, 0, 3);
  EXPECT_EQ(store::damage(*there), "");

  const Run copy = there->catalog().resolve(run.key);
  EXPECT_EQ(copy.start.command, run.start.command);
  EXPECT_EQ(copy.start.environment, run.start.environment);
  EXPECT_EQ(copy.state, store::RunState::finished);
  EXPECT_EQ(copy.epochs, 3);
  EXPECT_EQ(there->catalog().arguments(copy.id).at(0).value, "0.1");
  const auto values = there->catalog().values({copy.id, {"picture"}});
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(store::read_object(*there, std::get<std::string>(values[1].value)).content,
            store::random_bytes(2, 500));
}

TEST_F(SpoolTest, WhatCameBackIsSpooledAsTheSameBytes) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 3);
  const auto first = objects();
  const SpoolReport sent = spool(*here, run, *first);
  const auto there = open("other");
  finished_run(*there, 9, 1);  // so that everything has other numbers
  fetch(*there, *first, run.key);
  const auto second = open_directory((directory_ / "remote2").string());
  const SpoolReport again = remote::spool(*there, there->catalog().resolve(run.key), *second, {});
  EXPECT_EQ(again.run.catalog, sent.run.catalog);
  EXPECT_EQ(again.bytes_sent, sent.bytes_sent);
}

TEST_F(SpoolTest, AnUnchangedRunIsNotSentAgain) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  spool(*here, run, *objects());
  WatchedObjects watched(objects());
  const SpoolReport again = spool(*here, run, watched);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.chunks_sent, 0);
  EXPECT_EQ(watched.written(), 0U);
}

TEST_F(SpoolTest, OneMoreEpochSendsItsNewChunksOnly) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  const Run before = *here->catalog().run(run.id);
  record(*here, run, 1, 3, 4);
  const SpoolReport more = spool(*here, run, *remote);
  const Run after = *here->catalog().run(run.id);
  EXPECT_GT(more.chunks_sent, 0);
  // The records of the epoch with their headers, and those of the picture.
  const std::uint64_t added = after.stored_bytes - before.stored_bytes;
  EXPECT_GE(more.bytes_sent, added);
  EXPECT_LE(more.bytes_sent, added + 600 + 64 * static_cast<std::uint64_t>(more.chunks_sent));
  EXPECT_EQ(more.parcels_sent, 1);
}

TEST_F(SpoolTest, ContentOfAnotherRunIsNotSentTwice) {
  const auto here = open(), elsewhere = open("elsewhere");
  const Run first = finished_run(*here, 1, 2), second = finished_run(*elsewhere, 1, 2);
  const auto remote = objects();
  spool(*here, first, *remote);
  const SpoolReport sent = spool(*elsewhere, second, *remote);
  EXPECT_TRUE(sent.changed);
  EXPECT_EQ(sent.chunks_sent, 0);
  EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty());
  const auto there = open("other");
  fetch(*there, *remote, second.key);
  expect_boundaries(*there, second.key, 1, 0, 2);
}

TEST_F(SpoolTest, SomeEpochsComeAloneAndTheRestLater) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 12);
  WatchedObjects watched(objects());
  spool(*here, run, watched);
  const auto there = open("other");
  const FetchReport part = fetch(*there, watched, run.key, 5, 6);
  EXPECT_EQ(part.checkpoints, 3);
  expect_boundaries(*there, run.key, 1, 5, 7);
  EXPECT_EQ(there->catalog().discarded(there->catalog().resolve(run.key).id).size(), 10U);
  const FetchReport rest = fetch(*there, watched, run.key);
  EXPECT_FALSE(rest.added);
  EXPECT_EQ(rest.checkpoints, 10);
  EXPECT_FALSE(spool(*there, there->catalog().resolve(run.key), watched).changed);
  expect_boundaries(*there, run.key, 1, 0, 12);
  EXPECT_EQ(store::damage(*there), "");
}

TEST_F(SpoolTest, OneEpochNeedsItsStatesAndTheirBasesOnly) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 50);
  const auto remote = objects();
  const SpoolReport sent = spool(*here, run, *remote);
  WatchedObjects watched(objects());
  const auto there = open("other");
  const FetchReport part = fetch(*there, watched, run.key, 25, 25);
  expect_boundaries(*there, run.key, 1, 25, 26);
  // Two states, and chains of at most four differences.
  EXPECT_LT(part.bytes_received, sent.bytes_sent / 5);
}

TEST_F(SpoolTest, AnEpochWithoutAStateBeforeItComesWithTheNearestOne) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 9);
  store::KeepRules rules;
  rules.every = 4;  // epochs 3 and 7: the states before epochs 4 and 8; and the newest
  retain(*here, run.id, rules, store::Sizes::skipped);
  const auto remote = objects();
  spool(*here, run, *remote);
  const auto there = open("other");
  EXPECT_EQ(fetch(*there, *remote, run.key, 6, 6).checkpoints, 1);
  const auto checkpoints = there->catalog().checkpoints(there->catalog().resolve(run.key).id);
  ASSERT_EQ(checkpoints.size(), 1U);
  EXPECT_EQ(checkpoints[0].key.iteration, 4);
}

TEST_F(SpoolTest, WhatWasDeletedHereStaysThereAndComesBack) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 4);
  const auto remote = objects();
  spool(*here, run, *remote);
  store::KeepRules rules;
  rules.last = 1;
  retain(*here, run.id, rules, store::Sizes::skipped);
  store::collect(*here, false);
  const SpoolReport again = spool(*here, run, *remote);
  EXPECT_EQ(again.run.checkpoints, 5);
  EXPECT_EQ(again.chunks_sent, 0);
  fetch(*here, *remote, run.key);
  expect_boundaries(*here, run.key, 1, 0, 4);
}

TEST_F(SpoolTest, SpaceHereIsFreedAndTheRunComesBack) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 4);
  const auto remote = objects();
  spool(*here, run, *remote);
  const DropReport dropped = drop_local(*here, run, choose_run(*remote, run.key), *remote);
  EXPECT_EQ(dropped.checkpoints, 5);
  EXPECT_GT(dropped.freed, 1'000'000U);
  EXPECT_EQ(here->catalog().checkpoints(run.id).size(), 0U);
  EXPECT_EQ(here->catalog().values({run.id, {"loss"}}).size(), 4U);
  EXPECT_EQ(spool(*here, run, *remote).run.checkpoints, 5);
  fetch(*here, *remote, run.key);
  expect_boundaries(*here, run.key, 1, 0, 4);
  EXPECT_EQ(store::damage(*here), "");
}

TEST_F(SpoolTest, CheckpointsOfARunThatMayGoOnAreNotDeletedHere) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  const RemoteRun there = choose_run(*remote, run.key);
  EXPECT_THROW(drop_local(*here, run, there, *remote), Error);
  const auto lock = here->lock_run(run.key);
  EXPECT_THROW(drop_local(*here, run, there, *remote), Busy);
  expect_boundaries(*here, run.key, 1, 0, 2);
}

TEST_F(SpoolTest, CheckpointsOfARunThatFailedAreNotDeletedHere) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  here->catalog().finish_run(run.id, run.start.started_us + 100, true, "out of memory");
  const auto remote = objects();
  spool(*here, run, *remote);
  EXPECT_THROW(
      drop_local(*here, *here->catalog().run(run.id), choose_run(*remote, run.key), *remote),
      Error);
  expect_boundaries(*here, run.key, 1, 0, 2);
}

TEST_F(SpoolTest, AnArchivedRunIsSentInItsNewForm) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 6);
  const auto remote = objects();
  const SpoolReport before = spool(*here, run, *remote);
  store::archive(*here, run, {});
  store::collect(*here, false, store::kTightShare);
  const SpoolReport after = spool(*here, run, *remote);
  EXPECT_LE(after.run.stored_bytes, before.run.stored_bytes);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  expect_boundaries(*there, run.key, 1, 0, 6);
}

TEST_F(SpoolTest, ContentInAnotherFormHereIsBuiltUpon) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 6);
  const auto remote = objects();
  spool(*here, run, *remote);
  // The other store has the same states, some of them in longer chains.
  const auto there = open("other");
  const Run twin = finished_run(*there, 1, 3);
  store::archive(*there, twin, {});
  fetch(*there, *remote, run.key);
  expect_boundaries(*there, run.key, 1, 0, 6);
  expect_boundaries(*there, twin.key, 1, 0, 3);
  EXPECT_EQ(store::damage(*there), "");
}

TEST_F(SpoolTest, ARunThatWentOnElsewhereComesBackWhereTheUserTakesItOver) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  const Run copy = there->catalog().resolve(run.key);
  record(*there, copy, 1, 2, 4);
  spool(*there, copy, *remote);
  EXPECT_THROW(spool(*here, run, *remote), Error);
  const FetchReport back = take_over(*here, *remote, run.key);
  EXPECT_FALSE(back.added);
  EXPECT_EQ(here->catalog().resolve(run.key).origin.kind, store::RunOrigin::Kind::fetched);
  expect_boundaries(*here, run.key, 1, 0, 4);
  EXPECT_EQ(here->catalog().values({run.id, {"loss"}}).size(), 4U);
  EXPECT_FALSE(spool(*here, run, *remote).changed);
}

TEST_F(SpoolTest, WhatIsHereStaysWhenItWasPrunedThereAndTheRunWentOn) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  const Run copy = there->catalog().resolve(run.key);
  record(*there, copy, 1, 3, 6);
  there->catalog().finish_run(copy.id, run.start.started_us + 100, false, "");
  spool(*there, copy, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  ASSERT_GT(prune(*remote, {choose_run(*remote, run.key)}, options).checkpoints, 0);
  take_over(*here, *remote, run.key);
  std::set<std::int64_t> epochs;
  for (const auto& info : here->catalog().checkpoints(run.id)) {
    epochs.insert(info.key.iteration);
    store::expect_holds(*here, info.id, state(1, static_cast<int>(info.key.iteration)));
  }
  EXPECT_THAT(epochs, ::testing::ElementsAre(0, 1, 2, 3, 6));
  EXPECT_EQ(store::damage(*here), "");
  // And does not come back there.
  const std::int64_t kept = choose_run(*remote, run.key).checkpoints;
  const SpoolReport again = spool(*here, run, *remote);
  EXPECT_EQ(again.bytes_sent, 0U);
  EXPECT_EQ(again.run.checkpoints, kept);
  EXPECT_FALSE(spool(*here, run, *remote).changed);
}

TEST_F(SpoolTest, WhatARepairGaveUpStaysThereAndComesBack) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 4);
  const auto remote = objects();
  spool(*here, run, *remote);
  for (const auto& entry : flor::testing::packs_of(directory_ / "home")) {
    if (entry.path().extension() == ".pack") {
      fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
    }
  }
  ASSERT_FALSE(store::repair(*here).dropped.empty());
  ASSERT_LT(here->catalog().checkpoints(run.id).size(), 5U);
  EXPECT_EQ(spool(*here, run, *remote).run.checkpoints, 5);
  fetch(*here, *remote, run.key);
  expect_boundaries(*here, run.key, 1, 0, 4);
  EXPECT_EQ(store::damage(*here), "");
}

TEST_F(SpoolTest, DamageIsFoundAndNothingOfItIsTakenOver) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty());
  const auto parcel = remote->list("parcels/").at(0);
  auto bytes = remote->get(parcel.key, kMuch);
  bytes[bytes.size() / 2] ^= std::byte{1};
  remote->put(parcel.key, bytes);
  EXPECT_EQ(damage_of(*remote).size(), 1U);
  const auto there = open("other");
  EXPECT_THROW(fetch(*there, *remote, run.key), Damaged);
  EXPECT_THROW(there->catalog().resolve(run.key), NotFound);
  remote->remove(parcel.key);
  EXPECT_EQ(verify(*remote, list_runs(*remote).runs, false, {}).findings.size(), 1U);
  // Where the run was recorded its content still is: it is sent again.
  EXPECT_EQ(spool(*here, run, *remote).parcels_sent, 1);
  EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty());
}

TEST_F(SpoolTest, PruningKeepsWhatTheRulesSayAndSparesWhatIsYoung) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 40), other = finished_run(*here, 2, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  spool(*here, other, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 2;
  options.dry_run = true;
  const PruneReport plan = prune(*remote, {choose_run(*remote, run.key)}, options);
  EXPECT_EQ(plan.checkpoints, 38);
  EXPECT_EQ(choose_run(*remote, run.key).checkpoints, 41);
  options.dry_run = false;
  options.grace_us = kShortestGraceUs;
  const PruneReport first = prune(*remote, {choose_run(*remote, run.key)}, options);
  EXPECT_EQ(first.objects_removed, 0);
  EXPECT_GT(first.waiting, 0);
  EXPECT_EQ(choose_run(*remote, run.key).checkpoints, 3);
  options.grace_us = 0;
  const PruneReport second = prune(*remote, {}, options);
  EXPECT_EQ(second.objects_removed, first.waiting);
  EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty());
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  for (const auto& info : there->catalog().checkpoints(there->catalog().resolve(run.key).id)) {
    store::expect_holds(*there, info.id, state(1, static_cast<int>(info.key.iteration)));
  }
  fetch(*there, *remote, other.key);
  expect_boundaries(*there, other.key, 2, 0, 2);
  // What was deleted there is not sent again.
  EXPECT_EQ(spool(*here, run, *remote).bytes_sent, 0U);
  EXPECT_FALSE(spool(*here, run, *remote).changed);
  EXPECT_EQ(choose_run(*remote, run.key).checkpoints, 3);
}

TEST_F(SpoolTest, AWholeRunGoesAndLeavesNothing) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  PruneOptions options;
  options.whole_runs = true;
  const PruneReport report = prune(*remote, list_runs(*remote).runs, options);
  EXPECT_EQ(report.runs_removed, 1);
  EXPECT_TRUE(list_runs(*remote).empty());
  EXPECT_THAT(remote->list("parcels/"), ::testing::IsEmpty());
  EXPECT_THAT(remote->list("catalogs/"), ::testing::IsEmpty());
}

TEST_F(SpoolTest, RunsAreSpooledByManyProcessesAtOnce) {
  const auto here = open();
  std::vector<Run> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(finished_run(*here, 1 + (i > 1), 4));
  std::vector<pid_t> processes;
  for (int i = 0; i < 6; ++i) {
    processes.push_back(store::start_process([&] {
      const auto store = open();
      spool(*store, runs[static_cast<std::size_t>(i) % runs.size()], *objects());
      return 0;
    }));
  }
  for (const pid_t process : processes) EXPECT_EQ(store::wait_for(process), 0);
  const auto remote = objects();
  EXPECT_EQ(list_runs(*remote).runs.size(), 3U);
  EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty());
  const auto there = open("other");
  for (const Run& run : runs) fetch(*there, *remote, run.key);
  expect_boundaries(*there, runs[0].key, 1, 0, 4);
  expect_boundaries(*there, runs[2].key, 2, 0, 4);
}

TEST_F(SpoolTest, KilledAtAnyStepAnUploadShowsNothingHalfAndGoesOn) {
  const Run run = finished_run(*open(), 1, 3);
  WatchedObjects counted(objects());
  spool(*open(), run, counted);
  ASSERT_GT(counted.calls(), 5);
  for (int point = 0; point < 2 * counted.calls(); ++point) {
    fs::remove_all(remote_path());
    const pid_t process = store::start_process([&] {
      WatchedObjects dying(objects());
      dying.die_at(point);
      spool(*open(), run, dying);
      return 0;
    });
    ASSERT_EQ(store::wait_for(process), -SIGKILL) << point;
    const auto remote = objects();
    if (!remote->list("runs/").empty()) {
      EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty()) << point;
    }
    const std::size_t parcels = remote->list("parcels/").size();
    const SpoolReport report = spool(*open(), run, *remote);
    EXPECT_EQ(report.parcels_found + report.parcels_sent > 0 ? report.parcels_found
                                                             : static_cast<std::int64_t>(parcels),
              static_cast<std::int64_t>(parcels))
        << point;
    EXPECT_THAT(damage_of(*remote), ::testing::IsEmpty()) << point;
  }
}

TEST_F(SpoolTest, KilledAtAnyStepAFetchShowsNothingHalfAndGoesOn) {
  const Run run = finished_run(*open(), 1, 3);
  const auto remote = objects();
  spool(*open(), run, *remote);
  WatchedObjects counted(objects());
  fetch(*open("counted"), counted, run.key);
  for (int point = 0; point < 2 * counted.calls(); ++point) {
    fs::remove_all(directory_ / "other");
    const pid_t process = store::start_process([&] {
      const auto there = open("other");
      WatchedObjects dying(objects());
      dying.die_at(point);
      fetch(*there, dying, run.key);
      return 0;
    });
    ASSERT_EQ(store::wait_for(process), -SIGKILL) << point;
    const auto there = open("other");
    EXPECT_EQ(there->catalog().runs().size(), 0U);
    EXPECT_EQ(store::damage(*there), "");
    fetch(*there, *remote, run.key);
    expect_boundaries(*there, run.key, 1, 0, 3);
  }
}

/// A run is recorded, spooled, thinned out and fetched in random order, on two machines.
TEST_F(SpoolTest, WhateverIsDoneInWhateverOrderEveryStateIsRight) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    const std::string a = fmt::format("a{}", seed), b = fmt::format("b{}", seed);
    const auto here = open(a), there = open(b);
    const auto remote = open_directory((directory_ / fmt::format("r{}", seed)).string());
    const Run run = here->catalog().add_run(store::new_run());
    int epochs = 0;
    record(*here, run, seed, 0, ++epochs);
    spool(*here, run, *remote);
    for (int i = 0; i < 14; ++i) {
      switch (random() % 6) {
        case 0:
          record(*here, run, seed, epochs, epochs + 1);
          ++epochs;
          break;
        case 1:
          spool(*here, run, *remote);
          break;
        case 2: {
          const int first = static_cast<int>(random()) % (epochs + 1);
          fetch(*there, *remote, run.key, std::abs(first), std::abs(first) + 1);
          break;
        }
        case 3: {
          store::KeepRules rules;
          rules.last = 1 + random() % 3;
          retain(*here, run.id, rules, store::Sizes::skipped);
          store::collect(*here, false);
          break;
        }
        case 4:
          spool(*here, run, *remote);
          fetch(*here, *remote, run.key);
          break;
        default: {
          PruneOptions options;
          options.rules.emplace();
          options.rules->every = 2;
          prune(*remote, {choose_run(*remote, run.key)}, options);
        }
      }
      for (const auto& store : {here, there}) {
        for (const Run& any : store->catalog().runs()) {
          for (const auto& info : store->catalog().checkpoints(any.id)) {
            store::expect_holds(*store, info.id, state(seed, static_cast<int>(info.key.iteration)));
          }
        }
      }
      ASSERT_THAT(damage_of(*remote), ::testing::IsEmpty()) << "seed " << seed << " step " << i;
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << i;
    }
    EXPECT_EQ(store::damage(*here) + store::damage(*there), "");
  }
}

// Anybody may make files in the directory for temporary ones.
TEST_F(SpoolTest, ATemporaryDirectoryThatLeadsElsewhereIsNotEntered) {
  const auto temporary = directory_ / "tmp", others = directory_ / "others" / "work";
  std::filesystem::create_directories(temporary);
  std::filesystem::create_directories(others);
  std::ofstream(others / "kept") << "x";
  const std::string name = "flor-remote-" + std::to_string(::geteuid());
  std::filesystem::create_directory_symlink(others.parent_path(), temporary / name);
  const char* const before = std::getenv("TMPDIR");
  const std::string restored = before ? before : "";
  ::setenv("TMPDIR", temporary.c_str(), 1);
  const auto here = open();
  const Run run = finished_run(*here, 1, 1);
  EXPECT_THROW(spool(*here, run, *objects()), Error);
  EXPECT_TRUE(std::filesystem::exists(others / "kept"));

  // One's own is entered, and closed to others.
  std::filesystem::remove(temporary / name);
  std::filesystem::create_directory(temporary / name);
  std::filesystem::permissions(temporary / name, std::filesystem::perms(0775));
  spool(*here, run, *objects());
  EXPECT_EQ(std::filesystem::status(temporary / name).permissions(), std::filesystem::perms(0700));
  restored.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", restored.c_str(), 1);
}

}  // namespace
}  // namespace flor::remote
