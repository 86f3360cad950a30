// Pruning while others are at work, and beside what is not Flor's.
#include "remote_fixture.h"
#include "retention/retention.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

namespace flor::remote {
namespace {

using std::chrono::hours;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PruneTest : public RemoteTest {
 protected:
  int looks_ = 0;  ///< stores that `epochs_there` has made

  /// As if all that was done there had been done so long ago.
  void age(hours time) const {
    for (const auto& entry : fs::recursive_directory_iterator(remote_path())) {
      if (entry.is_regular_file()) {
        fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - time);
      }
    }
    if (!fs::exists(remote_path() / "doomed")) return;
    std::vector<fs::path> lists;
    for (const auto& entry : fs::directory_iterator(remote_path() / "doomed")) {
      lists.push_back(entry.path());
    }
    for (const fs::path& list : lists) {
      const std::int64_t since = std::stoll(list.stem().string());
      const std::int64_t by = std::chrono::microseconds(time).count();
      fs::rename(list, list.parent_path() / fmt::format("{:020}.json", since - by));
    }
  }
  static PruneReport prune_run(ObjectStore& objects, const std::string& key, hours grace) {
    PruneOptions options;
    options.whole_runs = true;
    options.grace_us = std::chrono::microseconds(grace).count();
    return prune(objects, {choose_run(objects, key)}, options);
  }
  /// Epochs whose checkpoints are there, or in a store.
  static std::set<std::int64_t> epochs_in(const Store& store, const std::string& key) {
    std::set<std::int64_t> epochs;
    for (const auto& info : store.catalog().checkpoints(store.catalog().resolve(key).id)) {
      if (info.key.iteration > 0) epochs.insert(info.key.iteration - 1);
    }
    return epochs;
  }
  std::set<std::int64_t> epochs_there(ObjectStore& objects, const std::string& key) {
    const auto store = open(fmt::format("looks{}", ++looks_));
    const RemoteRun run = choose_run(objects, key);
    if (!run.leader.empty()) fetch(*store, objects, run.leader);
    fetch(*store, objects, key);
    return epochs_in(*store, key);
  }
  static void log(Store& store, const Run& run, const std::string& name, std::int64_t epoch,
                  double value) {
    const store::Value logged{name, {"epoch", epoch, -1, ""}, 0, store::ValueType::real, value, 0};
    store.catalog().add_values(run.id, std::span(&logged, 1));
  }
  static PruneReport prune_none(ObjectStore& objects, hours grace) {
    PruneOptions options;
    options.grace_us = std::chrono::microseconds(grace).count();
    return prune(objects, {}, options);
  }
};

TEST_F(PruneTest, ARunWhoseManifestsAreReplacedMeanwhileKeepsItsParcels) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 2);
  spool(*here, run, *objects());
  WatchedObjects watched(objects());
  int epochs = 2, left = 4;
  bool listed = false;
  watched.before_list = [&](const std::string& prefix) { listed = prefix == "runs/"; };
  // After each listing of the runs the manifest that it names goes.
  watched.before_get = [&](const std::string& key) {
    if (!listed || !key.starts_with("runs/") || left == 0) return;
    listed = false;
    --left;
    for (int i = 0; i < 2; ++i, ++epochs) {
      record(*here, run, 1, epochs, epochs + 1);
      spool(*here, run, *objects());
    }
  };
  prune_none(watched, hours(0));
  EXPECT_LT(left, 4);
  EXPECT_THAT(damage_of(*objects()), IsEmpty());
  const auto there = open("other");
  fetch(*there, *objects(), run.key);
  expect_boundaries(*there, run.key, 1, 0, epochs);
}

TEST_F(PruneTest, WhatIsPutAgainWhileItIsAboutToGoStays) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  prune_run(*remote, run.key, hours(24));
  age(hours(48));
  WatchedObjects watched(objects());
  std::map<std::string, std::vector<std::byte>> again;
  watched.before_list = [&](const std::string& prefix) {
    if (prefix != "doomed/" || !again.empty()) return;
    for (const ObjectInfo& object : remote->list("parcels/")) {
      again[object.key] = remote->get(object.key, kMuch);
      remote->put(object.key, again[object.key]);
    }
  };
  prune_none(watched, hours(24));
  EXPECT_THAT(again, SizeIs(1));
  EXPECT_THAT(remote->list("parcels/"), SizeIs(1));
  EXPECT_THAT(remote->list("catalogs/"), IsEmpty());
  // And it does not go the next time either, before its own grace is over.
  prune_none(*remote, hours(24));
  EXPECT_THAT(remote->list("parcels/"), SizeIs(1));
}

