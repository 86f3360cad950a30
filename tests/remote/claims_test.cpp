// What a bucket claims of runs that were recorded here, or to be a part of one: nothing of it
// becomes part of them. The claims are generated from the schema: each table of a catalog that says
// anything of a run, emptied, with a row more, and with each column changed.
#include "catalog_rows.h"
#include "checkpoint/elsewhere.h"
#include "crafted_bucket.h"
#include "retention/retention.h"
#include "store/made_again.h"

#include <flor/store/error.h>

#include <cstdio>
#include <set>

namespace flor::remote {
namespace {

using store::Connection;
using store::RunOrigin;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Claim {
  std::string name, sql;
};

/// A replay that is not here, so that the run there counts as the newer one; `which` is its time.
std::string newer(int which) {
  return fmt::format(
      "INSERT INTO replay (run, started_us, segment, segments, first_epoch, last_epoch, strong, "
      "probes, program_digest, command, finished_us) SELECT id, {0}, 0, 1, 0, 1, 0, '', '', '[]', "
      "{0} FROM run;",
      1000 + which);
}

/// One more checkpoint, of the state that the last one has, and the rows of the epoch before it.
constexpr const char* kOneEpochMore =
    "UPDATE run SET epochs = epochs + 1; UPDATE main_loop SET iterations = iterations + 1, ended = "
    "0; INSERT INTO iteration SELECT run, main_loop, 1 + max(iteration), 1.5, 0.01 FROM iteration; "
    "INSERT INTO value SELECT series, epoch + 1, step, inner, ordinal, 0, type, value FROM value "
    "WHERE epoch = (SELECT max(epoch) FROM value); INSERT INTO checkpoint (run, kind, main_loop, "
    "iteration, loop, created_us, raw_bytes, stored_bytes, digest, layout, chunks) SELECT run, "
    "kind, main_loop, iteration + 1, loop, created_us + 9, raw_bytes, stored_bytes, digest, "
    "layout, "
    "chunks FROM checkpoint ORDER BY iteration DESC LIMIT 1;";

std::string resumption(int epoch) {
  return fmt::format(
      "INSERT INTO resumption (run, ordinal, resumed_us, main_loop, iteration, epoch, boundary, "
      "loop, step, version, program_digest, command) SELECT id, 0, 7, 0, {0}, {0}, 1, '', 0, '', "
      "'', '[]' FROM run;",
      epoch);
}

/// How an attacker would go on with a run.
std::vector<Claim> continuations() {
  const std::string more = kOneEpochMore;
  const std::string forged = "UPDATE value SET value = 66.6 WHERE type = 2 AND epoch >= 2;";
  std::vector<Claim> claims{
      {"one epoch more", more},
      {"three epochs more", more + more + more},
      {"an end", "UPDATE run SET finished_us = started_us + 50, failed = 0"},
      {"a failure", "UPDATE run SET finished_us = started_us + 50, failed = 1, message = 'x'"},
      {"an end after one epoch more", more + "UPDATE run SET finished_us = 50, failed = 0"},
      {"no end", "UPDATE run SET finished_us = NULL, failed = NULL"}};
  for (const int epoch : {0, 1, 2, 3, 4, 100}) {
    claims.push_back({fmt::format("a resumption at {}", epoch), resumption(epoch)});
    claims.push_back(
        {fmt::format("a resumption at {} with other values", epoch), resumption(epoch) + forged});
    claims.push_back({fmt::format("a resumption at {}, and one epoch more", epoch),
                      resumption(epoch) + forged + more});
    claims.push_back(
        {fmt::format("a resumption at {} with other states", epoch),
         resumption(epoch) + fmt::format("UPDATE checkpoint SET (digest, layout, chunks) = (SELECT "
                                         "digest, layout, chunks FROM checkpoint WHERE iteration = "
                                         "0) WHERE iteration > {}",
                                         epoch)});
  }
  return claims;
}

std::string other_value(const CatalogColumn& column) {
  if (column.type == "TEXT") return fmt::format("{} || 'x'", column.name);
  if (column.type == "BLOB") return "randomblob(16)";
  if (column.type == "ANY") return "66.6";
  return fmt::format("coalesce({}, 0) + 1", column.name);
}

std::string any_value(const CatalogColumn& column) {
  if (column.name == "run") return "(SELECT id FROM run)";
  if (column.name == "replay") return "(SELECT max(id) FROM replay)";
  if (column.type == "TEXT") return "'x'";
  if (column.type == "BLOB") return "randomblob(16)";
  return column.type == "ANY" || column.type == "REAL" ? "0.5" : "7";
}

std::vector<Claim> of_schema(Connection& catalog) {
  // What is said of content is checked by digests, whichever run it is of.
  const std::set<std::string> of_content = {"chunk", "pack", "layout", "foreign_chunk"};
  std::vector<Claim> claims;
  for (const std::string& table : catalog_tables(catalog)) {
    if (of_content.contains(table)) continue;
    claims.push_back({table + " is empty", fmt::format("DELETE FROM {}", table)});
    std::string names, values;
    for (const CatalogColumn& column : catalog_columns(catalog, table)) {
      const bool first = names.empty();
      names += (first ? "" : ", ") + column.name;
      values += (first ? "" : ", ") + any_value(column);
      claims.push_back({fmt::format("{}.{} is changed", table, column.name),
                        fmt::format("UPDATE OR IGNORE {} SET {} = {}", table, column.name,
                                    other_value(column))});
    }
    claims.push_back(
        {table + " has a row more",
         fmt::format("INSERT OR REPLACE INTO {} ({}) VALUES ({})", table, names, values)});
  }
  return claims;
}

class ClaimsTest : public RemoteTest {
 protected:
  void SetUp() override {
    here_ = open();
    objects_ = objects();
    interrupted_ = small_run(1, {});
    keep_last(2);  // what was deleted before it was sent is not there to come back
    finished_ = small_run(2, {});
    finish(finished_, false);
    failed_ = small_run(3, {});
    finish(failed_, true);
    leader_ = small_run(4, store::RankPlace{0, 0, 2});
    const std::int64_t group = here_->catalog().resolve(leader_).id;
    rank_ = small_run(5, store::RankPlace{group, 1, 2});
    for (const std::string& key : own()) spool(*here_, here_->catalog().resolve(key), *objects_);
    fs::copy(remote_path(), directory_ / "honest", fs::copy_options::recursive);
    before_ = rows();
  }

