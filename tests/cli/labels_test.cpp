// flor tag, note, rename and rm: what they say, what lists and conditions make of it, and that
// nothing of it is lost with the index, on the way through a bucket, or by a refusal.
#include "checkpoint/named_checkpoints.h"
#include "cli/fixture.h"
#include "store/made_again.h"
#include "watch/run_watch.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LabelsTest : public CliTest {
 protected:
  void TearDown() override {
    if (std::filesystem::exists(home() / "runs")) store::expect_same_when_made_again(home());
  }
  /// The first line of stderr of a command that fails with this status.
  std::string refused(int status, const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  }
  std::string said(const std::vector<std::string>& words) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  std::vector<std::string> ids(std::vector<std::string> words) {
    words.insert(words.begin(), {"list", "-q"});
    return flor(words).lines();
  }
  std::string url(const std::string& name = "bucket") {
    return "file://" + (directory_ / name).string();
  }
  /// Rank 0 and rank 1 of a group, finished.
  std::pair<store::Run, store::Run> record_group() {
    store::NewRun start;
    start.experiment = "pair";
    start.rank = store::RankPlace{0, 0, 2};
    const store::Run first = catalog().add_run(start);
    start.rank = store::RankPlace{first.id, 1, 2};
    const store::Run second = catalog().add_run(start);
    for (const store::Run& run : {first, second}) catalog().finish_run(run.id, 5, false, "");
    return {first, second};
  }
};

TEST_F(LabelsTest, TagsAreGivenTakenAwayAndShown) {
  const store::Run run = record({});
  const std::string title = "run " + run.key.substr(0, 8) + " (linear): ";
  EXPECT_EQ(said({"tag", "linear"}), title + "no tags\n");
  EXPECT_EQ(said({"tag", "linear", "seed-3", "good", "good"}), title + "good seed-3\n");
  EXPECT_EQ(said({"tag", "linear", "--remove", "good", "Good"}), title + "Good seed-3\n");
  EXPECT_EQ(said({"tag", "linear"}), title + "Good seed-3\n");
  EXPECT_EQ(flor({"tag", "linear", "--json"}).json()["tags"], (Json{"Good", "seed-3"}));
  EXPECT_THAT(said({"show", "linear"}), HasSubstr("  tags         Good seed-3\n"));
  EXPECT_EQ(flor({"list", "--json"}).json()["runs"][0]["tags"], (Json{"Good", "seed-3"}));
  EXPECT_THAT(flor({"list"}).lines()[0], HasSubstr("experiment  tag "));
  EXPECT_THAT(flor({"sql", "SELECT tags FROM runs"}).out, HasSubstr("Good seed-3"));
  said({"tag", "linear", "--remove", "Good", "--remove", "seed-3"});
  EXPECT_THAT(flor({"list"}).lines()[0], Not(HasSubstr("tag")));
}

TEST_F(LabelsTest, ConditionsCompareEachTag) {
  const store::Run first = record({}), second = record({}), third = record({});
  said({"tag", first.key, "good", "seed-3"});
  said({"tag", second.key, "goodish"});
  EXPECT_THAT(ids({"--where", "tag=good"}), ElementsAre(first.key));
  EXPECT_THAT(ids({"--where", "tag=seed-3 and tag=good"}), ElementsAre(first.key));
  EXPECT_THAT(ids({"--where", "tag~good"}), ElementsAre(second.key, first.key));
  EXPECT_THAT(ids({"--where", "tag!=good"}), ElementsAre(second.key));
  EXPECT_THAT(ids({"--where", "not tag=good"}), ElementsAre(third.key, second.key));
  EXPECT_THAT(ids({"--where", "tag=good or loss<100", "linear"}).size(), 3u);
  EXPECT_THAT(said({"query", "loss", "--where", "tag=good", "--json"}), HasSubstr(first.key));
  EXPECT_THAT(flor({"list", "-c", "tag", "--sort", "tag"}).lines()[1], HasSubstr("good seed-3"));
}