TEST_F(PruneTest, TheGraceOfWhatWasReferredToBeginsAnew) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  prune_run(*remote, run.key, hours(24));
  spool(*here, run, *remote);
  age(hours(48));
  EXPECT_EQ(prune_run(*remote, run.key, hours(24)).objects_removed, 0);
  EXPECT_THAT(remote->list("parcels/"), SizeIs(1));
  age(hours(48));
  EXPECT_GT(prune_none(*remote, hours(24)).objects_removed, 0);
  EXPECT_THAT(remote->list("parcels/"), IsEmpty());
}

TEST_F(PruneTest, AShortGraceIsRefused) {
  const auto here = open();
  const auto remote = objects();
  spool(*here, finished_run(*here, 1, 1), *remote);
  EXPECT_THROW(prune_none(*remote, hours(1)), UsageError);
  EXPECT_NO_THROW(prune_none(*remote, hours(2)));
}

TEST_F(PruneTest, ObjectsThatAreNotFlorsStay) {
  const auto here = open();
  const auto remote = objects();
  spool(*here, finished_run(*here, 1, 1), *remote);
  const std::string name(64, 'a');
  const std::vector<std::string> keys = {"parcels/notes.txt",       "parcels/bb/" + name,
                                         "catalogs/aa/" + name,     "doomed/list.json",
                                         "doomed/00000000001.json", "runs/README"};
  for (const std::string& key : keys) remote->put(key, {});
  remote->put("parcels/aa/" + name, {});
  EXPECT_EQ(prune_none(*remote, hours(0)).objects_removed, 1);
  for (const std::string& key : keys) EXPECT_TRUE(remote->head(key)) << key;
}

TEST_F(PruneTest, WithoutACatalogNothingGoesButTheRunThatLostItMayBeGivenUp) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 1), other = finished_run(*here, 2, 1);
  const auto remote = objects();
  spool(*here, run, *remote);
  spool(*here, other, *remote);
  remote->remove("catalogs/" + choose_run(*remote, run.key).catalog.substr(0, 2) + "/" +
                 choose_run(*remote, run.key).catalog + ".zst");
  const PruneReport refused = prune_none(*remote, hours(0));
  EXPECT_TRUE(refused.damaged);
  EXPECT_THAT(refused.findings, SizeIs(1));
  EXPECT_EQ(refused.objects_removed, 0);
  EXPECT_THAT(remote->list("parcels/"), SizeIs(2));
  prune_run(*remote, run.key, hours(0));
  EXPECT_THAT(list_runs(*remote).runs, SizeIs(1));
  EXPECT_THAT(damage_of(*remote), IsEmpty());
}

TEST_F(PruneTest, TheRulesOfKeepHoldThereAsTheyDoHere) {
  const std::vector<double> losses = {0.9, 0.2, 0.5, 0.2, 0.8, 0.1, 0.7};
  std::vector<store::KeepRules> all(8);
  all[0].last = 2;
  all[1].every = 3;
  all[2].best = {{.count = 2, .metric = "score", .order = store::ScoreOrder::min}};
  all[3].best = {{.count = 3, .metric = "score", .order = store::ScoreOrder::max}};
  all[4] = all[2];
  all[4].tie = store::Tie::newer;
  all[4].best[0].count = 3;
  all[5] = all[3];
  all[5].last = 1;
  all[6].under = 6'000'000;
  all[7].best = {{.count = 1, .metric = "partly", .order = store::ScoreOrder::max}};
  all[7].unscored = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto here = open(fmt::format("home{}", i));
    const auto remote = open_directory((directory_ / fmt::format("remote{}", i)).string());
    const Run run = finished_run(*here, 1, static_cast<int>(losses.size()));
    for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
      log(*here, run, "score", static_cast<std::int64_t>(epoch), losses[epoch]);
      if (epoch % 2 == 0)
        log(*here, run, "partly", static_cast<std::int64_t>(epoch), losses[epoch]);
    }
    spool(*here, run, *remote);
    PruneOptions options;
    options.rules = all[i];
    const PruneReport report = prune(*remote, list_runs(*remote).runs, options);
    const auto kept = retain(*here, run.id, all[i], store::Sizes::weighed);
    EXPECT_EQ(epochs_there(*remote, run.key), epochs_in(*here, run.key)) << i;
    EXPECT_EQ(report.fits, kept.fits) << i;
    EXPECT_EQ(report.checkpoints, kept.deleted) << i;
    EXPECT_GT(kept.deleted, 0) << i;
  }
}