  void TearDown() override { store::expect_same_when_made_again(directory_ / "home"); }

  std::vector<std::string> own() const {
    return {interrupted_, finished_, failed_, leader_, rank_};
  }
  std::string small_run(unsigned seed, std::optional<store::RankPlace> rank) {
    return small_run(*here_, seed, rank);
  }
  static std::string small_run(Store& store, unsigned seed, std::optional<store::RankPlace> rank) {
    store::NewRun start = store::new_run("linear");
    start.started_us += seed;
    start.rank = rank;
    const Run run = store.catalog().add_run(start);
    store.catalog().add_argument(run.id, {"lr", "real", "0.1"});
    store::CheckpointWriter writer(store, run.id);
    for (int epoch = 0; epoch <= kEpochs; ++epoch) {
      writer.write(boundary(epoch), store::make_snapshot(seed, epoch, 2'000));
      if (epoch == kEpochs) break;
      store.catalog().put_main_loop(run.id, {0, "epoch", 0, epoch + 1, false, false});
      store.catalog().add_iteration(run.id, {0, epoch, 1.5, 0.01});
      const store::Value loss{"loss", {"epoch", epoch, -1, ""}, 0, store::ValueType::real, 0.5, 0};
      store.catalog().add_values(run.id, std::span(&loss, 1));
    }
    return run.key;
  }
  void keep_last(std::int64_t count) {
    store::KeepRules rules;
    rules.last = count;
    retain(*here_, here_->catalog().resolve(interrupted_).id, rules, store::Sizes::skipped);
  }
  void finish(const std::string& key, bool failed) {
    here_->catalog().finish_run(here_->catalog().resolve(key).id, 9, failed, "");
  }

  /// A bucket as it was, then with a claim in the catalog of one run.
  void craft(const std::string& key, const std::string& sql) {
    fs::remove_all(remote_path());
    fs::copy(directory_ / "honest", remote_path(), fs::copy_options::recursive);
    objects_ = objects();
    crafted::with_catalog(*objects_, key,
                          [&](Connection& catalog) { catalog.execute(sql.c_str()); });
  }
  /// In words; empty where it was fetched.
  std::string try_fetch(const std::string& key) {
    try {
      fetch(*here_, *objects_, key);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// Of what is recorded here; replays from elsewhere, which are marked, may come to it.
  std::map<std::string, std::string> rows() const {
    Connection catalog(directory_ / "home" / "catalog.db", Connection::Mode::read_only);
    const std::set<std::string> of_replays = {"replay",    "fetched_replay", "claimed_answer",
                                              "answer",    "replayed",       "replay_question",
                                              "restoring", "replay_key"};
    std::map<std::string, std::string> found;
    for (const std::string& table : catalog_tables(catalog)) {
      // Content that no row refers to is garbage.
      if (of_replays.contains(table) || table == "chunk" || table == "pack" ||
          table == "foreign_chunk" || table == "repository" || table == "journal") {
        continue;
      }
      found[table] = catalog_rows(catalog, table);
    }
    return found;
  }
  /// Each of so many claims, of all that there are.
  void try_claims(std::size_t each);
  void expect_unchanged(const std::string& claim) {
    const auto now = rows();
    for (const auto& [table, lines] : before_) {
      EXPECT_EQ(now.at(table), lines) << claim << " changed the table " << table;
    }
  }

  static constexpr int kEpochs = 3;
  std::shared_ptr<Store> here_;
  std::unique_ptr<ObjectStore> objects_;
  std::string interrupted_, finished_, failed_, leader_, rank_;
  std::map<std::string, std::string> before_;
};

class ClaimsSlow : public ClaimsTest {};

void ClaimsTest::try_claims(std::size_t each) {
  std::vector<Claim> claims = continuations();
  {
    Connection catalog(directory_ / "home" / "catalog.db", Connection::Mode::read_only);
    for (Claim& claim : of_schema(catalog)) claims.push_back(std::move(claim));
  }
  int count = 0, refused = 0;
  std::size_t at = 0;
  for (const Claim& claim : claims) {
    for (const std::string& key : own()) {
      if (at++ % each != 0) continue;
      ++count;
      craft(key, newer(count) + claim.sql);
      refused += try_fetch(key).empty() ? 0 : 1;
      expect_unchanged(claim.name);
      if (count % 16 == 0) store::expect_same_when_made_again(directory_ / "home");
      if (HasFailure()) return;
    }
  }
  std::printf("%d claims, %d of them refused in words\n", count, refused);
  EXPECT_GE(count, 30);
  EXPECT_EQ(store::damage(*here_), "");
}

TEST_F(ClaimsTest, NothingThatABucketClaimsBecomesPartOfARunRecordedHere) { try_claims(37); }

TEST_F(ClaimsSlow, NothingThatABucketClaimsBecomesPartOfARunRecordedHere) { try_claims(1); }

TEST_F(ClaimsTest, NoRunFromElsewhereJoinsAGroupThatWasRecordedHere) {
  const auto there = open("attacker");
  const std::string forged = small_run(*there, 9, {});
  spool(*there, there->catalog().resolve(forged), *objects_);
  fs::copy(remote_path(), directory_ / "honest",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  int count = 0;
  for (const std::string& leader : {finished_, leader_, rank_}) {
    for (const int rank : {0, 1, 7}) {
      for (const bool leads : {false, true}) {
        ++count;
        craft(forged, fmt::format("INSERT INTO rank_run (leader, rank, run, world, attempt) SELECT "
                                  "{}, {}, id, 8, 0 FROM run",
                                  leads ? "id" : "0", rank));
        RemoteRun run = choose_run(*objects_, forged);
        run.leader = leader;
        run.rank = rank;
        run.world = 8;
        ++run.sequence;
        EXPECT_TRUE(put_manifest(*objects_, run, list_manifests(*objects_, forged).back()));
        const std::string why = try_fetch(forged);
        EXPECT_THAT(why, leads || rank == 0 ? HasSubstr("contradicts itself about its place in a")
                                            : HasSubstr("which was recorded here: nothing was"));
        expect_unchanged(fmt::format("rank {} of {}", rank, leader));
        EXPECT_THROW(here_->catalog().resolve(forged), NotFound);
      }
    }
  }
  EXPECT_EQ(count, 18);
}

TEST_F(ClaimsTest, AGroupCountsAsFetchedWhereTheUserLetsARankOfElsewhereJoinIt) {
  const std::int64_t group = here_->catalog().resolve(leader_).id;
  here_->catalog().drop_run(here_->catalog().resolve(rank_).id);
  EXPECT_THAT(try_fetch(rank_), HasSubstr("--take-over"));
  EXPECT_TRUE(here_->catalog().resolve(leader_).origin.recorded_here());
  take_over(*here_, *objects_, rank_);
  for (const std::string& key : {leader_, rank_}) {
    EXPECT_EQ(here_->catalog().resolve(key).origin.kind, RunOrigin::Kind::fetched);
  }
  EXPECT_EQ(here_->catalog().ranks(group).size(), 2U);
}

/// `flor replay --from` compares with digests that are known of the bucket alone.
TEST_F(ClaimsTest, AReplayFromABucketTakesNoOtherCheckpointForOneOfTheRun) {
  keep_last(1);
  const auto elsewhere = [&](const std::string& key) {
    const RemoteFacts facts(*objects_, {choose_run(*objects_, key)}, {});
    std::vector<store::CheckpointInfo> list;
    const Run run = here_->catalog().resolve(key);
    store::Elsewhere(facts.directory(), "flor", objects_->url()).add_to(list, here_->catalog(), run);
    return list.size();
  };
  const std::size_t had = elsewhere(interrupted_);
  EXPECT_GT(had, 0U);
  for (const char* sql :
       {kOneEpochMore, "UPDATE checkpoint SET loop = 'train', kind = 1",
        "INSERT INTO checkpoint (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
        "stored_bytes, digest, layout, chunks) SELECT run, 1, main_loop, iteration, 'train', "
        "created_us, raw_bytes, stored_bytes, digest, layout, chunks FROM checkpoint"}) {
    craft(interrupted_, sql);
    EXPECT_LE(elsewhere(interrupted_), had) << sql;
  }
}

TEST_F(ClaimsTest, WhatIsNotPartOfTheRunIsSaidWithTheWayToHaveIt) {
  craft(interrupted_, resumption(2) + kOneEpochMore);
  EXPECT_THAT(try_fetch(interrupted_),
              ::testing::AllOf(HasSubstr("was recorded here, and was resumed elsewhere"),
                               HasSubstr("nothing was changed here"), HasSubstr("--take-over")));
  craft(interrupted_, kOneEpochMore);
  EXPECT_THAT(try_fetch(interrupted_), HasSubstr("has 4 epochs instead of 3"));
  take_over(*here_, *objects_, interrupted_);
  const Run now = here_->catalog().resolve(interrupted_);
  EXPECT_EQ(now.origin.kind, RunOrigin::Kind::fetched);
  EXPECT_EQ(now.epochs, 4);
  EXPECT_EQ(store::damage(*here_), "");
}

}  // namespace
}  // namespace flor::remote
