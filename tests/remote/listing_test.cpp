// The listing of an object store says what the manifests say, takes few requests, and costs
// nothing but requests when it is damaged, behind, or that of another bucket.
#include "remote/objects/object_keys.h"
#include "remote/objects/sha256.h"
#include "remote/remote_fixture.h"
#include "remote/run_listing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

namespace flor::remote {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class ListingTest : public RemoteTest {
 protected:
  std::string hex(std::size_t digits) {
    std::string text;
    while (text.size() < digits) text += fmt::format("{:016x}", random_());
    return text.substr(0, digits);
  }

  /// An invented run: no more than its manifest and what the listing says of it.
  RemoteRun add(ObjectStore& objects) {
    RemoteRun run;
    run.key = hex(16);
    run.experiment = "sweep \"1\"\n" + hex(2);
    run.state = "finished";
    run.started_us = static_cast<std::int64_t>(random_() >> 20);
    run.epochs = 10;
    run.stored_bytes = random_() >> 40;
    run.sequence = 1;
    run.catalog = hex(64);
    add(objects, run, std::nullopt);
    return run;
  }
  static void add(ObjectStore& objects, const RemoteRun& run,
                  const std::optional<ManifestName>& before) {
    const auto name = put_manifest(objects, run, before);
    ASSERT_TRUE(name.has_value());
    enter_in_listing(objects, {*name, run});
  }
  static void replace(ObjectStore& objects, RemoteRun& run) {
    const ManifestName before = list_manifests(objects, run.key).back();
    ++run.sequence;
    ++run.epochs;
    add(objects, run, before);
  }

  /// The listing gives what the manifests do.
  static void expect_right(ObjectStore& objects, const std::string& what = {}) {
    const RunList from_manifests = list_runs(objects);
    const RunList listed = list_runs(objects, 4, RunsFrom::listing);
    EXPECT_EQ(listed.runs, from_manifests.runs) << what;
    EXPECT_EQ(listed.unreadable.size(), from_manifests.unreadable.size()) << what;
  }

  static std::vector<std::string> keys_of_parts(ObjectStore& objects) {
    std::vector<std::string> keys;
    for (const ListingPart& part : list_parts(objects)) keys.push_back(part.key());
    return keys;
  }

  static void put_with_name(ObjectStore& objects, std::uint64_t count,
                            std::span<const std::byte> content) {
    objects.put(ListingPart{count, sha256_hex(content), content.size()}.key(), content);
  }

  std::mt19937_64 random_{7};
};

TEST_F(ListingTest, ManyRunsAreListedInFewRequests) {
  WatchedObjects remote(objects());
  for (int i = 0; i < 700; ++i) add(remote);
  expect_right(remote);
  EXPECT_THAT(list_parts(remote), SizeIs(Le(28U)));
  int before = remote.calls();
  EXPECT_THAT(list_runs(remote, 8, RunsFrom::listing).runs, SizeIs(700));
  EXPECT_LE(remote.calls() - before, 30);
  before = remote.calls();
  add(remote);
  EXPECT_LE(remote.calls() - before, 2 + 4 * (2 + 2 * 8)) << "whatever it has to merge";
  // Where the listing lacks some, these alone are read.
  const auto parts = keys_of_parts(remote);
  remote.remove(parts.front());
  expect_right(remote);
}

TEST_F(ListingTest, ItFollowsRunsThatGoOnAndGo) {
  const auto remote = objects();
  std::vector<RemoteRun> runs;
  for (int i = 0; i < 60; ++i) runs.push_back(add(*remote));
  for (int i = 0; i < 150; ++i) {
    RemoteRun& run = runs[random_() % runs.size()];
    switch (random_() % 4) {
      case 0: runs.push_back(add(*remote)); break;
      case 1:
        for (const ManifestName& name : list_manifests(*remote, run.key)) {
          remote->remove(name.key());
        }
        std::erase_if(runs, [key = run.key](const RemoteRun& other) { return other.key == key; });
        break;
      default: replace(*remote, run);
    }
    if (i % 10 == 0) expect_right(*remote, fmt::format("after {} changes", i));
  }
  expect_right(*remote);
  write_listing_anew(*remote, 4);
  expect_right(*remote);
  EXPECT_THAT(list_parts(*remote), SizeIs(1));
  EXPECT_EQ(list_parts(*remote).at(0).count, runs.size()) << "nothing of what is gone";
  EXPECT_THAT(check_listing(*remote, list_runs(*remote).runs), IsEmpty());
}

TEST_F(ListingTest, WritersAtTheSameTimeLoseNothingOfIt) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i) {
    processes.push_back(store::start_process([&] {
      random_.seed(static_cast<unsigned>(i));
      const auto remote = objects();
      for (int k = 0; k < 60; ++k) {
        RemoteRun run = add(*remote);
        if (k % 5 == 0) replace(*remote, run);
        if (k % 10 == 0) list_runs(*remote, 2, RunsFrom::listing);
        if (k == 30 && i == 0) write_listing_anew(*remote, 2);
      }
      return 0;
    }));
  }
  for (const pid_t process : processes) EXPECT_EQ(store::wait_for(process), 0);
  const auto remote = objects();
  EXPECT_THAT(list_runs(*remote).runs, SizeIs(240));
  expect_right(*remote);
  EXPECT_THAT(check_listing(*remote, list_runs(*remote).runs), IsEmpty());
}

