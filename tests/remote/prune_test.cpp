// Pruning while others are at work, and beside what is not Flor's.
#include "remote_fixture.h"

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
      again[object.key] = remote->get(object.key);
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
  EXPECT_THROW(prune_none(*remote, hours(0)), Damaged);
  EXPECT_THAT(remote->list("parcels/"), SizeIs(2));
  prune_run(*remote, run.key, hours(0));
  EXPECT_THAT(list_runs(*remote), SizeIs(1));
  EXPECT_THAT(damage_of(*remote), IsEmpty());
}

}  // namespace
}  // namespace flor::remote
