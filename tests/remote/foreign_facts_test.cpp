// Results of evaluators and answers of replays that a bucket says: they change no run, no job and
// no answer found here.
#include "crafted_bucket.h"
#include "index/values/evaluations.h"

#include <flor/store/error.h>

#include <string>
#include <vector>

namespace flor::remote {
namespace {

using store::Connection;
using store::JobState;
using store::Value;
using store::ValueVerdict;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kJudge = "/src/judge.py:judge";

class ForeignFactsTest : public RemoteTest {
 protected:
  static store::Digest content_of(Store& store, const Run& run, std::int64_t iteration) {
    return store.catalog().checkpoint(run.id, boundary(iteration)).value().digest;
  }
  static std::vector<Value> judged(Store& store, const std::string& key) {
    const std::int64_t run = store.catalog().resolve(key).id;
    return store.catalog().values({.run = run, .names = {"judge.accuracy"}, .evaluated = true});
  }
  static store::NewJob job_for(Store& store, const store::Digest& content) {
    const auto queue = store::open_home_queue(store);
    return {.content = content, .evaluator = queue->add_evaluator(kJudge, "1"), .path = "here"};
  }
  /// Adds the job, and leases one.
  static std::vector<store::LeasedJob> lease(Store& store, const store::NewJob& job,
                                             const std::string& owner) {
    return store::open_home_queue(store)
        ->exchange({.owner = owner,
                    .retries = {},
                    .additions = {job},
                    .requests = {{.evaluator = job.evaluator, .count = 1}}})
        .leases;
  }
  static std::vector<store::Job> jobs(Store& store) {
    return store::open_home_queue(store)->jobs({});
  }
};

TEST_F(ForeignFactsTest, AResultThatCameWithARunSaysNothingOfARunOfHereWithTheSameContent) {
  const auto here = open(), there = open("attacker");
  const Run mine = finished_run(*here, 1, 2, "mine");
  const Run forged = finished_run(*there, 1, 2, "forged");
  ASSERT_EQ(content_of(*here, mine, 1), content_of(*there, forged, 1));
  judge(*there, forged, 1, 0.99);
  const auto remote = objects();
  spool(*there, forged, *remote);
  fetch(*here, *remote, forged.key);
  EXPECT_THAT(judged(*here, mine.key), IsEmpty());
  EXPECT_THAT(
      here->catalog().metrics(mine.id),
      ::testing::Not(::testing::Contains(Field(&store::MetricSummary::name, "judge.accuracy"))));
  EXPECT_THAT(jobs(*here), IsEmpty());
}

TEST_F(ForeignFactsTest, AJobOfHereIsNotEndedByAResultThatWasFetched) {
  const auto here = open(), there = open("attacker");
  const Run mine = finished_run(*here, 1, 2, "mine");
  const auto remote = objects();
  spool(*here, mine, *remote);
  fetch(*there, *remote, mine.key);
  const Run copy = there->catalog().resolve(mine.key);
  judge(*there, copy, 1, 0.99);
  judge(*there, copy, 2, 0.98);
  spool(*there, copy, *remote);
  // One is being judged here, the other one waits.
  const std::string owner = "00000000000000ab";
  const auto lock = here->lock_run(owner);
  const auto leases = lease(*here, job_for(*here, content_of(*here, mine, 1)), owner);
  ASSERT_THAT(leases, SizeIs(1));
  const auto queue = store::open_home_queue(*here);
  queue->exchange(
      {.owner = owner, .retries = {}, .additions = {job_for(*here, content_of(*here, mine, 2))}});
  fetch(*here, *remote, mine.key);
  EXPECT_THAT(jobs(*here), ElementsAre(Field(&store::Job::state, JobState::leased),
                                       Field(&store::Job::state, JobState::queued)));
  const auto replies = queue->exchange(
      {.owner = owner,
       .retries = {},
       .reports = {{leases[0].lease, store::JobReport::Kind::done, R"({"accuracy": 0.5})"}}});
  EXPECT_THAT(replies.accepted, ElementsAre(true));
  EXPECT_THAT(judged(*here, mine.key), ElementsAre(Field(&Value::value, store::Scalar(0.5))));
}

TEST_F(ForeignFactsTest, ContentThatABucketClaimsToHaveHadIsNotJudgedByWhatItSays) {
  const auto here = open(), there = open("attacker");
  const Run mine = finished_run(*here, 1, 2, "mine");
  const Run forged = finished_run(*there, 2, 2, "forged");
  judge(*there, forged, 1, 0.99);
  const auto remote = objects();
  spool(*there, forged, *remote);
  const store::Digest content = content_of(*here, mine, 1);
  crafted::with_catalog(*remote, forged.key, [&](Connection& catalog) {
    catalog(
        "INSERT INTO discarded (run, kind, main_loop, iteration, loop, created_us, raw_bytes, "
        "stored_bytes, digest, layout, chunks, discarded_us, collected_us) SELECT run, kind, "
        "main_loop, 7, loop, created_us, raw_bytes, stored_bytes, ?1, layout, x'', 1, 1 FROM "
        "checkpoint LIMIT 1",
        content)
        ->run();
    catalog("UPDATE job SET content = ?1", content)->run();
  });
  fetch(*here, *remote, forged.key);
  EXPECT_THAT(judged(*here, mine.key), IsEmpty());
}

TEST_F(ForeignFactsTest, WhatIsRecordedLaterIsJudgedHereAndNotByWhatWasFetched) {
  const auto here = open(), there = open("attacker");
  const Run forged = finished_run(*there, 1, 2, "forged");
  judge(*there, forged, 1, 0.99);
  const auto remote = objects();
  spool(*there, forged, *remote);
  fetch(*here, *remote, forged.key);
  EXPECT_THAT(judged(*here, forged.key), SizeIs(1));
  const std::string owner = "00000000000000ac";
  const auto lock = here->lock_run(owner);
  // It is judged for the fetched run: not once more.
  const store::Digest content = content_of(*there, forged, 1);
  EXPECT_THAT(lease(*here, job_for(*here, content), owner), IsEmpty());
  const Run mine = finished_run(*here, 1, 2, "mine");
  EXPECT_THAT(judged(*here, mine.key), IsEmpty());
  const auto leases = lease(*here, job_for(*here, content), owner);
  ASSERT_THAT(leases, SizeIs(1));
  store::open_home_queue(*here)->exchange(
      {.owner = owner,
       .retries = {},
       .reports = {{leases[0].lease, store::JobReport::Kind::done, R"({"accuracy": 0.5})"}}});
  EXPECT_THAT(judged(*here, mine.key), ElementsAre(Field(&Value::value, store::Scalar(0.5))));
  // The bucket's word comes again, and changes nothing any more; nor is it spooled as our own.
  fetch(*here, *remote, forged.key);
  EXPECT_THAT(judged(*here, mine.key), ElementsAre(Field(&Value::value, store::Scalar(0.5))));
}

TEST_F(ForeignFactsTest, AResultThatCameWithARunOutlivesTheCatalogAndNotTheRun) {
  const auto there = open("attacker");
  const Run forged = finished_run(*there, 1, 2, "forged");
  judge(*there, forged, 1, 0.99);
  const auto remote = objects();
  spool(*there, forged, *remote);
  for (int times = 0; times < 2; ++times) fetch(*open(), *remote, forged.key);
  EXPECT_THAT(judged(*open(), forged.key), SizeIs(1));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::remove(directory_ / "home" / (std::string("catalog.db") + suffix));
  }
  const auto here = open();
  EXPECT_THAT(judged(*here, forged.key), SizeIs(1));
  EXPECT_THAT(jobs(*here), IsEmpty()) << "no job of anybody here";
  here->catalog().drop_run(here->catalog().resolve(forged.key).id);
  fs::remove(directory_ / "home" / "catalog.db");
  const auto again = open();
  const Run mine = finished_run(*again, 1, 2, "mine");
  EXPECT_THAT(judged(*again, mine.key), IsEmpty());
}

TEST_F(ForeignFactsTest, AResultOfAnotherRunIsNotSpooledAsOneOfTheRunsOfHere) {
  const auto here = open(), there = open("attacker"), third = open("third");
  const Run forged = finished_run(*there, 1, 2, "forged");
  judge(*there, forged, 1, 0.99);
  const auto remote = objects();
  spool(*there, forged, *remote);
  fetch(*here, *remote, forged.key);
  const Run mine = finished_run(*here, 1, 2, "mine");
  const auto elsewhere = open_directory((directory_ / "elsewhere").string());
  spool(*here, mine, *elsewhere);
  fetch(*third, *elsewhere, mine.key);
  EXPECT_THAT(judged(*third, mine.key), IsEmpty());
  spool(*here, here->catalog().resolve(forged.key), *elsewhere);
  fetch(*third, *elsewhere, forged.key);
  EXPECT_THAT(judged(*third, forged.key), SizeIs(1));
}

TEST_F(ForeignFactsTest, ResultsThatNoEvaluatorGivesAreRefused) {
  const auto there = open("attacker");
  const Run forged = finished_run(*there, 1, 2, "forged");
  judge(*there, forged, 1, 0.99);
  std::string deep = "1";
  for (int i = 0; i < 200; ++i) deep = R"({"a":)" + deep + "}";
  const std::vector<std::pair<const char*, std::string>> kinds{
      {"UPDATE job_result SET json = ?1", "[1, 2]"},
      {"UPDATE job_result SET json = ?1", "0.5"},
      {"UPDATE job_result SET json = ?1", "{\"accuracy\": "},
      {"UPDATE job_result SET json = ?1", deep},
      {"UPDATE job_result SET json = ?1", R"({"a": ")" + std::string(2 << 20, 'x') + "\"}"},
      {"UPDATE job SET path = ?1", std::string(1 << 20, 'p')},
      {"UPDATE job SET path = ?1", ""},
      {"UPDATE job SET arguments = ?1", std::string(1 << 20, 'a')},
      {"UPDATE evaluator SET spec = ?1", ""},
      {"UPDATE evaluator SET spec = ?1", std::string(1 << 20, 's')},
      {"UPDATE evaluator SET digest = ?1", std::string(1 << 20, 'd')},
  };
  for (const auto& [sql, text] : kinds) {
    fs::remove_all(remote_path());
    const auto remote = objects();
    spool(*there, forged, *remote);
    crafted::with_catalog(*remote, forged.key,
                          [&sql = sql, &text = text](Connection& catalog) { catalog(sql, text)->run(); });
    fs::remove_all(directory_ / "home");
    const auto here = open();
    EXPECT_THROW(fetch(*here, *remote, forged.key), Damaged) << sql << text.substr(0, 40);
    EXPECT_THAT(jobs(*here), IsEmpty());
    EXPECT_THROW(here->catalog().resolve(forged.key), NotFound);
  }
}

