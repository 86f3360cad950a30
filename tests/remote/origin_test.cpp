// Origins of runs: said by the store that receives them, whatever a bucket says; and the meaning of
// names that runs recorded here and of elsewhere have.
#include "database/database.h"
#include "remote/facts/run_catalog.h"
#include "remote/objects/object_keys.h"
#include "remote/objects/sha256.h"
#include "remote_fixture.h"

#include <flor/store/error.h>

#include <zstd.h>

#include <fstream>

namespace flor::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using store::RunOrigin;

class OriginTest : public RemoteTest {
 protected:
  static RunOrigin origin(Store& store, const std::string& key) {
    return store.catalog().resolve(key).origin;
  }
  /// Puts another catalog into the place: the one that is there, after `sql`.
  static RemoteRun change(ObjectStore& objects, const std::string& key, const char* sql) {
    RemoteRun run = choose_run(objects, key);
    const WorkDirectory work;
    const fs::path file = work.path() / "catalog.db";
    std::ofstream out(file, std::ios::binary);
    unpack_catalog(objects, run, [&](std::span<const std::byte> content) {
      out.write(reinterpret_cast<const char*>(content.data()),
                static_cast<std::streamsize>(content.size()));
    });
    out.close();
    {
      store::Connection connection(file, store::Connection::Mode::existing);
      connection.execute("PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=OFF");
      connection.execute(sql);
    }
    std::ifstream in(file, std::ios::binary);
    const std::string changed((std::istreambuf_iterator<char>(in)), {});
    std::vector<std::byte> sealed(ZSTD_compressBound(changed.size()));
    sealed.resize(
        ZSTD_compress(sealed.data(), sealed.size(), changed.data(), changed.size(), 3));
    run.catalog = sha256_hex(sealed);
    run.catalog_bytes = sealed.size();
    objects.put(catalog_key(run.catalog), sealed);
    const auto names = list_manifests(objects, run.key);
    ++run.sequence;
    EXPECT_TRUE(put_manifest(objects, run, names.back()));
    return run;
  }
  static Run run_of(Store& store, const std::string& name, std::int64_t started_us,
                    const RunOrigin& origin = {}, const std::string& key = {}) {
    store::NewRun start = store::new_run(name);
    start.started_us = started_us;
    start.key = key;
    return store.catalog().add_run(start, {}, origin);
  }
  static RunOrigin from_bucket() {
    return {RunOrigin::Kind::fetched, "s3://somewhere/else", 17};
  }
};

TEST_F(OriginTest, ARunThatWasRecordedHereIsThat) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 1);
  EXPECT_TRUE(run.origin.recorded_here());
  EXPECT_EQ(run.origin, RunOrigin());
}

TEST_F(OriginTest, AFetchedRunSaysFromWhereAndWhen) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*there, 1, 2);
  const auto remote = objects();
  spool(*there, run, *remote);
  const std::int64_t before = store::now_us();
  fetch(*here, *remote, run.key);
  const RunOrigin found = origin(*here, run.key);
  EXPECT_EQ(found.kind, RunOrigin::Kind::fetched);
  EXPECT_EQ(found.from, remote->url());
  EXPECT_GE(found.since_us, before);
  EXPECT_LE(found.since_us, store::now_us());
  // Fetched once more, it is the same; and listings know it, too.
  fetch(*here, *remote, run.key);
  const auto listed = here->catalog().runs({}, 1, store::RunDetail::summary);
  EXPECT_EQ(listed.at(0).origin, found);
}

TEST_F(OriginTest, ARunOfHereThatIsFetchedAgainStaysOneOfHere) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  fetch(*here, *remote, run.key);
  EXPECT_TRUE(origin(*here, run.key).recorded_here());
}

TEST_F(OriginTest, ABucketCannotSayWhereARunCameFrom) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*there, 1, 2);
  const auto remote = objects();
  spool(*there, run, *remote);
  for (const char* claim :
       {"INSERT INTO origin (run, kind, place, since_us) SELECT id, 0, '', 0 FROM run",
        "DELETE FROM origin", "DROP TABLE origin"}) {
    change(*remote, run.key, claim);
    const auto fresh = open(fmt::format("home{}", remote->list(kCatalogs).size()));
    try {
      fetch(*fresh, *remote, run.key);
    } catch (const Damaged&) {  // a catalog of other tables may be refused
      continue;
    }
    EXPECT_EQ(origin(*fresh, run.key).kind, RunOrigin::Kind::fetched) << claim;
  }
}

