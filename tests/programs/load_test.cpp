// Checkpoints of other runs: named by what they are, and loaded into the objects of a program.
#include "checkpoint/transfer.h"
#include "maintain/collect.h"
#include "retention/retention.h"
#include "whole_record.h"
#include "workbench.h"

#include <cmath>
#include <cstring>
#include <fstream>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Loads : public ::testing::Test {
 protected:
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  /// A run of eight epochs, and which of them has the smallest mean.
  store::Run record_parent(const Words& kwargs = {}) {
    bench_.record("forked", kwargs.empty() ? Words{} : Words{"--kwargs"} + kwargs);
    const auto means = bench_.values("mean");
    const auto least = std::ranges::min_element(means, {}, real);
    best_ = least->place.epoch;
    least_ = real(*least);
    return bench_.last_run();
  }
  ProcessResult load(const std::string& from, const std::string& how) const {
    return bench_.run("loader", {"--flor", "loaded", "--flor_every", "1", "--kwargs",
                                 "from=" + from, "how=" + how});
  }
  std::string short_key(const store::Run& run) const { return run.key.substr(0, 8); }
  std::string at(const store::Run& run, std::int64_t epoch) const {
    return run.key + "@" + std::to_string(epoch);
  }
  std::filesystem::path file(const std::string& name) const {
    return bench_.repository().root() / name;
  }
  /// The items of an exported checkpoint, with their contents.
  std::map<std::string, std::string> exported(const std::string& spec) const {
    const auto path = file("state.safetensors");
    const auto result = flor({"export", spec, path.string()});
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<std::string, std::string> items;
    for (const store::SnapshotItem& item : store::read_safetensors(path).items) {
      if (store::is_internal(item.item.name) || item.item.name.starts_with("with:")) continue;
      items[item.item.name] = {reinterpret_cast<const char*>(item.content.get()), item.item.bytes};
    }
    return items;
  }

  Workbench bench_;
  std::int64_t best_ = 0;
  double least_ = 0;
};

TEST_F(Loads, TheLatestAndTheBestEpochAreNamedWhereverACheckpointCanBe) {
  const store::Run run = record_parent();
  const std::string best = "test@best:mean:min";
  EXPECT_EQ(exported(best), exported(at(run, best_)));
  EXPECT_EQ(exported("test@latest"), exported(at(run, 7)));
  EXPECT_THAT(flor({"show", best}).out, HasSubstr("epoch " + std::to_string(best_) + " of run"));
  EXPECT_THAT(flor({"query", "mean", "--run", "test@latest"}).out, HasSubstr("    7"));
  const auto forked = bench_.run("forked", {"--flor_from", best, "--kwargs", "epochs=9"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_THAT(forked.err, HasSubstr("from the end of epoch " + std::to_string(best_)));
}

TEST_F(Loads, WhereThereIsNoSuchCheckpointALineSaysSo) {
  const store::Run run = record_parent();
  const auto refused = [&](const std::string& spec, int status, const std::string& part) {
    const auto result = flor({"export", spec, "x.safetensors"});
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, SaysOnce(part)) << spec;
  };
  refused("test@best", 2, "name a metric, as in " + short_key(run) + "@best:loss:min");
  refused("test@best:mena:min", 3, "did you mean 'mean'?");
  refused("test@best:mean", 2, "which of its values are good");
  refused("test@newest", 3, "saved no checkpoint 'newest'");
  const auto whole = flor({"du", "test@latest"});
  EXPECT_EQ(whole.status, 2);
  EXPECT_THAT(whole.err, SaysOnce("leave out @latest"));
  const auto forked = bench_.run("forked", {"--flor_from", "test@best"});
  EXPECT_EQ(forked.status, 2);
  EXPECT_THAT(forked.err, SaysOnce("name a metric"));
}

TEST_F(Loads, TheBestOverAllRunsIsNamedAndSoIsABetterOneWithoutACheckpoint) {
  const store::Run good = record_parent({"rate=0.05"});
  const std::int64_t epoch = best_;
  const double value = least_;
  const store::Run other = record_parent({"rate=0.3"});
  const bool is_first = value <= least_;
  const store::Run& winner = is_first ? good : other;
  const std::int64_t place = is_first ? epoch : best_;
  const std::string address = short_key(winner) + "@" + std::to_string(place);
  const auto best = flor({"best", "mean", "--min"});
  ASSERT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("run " + short_key(winner) + " (test) after epoch " +
                                  std::to_string(place) + ": mean "));
  EXPECT_THAT(best.out,
              HasSubstr("the smallest of 2 runs\nflor export " + address + " model.pt\n"));
  EXPECT_THAT(best.err, IsEmpty());
  EXPECT_THAT(flor({"best", "mean", "--min", "--where", "rate=0.3"}).out,
              HasSubstr("run " + short_key(other)));
  EXPECT_THAT(flor({"best", "mean", "--min", "--run", good.key}).out,
              HasSubstr("run " + short_key(good)));

  // `flor keep` would not delete the best: the other metric's is another one.
  ASSERT_EQ(flor({"keep", winner.key, "--last", "1", "--best", "1:mean:max"}).status, 0);
  const auto next = flor({"best", "mean", "--min", "--run", winner.key});
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_THAT(next.err, SaysOnce("was deleted: flor keep " + address + " --undo brings it back"));
  const auto json = flor({"best", "mean", "--min", "--run", winner.key, "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"deleted\": true"));
  EXPECT_THAT(json.out, HasSubstr("\"checkpoint\": \"" + winner.key + "@"));

  EXPECT_THAT(flor({"best", "mean"}).err, SaysOnce("give --min or --max"));
  EXPECT_THAT(flor({"best", "mena", "--min"}).err, SaysOnce("did you mean 'mean'?"));
  EXPECT_THAT(flor({"best", "mena"}).err, SaysOnce("did you mean 'mean'?"));  // before the order
}