TEST_F(LabelsTest, AMetricOrArgumentOfTheNameComesFirst) {
  RunPlan plan;  // logs a text "note"
  plan.arguments.push_back({"tag", "text", "mine"});
  const store::Run run = record(plan);
  said({"tag", run.key, "good"});
  EXPECT_THAT(ids({"--where", "tag=good"}), IsEmpty());
  EXPECT_THAT(ids({"--where", "tag=mine and note~well"}), ElementsAre(run.key));
}

TEST_F(LabelsTest, WordsThatCanBeNoTagAreRefused) {
  record({});
  for (const char* wrong : {"two words", "a=b", "it's", "not", "a,b", "a\nb"}) {
    EXPECT_THAT(refused(2, {"tag", "linear", "--", wrong}), HasSubstr(" is not a tag: ")) << wrong;
  }
  EXPECT_THAT(refused(2, {"tag", "linear", std::string(65, 'x')}), HasSubstr("at most 64 bytes"));
  EXPECT_THAT(refused(3, {"tag", "linear", "--remove", "good"}), HasSubstr("has no tag 'good'"));
  EXPECT_THAT(refused(2, {"tag", "linear", "a", "--remove", "a"}), HasSubstr("leave one out"));
  std::vector<std::string> many{"tag", "linear"};
  for (int i = 0; i < 65; ++i) many.push_back("t" + std::to_string(i));
  EXPECT_THAT(refused(2, many), HasSubstr("at most 64 tags"));
  EXPECT_THAT(said({"tag", "linear"}), HasSubstr("no tags"));
}

TEST_F(LabelsTest, ANoteIsWrittenReplacedAndDeleted) {
  const store::Run run = record({});
  const std::string title = "run " + run.key.substr(0, 8) + " (linear): ";
  EXPECT_EQ(said({"note", "linear"}), title + "no note\n");
  EXPECT_EQ(said({"note", "linear", "lr too high"}), title + "lr too high\n");
  EXPECT_EQ(said({"note", "linear", "second try"}), title + "second try\n");
  EXPECT_THAT(said({"show", "linear"}), HasSubstr("  note         second try\n"));
  EXPECT_EQ(flor({"show", "linear", "--json"}).json()["run"]["note"], "second try");
  EXPECT_EQ(said({"note", "linear", "--delete"}), title + "no note\n");
  EXPECT_TRUE(flor({"note", "linear", "--json"}).json()["note"].is_null());
  EXPECT_THAT(refused(3, {"note", "linear", "--delete"}), HasSubstr("has no note"));
  EXPECT_THAT(refused(2, {"note", "linear", std::string(5000, 'x')}), HasSubstr("4096 bytes"));
}

TEST_F(LabelsTest, NotesCanBeColumnsAndConditions) {
  store::NewRun start;
  start.experiment = "plain";
  const store::Run run = catalog().add_run(start);
  catalog().finish_run(run.id, 5, false, "");
  said({"note", "plain", "it diverges"});
  EXPECT_THAT(ids({"--where", "note~diverges"}), ElementsAre(run.key));
  EXPECT_THAT(said({"list", "-c", "+note"}), HasSubstr("it diverges"));
}

TEST_F(LabelsTest, ARunOfAnotherProcessIsLabelledWhileItRecords) {
  store::NewRun start;
  start.experiment = "live";
  const store::Run run = catalog().add_run(start);
  const auto lock = store().lock_run(run.key);
  said({"tag", "live", "good"});
  catalog().finish_run(run.id, 5, false, "");
  EXPECT_THAT(said({"tag", "live"}), HasSubstr("good"));
  EXPECT_THAT(refused(6, {"rename", "live", "other"}), HasSubstr("keeps its name until it has"));
  EXPECT_THAT(refused(6, {"rm", "live"}), HasSubstr("is being recorded, and is not removed"));
}

