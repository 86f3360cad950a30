// Programs that train on what others have logged: the answer is an input of the run, and the run's
// own.
#include "ranks_fixture.h"
#include "workbench.h"

#include <flor/store/used_files.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace flor::testing::query_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Queries : public ::testing::Test {
 protected:
  ProcessResult curate(const Words& words, const std::string& labels = {},
                       const std::string& dies_at = {}, const std::string& name = "curator") const {
    ProcessOptions options = bench_.options();
    if (!labels.empty()) options.environment["LABELS"] = labels;
    if (!dies_at.empty()) options.environment["DIES_AT"] = dies_at;
    return bench_.run(name, words, options);
  }
  static Words recording(const std::string& name, const std::string& what, const Words& more = {}) {
    return Words{"--flor", name, "--flor_every", "1", "--kwargs", "what=" + what} + more;
  }
  store::Run record(const std::string& name, const std::string& what,
                    const std::string& labels = {}, const Words& more = {}) const {
    const auto result = curate(recording(name, what, more), labels);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("warning"))) << result.err;
    return bench_.last_run();
  }
  /// A training on two labelled documents of four.
  ProcessResult train(const Words& more = {}) const {
    const auto result = curate(recording("train", "train", more));
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  void record_sources() {
    features_ = record("features", "features");
    labels_ = record("labels", "labels");
  }
  ProcessResult replay(const std::string& run, const Words& more = {},
                       const std::string& name = "curator_hindsight") const {
    return curate(Words{"--replay_flor", "--flor_run", run} + more, {}, {}, name);
  }
  /// Without an execution that verifies it, as that prints the same again.
  static Words told(const ProcessResult& result) {
    return lines_with(result.out, {"sample", "none", "corrections", "fresh", "weights"});
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  json shown(const std::string& run) const {
    const auto result = flor({"show", run, "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["run"];
  }
  /// The inputs of the run, each as its question and the runs it came from.
  Words inputs(const std::string& run) const {
    Words texts;
    const json of_run = shown(run);
    for (const json& input : of_run["inputs"]) {
      std::string text = input["kind"].get<std::string>() + " " + input["name"].get<std::string>();
      for (const json& from : input["from"]) text += " < " + from["run"].get<std::string>();
      texts.push_back(text);
    }
    return texts;
  }
  Words inputs_of_training() const {
    return {"query ink pages language scanned --run features < " + features_.key,
            "query label --experiment labels --latest < " + labels_.key};
  }

  Workbench bench_;
  store::Run features_, labels_;
};

TEST_F(Queries, RowsHaveTheTypesThatWereLoggedAndAreInputsOfTheRun) {
  record_sources();
  const auto trained = train();
  EXPECT_THAT(told(trained), ElementsAre("sample a.pdf 0 en 0 0", "sample d.pdf 0.75 de 1 1",
                                         AllOf(HasSubstr("none: no experiment 'corrections'")),
                                         "corrections 0", HasSubstr("weights")));
  EXPECT_EQ(inputs("train"), inputs_of_training());
  EXPECT_THAT(flor({"show", "train"}).out,
              AllOf(HasSubstr("label --experiment labels --latest"), HasSubstr("query"),
                    HasSubstr("2 rows"), HasSubstr(labels_.key.substr(0, 8) + " (labels)")));
  const json input = shown("train")["inputs"][0];
  EXPECT_EQ(input["rows"], 8);
  EXPECT_TRUE(input["files"].is_null());
  EXPECT_EQ(shown("labels")["read_by"][0]["run"], bench_.last_run().key);
  EXPECT_THAT(flor({"show", "train"}).out, Not(HasSubstr("pinned:")));
  EXPECT_THAT(
      lines_of(
          flor({"sql", "SELECT kind, files, source FROM files ORDER BY name", "--format", "csv"})
              .out),
      ElementsAre("kind,files,source", "query,8," + features_.key, "query,2," + labels_.key));
  EXPECT_THAT(flor({"show", "labels"}).out, HasSubstr("values and checkpoints read by"));
}

TEST_F(Queries, AReplayTrainsOnTheRowsOfTheRecordWhateverBecameOfTheirRuns) {
  record_sources();
  const auto trained = train();
  const std::string run = bench_.last_run().key;
  record("labels", "labels", "a.pdf=1 b.pdf=1 d.pdf=0");
  record("corrections", "labels", "a.pdf=1");
  ASSERT_EQ(flor({"rm", features_.key}).status, 0);
  ASSERT_EQ(flor({"gc"}).status, 0);
  for (const Words& flags :
       {Words{}, Words{"--flor_probe", "step"}, Words{"--flor_init", "strong"}}) {
    const auto replayed = replay(run, flags);
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, AllOf(HasSubstr("verified"), Not(HasSubstr("not in the record"))));
    for (const std::string& line : told(replayed)) EXPECT_THAT(told(trained), Contains(line));
  }
  const auto shared = flor({"replay", run, "--workers", "2", "--probe", "step"});
  EXPECT_EQ(shared.status, 0) << shared.err;
  EXPECT_THAT(inputs(run),
              ElementsAre("query ink pages language scanned --run features < " + features_.key,
                          "query label --experiment labels --latest < " + labels_.key));
  // A new training is given the new ones. The features are gone.
  record("features", "features");
  const auto again = train();
  EXPECT_THAT(told(again), Contains("sample b.pdf 0.25 en 0 1"));
  EXPECT_THAT(told(again), Contains("corrections 1"));
  EXPECT_THAT(inputs("train"), SizeIs(3));
}

TEST_F(Queries, ValuesThatReplaysAddedDoNotChangeTheAnswer) {
  record_sources();
  const auto first = train();
  const std::string run = bench_.last_run().key;
  const auto asks = [&] {
    return lines_of(flor({"query", "loss", "weight", "--run", run, "--csv"}).out).size();
  };
  const auto replayed = replay(run);
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(asks(), 1 + 4);
  const auto again = replay(run);
  EXPECT_EQ(again.status, 0) << again.err;
  for (const std::string& line : told(again)) EXPECT_THAT(told(first), Contains(line));
}

TEST_F(Queries, AResumedRunIsGivenTheRowsThatItWasGivenAtFirst) {
  record_sources();
  const auto whole = train({"fresh=true"});
  EXPECT_NE(curate(recording("train", "train", {"fresh=true"}), {}, "2").status, 0);
  record("labels", "labels", "b.pdf=1 c.pdf=1");
  record("corrections", "labels", "a.pdf=1");
  const auto resumed = curate({"--flor", "train", "--flor_resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("not in the record")));
  for (const char* part : {"sample", "none", "corrections", "weights"}) {
    EXPECT_EQ(lines_with(resumed.out, {part}), lines_with(whole.out, {part})) << resumed.err;
  }
  // What it had not asked yet is asked of the store as it is.
  EXPECT_THAT(told(resumed), Contains("fresh 3 4"));
  const auto replayed = replay("train", {"--flor_probe", "step"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, Not(HasSubstr("not in the record")));
  for (const std::string& line : told(resumed)) EXPECT_THAT(told(replayed), Contains(line));
}

TEST_F(Queries, AForkIsGivenTheRowsOfItsParentAndHasThemForItself) {
  record_sources();
  const auto parent = train();
  record("labels", "labels", "b.pdf=1 c.pdf=1");
  const auto forked = curate({"--flor", "fork", "--flor_from", "train@1", "--flor_every", "1"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(told(forked), told(parent));
  EXPECT_EQ(inputs("fork"), inputs_of_training());
  ASSERT_EQ(flor({"rm", "train"}).status, 0);
  const auto replayed = replay("fork", {"--flor_probe", "step"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, Not(HasSubstr("not in the record")));
}

TEST_F(Queries, WhatIsKeptGoesWhereTheRunGoes) {
  record_sources();
  const auto trained = train();
  const Words before = inputs("train");
  ASSERT_EQ(flor({"gc"}).status, 0);
  std::filesystem::remove(bench_.home() / "catalog.db");
  EXPECT_EQ(inputs("train"), before);
  EXPECT_EQ(flor({"fsck", "--repair"}).status, 0);
  EXPECT_EQ(inputs("train"), before);
  const MemoryDirectory elsewhere, bucket;
  const std::string url = "file://" + bucket.path().string();
  ASSERT_EQ(flor({"spool", "train", url}).status, 0);
  bench_.use_home(elsewhere.path() / "home");
  const auto fetched = flor({"fetch", "train", url});
  ASSERT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_EQ(inputs("train"), before);
  const auto replayed = replay("train", {"--flor_probe", "step"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  for (const std::string& line : told(replayed)) EXPECT_THAT(told(trained), Contains(line));
}

TEST_F(Queries, AProgramWithoutASessionAsksAndKeepsNothing) {
  record_sources();
  const std::size_t runs = bench_.run_count();
  const auto plain = curate({});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(told(plain), Contains("sample d.pdf 0.75 de 1 1"));
  EXPECT_EQ(bench_.run_count(), runs);
}

TEST_F(Queries, TheRunThatAsksIsNoPartOfTheAnswer) {
  record("features", "features");
  record("labels", "labels");
  // Its own name: what an earlier run of it logged.
  const auto first = curate(recording("train", "train", {"fresh=true"}));
  EXPECT_EQ(first.status, 0) << first.err;
  const auto second = curate(recording("labels", "train", {"fresh=true"}));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(lines_with(second.out, {"fresh"}), lines_with(first.out, {"fresh"}));
}

TEST_F(Queries, WhatIsWrongIsRefusedInOneLine) {
  record("features", "features");
  const auto refused = curate(recording("wrong", "wrong"));
  EXPECT_EQ(refused.status, 0) << refused.err;
  EXPECT_THAT(lines_of(refused.out),
              ElementsAre(HasSubstr("refused 2 a metric is missing: give 'flor::query({NAME...})'"),
                          HasSubstr("no metric 'inc': did you mean 'ink'?"),
                          HasSubstr("refused 2 --run and --experiment exclude each other"),
                          HasSubstr("refused 3 no experiment 'fetures': did you mean 'features'?"),
                          HasSubstr("refused 2 condition 'rate<', column 6: expected a value"),
                          HasSubstr("refused 2 --epochs x is no range of epochs"),
                          HasSubstr("refused 2 flor::query ink --run features was called inside a "
                                    "flor::iteration, which is no place in a loop: ask before "
                                    "it")));
  EXPECT_THAT(inputs("wrong"), IsEmpty());
  const auto replayed = replay("wrong");
  EXPECT_EQ(replayed.out, refused.out);
  EXPECT_THAT(replayed.err, AllOf(HasSubstr("verified"), Not(HasSubstr("not in the record"))));
}

TEST_F(Queries, TheRangeOfAMainLoopAsksNothing) {
  record("features", "features");
  const auto refused = curate(recording("range", "range"));
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_THAT(refused.err,
              HasSubstr("flor::query ink --run features was called by the range of a main loop, "
                        "over whose elements a replay steps: ask in the loop's body, or before "
                        "the loop"));
}

TEST_F(Queries, DoubtfulValuesDoNotChangeTheAnswer) {
  record("src", "source", {}, {"extra=true"});
  const store::Run newer = record("src", "source");
  const auto said = [&](const std::string& name) {
    const std::string asker = "asks_" + name + std::to_string(bench_.run_count());
    const auto result = curate(recording(asker, "ask", {"name=" + name, "of=src", "latest=true"}));
    return lines_with(result.out, {"rows", "refused"});
  };
  const Words extra = said("extra"), loss = said("loss");
  EXPECT_THAT(extra, ElementsAre("rows 2 run experiment loop epoch step ordinal extra origin "
                                 "verdict"));
  EXPECT_THAT(loss, ElementsAre("rows 2 run experiment loop epoch step ordinal loss origin "
                                "verdict"));
  ProcessOptions options = bench_.options();
  options.environment["DRIFT"] = "1";
  const auto replayed = bench_.run(
      "curator", {"--replay_flor", "--flor_run", newer.key, "--flor_probe", "step"}, options);
  EXPECT_THAT(replayed.err, HasSubstr("doubtful"));
  EXPECT_THAT(flor({"query", "extra", "--run", newer.key, "--csv"}).out, HasSubstr("doubtful"));
  EXPECT_EQ(said("extra"), extra);
  EXPECT_EQ(said("loss"), loss);
}

TEST_F(Queries, AValueThatIsCalledAsAnotherColumnHasAColumnOfItsOwn) {
  record("src", "source");
  const auto result = curate(recording("asks", "ask", {"name=epoch", "of=src"}));
  EXPECT_THAT(lines_of(result.out), ElementsAre("rows 2 run experiment loop epoch step ordinal "
                                                "value:epoch origin verdict"));
}

TEST_F(Queries, TheFirstRunOfItsNameIsNotAnsweredByARunOfAnother) {
  record("labels", "labels");
  const auto first = curate(recording("asks", "ask"));
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out,
              HasSubstr("refused 3 there is no other run of 'asks' in this repository: name a run "
                        "or an experiment, 'flor list' shows which there are"));
  const auto second = curate(recording("asks", "ask", {"name=asked"}));
  EXPECT_THAT(second.out, HasSubstr("rows 2 "));
}

TEST_F(Queries, ASecretInAnAnswerIsRefusedAndItsReplayIsToldTheSame) {
  ProcessOptions options = bench_.options();
  options.environment["NOTE"] = "password=hunter2hunter2";
  EXPECT_EQ(bench_.run("curator", recording("src", "source"), options).status, 0);
  const auto refused = curate(recording("asks", "ask", {"name=note", "of=src"}));
  EXPECT_EQ(refused.status, 0) << refused.err;
  EXPECT_THAT(refused.out,
              HasSubstr("refused 2 flor::query note --experiment src: a value in the column 'note' "
                        "reads like a secret, which no record may hold: ask for other values"));
  const auto replayed = replay("asks");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(replayed.out, refused.out);
  EXPECT_THAT(replayed.err, HasSubstr("verified"));
}

TEST_F(Queries, TheWordsOfAQuestionAreNoNameOfASecret) {
  record("auth", "source");
  const auto result = curate(recording("asks", "ask", {"name=loss", "of=auth"}));
  EXPECT_THAT(result.out, HasSubstr("rows 2 "));
}

TEST_F(Queries, AStoreThatIsDamagedMeanwhileDoesNotEndTheTraining) {
  record("labels", "labels");
  const auto result = curate(recording("damaged", "damaged"));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("rows 2 "), HasSubstr("refused 4 "), HasSubstr("trained")))
      << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("terminate"))) << result.err;
}

TEST_F(Queries, AQuestionThatTheRecordDoesNotHaveMakesAReplayDoubtful) {
  record_sources();
  train();
  // The hindsight program asks in each epoch, which the recorded one did not.
  ProcessOptions options = bench_.options();
  options.environment["ASKS_MORE"] = "1";
  const auto replayed =
      bench_.run("curator_hindsight", {"--replay_flor", "--flor_run", "train"}, options);
  EXPECT_THAT(replayed.err,
              AllOf(HasSubstr("flor::query label --experiment labels, epoch 0, is not in the "
                              "record of run"),
                    HasSubstr("everything from here on is doubtful")));
}

TEST_F(Queries, AServerAnswersWithTheBestOfARegistryAndItsReplayWithTheOneThatWasTheBest) {
  record("fit", "fit", {}, {"rate=0.01"});
  const store::Run better = record("fit", "fit", {}, {"rate=0.1"});
  record("fit", "fit", {}, {"rate=1.5"});
  const store::Run server = record("serve", "serve");
  EXPECT_THAT(inputs(server.key), Contains(HasSubstr("checkpoint " + better.key + "@4 < ")));
  EXPECT_THAT(inputs(server.key), Contains(HasSubstr("query distance --experiment fit")));
  const auto before = replay(server.key);
  record("fit", "fit", {}, {"rate=0.4"});
  const auto after = replay(server.key);
  EXPECT_EQ(after.status, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
  const store::Run next = record("serve", "serve");
  EXPECT_THAT(inputs(next.key), Not(Contains(HasSubstr(better.key + "@4"))));
  // Which the command knows by its rule.
  const auto best = flor({"best", "distance", "--min", "--experiment", "fit"});
  EXPECT_EQ(best.status, 0) << best.err;
}

class QueryRanks : public Ranks {
 protected:
  ~QueryRanks() override {
    for (const char* name : {"FIFO", "FIFO_AT", "MEANWHILE"}) ::unsetenv(name);
  }
  /// Labels are added before rank 1 asks in that epoch.
  void log_in_between(int epoch, const std::string& name = "labels") const {
    const auto fifo = bench_.home().parent_path() / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ::setenv("FIFO", fifo.c_str(), 1);
    ::setenv("FIFO_AT", std::to_string(epoch).c_str(), 1);
    ::setenv("MEANWHILE",
             fmt::format("env -u RANK -u WORLD_SIZE -u MASTER_ADDR -u MASTER_PORT LABELS='b.pdf=1 "
                         "c.pdf=0' {} --flor {} --kwargs what=labels >&2",
                         program("curator").string(), name)
                 .c_str(),
             1);
  }
  void record_sources() const {
    for (const char* what : {"features", "labels"}) {
      const auto result =
          bench_.run("curator", {"--flor", what, "--kwargs", fmt::format("what={}", what)});
      EXPECT_EQ(result.status, 0) << result.err;
    }
  }
};

TEST_F(QueryRanks, EachAsksForItself) {
  record_sources();
  for (const auto& result : record(2, {}, "curator")) {
    EXPECT_THAT(result.err, Not(HasSubstr("other rows")));
  }
  ASSERT_THAT(ranks(), SizeIs(2));
  for (const store::Run& rank : ranks()) {
    EXPECT_THAT(store::files_of(*bench_.store(), rank.id), SizeIs(2)) << rank.key;
  }
  const auto replayed = run_all(2, {"--replay_flor", "--flor_run", "test"}, -1, {}, "curator");
  for (const auto& result : replayed) EXPECT_EQ(result.status, 0) << result.err;
}

TEST_F(QueryRanks, OtherRowsAreSaid) {
  record_sources();
  log_in_between(-1);
  const auto results = record(2, {}, "curator");
  EXPECT_THAT(results[0].err, Not(HasSubstr("other rows")));
  EXPECT_THAT(results[1].err,
              HasSubstr("flor::query label --experiment labels --latest: rank 1 was "
                        "given other rows than rank 0"));
}

TEST_F(QueryRanks, RowsAreOtherThanNone) {
  record_sources();
  log_in_between(-2, "corrections");
  EXPECT_THAT(record(2, {}, "curator")[1].err,
              HasSubstr("flor::query label --experiment corrections: rank 1 was given other rows "
                        "than rank 0"))
      << "which was told that there are none";
}

TEST_F(QueryRanks, OtherRowsAreSaidOfALaterEpochToo) {
  record_sources();
  log_in_between(2);
  const auto results = record(2, {"--kwargs", "fresh=true"}, "curator");
  EXPECT_THAT(lines_with(results[1].out, {"fresh"}), Contains("fresh 1 2")) << results[1].out;
  EXPECT_THAT(results[1].err,
              HasSubstr("flor::query label --experiment labels: rank 1 was given other rows than "
                        "rank 0"));
}

}  // namespace
}  // namespace flor::testing::query_test