TEST_F(OriginTest, WhatARunWasStartedWithNeverChangesByFetchingIt) {
  const auto here = open();
  const Run run = finished_run(*here, 1, 2);
  const auto remote = objects();
  spool(*here, run, *remote);
  // The bucket has gone on, and says that another program was it.
  change(*remote, run.key,
         "UPDATE run SET program = '/bin/bash', command = '[\"bash\"]', directory = '/tmp', "
         "repository = '/tmp', program_digest = 'x', version = '', epochs = epochs + 1; UPDATE "
         "main_loop SET iterations = iterations + 1; INSERT INTO iteration SELECT run, main_loop, "
         "iteration + 1, 1, 1 FROM iteration WHERE iteration = 1; INSERT OR IGNORE INTO recipe "
         "(id, json) VALUES (1, '{}'); INSERT INTO build (run, recipe, remark) SELECT id, 1, '' "
         "FROM run");
  try {
    fetch(*here, *remote, run.key);
  } catch (const Error&) {  // or it is refused altogether
  }
  const Run now = here->catalog().resolve(run.key);
  EXPECT_EQ(now.start.program, run.start.program);
  EXPECT_EQ(now.start.command, run.start.command);
  EXPECT_EQ(now.start.directory, run.start.directory);
  EXPECT_EQ(now.start.repository, run.start.repository);
  EXPECT_EQ(now.start.program_digest, run.start.program_digest);
  EXPECT_EQ(now.start.commit, run.start.commit);
  EXPECT_FALSE(here->catalog().build(run.id).has_value());
  EXPECT_TRUE(now.origin.recorded_here());
}

TEST_F(OriginTest, TheSameRunIsSpooledAsTheSameBytesWhereverItCameFrom) {
  const auto here = open(), there = open("other");
  const Run run = finished_run(*there, 1, 2);
  const auto remote = objects();
  spool(*there, run, *remote);
  fetch(*here, *remote, run.key);
  EXPECT_FALSE(spool(*here, here->catalog().resolve(run.key), *remote).changed);
  const auto second = open_directory((directory_ / "second").string());
  EXPECT_EQ(spool(*here, here->catalog().resolve(run.key), *second).run.catalog,
            choose_run(*remote, run.key).catalog);
}

TEST_F(OriginTest, ANameMeansRunsOfHereFirst) {
  const auto here = open();
  const Run first = run_of(*here, "a", 1), second = run_of(*here, "a", 2);
  const Run theirs = run_of(*here, "a", 3, from_bucket());
  const store::Catalog& catalog = here->catalog();
  EXPECT_EQ(catalog.resolve("a").key, second.key);
  EXPECT_EQ(catalog.resolve("a~1").key, first.key);
  EXPECT_THROW(catalog.resolve("a~2"), NotFound);
  EXPECT_EQ(catalog.resolve("a:" + second.start.commit.substr(0, 8)).key, second.key);
  EXPECT_EQ(catalog.resolve(theirs.key).key, theirs.key);
  for (const char* spec : {"a", "a~1"}) {
    const auto over = catalog.passed_over(spec);
    ASSERT_EQ(over.size(), 1U);
    EXPECT_EQ(over[0].key, theirs.key);
  }
  EXPECT_THAT(catalog.passed_over(second.key), IsEmpty());
}

TEST_F(OriginTest, ANameThatOnlyFetchedRunsHaveMeansTheLatestOfThem) {
  const auto here = open();
  const Run first = run_of(*here, "b", 1, from_bucket());
  const Run second = run_of(*here, "b", 2, from_bucket());
  run_of(*here, "a", 3);
  EXPECT_EQ(here->catalog().resolve("b").key, second.key);
  EXPECT_EQ(here->catalog().resolve("b~1").key, first.key);
  EXPECT_THAT(here->catalog().passed_over("b"), IsEmpty());
}

TEST_F(OriginTest, NoNameFromElsewhereTakesThePlaceOfOneOfHere) {
  const auto here = open();
  const store::Catalog& catalog = here->catalog();
  const Run old = run_of(*here, "a", 1), mine = run_of(*here, "a", 2, {}, "0123456789abcdef");
  // Called as people call runs recorded here: by the key, NAME~1, NAME:COMMIT.
  const std::string commit = mine.start.commit.substr(0, 8);
  for (const std::string& name :
       {std::string("01234567"), std::string("a~1"), "a:" + commit, mine.key}) {
    run_of(*here, name, 5, from_bucket());
  }
  EXPECT_EQ(catalog.resolve("01234567").key, mine.key);
  EXPECT_EQ(catalog.resolve(mine.key).key, mine.key);
  EXPECT_EQ(catalog.resolve("a~1").key, old.key);
  EXPECT_EQ(catalog.resolve("a:" + commit).key, mine.key);
}

TEST_F(OriginTest, AnImportedRunSaysFromWhichFileAndCountsAsOneOfHereByItsName) {
  const auto here = open();
  run_of(*here, "a", 1);
  const RunOrigin origin{RunOrigin::Kind::imported, "/data/model.safetensors", 9};
  const Run run = run_of(*here, "a", 2, origin);
  EXPECT_EQ(here->catalog().resolve("a").key, run.key);
  EXPECT_EQ(here->catalog().resolve("a").origin, origin);
  EXPECT_FALSE(run.origin.recorded_here());
}

TEST_F(OriginTest, ARunThatIsRemovedTakesItsOriginWithIt) {
  const auto here = open();
  const Run run = run_of(*here, "a", 1, from_bucket());
  here->catalog().drop_run(run.id);
  EXPECT_TRUE(run_of(*here, "a", 2).origin.recorded_here());
  EXPECT_TRUE(here->catalog().resolve("a").origin.recorded_here());
}

}  // namespace
}  // namespace flor::remote
