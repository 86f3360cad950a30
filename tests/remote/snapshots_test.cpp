// What becomes of a run in an object store that goes on, is resumed, thinned out or judged, on one
// machine or on two: nothing newer is lost, nothing abandoned comes back, and what is unchanged
// moves nothing.
#include "queue/job_queue.h"
#include "remote_fixture.h"
#include "retention/retention.h"

#include <flor/store/error.h>

#include <string>
#include <vector>

namespace flor::remote {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SnapshotsTest : public RemoteTest {
 protected:
  static Run open_run(Store& store, unsigned seed, int epochs) {
    const Run run = store.catalog().add_run(store::new_run());
    record(store, run, seed, 0, epochs);
    return run;
  }
  /// The run goes on before this epoch, and is another one from there.
  static void resume(Store& store, const Run& run, std::int64_t epoch, std::int64_t when = 1) {
    store::Resumption resumption;
    resumption.resumed_us = when;
    resumption.point.iteration = resumption.point.epoch = epoch;
    resumption.point.boundary = true;
    store.catalog().resume_run(run.id, resumption);
  }
  static void keep_last(Store& store, const Run& run, std::int64_t count) {
    store::KeepRules rules;
    rules.last = count;
    retain(store, run.id, rules, store::Sizes::skipped);
  }
  static void log_loss(Store& store, const Run& run, std::int64_t epoch, std::int64_t step) {
    const store::Value value{
        "loss", {"epoch/train", epoch, step, ""}, 0, store::ValueType::real, 0.5, 0};
    store.catalog().add_values(run.id, std::span(&value, 1));
  }
  static void expect_nothing_moves(Store& store, const Run& run,
                                   std::unique_ptr<ObjectStore> objects) {
    WatchedObjects watched(std::move(objects));
    const SpoolReport again = spool(store, run, watched);
    EXPECT_FALSE(again.changed);
    EXPECT_EQ(watched.written(), 0U);
  }
};

TEST_F(SnapshotsTest, AnUnchangedRunMovesNothingWhateverWasDoneWithItBefore) {
  const auto here = open();
  const Run run = open_run(*here, 1, 4);
  const auto remote = objects();
  const auto spooled = [&](const char* after) {
    SCOPED_TRACE(after);
    spool(*here, run, *remote);
    expect_nothing_moves(*here, run, objects());
  };
  spooled("recording");
  resume(*here, run, 2);
  spooled("resuming");
  record(*here, run, 7, 2, 5);
  spooled("going on");
  keep_last(*here, run, 1);
  spooled("keeping the last one");
  store::collect(*here, false);
  expect_nothing_moves(*here, run, objects());
  store::NewReplay replay;
  replay.run = run.id;
  replay.last_epoch = 1;
  const std::int64_t id = here->catalog().add_replay(replay);
  store::Value found{"norm", {"epoch", 1, -1, ""}, 0, store::ValueType::real, 2.0, 0};
  found.replay = id;
  here->catalog().add_values(run.id, std::span(&found, 1));
  here->catalog().finish_replay(id, {});
  spooled("replaying");
  here->catalog().finish_run(run.id, 9, false, "");
  spooled("finishing");
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  prune(*remote, {choose_run(*remote, run.key)}, options);
  expect_nothing_moves(*here, run, objects());
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  expect_nothing_moves(*there, there->catalog().resolve(run.key), objects());
}

TEST_F(SnapshotsTest, WhatWasDeletedHereBeforeItWasSentIsSentWhenItIsBack) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 4);
  const auto remote = objects();
  keep_last(*here, run, 1);
  EXPECT_EQ(spool(*here, run, *remote).run.checkpoints, 2);
  store::restore_discarded(*here, run.id);
  const SpoolReport again = spool(*here, run, *remote);
  EXPECT_TRUE(again.changed);
  EXPECT_EQ(again.run.checkpoints, 5);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  expect_boundaries(*there, run.key, 1, 0, 4);
}