TEST_F(Loads, OfEqualRunsTheOlderIsBestInWhicheverOrderTheyAreGiven) {
  const store::Run older = record_parent(), newer = record_parent();
  const auto best = [&](const Words& runs) {
    Words words{"best", "mean", "--min"};
    for (const std::string& run : runs) words.insert(words.end(), {"--run", run});
    return flor(words).out;
  };
  for (const Words& runs : {Words{older.key, newer.key}, Words{newer.key, older.key}}) {
    EXPECT_THAT(best(runs), HasSubstr("run " + short_key(older)));
  }
  EXPECT_THAT(best({newer.key, newer.key}), HasSubstr("the smallest of 1 run\n"));
}

TEST_F(Loads, WhatIsLoadedIsWhatIsExported) {
  const store::Run run = record_parent();
  const auto all = load("test@best:mean:min", "all");
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(lines_with(all.out, {"loaded"}), ElementsAre("loaded " + at(run, best_)));
  EXPECT_EQ(exported("loaded@loaded"), exported(at(run, best_)));
  // And back: what was exported is a run of its own, from which a program loads the same.
  const auto path = file("whole.safetensors");
  ASSERT_EQ(flor({"export", at(run, best_), path.string()}).status, 0);
  ASSERT_EQ(flor({"import", path.string(), "--name", "copied"}).status, 0);
  const auto again = load("copied@latest", "all");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(exported("loaded@loaded"), exported(at(run, best_)));
}

TEST_F(Loads, SomeObjectsAreLoadedByNameAndTheOthersStay) {
  const store::Run run = record_parent();
  const auto some = load(at(run, 2), "some");
  ASSERT_EQ(some.status, 0) << some.err;
  const auto there = exported(at(run, 2)), here = exported("loaded@loaded");
  const auto parts = [](const std::map<std::string, std::string>& items, const std::string& name) {
    std::map<std::string, std::string> found;
    for (const auto& [item, content] : items) {
      if (item.starts_with(name)) found[item] = content;
    }
    return found;
  };
  EXPECT_THAT(parts(here, "weights"), Not(IsEmpty()));
  EXPECT_EQ(parts(here, "weights"), parts(there, "weights"));
  EXPECT_NE(parts(here, "velocity"), parts(there, "velocity"));
}

TEST_F(Loads, ASavedCheckpointHoldsTheObjectsThatItIsGiven) {
  ASSERT_EQ(load("", "deploy").status, 0);
  const store::Run run = bench_.last_run();
  const auto deployed = exported("loaded@deploy");
  const auto whole = exported("loaded@2");
  ASSERT_THAT(deployed, SizeIs(2)) << "the objects of that call, and nothing else";
  const auto& [weights, content] = *deployed.begin();
  EXPECT_THAT(weights, ::testing::StartsWith("weights"));
  EXPECT_EQ(content, whole.at(weights));
  EXPECT_THAT(deployed.rbegin()->first, ::testing::StartsWith("words"));
  EXPECT_THAT(deployed.rbegin()->second, HasSubstr("epoch"));

  const auto some = load(run.key + "@deploy", "some");
  EXPECT_THAT(some.out, HasSubstr("loaded " + run.key + "@deploy"));
  const auto all = load(run.key + "@deploy", "all");
  EXPECT_THAT(all.out, HasSubstr("refused 3: ")) << "it is no state of the whole program";
}