/// A run recorded here that was replayed here, spooled, and then replayed by the bucket's owner.
class ForeignReplaysTest : public ForeignFactsTest {
 protected:
  void SetUp() override {
    here_ = open();
    run_ = finished_run(*here_, 1, 3);
    mine_ = replay(*here_, run_.id, 1000, "grad", 1.0, ValueVerdict::unverified, "mine");
    remote_ = objects();
    spool(*here_, run_, *remote_);
  }
  static std::int64_t replay(Store& store, std::int64_t run, std::int64_t started_us,
                             const std::string& name, double found, ValueVerdict verdict,
                             const std::string& question) {
    store::NewReplay start;
    start.run = run;
    start.started_us = started_us;
    start.last_epoch = 2;
    start.question = question;
    const std::int64_t id = store.catalog().add_replay(start);
    std::vector<Value> values;
    std::vector<store::ReplayedPart> parts;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      values.push_back({name, {"epoch", epoch, -1, ""}, 0, store::ValueType::real, found, id});
      store::ReplayedPart part{.part = epoch, .result = {}, .found = verdict};
      part.result.verdict = store::Verdict::verified;
      part.result.values_found = 1;
      parts.push_back(part);
    }
    store.catalog().add_replayed(run, id, values, parts);
    store::ReplayResult result;
    result.finished_us = started_us + 1;
    result.verdict = store::Verdict::verified;
    result.values_found = 3;
    store.catalog().finish_replay(id, result);
    return id;
  }
  /// In the bucket the run has been replayed once more.
  void replay_there(const std::string& name, double found, ValueVerdict verdict,
                    const std::string& question = "theirs") {
    const auto there = open("attacker");
    fetch(*there, *remote_, run_.key);
    const Run copy = there->catalog().resolve(run_.key);
    replay(*there, copy.id, 2000, name, found, verdict, question);
    spool(*there, copy, *remote_);
  }
  std::vector<Value> found(const std::string& name) {
    return here_->catalog().values({.run = run_.id, .names = {name}});
  }

  std::shared_ptr<Store> here_;
  Run run_;
  std::int64_t mine_ = 0;
  std::unique_ptr<ObjectStore> remote_;
};