TEST_F(PruneTest, TheProgramsOwnStrategyIsHonoured) {
  const auto here = open();
  const auto remote = objects();
  const Run run = finished_run(*here, 1, 6), other = finished_run(*here, 2, 3);
  for (int epoch = 0; epoch < 6; ++epoch) log(*here, run, "score", epoch, epoch == 2 ? 9 : epoch);
  here->catalog().put_strategy(run.id, {.num_to_keep = 2, .score_attribute = "score"});
  spool(*here, run, *remote);
  spool(*here, other, *remote);
  EXPECT_EQ(prune(*remote, list_runs(*remote).runs, {}).checkpoints, 4);
  EXPECT_EQ(epochs_there(*remote, run.key), (std::set<std::int64_t>{2, 5}));
  EXPECT_EQ(epochs_there(*remote, other.key), (std::set<std::int64_t>{0, 1, 2}));
}

TEST_F(PruneTest, WhatEvaluatorsFoundRanksThere) {
  const auto here = open();
  const auto remote = objects();
  const Run run = finished_run(*here, 1, 4);
  for (int epoch = 0; epoch < 4; ++epoch) judge(*here, run, epoch + 1, epoch == 1 ? 0.9 : 0.5);
  spool(*here, run, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->best = {{.count = 1, .metric = "judge.accuracy", .order = store::ScoreOrder::max}};
  EXPECT_EQ(prune(*remote, list_runs(*remote).runs, options).checkpoints, 3);
  EXPECT_EQ(epochs_there(*remote, run.key), (std::set<std::int64_t>{1}));
}

TEST_F(PruneTest, TheRanksOfAGroupKeepTheSameByWhatRank0Logged) {
  const auto here = open();
  const auto remote = objects();
  store::NewRun start = store::new_run();
  start.rank = store::RankPlace{0, 0, 2};
  const Run first = here->catalog().add_run(start);
  start.rank = store::RankPlace{first.id, 1, 2};
  const Run second = here->catalog().add_run(start);
  for (const Run& run : {first, second}) {
    record(*here, run, run.id == first.id ? 1 : 2, 0, 5);
    here->catalog().finish_run(run.id, 9, false, "");
    spool(*here, run, *remote);
  }
  for (int epoch = 0; epoch < 5; ++epoch) log(*here, first, "score", epoch, epoch == 3 ? 0 : 1);
  spool(*here, first, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->best = {{.count = 1, .metric = "score", .order = store::ScoreOrder::min}};
  EXPECT_EQ(prune(*remote, list_runs(*remote).runs, options).checkpoints, 8);
  EXPECT_EQ(epochs_there(*remote, first.key), (std::set<std::int64_t>{3}));
  EXPECT_EQ(epochs_there(*remote, second.key), (std::set<std::int64_t>{3}));
}

TEST_F(PruneTest, WhatARunNeedsToGoOnStaysThere) {
  const auto here = open();
  const auto remote = objects();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 4);
  for (int epoch = 0; epoch < 4; ++epoch) log(*here, run, "score", epoch, epoch);
  spool(*here, run, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->best = {{.count = 1, .metric = "score", .order = store::ScoreOrder::min}};
  prune(*remote, list_runs(*remote).runs, options);
  EXPECT_EQ(epochs_there(*remote, run.key), (std::set<std::int64_t>{0, 3}));
}

TEST_F(PruneTest, ARunWithoutTheMetricDoesNotKeepTheOthersFromBeingPruned) {
  const auto here = open();
  const auto remote = objects();
  const Run scored = finished_run(*here, 1, 3), plain = finished_run(*here, 2, 3);
  for (int epoch = 0; epoch < 3; ++epoch) log(*here, scored, "score", epoch, epoch);
  spool(*here, scored, *remote);
  spool(*here, plain, *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->best = {{.count = 1, .metric = "score", .order = store::ScoreOrder::max}};
  const PruneReport report = prune(*remote, list_runs(*remote).runs, options);
  EXPECT_EQ(report.checkpoints, 2);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_FALSE(report.damaged);
  EXPECT_EQ(epochs_there(*remote, plain.key), (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_THROW(prune(*remote, {choose_run(*remote, plain.key)}, options), Error);
}

/// As where a server lets others read single objects, and not this user.
TEST_F(PruneTest, ARunThatMayNotBeReadDoesNotCloseThePlace) {
  const auto here = open();
  const Run good = finished_run(*here, 1, 3), other = finished_run(*here, 2, 3);
  const Run bad = finished_run(*here, 3, 3);
  for (const Run& run : {good, other, bad}) spool(*here, run, *objects());
  const RemoteRun listed = choose_run(*objects(), bad.key);
  WatchedObjects watched(objects());
  watched.before_get = [&](const std::string& key) {
    if (key.starts_with("runs/" + bad.key)) throw Error(key + ": HTTP 403, AccessDenied");
  };
  const RunList there = list_runs(watched);
  EXPECT_EQ(there.runs.size(), 2U);
  ASSERT_EQ(there.unreadable.size(), 1U);
  EXPECT_EQ(there.unreadable[0].key, bad.key);
  EXPECT_FALSE(there.unreadable[0].damaged);
  const PruneReport pruned = prune_run(watched, other.key, hours(0));
  EXPECT_EQ(pruned.runs_removed, 1);
  EXPECT_EQ(pruned.objects_removed, 0) << "what the unreadable run needs is not known";
  EXPECT_THAT(pruned.findings, SizeIs(1));
  // Its catalog, then its content.
  watched.before_get = [&](const std::string& key) {
    if (key.find(listed.catalog) != key.npos) throw Error(key + ": HTTP 403, AccessDenied");
  };
  const VerifyReport verified = verify(watched, list_runs(watched).runs, true, {});
  EXPECT_EQ(verified.runs, 1);
  EXPECT_THAT(verified.findings, SizeIs(1));
  watched.before_get = [&](const std::string& key) {
    if (key.starts_with("parcels/")) throw Error(key + ": HTTP 403, AccessDenied");
  };
  EXPECT_THAT(verify(watched, list_runs(watched).runs, true, {}).findings,
              ::testing::Each(::testing::HasSubstr("cannot be read")));
  watched.before_get = {};
  const auto far = open("far");
  fetch(*far, *objects(), good.key);
  expect_boundaries(*far, good.key, 1, 0, 3);
}

TEST_F(PruneTest, OfRunsThatAreToGoThoseGoThatMay) {
  const auto here = open();
  const Run good = finished_run(*here, 1, 3), bad = finished_run(*here, 2, 3);
  const Run other = finished_run(*here, 3, 3);
  for (const Run& run : {good, bad, other}) spool(*here, run, *objects());
  WatchedObjects watched(objects());
  watched.before_remove = [&](const std::string& key) {
    if (key.starts_with("runs/" + bad.key)) throw Error(key + ": HTTP 403, AccessDenied");
  };
  PruneOptions options;
  options.whole_runs = true;
  const PruneReport report = prune(watched, list_runs(watched).runs, options);
  EXPECT_EQ(report.runs_removed, 2);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(list_runs(*objects()).runs, SizeIs(1));
  EXPECT_THAT(damage_of(*objects()), IsEmpty());
}

TEST_F(PruneTest, APlaceWithoutRunsIsCleanedUp) {
  const auto here = open();
  const auto remote = objects();
  spool(*here, finished_run(*here, 1, 1), *remote);
  prune_run(*remote, list_runs(*remote).runs[0].key, hours(24));
  ASSERT_TRUE(list_runs(*remote).empty());
  age(hours(48));
  EXPECT_EQ(prune_none(*remote, hours(24)).objects_removed, 2);
  EXPECT_THAT(remote->list(""), IsEmpty());
  EXPECT_EQ(prune_none(*remote, hours(24)).objects_removed, 0);
}

}  // namespace
}  // namespace flor::remote
