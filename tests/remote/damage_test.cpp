// Damage in an object store, and what somebody may have put there on purpose: said, kept apart from
// what is sound, and mended where the good copy is.
#include "crafted_bucket.h"
#include "retention/retention.h"

#include <flor/store/error.h>

#include <fstream>

namespace flor::remote {
namespace {

using crafted::bytes;
using crafted::publish;
using crafted::with_catalog;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DamagedRemoteTest : public RemoteTest {
 protected:
  static std::string manifest_of(ObjectStore& objects, const std::string& run) {
    return list_manifests(objects, run).back().key();
  }
  static void flip(ObjectStore& objects, const std::string& key) {
    auto content = objects.get(key, kMuch);
    content[content.size() / 2] ^= std::byte{1};
    objects.put(key, content);
  }
  static void flip_parcels(ObjectStore& objects) {
    for (const ObjectInfo& object : objects.list("parcels/")) flip(objects, object.key);
  }
  static SpoolReport repair(Store& store, const Run& run, ObjectStore& objects) {
    SpoolOptions options;
    options.repair = true;
    return remote::spool(store, *store.catalog().run(run.id), objects, options);
  }
};

TEST_F(DamagedRemoteTest, ADamagedManifestIsSaidAndTheOtherRunsGoOn) {
  const auto here = open(), there = open("other");
  const Run bad = finished_run(*here, 1, 2), good = finished_run(*here, 2, 2);
  const auto remote = objects();
  spool(*here, bad, *remote);
  spool(*here, good, *remote);
  flip(*remote, manifest_of(*remote, bad.key));
  const RunList list = list_runs(*remote);
  ASSERT_THAT(list.runs, SizeIs(1));
  ASSERT_THAT(list.unreadable, SizeIs(1));
  EXPECT_EQ(list.unreadable[0].key, bad.key);
  EXPECT_THAT(list.unreadable[0].why, HasSubstr("spool the run again"));
  EXPECT_THAT(verify(*remote, list.runs, true, {}).findings, IsEmpty());
  fetch(*there, *remote, good.key);
  expect_boundaries(*there, good.key, 2, 0, 2);
  EXPECT_THROW(fetch(*there, *remote, bad.key), Damaged);
  // A third run comes there, and rules are applied to the sound one; but nobody knows what the
  // damaged one refers to.
  spool(*here, finished_run(*here, 3, 2), *remote);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  const PruneReport report = prune(*remote, {choose_run(*remote, good.key)}, options);
  EXPECT_EQ(report.checkpoints, 1);
  EXPECT_EQ(report.objects_removed, 0);
  EXPECT_TRUE(report.damaged);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0], HasSubstr(bad.key));
  // Spooled again it is sound.
  EXPECT_TRUE(spool(*here, bad, *remote).changed);
  EXPECT_THAT(list_runs(*remote).unreadable, IsEmpty());
  fetch(*there, *remote, bad.key);
  expect_boundaries(*there, bad.key, 1, 0, 2);
}

TEST_F(DamagedRemoteTest, ARunWithADamagedManifestCanBeGivenUp) {
  const auto here = open();
  const Run bad = finished_run(*here, 1, 1);
  const auto remote = objects();
  spool(*here, bad, *remote);
  flip(*remote, manifest_of(*remote, bad.key));
  PruneOptions options;
  options.whole_runs = true;
  RemoteRun given_up;
  given_up.key = bad.key;
  EXPECT_THAT(prune(*remote, {given_up}, options).findings, IsEmpty());
  EXPECT_TRUE(list_runs(*remote).empty());
  EXPECT_THAT(remote->list("parcels/"), IsEmpty());
}

TEST_F(DamagedRemoteTest, ACatalogThatIsDamagedOrMissingIsSentAgain) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  for (const bool missing : {true, false}) {
    const RemoteRun sent = spool(*here, run, *remote).run;
    const std::string key = catalog_key(sent.catalog);
    missing ? remote->remove(key) : flip(*remote, key);
    EXPECT_THAT(verify(*remote, {sent}, false, {}).findings, SizeIs(1));
    // Without reading it nobody sees that a catalog of the right length is damaged.
    EXPECT_TRUE((missing ? spool(*here, run, *remote) : repair(*here, run, *remote)).changed);
    EXPECT_THAT(damage_of(*remote), IsEmpty());
  }
  fetch(*there, *remote, run.key);
  expect_boundaries(*there, run.key, 1, 0, 2);
}