TEST_F(Loads, GivenObjectsAreComparedByReplaysAndSavedOnceByResumes) {
  ASSERT_EQ(load("", "deploy").status, 0);
  const store::Run run = bench_.last_run();
  const WholeRecord whole = whole_record(*bench_.store(), run.id);
  const auto replayed = bench_.replay("loader", {"--flor_run", run.key, "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  const auto other = bench_.replay("loader_hindsight", {"--flor_run", run.key});
  EXPECT_EQ(other.status, 7) << other.err;
  EXPECT_THAT(other.err, AllOf(HasSubstr("checkpoint deploy"), HasSubstr("words")));

  auto options = bench_.options();
  options.environment["RAISE"] = "9:10:20000";  // an epoch is durable
  const auto killed = bench_.run(
      "loader", {"--flor", "loaded", "--flor_every", "1", "--kwargs", "how=deploy", "from="},
      options);
  ASSERT_NE(killed.status, 0);
  const auto resumed = bench_.run("loader", {"--flor", "loaded", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(whole_record(*bench_.store(), bench_.last_run().id), whole);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Loads, WhatDoesNotFitIsNamedAndNothingChanges) {
  const store::Run run = record_parent();
  const auto unchanged = lines_with(load("", "none").out, {"state -1"});
  ASSERT_THAT(unchanged, SizeIs(1));
  const auto refused = [&](const std::string& from, const std::string& how, const Words& parts) {
    const auto result = load(from, how);
    EXPECT_EQ(result.status, 0) << result.err;
    const auto lines = lines_with(result.out, {"refused"});
    ASSERT_THAT(lines, SizeIs(1)) << result.out;
    for (const std::string& part : parts) EXPECT_THAT(lines[0], HasSubstr(part));
    EXPECT_EQ(lines_with(result.out, {"state -1"}), unchanged);
  };
  refused(at(run, 2), "other_name",
          {"refused 3", "no object 'weight'", "engine, velocity, weights"});
  refused(at(run, 2), "other_type", {"'velocity", "f64", "f32", "nothing was loaded"});
  refused(at(run, 99), "all", {"refused 3", "no checkpoint after epoch 99", "flor show"});
  refused("test@best:mena:min", "all", {"refused 3", "did you mean 'mean'?"});
  ASSERT_EQ(flor({"rm", "loaded", "--where", "epochs<9"}).status, 0);
  refused("loaded", "all", {"refused 3", "no run of 'loaded' but the one that is being recorded"});
}

TEST_F(Loads, AReplayLoadsTheSameContentWhateverTheTextMeansByThen) {
  const store::Run run = record_parent();
  const auto recorded = load("test@best:mean:min", "all");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto inputs = bench_.values("flor.load");
  ASSERT_THAT(inputs, SizeIs(1));
  EXPECT_THAT(std::get<std::string>(inputs[0].value),
              HasSubstr("{\"checkpoint\":\"" + at(run, best_) + "\",\"digest\":\""));
  bench_.record("forked", {"--kwargs", "rate=0.3"});  // the text means this run now
  const auto replayed = bench_.replay("loader_hindsight", {"--flor_run", "loaded", "--flor_init",
                                                           "strong", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  EXPECT_EQ(lines_with(replayed.out, {"loaded", "state"}),
            lines_with(recorded.out, {"loaded", "state"}));
}

TEST_F(Loads, ALoadThatIsAddedForAReplayTakesWhatItNamesAndLeavesTheOthersTheirs) {
  record_parent();
  bench_.run("forked", {"--flor", "teacher", "--flor_every", "1", "--kwargs", "rate=0.3"});
  const auto recorded = load("test@latest", "taught");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto replayed =
      bench_.replay("loader_hindsight", {"--flor_run", "loaded", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(lines_with(replayed.err,
                         {"flor: flor::load(\"teacher@latest\") is not in the record of run"}),
              SizeIs(1));
  EXPECT_EQ(lines_with(replayed.out, {"loaded", "state"}),
            lines_with(recorded.out, {"loaded", "state"}));
  const auto velocity = exported("teacher@0").at("velocity/values");
  double first = 0;
  std::memcpy(&first, velocity.data(), sizeof first);
  const auto asked = bench_.values("teacher");
  ASSERT_THAT(asked, SizeIs(3));
  for (const store::Value& value : asked) EXPECT_EQ(real(value), first);
}

TEST_F(Loads, ARunThatEndedForWantOfACheckpointGoesOnWhenThereIsOne) {
  for (const char* how : {"needed", "needed_after"}) {
    const auto ended = load("", how);
    EXPECT_EQ(ended.status, 3) << ended.err;
    const store::Run run = bench_.last_run();
    ASSERT_EQ(bench_.run("forked", {"--flor", "needed", "--flor_every", "1"}).status, 0);
    const store::Run needed = bench_.last_run();
    const auto resumed = bench_.run("loader", {"--flor_resume", "--flor_run", run.key});
    EXPECT_EQ(resumed.status, 0) << how << resumed.err;
    const auto replayed = bench_.replay("loader", {"--flor_run", run.key});
    EXPECT_EQ(replayed.status, 0) << how << replayed.err;
    ASSERT_EQ(flor({"rename", needed.key, "other"}).status, 0);
  }
}

TEST_F(Loads, WhatARunLoadedOfItselfIsLoadedAgainWhateverItHasStoredSince) {
  const auto recorded = load("", "own");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(bench_.values("flor.load"), SizeIs(2));
  const auto replayed =
      bench_.replay("loader_hindsight", {"--flor_run", "loaded", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_with(replayed.out, {"state"}), lines_with(recorded.out, {"state"}));
}

TEST_F(Loads, ALoadInEachEpochIsReplayedAtItsPlace) {
  record_parent();
  const auto recorded = load("test@latest", "each");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(bench_.values("flor.load"), SizeIs(3));
  bench_.record("forked", {"--kwargs", "rate=0.3"});
  const auto all = replay_segments(
      bench_, "loader", {.count = 3, .flags = {"--flor_run", "loaded", "--flor_probe", "train"}});
  for (const ProcessResult& result : all.results) {
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("differ")));
  }
}

TEST_F(Loads, AReplayGoesTheWayThatTheProgramWentWhereNothingCouldBeLoaded) {
  record_parent();
  const auto recorded = load("test@latest", "fallback");
  ASSERT_THAT(lines_with(recorded.out, {"loaded"}),
              ElementsAre(HasSubstr("loaded nothing"), HasSubstr("@7")));
  ASSERT_EQ(bench_.run("forked", {"--flor", "warm"}).status, 0);  // now there is one
  const auto replayed = bench_.replay("loader", {"--flor_run", "loaded", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_with(replayed.out, {"loaded", "state"}),
            lines_with(recorded.out, {"loaded", "state"}));
}

TEST_F(Loads, ADeletedInputIsLoadedUntilItIsCollectedAndMissedThen) {
  const store::Run run = record_parent();
  ASSERT_EQ(load(at(run, 2), "some").status, 0);
  ASSERT_EQ(flor({"keep", run.key, "--last", "1"}).status, 0);
  EXPECT_EQ(bench_.replay("loader", {"--flor_run", "loaded"}).status, 0);
  const auto now = load(at(run, 2), "some"), exporting = flor({"export", at(run, 2), "x.pt"});
  for (const std::string& said : {now.out, exporting.err}) {
    EXPECT_THAT(said, HasSubstr("after epoch 2 any more: it was deleted, "));
    EXPECT_THAT(said, HasSubstr("flor keep " + short_key(run) + "@2 --undo"));
  }
  ASSERT_EQ(flor({"rm", bench_.last_run().key}).status, 0);
  store::collect(*bench_.store(), false);
  const auto missed = bench_.replay("loader", {"--flor_run", "loaded"});
  EXPECT_THAT(lines_with(missed.out, {"refused"}),
              ElementsAre(HasSubstr("loaded the checkpoint " + at(run, 2))));
  EXPECT_THAT(lines_with(missed.out, {"refused"}), ElementsAre(HasSubstr("is gone")));
}

TEST_F(Loads, ACollectedInputIsLoadedFromARunThatHasTheSameContent) {
  const store::Run run = record_parent();
  const auto recorded = load(at(run, 2), "all");  // which saves it as a checkpoint of its own
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  ASSERT_EQ(flor({"keep", run.key, "--last", "1"}).status, 0);
  store::collect(*bench_.store(), false);
  const auto again = bench_.replay("loader", {"--flor_run", "loaded", "--flor_probe", "train"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.out, {"loaded", "state"}),
            lines_with(recorded.out, {"loaded", "state"}));
}

TEST_F(Loads, AResumedRunLoadsWhatItLoadedBefore) {
  record_parent();
  auto options = bench_.options();
  options.environment["RAISE"] = "9:10:20000";  // an epoch is durable
  const Words words{"--flor",   "loaded",           "--flor_every", "1",
                    "--kwargs", "from=test@latest", "how=some"};
  const auto killed = bench_.run("loader", words, options);
  ASSERT_NE(killed.status, 0);
  const store::Run run = bench_.last_run();
  bench_.record("forked", {"--kwargs", "rate=0.3"});  // the text means this run now
  const auto resumed = bench_.run("loader", {"--flor_resume", "--flor_run", run.key});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(lines_with(resumed.out, {"loaded", "state -1"}),
            lines_with(killed.out, {"loaded", "state -1"}));
}

TEST_F(Loads, WithoutASessionAProgramLoadsFromTheStoreOfItsUser) {
  const store::Run run = record_parent();
  const auto some = bench_.run("loader", {"--kwargs", "from=test@latest", "how=some"});
  EXPECT_EQ(some.status, 0) << some.err;
  EXPECT_THAT(lines_with(some.out, {"loaded"}), ElementsAre("loaded " + at(run, 7)));
}

}  // namespace
}  // namespace flor::testing