TEST_F(SnapshotsTest, WhatWasPrunedThereIsNotSentAgainEvenByAThirdStore) {
  const auto here = open(), third = open("third");
  const Run run = finished_run(*here, 1, 6);
  const auto remote = objects();
  spool(*here, run, *remote);
  fetch(*third, *remote, run.key);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  ASSERT_EQ(prune(*remote, {choose_run(*remote, run.key)}, options).checkpoints, 5);
  for (const auto& store : {here, third, here}) {
    EXPECT_EQ(spool(*store, store->catalog().resolve(run.key), *remote).run.checkpoints, 2);
  }
}

TEST_F(SnapshotsTest, AStateThatTheRunLeftWhenItWasResumedDoesNotComeBack) {
  const auto here = open();
  const Run run = open_run(*here, 1, 4);
  const auto remote = objects();
  keep_last(*here, run, 1);
  spool(*here, run, *remote);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  // Here it goes another way, and the checkpoints of both ways are deleted in part.
  store::restore_discarded(*here, run.id);
  resume(*here, run, 2);
  record(*here, run, 7, 2, 4);
  spool(*here, run, *remote);
  fetch(*there, *remote, run.key);
  for (const auto& store : {here, there}) {
    const auto checkpoints = store->catalog().checkpoints(store->catalog().resolve(run.key).id);
    EXPECT_THAT(checkpoints, SizeIs(5));
    for (const auto& info : checkpoints) {
      const int epoch = static_cast<int>(info.key.iteration);
      store::expect_holds(*store, info.id, state(epoch > 2 ? 7 : 1, epoch));
    }
  }
}

TEST_F(SnapshotsTest, ACheckpointOfAnAbandonedWayGivesWayToTheOneThatTookItsPlace) {
  const auto here = open();
  const Run run = open_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  const auto there = open("other");
  fetch(*there, *remote, run.key);
  PruneOptions options;
  options.rules.emplace();
  options.rules->every = 100;  // what the run needs to go on stays
  prune(*remote, {choose_run(*remote, run.key)}, options);
  resume(*here, run, 1);
  record(*here, run, 7, 1, 3);
  spool(*here, run, *remote);
  fetch(*there, *remote, run.key);
  for (const auto& info : there->catalog().checkpoints(there->catalog().resolve(run.key).id)) {
    const int epoch = static_cast<int>(info.key.iteration);
    store::expect_holds(*there, info.id, state(epoch > 1 ? 7 : 1, epoch));
  }
  EXPECT_EQ(store::damage(*there), "");
}

TEST_F(SnapshotsTest, WhatIsNewerThereIsNotReplacedByAnOlderState) {
  const auto here = open(), there = open("other");
  const Run run = open_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  fetch(*there, *remote, run.key);
  const Run copy = there->catalog().resolve(run.key);
  // Each of these alone, in the middle of an epoch.
  const std::vector<std::pair<const char*, std::function<void()>>> steps = {
      {"a value", [&] { log_loss(*here, run, 2, 7); }},
      {"a checkpoint inside an epoch",
       [&] {
         store::CheckpointWriter(*here, run.id)
             .write({store::CheckpointKind::step, 0, 2, "train@8"}, state(1, 100));
       }},
      {"an execution",
       [&] {
         here->catalog().add_execution(run.id, {0, 1, "train", 4, false, 1});
       }},
      {"its end", [&] { here->catalog().finish_run(run.id, 9, false, ""); }},
  };
  for (const auto& [what, step] : steps) {
    step();
    const std::string before = spool(*here, run, *remote).run.catalog;
    try {
      spool(*there, copy, *remote);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("flor fetch")) << what;
    }
    EXPECT_EQ(choose_run(*remote, run.key).catalog, before) << what;
    fetch(*there, *remote, run.key);
    EXPECT_FALSE(spool(*there, copy, *remote).changed) << what;
  }
}