TEST_F(DamagedRemoteTest, WhatIsDamagedThereIsMendedFromTheGoodCopyHere) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*here, 1, 4), twin = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  spool(*here, twin, *remote);
  flip_parcels(*remote);
  EXPECT_FALSE(damage_of(*remote).empty());
  const SpoolReport mended = repair(*here, run, *remote);
  EXPECT_GT(mended.damaged, 0);
  EXPECT_EQ(mended.lost, 0);
  EXPECT_TRUE(mended.changed || mended.parcels_sent > 0);
  EXPECT_THAT(verify(*remote, {choose_run(*remote, run.key)}, true, {}).findings, IsEmpty());
  repair(*here, twin, *remote);
  EXPECT_THAT(damage_of(*remote), IsEmpty());
  for (const Run& any : {run, twin}) fetch(*there, *remote, any.key);
  expect_boundaries(*there, run.key, 1, 0, 4);
  EXPECT_EQ(repair(*here, run, *remote).parcels_sent, 0);
}

TEST_F(DamagedRemoteTest, AParcelThatWasCutOffIsSentAgainByAnySpool) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  const ObjectInfo parcel = remote->list("parcels/").at(0);
  fs::resize_file(remote_path() / parcel.key, parcel.bytes - 1);
  EXPECT_EQ(spool(*here, run, *remote).parcels_sent, 1);
  EXPECT_THAT(damage_of(*remote), IsEmpty());
}

TEST_F(DamagedRemoteTest, WhatHasNoGoodCopyIsToldAndTheRestIsMended) {
  const auto here = open();
  const Run run = here->catalog().add_run(store::new_run());
  record(*here, run, 1, 0, 12);
  const auto remote = objects();
  spool(*here, run, *remote);
  here->catalog().finish_run(run.id, 9, false, "");
  store::KeepRules rules;
  rules.last = 1;
  retain(*here, run.id, rules, store::Sizes::skipped);
  store::collect(*here, false);
  spool(*here, run, *remote);
  flip_parcels(*remote);
  const SpoolReport mended = repair(*here, run, *remote);
  EXPECT_GT(mended.lost, 0);
  EXPECT_LT(mended.lost, 13);
  EXPECT_GT(mended.parcels_sent, 0);
  // What is here is there again; verify still tells of the others.
  EXPECT_FALSE(damage_of(*remote).empty());
  const auto there = open("other");
  FetchOptions options;
  options.only = {{boundary(0), boundary(12)}};
  EXPECT_EQ(remote::fetch(*there, *remote, choose_run(*remote, run.key), options).checkpoints, 2);
}

TEST_F(DamagedRemoteTest, TheCacheOfCatalogsIsNoBetterThanTheManifestAndIsReadAgain) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  const RemoteRun sent = spool(*here, run, *remote).run;
  spool(*here, run, *remote);
  const fs::path cached = catalog_cache(directory_ / "home") / (sent.catalog + ".db");
  ASSERT_TRUE(fs::exists(cached));
  fs::resize_file(cached, 5000);
  EXPECT_FALSE(spool(*here, run, *remote).changed);
  EXPECT_GT(fs::file_size(cached), 5000U);
}

TEST_F(DamagedRemoteTest, TheCacheOfCatalogsDoesNotGrowWithoutBound) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 1);
  const auto remote = objects();
  const fs::path cache = catalog_cache(directory_ / "home");
  fs::create_directories(cache);
  for (int i = 0; i < 4; ++i) {
    const fs::path file = cache / fmt::format("{:064x}.db", i);
    std::ofstream(file) << "x";
    fs::resize_file(file, 100 << 20);
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  spool(*here, run, *remote);
  spool(*here, run, *remote);
  std::uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(cache)) sum += entry.file_size();
  EXPECT_LE(sum, std::uint64_t{256} << 20);
  EXPECT_FALSE(fs::exists(cache / fmt::format("{:064x}.db", 0)));
  EXPECT_TRUE(fs::exists(cache / fmt::format("{:064x}.db", 3)));
}