TEST_F(ForeignReplaysTest, WhatAReplayElsewhereFoundIsNoMoreThanUnverifiedInARunOfHere) {
  replay_there("confusion", 7, ValueVerdict::verified);
  fetch(*here_, *remote_, run_.key);
  const auto values = found("confusion");
  ASSERT_THAT(values, SizeIs(3));
  for (const Value& value : values) EXPECT_EQ(value.verdict, ValueVerdict::unverified);
  const auto replays = here_->catalog().replays(run_.id);
  ASSERT_THAT(replays, SizeIs(2));
  EXPECT_TRUE(replays[0].origin.recorded_here());
  EXPECT_EQ(replays[0].id, mine_);
  EXPECT_EQ(replays[1].origin.kind, store::RunOrigin::Kind::fetched);
  EXPECT_EQ(replays[1].origin.from, remote_->url());
  // Asked here, the question is not answered yet: a replay executes it.
  EXPECT_THAT(here_->catalog().replayed(run_.id, "theirs"), IsEmpty());
  EXPECT_THAT(here_->catalog().replayed(run_.id, "mine"), SizeIs(3));
  EXPECT_EQ(store::damage(*here_), "");
}

TEST_F(ForeignReplaysTest, WhatWasFoundHereStandsAgainstWhatTheBucketCallsVerified) {
  replay_there("grad", 66, ValueVerdict::verified);
  for (int times = 0; times < 2; ++times) {
    fetch(*here_, *remote_, run_.key);
    const auto values = found("grad");
    ASSERT_THAT(values, SizeIs(3));
    for (const Value& value : values) {
      EXPECT_EQ(value.value, store::Scalar(1.0));
      EXPECT_EQ(value.replay, mine_);
    }
  }
}