/// Of parts that are merged while they are read nothing is missed, and hardly a manifest read.
TEST_F(ListingTest, WhatIsMergedWhileItIsReadIsReadWhereItIsThen) {
  WatchedObjects remote(objects());
  for (int i = 0; i < 71; ++i) add(remote);
  int merged = 0;
  remote.before_get = [&](const std::string& key) {
    if (!key.starts_with("listing/") || merged++ != 0) return;
    const auto other = objects();
    write_listing_anew(*other, 2);
  };
  const int before = remote.calls();
  const RunList list = list_runs(remote, 1, RunsFrom::listing);
  EXPECT_LE(remote.calls() - before, 25);
  remote.before_get = {};
  EXPECT_EQ(list.runs, list_runs(remote).runs);
}

TEST_F(ListingTest, AKillWhileItIsWrittenLosesNothing) {
  for (int i = 0; i < 63; ++i) add(*objects());
  for (int at = 0;; ++at) {
    random_.seed(static_cast<unsigned>(1000 + at));
    const pid_t process = store::start_process([&] {
      WatchedObjects remote(objects());
      remote.die_at(at);
      add(remote);
      return 0;
    });
    const int status = store::wait_for(process);
    expect_right(*objects(), fmt::format("killed at {}", at));
    if (status == 0) break;
  }
  EXPECT_THAT(check_listing(*objects(), list_runs(*objects()).runs), IsEmpty());
}

TEST_F(ListingTest, DamageCostsRequestsAloneAndIsNamedAndMended) {
  const auto remote = objects();
  for (int i = 0; i < 20; ++i) add(*remote);
  write_listing_anew(*remote, 4);
  const ListingPart part = list_parts(*remote).at(0);
  const auto whole = remote->get(part.key(), kMuch);
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    auto flipped = whole;
    flipped[at] ^= std::byte{0x10};
    remote->put(part.key(), flipped);
    expect_right(*remote, fmt::format("flipped at {}", at));
    remote->put(part.key(), std::span(whole).first(at));
    expect_right(*remote, fmt::format("cut at {}", at));
    EXPECT_THAT(check_listing(*remote, {}), SizeIs(1));
  }
  EXPECT_THAT(check_listing(*remote, {})[0], HasSubstr("flor remote prune"));
  write_listing_anew(*remote, 4);
  EXPECT_THAT(check_listing(*remote, list_runs(*remote).runs), IsEmpty());
  expect_right(*remote);
}

TEST_F(ListingTest, NamesAndContentsOfOthersAreNotBelieved) {
  const auto remote = objects();
  std::vector<RemoteRun> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(add(*remote));
  const auto sound = remote->get(keys_of_parts(*remote).at(0), kMuch);
  for (const char* key : {"listing/x", "listing/00000001-zz.zst", "listing/a/00000001.zst"}) {
    remote->put(key, sound);
  }
  for (const std::uint64_t count : {2, 7, 1000, 131072}) put_with_name(*remote, count, sound);
  const std::vector<std::byte> zeros(1000);
  put_with_name(*remote, 8, zeros);
  put_with_name(*remote, 9, {});
  expect_right(*remote);
  EXPECT_THAT(check_listing(*remote, {}), SizeIs(6));
  // What is there and says otherwise than the manifest is named.
  const ManifestName name = list_manifests(*remote, runs[3].key).back();
  RemoteRun other = runs[3];
  other.epochs = 77;
  enter_in_listing(*remote, {name, other});
  EXPECT_THAT(check_listing(*remote, list_runs(*remote).runs),
              ::testing::Contains(HasSubstr("says otherwise of run " + other.key)));
  // Of what cannot be nothing is taken over.
  for (const auto& change : std::vector<std::function<void(ListedRun&)>>{
           [](ListedRun& it) { it.run.key = "../../x"; },
           [](ListedRun& it) { it.run.state = "\x1b[31mfine"; },
           [](ListedRun& it) { it.run.catalog = "../../etc/passwd"; },
           [](ListedRun& it) { it.run.rank = 3; },
           [](ListedRun& it) { it.run.sequence = -1; },
           [](ListedRun& it) { it.manifest.writer = "../"; }}) {
    ListedRun crafted{name, runs[3]};
    crafted.run.epochs = 78;
    change(crafted);
    enter_in_listing(*remote, crafted);
    for (const RemoteRun& run : list_runs(*remote, 4, RunsFrom::listing).runs) {
      EXPECT_NE(run.epochs, 78);
    }
  }
  write_listing_anew(*remote, 4);
  expect_right(*remote);
}

TEST_F(ListingTest, APruneWritesItAnewAndAVerifyChecksIt) {
  const auto here = open();
  const auto remote = objects();
  std::vector<Run> runs;
  for (unsigned i = 1; i <= 9; ++i) {
    runs.push_back(finished_run(*here, i, 1));
    spool(*here, runs.back(), *remote);
  }
  expect_right(*remote);
  EXPECT_THAT(list_parts(*remote), SizeIs(2)) << "of eight, and of one";
  EXPECT_THAT(damage_of(*remote), IsEmpty());
  for (const std::string& key : keys_of_parts(*remote)) {
    remote->put(key, std::as_bytes(std::span("x", 1)));
  }
  EXPECT_THAT(damage_of(*remote), SizeIs(2));
  PruneOptions options;
  options.whole_runs = true;
  prune(*remote, {choose_run(*remote, runs[0].key)}, options);
  EXPECT_THAT(damage_of(*remote), IsEmpty());
  ASSERT_THAT(list_parts(*remote), SizeIs(1));
  EXPECT_EQ(list_parts(*remote).at(0).count, 8U);
  expect_right(*remote);
}

}  // namespace
}  // namespace flor::remote