TEST_F(SnapshotsTest, TwoWaysOfOneRunDoNotReplaceEachOther) {
  const auto here = open(), there = open("other");
  const Run run = open_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  fetch(*there, *remote, run.key);
  const Run copy = there->catalog().resolve(run.key);
  resume(*here, run, 2, 10);
  record(*here, run, 7, 2, 4);
  spool(*here, run, *remote);
  resume(*there, copy, 2, 20);
  record(*there, copy, 8, 2, 9);
  EXPECT_THROW(spool(*there, copy, *remote), Error);
  EXPECT_THROW(fetch(*there, *remote, run.key), Error);
  EXPECT_THAT(damage_of(*remote), IsEmpty());
}

/// With a server that replaces objects although it was asked not to.
TEST_F(SnapshotsTest, WithoutExclusiveWritesTheLaterWriterTakesHisManifestBackAndLooksAgain) {
  for (const bool before_own : {true, false}) {
    fs::remove_all(remote_path());
    fs::remove_all(directory_ / "home");
    fs::remove_all(directory_ / "other");
    const auto here = open(), there = open("other");
    const Run run = open_run(*here, 1, 2);
    spool(*here, run, *objects());
    fetch(*there, *objects(), run.key);
    const Run copy = there->catalog().resolve(run.key);
    log_loss(*there, copy, 2, 1);
    record(*here, run, 1, 2, 4);
    WatchedObjects late(objects());
    late.exclusive = false;
    bool done = false;
    const auto overtake = [&](const std::string& key) {
      if (done || !key.starts_with("runs/")) return;
      done = true;
      WatchedObjects other(objects());
      other.exclusive = false;
      record(*here, run, 1, 4, 5);
      spool(*here, run, other);
    };
    int lists = 0;
    if (before_own) {
      late.before_put = overtake;
    } else {
      late.before_list = [&](const std::string& prefix) {
        if (prefix == "runs/" + run.key + "/" && ++lists == 2) overtake(prefix);
      };
    }
    // What it has is older than what came there in between.
    EXPECT_THROW(spool(*there, copy, late), Error);
    EXPECT_TRUE(done);
    EXPECT_EQ(choose_run(*objects(), run.key).epochs, 5) << before_own;
    EXPECT_THAT(damage_of(*objects()), IsEmpty());
  }
}

TEST_F(SnapshotsTest, ManySpoolersWithoutExclusiveWritesAgree) {
  const auto here = open();
  const Run run = open_run(*here, 1, 3);
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i) {
    processes.push_back(store::start_process([&] {
      const auto store = open();
      WatchedObjects plain(objects());
      plain.exclusive = false;
      for (int k = 0; k < 3; ++k) spool(*store, run, plain);
      return 0;
    }));
  }
  for (int epoch = 3; epoch < 6; ++epoch) record(*here, run, 1, epoch, epoch + 1);
  for (const pid_t process : processes) EXPECT_EQ(store::wait_for(process), 0);
  WatchedObjects plain(objects());
  plain.exclusive = false;
  spool(*here, run, plain);
  EXPECT_EQ(choose_run(plain, run.key).epochs, 6);
  EXPECT_THAT(damage_of(plain), IsEmpty());
}

TEST_F(SnapshotsTest, WhatEvaluatorsFoundGoesWithTheRunAndThatOfTwoMachinesTogether) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  fetch(*there, *remote, run.key);
  const Run copy = there->catalog().resolve(run.key);
  judge(*here, run, 1, 0.25);
  judge(*there, copy, 2, 0.5);
  EXPECT_TRUE(spool(*here, run, *remote).changed);
  EXPECT_TRUE(spool(*there, copy, *remote).changed);
  fetch(*here, *remote, run.key);
  fetch(*there, *remote, run.key);
  for (const auto& [store, id] : {std::pair(here, run.id), std::pair(there, copy.id)}) {
    EXPECT_THAT(
        store->catalog().values({.run = id, .names = {"judge.accuracy"}, .evaluated = true}),
        SizeIs(2));
  }
  EXPECT_FALSE(spool(*here, run, *remote).changed);
  EXPECT_FALSE(spool(*there, copy, *remote).changed);
}

}  // namespace
}  // namespace flor::remote