TEST_F(ForeignReplaysTest, WhatTheSameQuestionFindsHereTakesThePlaceOfWhatWasFetched) {
  replay_there("confusion", 7, ValueVerdict::verified, "how");
  fetch(*here_, *remote_, run_.key);
  replay(*here_, run_.id, 3000, "confusion", 5, ValueVerdict::verified, "how");
  for (const Value& value : found("confusion")) {
    EXPECT_EQ(value.value, store::Scalar(5.0));
    EXPECT_EQ(value.verdict, ValueVerdict::verified);
  }
}

TEST_F(ForeignReplaysTest, AReplayOfHereIsNotVerifiedNorGivenValuesByABucket) {
  crafted::with_catalog(*remote_, run_.key, [&](Connection& catalog) {
    catalog.execute(
        "UPDATE answer SET verdict = 1; INSERT INTO series (run, name, path) SELECT id, 'forged', "
        "'epoch' FROM run; INSERT INTO value (series, epoch, step, inner, ordinal, replay, type, "
        "value) SELECT series.id, 0, -1, '', 0, replay.id, 2, 42.0 FROM series, replay WHERE "
        "series.name = 'forged'; INSERT INTO replay (run, started_us, segment, segments, "
        "first_epoch, last_epoch, strong, probes, program_digest, command, finished_us) SELECT "
        "run, 5000, 0, 1, 0, 2, 0, '', '', '[]', 5001 FROM replay");
  });
  fetch(*here_, *remote_, run_.key);
  EXPECT_THAT(found("forged"), IsEmpty());
  for (const Value& value : found("grad")) EXPECT_EQ(value.verdict, ValueVerdict::unverified);
}

TEST_F(ForeignReplaysTest, AValueOfAReplayThatIsNotThereIsNotTakenForARecordedOne) {
  crafted::with_catalog(*remote_, run_.key, [&](Connection& catalog) {
    catalog.execute(
        "INSERT INTO series (run, name, path) SELECT id, 'forged', 'epoch' FROM run; INSERT INTO "
        "value (series, epoch, step, inner, ordinal, replay, type, value) SELECT id, 0, -1, '', "
        "0, 777, 2, 42.0 FROM series WHERE name = 'forged'; INSERT INTO replay (run, started_us, "
        "segment, segments, first_epoch, last_epoch, strong, probes, program_digest, command, "
        "finished_us) SELECT run, 5000, 0, 1, 0, 2, 0, '', '', '[]', 5001 FROM replay");
  });
  EXPECT_THROW(fetch(*here_, *remote_, run_.key), Damaged);
  EXPECT_THAT(found("forged"), IsEmpty());
  const auto fresh = open("fresh");
  EXPECT_THROW(fetch(*fresh, *remote_, run_.key), Damaged);
}

TEST_F(ForeignReplaysTest, SpooledAgainTheAnswersAreCalledWhatTheirFinderCalledThem) {
  replay_there("confusion", 7, ValueVerdict::verified);
  fetch(*here_, *remote_, run_.key);
  const auto elsewhere = open_directory((directory_ / "elsewhere").string());
  spool(*here_, run_, *elsewhere);
  const auto third = open("third");
  fetch(*third, *elsewhere, run_.key);
  const Run copy = third->catalog().resolve(run_.key);
  for (const Value& value : third->catalog().values({.run = copy.id, .names = {"confusion"}})) {
    EXPECT_EQ(value.verdict, ValueVerdict::verified);
  }
  EXPECT_FALSE(spool(*here_, run_, *remote_).changed);
}

}  // namespace
}  // namespace flor::remote