TEST_F(LabelsTest, ARenamedRunBelongsToTheOtherExperiment) {
  const store::Run first = record({}), second = record({});
  EXPECT_EQ(said({"rename", "linear~1", "wide"}),
            "run " + first.key.substr(0, 8) + " (linear) is a run of wide now\n");
  EXPECT_THAT(ids({"wide"}), ElementsAre(first.key));
  EXPECT_THAT(ids({"linear"}), ElementsAre(second.key));
  said({"rename", "linear", "wide"});
  EXPECT_THAT(refused(3, {"list", "linear"}), HasSubstr("no experiment 'linear'"));
  EXPECT_THAT(ids({"--where", "experiment=wide"}), ElementsAre(second.key, first.key));
  said({"rename", second.key, "linear"});
  EXPECT_THAT(ids({"linear"}), ElementsAre(second.key));
  EXPECT_THAT(refused(2, {"rename", "linear", "--", "-x"}), HasSubstr("begins with no dash"));
}

TEST_F(LabelsTest, TheRanksOfAGroupHaveTheirLabelsTogether) {
  const auto [first, second] = record_group();
  said({"tag", second.key, "good"});
  said({"rename", second.key, "couple"});
  EXPECT_THAT(said({"tag", first.key}), HasSubstr("(couple): good"));
  EXPECT_THAT(said({"tag", second.key}), HasSubstr("(couple): good"));
  EXPECT_THAT(ids({"couple", "--ranks"}).size(), 2u);
  EXPECT_THAT(ids({"--where", "tag=good"}), ElementsAre(first.key));
  store::expect_same_when_made_again(home());
  said({"rm", second.key});
  EXPECT_THAT(ids({"--ranks"}), IsEmpty());
  EXPECT_THAT(ids({"--removed"}), ElementsAre(first.key));
  said({"rm", first.key, "--undo"});
  EXPECT_THAT(ids({"--ranks"}).size(), 2u);
  said({"rm", first.key});
  EXPECT_THAT(said({"gc"}), HasSubstr("2 removed runs cannot be brought back any more\n"));
  EXPECT_FALSE(std::filesystem::exists(home() / "runs" / first.key.substr(0, 2) / first.key));
}