TEST_F(DamagedRemoteTest, AManifestThatIsAnotherRunsOrMakesNoSenseIsDamaged) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 1);
  const auto remote = objects();
  const RemoteRun sent = spool(*here, run, *remote).run;
  const std::string key = manifest_of(*remote, run.key);
  const std::vector<std::function<void(RemoteRun&)>> changes = {
      [](RemoteRun& it) { it.key = "0123456789abcdef"; },
      [](RemoteRun& it) { it.catalog = "../../../../etc/passwd"; },
      [](RemoteRun& it) { it.leader = "../../x"; },
      [](RemoteRun& it) { it.state = "\x1b[31mfine"; },
      [](RemoteRun& it) { it.sequence = 7; },
      [](RemoteRun& it) { it.epochs = -1; },
      [](RemoteRun& it) { it.rank = 3; },
      [](RemoteRun& it) { it.catalog_bytes = UINT64_MAX; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RemoteRun crafted = sent;
    changes[i](crafted);
    remote->put(key, bytes(print_manifest(crafted)));
    EXPECT_THROW(choose_run(*remote, run.key), Damaged) << i;
    EXPECT_THAT(list_runs(*remote).unreadable, SizeIs(1)) << i;
  }
  remote->put(key, bytes(std::string(2 << 20, '[')));
  EXPECT_THROW(choose_run(*remote, run.key), Damaged);
  remote->put(key, bytes(std::string(500'000, '[')));
  EXPECT_THROW(choose_run(*remote, run.key), Damaged);
  std::string nested = "{\"flor_manifest\": 1, \"sha256\": \"x\", \"a\": ";
  for (int i = 0; i < 100'000; ++i) nested += "{\"a\":";
  nested += "1" + std::string(100'001, '}');
  remote->put(key, bytes(nested));
  EXPECT_THROW(choose_run(*remote, run.key), Damaged);
}

TEST_F(DamagedRemoteTest, ACraftedCatalogIsRefusedWhateverItSays) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 6);
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"a circle of bases",
       "UPDATE chunk SET base = (SELECT max(id) FROM chunk WHERE depth > 0), depth = 1 WHERE depth "
       "> 0"},
      {"its own base", "UPDATE chunk SET base = id, depth = 1"},
      {"a depth beyond measure", "UPDATE chunk SET depth = 256 + depth WHERE depth > 0"},
      {"a base that is none", "UPDATE chunk SET base = 1000000 WHERE depth > 0"},
      {"a way out of the place",
       "UPDATE pack SET name = '../../../../../../etc/passwd' WHERE id = 1"},
      {"a name that is too short", "UPDATE pack SET name = '' WHERE id = 1"},
      {"a parcel beyond measure", "UPDATE pack SET bytes = 1000000000000"},
      {"an offset behind the end", "UPDATE chunk SET offset = offset + 100000000"},
      {"a negative offset", "UPDATE chunk SET offset = -64"},
      {"a chunk beyond measure", "UPDATE chunk SET raw_bytes = 1000000000"},
      {"no such pack", "DELETE FROM pack"},
      {"iterations beyond counting",
       "UPDATE checkpoint SET iteration = 9223372036854775807 "
       "WHERE id = (SELECT max(id) FROM checkpoint)"},
      {"chunks that are missing", "UPDATE checkpoint SET chunks = x'ffffff7f'"},
      {"another run", "UPDATE run SET key = 'ffffffffffffffff'"},
      {"no tables", "DROP TABLE chunk"},
      {"a base of another length", "UPDATE chunk SET raw_bytes = raw_bytes - 4 WHERE depth > 0"},
  };
  for (const auto& [what, sql] : changes) {
    SCOPED_TRACE(what);
    fs::remove_all(remote_path());
    const auto remote = objects();
    spool(*here, run, *remote);
    const RemoteRun crafted =
        with_catalog(*remote, run.key, [&sql = sql](store::Connection& to) { to.execute(sql); });
    const auto there = open("other");
    EXPECT_THROW(fetch(*there, *remote, run.key), Damaged);
    EXPECT_THROW(there->catalog().resolve(run.key), NotFound);
    EXPECT_FALSE(verify(*remote, {crafted}, true, {}).findings.empty());
    // And spooling puts it right.
    spool(*here, run, *remote);
    EXPECT_THAT(damage_of(*remote), IsEmpty());
  }
}

TEST_F(DamagedRemoteTest, TriggersAndViewsOfACraftedCatalogAreNotExecuted) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*here, 1, 3);
  const auto remote = objects();
  spool(*here, run, *remote);
  const RemoteRun crafted = with_catalog(*remote, run.key, [&](store::Connection& to) {
    to.execute(
        "ALTER TABLE discarded RENAME TO old; CREATE VIEW discarded AS SELECT *, "
        "load_extension('/tmp/x') FROM old");
  });
  EXPECT_THROW(fetch(*there, *remote, run.key), Error);
  PruneOptions options;
  options.rules.emplace();
  options.rules->last = 1;
  EXPECT_THROW(prune(*remote, {crafted}, options), Error);
}

TEST_F(DamagedRemoteTest, ACatalogThatUnpacksToTheWholeMemoryIsRefused) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*here, 1, 1);
  const auto remote = objects();
  spool(*here, run, *remote);
  publish(*remote, choose_run(*remote, run.key),
          std::vector<std::byte>(std::size_t{64} << 20, std::byte{0}));
  EXPECT_THROW(fetch(*there, *remote, run.key), Damaged);
}

}  // namespace
}  // namespace flor::remote