TEST_F(LabelsTest, ARemovedRunIsNowhereAndComesBackUntilItIsCollected) {
  const store::Run first = record({}), second = record({});
  const std::string key = second.key.substr(0, 8);
  const Outcome dry = flor({"rm", "linear", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("run " + key + " (linear) would be removed\n"));
  EXPECT_THAT(dry.out, HasSubstr(" of 6 checkpoints would come free at the next flor gc\n"));
  EXPECT_THAT(ids({}), ElementsAre(second.key, first.key));

  const std::string removed = said({"rm", "linear"});
  EXPECT_THAT(removed, HasSubstr("run " + key + " (linear) is removed\n"));
  EXPECT_THAT(removed, HasSubstr("until then flor rm " + key + " --undo brings it back\n"));
  EXPECT_THAT(ids({}), ElementsAre(first.key));
  EXPECT_THAT(ids({"--removed"}), ElementsAre(second.key));
  EXPECT_THAT(said({"show", "linear"}), HasSubstr(first.key));
  EXPECT_THAT(refused(3, {"show", key}),
              HasSubstr("run " + key + " (linear) was removed: `flor rm " + key + " --undo`"));
  EXPECT_THAT(said({"sql", "SELECT run FROM runs"}), Not(HasSubstr(second.key)));
  EXPECT_EQ(flor({"fsck"}).status, 0);
  store::expect_same_when_made_again(home());

  EXPECT_EQ(said({"rm", key, "--undo"}), "run " + key + " (linear) is back\n");
  EXPECT_THAT(ids({}), ElementsAre(second.key, first.key));
  EXPECT_EQ(catalog().checkpoints(second.id).size(), 6u);

  said({"rm", "linear"});
  EXPECT_THAT(said({"gc", "--dry-run"}), HasSubstr("1 removed run cannot be brought back then\n"));
  EXPECT_THAT(ids({"--removed"}), ElementsAre(second.key));
  EXPECT_THAT(said({"gc"}), HasSubstr("1 removed run cannot be brought back any more\n"));
  EXPECT_THAT(ids({"--removed"}), IsEmpty());
  EXPECT_THAT(refused(3, {"rm", key, "--undo"}), HasSubstr("or `flor gc` has freed it"));
  EXPECT_THAT(ids({}), ElementsAre(first.key));
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(LabelsTest, ADryRunSaysWhatIsFreed) {
  RunPlan plan;
  const store::Run first = record(plan);
  plan.loss = 3;
  const store::Run second = record(plan);
  const Json json = flor({"rm", second.key, "--dry-run", "--json"}).json();
  EXPECT_EQ(json["checkpoints"], 6);
  EXPECT_EQ(json["runs"], Json{second.key});
  said({"rm", first.key, second.key});
  const Json gc = flor({"gc", "--dry-run", "--json"}).json();
  EXPECT_EQ(gc["runs"], 2);
  const Json done = flor({"gc", "--json"}).json();
  EXPECT_EQ(done["runs"], 2);
  EXPECT_EQ(done["freed_bytes"], gc["freed_bytes"]);
  EXPECT_EQ(flor({"du", "--json"}).json()["stored_bytes"], 0);
}

TEST_F(LabelsTest, RunsAreRemovedByACondition) {
  RunPlan plan;
  const store::Run first = record(plan);
  plan.arguments[1].value = "0.01";
  const store::Run second = record(plan);
  EXPECT_THAT(refused(2, {"rm"}), HasSubstr("flor rm needs RUN"));
  EXPECT_THAT(refused(2, {"rm", "--undo"}), HasSubstr("flor rm needs RUN"));
  EXPECT_THAT(said({"rm", "linear", "--where", "lr>0.005"}), HasSubstr(second.key.substr(0, 8)));
  EXPECT_THAT(ids({}), ElementsAre(first.key));
}

TEST_F(LabelsTest, ARunInUseIsLeftByRmAndByGc) {
  const store::Run run = record({});
  {
    const auto use = store().use_run(run.key);
    EXPECT_THAT(refused(6, {"rm", "linear"}), HasSubstr("is being replayed, resumed or evaluated"));
  }
  said({"rm", "linear"});
  {
    const auto use = store().use_run(run.key);
    EXPECT_THAT(said({"gc"}), HasSubstr("was removed and is in use: it is left as it is"));
  }
  EXPECT_THAT(said({"rm", run.key, "--undo"}), HasSubstr("is back"));
}

TEST_F(LabelsTest, CheckpointsOfARemovedRunAreNotNamedAndWhatItTakesIs) {
  const store::Run kept = record({}), removed = record({});
  const std::string key = removed.key.substr(0, 8), place = removed.key + "@2";
  const store::Digest content = store::find_checkpoint(store(), place).info.digest;
  ASSERT_EQ(store::find_content(store(), content)->run, removed.key);
  said({"rm", removed.key});
  EXPECT_THAT(refused(3, {"export", place, "out.pt"}),
              HasSubstr("was removed: `flor rm " + key + " --undo` brings it back"));
  EXPECT_THROW(store::find_checkpoint(store(), place), NotFound);
  EXPECT_EQ(store::find_content(store(), content)->run, kept.key);
  EXPECT_THAT(said({"du"}), HasSubstr(removed.key + " (removed)"));
  const Json usage = flor({"du", "--json"}).json();
  for (const Json& run : usage["runs"]) {
    EXPECT_EQ(run.contains("removed"), run["run"] == removed.key) << run;
  }
  EXPECT_THAT(flor({"list", "other", "--removed"}).err, HasSubstr("no run of other is removed"));
  said({"rm", removed.key, "--undo"});
  EXPECT_EQ(store::find_checkpoint(store(), place).info.digest, content);
}

TEST_F(LabelsTest, AWatchOfAnExperimentFollowsItsRuns) {
  const store::Run first = record({}), second = record({});
  close();
  cli::RunWatch watch(store::Store::open(home(), store::OpenMode::existing),
                      {{.experiment = "linear"}}, std::chrono::seconds(1));
  const auto found = [&] {
    std::map<std::string, int> runs;
    watch.step(
        [&](const cli::FoundCheckpoint& one) { ++runs[one.path.substr(0, one.path.find('@'))]; });
    return runs;
  };
  said({"rm", second.key});
  EXPECT_EQ(found(), (std::map<std::string, int>{{first.key, 3}}));
  EXPECT_THAT(found(), IsEmpty());
  said({"rm", second.key, "--undo"});
  EXPECT_EQ(found(), (std::map<std::string, int>{{second.key, 3}}));
  // Of another experiment until it gets the name.
  RunPlan plan;
  plan.experiment = "other";
  const store::Run third = record(plan);
  close();
  EXPECT_THAT(found(), IsEmpty());
  said({"rename", third.key, "linear"});
  EXPECT_EQ(found(), (std::map<std::string, int>{{third.key, 3}}));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(LabelsTest, LabelsTravelThroughABucketAndALaterWordCounts) {
  const store::Run run = record({});
  said({"tag", "linear", "good", "old"});
  said({"note", "linear", "first"});
  said({"spool", "linear", url()});
  const std::string other = (directory_ / "other").string();
  const auto there = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--home", other});
    return bare(std::move(words));
  };
  const Outcome fetched = there({"fetch", "linear", url()});
  ASSERT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_THAT(there({"tag", "linear"}).out, HasSubstr("good old\n"));
  EXPECT_THAT(there({"note", "linear"}).out, HasSubstr("first\n"));
  // Each says something of its own, then they meet again.
  EXPECT_EQ(there({"tag", "linear", "theirs"}).status, 0);
  said({"tag", "linear", "ours", "--remove", "old"});
  said({"rename", "linear", "wide"});
  said({"note", run.key, "second"});
  said({"spool", run.key, url()});
  ASSERT_EQ(there({"fetch", run.key, url()}).status, 0);
  EXPECT_THAT(there({"tag", run.key}).out, HasSubstr("(wide): good ours theirs\n"));
  EXPECT_THAT(there({"note", run.key}).out, HasSubstr("second\n"));
  store::expect_same_when_made_again(std::filesystem::path(other));
  // A run that is removed there is back when it is fetched.
  EXPECT_EQ(there({"rm", "wide"}).status, 0);
  EXPECT_EQ(there({"list", "-q"}).out, "");
  ASSERT_EQ(there({"fetch", run.key, url()}).status, 0);
  EXPECT_EQ(there({"list", "-q"}).out, run.key + "\n");
  store::expect_same_when_made_again(std::filesystem::path(other));
  // A run of this store takes no word from elsewhere.
  EXPECT_EQ(there({"tag", run.key, "late"}).status, 0);
  EXPECT_EQ(there({"spool", run.key, url()}).status, 0);
  EXPECT_EQ(flor({"fetch", run.key, url()}).status, 0);
  EXPECT_THAT(said({"tag", run.key}), HasSubstr("(wide): good ours\n"));
}

TEST_F(LabelsTest, AnIndexThatIsMadeAgainHasThemAll) {
  const store::Run run = record({});
  said({"tag", "linear", "good", "bad"});
  said({"tag", "linear", "--remove", "bad"});
  said({"note", "linear", "a note"});
  said({"rename", "linear", "wide"});
  const store::Run gone = record({});
  said({"rm", gone.key});
  close();
  std::filesystem::remove(home() / "catalog.db");
  EXPECT_THAT(flor({"tag", "wide"}).out, HasSubstr("(wide): good\n"));
  EXPECT_THAT(said({"note", "wide"}), HasSubstr("a note"));
  EXPECT_THAT(ids({}), ElementsAre(run.key));
  EXPECT_THAT(ids({"--removed"}), ElementsAre(gone.key));
  said({"rm", gone.key, "--undo"});
  EXPECT_THAT(ids({"linear"}), ElementsAre(gone.key));
}

}  // namespace
}  // namespace flor::testing
