// Flor's own runs, judged while they are recorded and afterwards: `flor watch --experiment`, what
// its results are good for, and how watches are asked and ended.
#include "support/soon.h"
#include "workbench.h"

#include <nlohmann/json.hpp>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

namespace flor::testing::evaluate_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Evaluate : public ::testing::Test {
 protected:
  fs::path root() const { return bench_.repository().root(); }
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, bench_.options());
  }
  std::unique_ptr<Process> start(const Words& arguments) const {
    return std::make_unique<Process>(Words{FLOR_CLI} + arguments, bench_.options());
  }
  /// The score is the epoch, squared and less 2 of it; what it was called with is in `judged`.
  std::string judge(const std::string& body = "") const {
    const fs::path file = root() / "judge.sh";
    std::ofstream(file) << "#!/bin/sh\necho \"${1##*/}\" >> '" << (root() / "judged").string()
                        << "'\nlast=${1##*@}\nepoch=${last%%.*}\n"
                        << body << "\necho \"{\\\"score\\\": $((epoch * epoch - 2 * epoch))}\"\n";
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  Words watch(const std::string& evaluator, const Words& more = {}) const {
    return Words{"watch", "--experiment", "test", "--evaluator", evaluator} + more;
  }
  ProcessResult settle(const std::string& evaluator, const Words& more = {}) const {
    return flor(watch(evaluator, Words{"--until-idle"} + more));
  }
  std::vector<std::string> judged() const {
    std::vector<std::string> names;
    std::ifstream in(root() / "judged");
    for (std::string line; std::getline(in, line);) names.push_back(line);
    return names;
  }
  std::size_t count(const std::string& state) const {
    const auto result = flor({"jobs", "--json", "--state", state});
    return result.status == 0 ? json::parse(result.out)["jobs"].size() : 0;
  }
  json status() const {
    const auto result = flor({"watch", "--status", "--json"});
    return result.status == 0 ? json::parse(result.out)["watches"] : json::array();
  }
  bool is_watching(std::size_t watches = 1) const {
    return soon([&] { return status().size() == watches; });
  }
  bool is_scratch_empty() const {
    const fs::path scratch = bench_.home() / "scratch";
    return !fs::exists(scratch) || fs::is_empty(scratch);
  }

  Workbench bench_;
};

TEST_F(Evaluate, EachCheckpointOfARunningRecordingIsJudgedOnceWhileTheRecordingGoesOn) {
  bench_.record("trainer", {"--kwargs", "epochs=1"});
  const auto watcher = start(watch(judge()));
  ASSERT_TRUE(is_watching());
  const auto trainer = bench_.start(
      "trainer", {"--flor", "test", "--flor_every", "1", "--kwargs", "epochs=6", "pause_ms=40"});
  EXPECT_TRUE(soon([&] { return count("done") >= 2; }));
  EXPECT_FALSE(trainer->ended()) << "results come while it is recorded";
  EXPECT_EQ(trainer->wait().status, 0);
  EXPECT_TRUE(soon([&] { return count("done") == 6; }));
  const std::string key = bench_.last_run().key;
  std::vector<std::string> expected;
  for (int i = 0; i < 6; ++i) expected.push_back(key + "@" + std::to_string(i) + ".safetensors");
  EXPECT_EQ(judged(), expected) << "in their order; what was there before is left alone";
  const auto table = flor({"query", "judge.score", "mean"});
  EXPECT_THAT(table.out, HasSubstr("epoch  judge.score"));
  const auto rows = json::parse(flor({"query", "judge.score", "--json"}).out)["rows"];
  ASSERT_THAT(rows, SizeIs(6));
  EXPECT_EQ(rows[5]["values"]["judge.score"], 15);
  EXPECT_EQ(rows[5]["origin"], "evaluated");
  EXPECT_THAT(flor({"show", "test"}).out, HasSubstr("judge.score"));
  EXPECT_THAT(flor({"show", "test@3"}).out, HasSubstr("judge.score"));
  EXPECT_THAT(flor({"log", "test"}).out, Not(IsEmpty()));
  watcher->kill(SIGTERM);
  EXPECT_EQ(watcher->wait().status, 130);
  EXPECT_TRUE(is_scratch_empty());
}

TEST_F(Evaluate, WhatWasCommittedWhileNobodyWatchedIsJudgedByTheNextWatchAndNothingTwice) {
  const std::string evaluator = judge();
  EXPECT_EQ(settle(evaluator).status, 0);
  bench_.record("trainer", {"--kwargs", "epochs=3"});
  const auto result = settle(evaluator);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("@2 score=0 ("));
  EXPECT_THAT(judged(), SizeIs(3));
  bench_.record("trainer", {"--kwargs", "epochs=3"});
  EXPECT_EQ(settle(evaluator).status, 0);
  EXPECT_THAT(judged(), SizeIs(3)) << "the same states again";
  EXPECT_THAT(flor({"query", "judge.score"}).out, HasSubstr("evaluated")) << "of the second run";
  EXPECT_EQ(settle(evaluator, {"--existing"}).status, 0);
  EXPECT_THAT(judged(), SizeIs(3));
}

TEST_F(Evaluate, ACheckpointIsHandedOverInEitherFormOrReadInPlace) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const std::string reading = judge("test -s \"$1\" || exit 3\n");
  EXPECT_EQ(settle(reading, {"--existing", "--retries", "0"}).status, 0);
  const std::string torch = judge("head -c 2 \"$1\" | grep -q PK || exit 3\n");
  EXPECT_EQ(settle(torch, {"--existing", "--retries", "0", "--as", "pt"}).status, 0);
  const std::string in_place =
      judge(std::string("'") + FLOR_CLI + "' export \"$1\" copy$epoch.safetensors || exit 3\n");
  const auto result = settle(in_place, {"--existing", "--retries", "0", "--as", "reference"});
  EXPECT_EQ(result.status, 0) << result.err << flor({"jobs", "logs", "--all"}).out;
  EXPECT_TRUE(fs::exists(root() / "copy1.safetensors"));
  const std::string key = bench_.last_run().key;
  EXPECT_THAT(judged(), ElementsAre(key + "@0.safetensors", key + "@1.safetensors", key + "@0.pt",
                                    key + "@1.pt", key + "@0", key + "@1"));
}

TEST_F(Evaluate, ALibraryReadsTheStoreInPlace) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const auto result = settle(std::string(FLOR_STORE_JUDGE) + ":raw_bytes",
                             {"--existing", "--retries", "0", "--as", "reference"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const auto rows = json::parse(flor({"query", "raw_bytes.bytes", "--json"}).out)["rows"];
  ASSERT_THAT(rows, SizeIs(2));
  const auto store = bench_.store();
  for (const auto& info : store->catalog().checkpoints(bench_.last_run().id)) {
    if (info.key.kind != store::CheckpointKind::boundary || info.key.iteration != 2) continue;
    EXPECT_EQ(rows[1]["values"]["raw_bytes.bytes"], info.raw_bytes);
  }
}

TEST_F(Evaluate, ACheckpointForWhichThereIsNoRoomWaitsAndLosesNoAttempt) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const fs::path scratch = bench_.home() / "scratch";
  fs::remove_all(scratch);
  std::ofstream(scratch) << "in the way";
  const auto watcher = start(watch(judge(), {"--existing", "--retries", "0", "--until-idle"}));
  EXPECT_TRUE(watcher->await([&] { return !watcher->err().empty(); }));
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_FALSE(watcher->ended());
  EXPECT_EQ(count("dead"), 0u);
  fs::remove(scratch);
  const auto result = watcher->wait();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_EQ(count("done"), 2u);
}

TEST_F(Evaluate, AWatchThatEndsWhenItIsIdleDoesNotWaitForRoomForEver) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const fs::path scratch = bench_.home() / "scratch";
  fs::remove_all(scratch);
  std::ofstream(scratch) << "in the way";
  const auto result = settle(judge(), {"--existing", "--patience", "1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("scratch"));
  EXPECT_EQ(count("queued"), 2u) << "the next watch judges them";
}

TEST_F(Evaluate, AWatchThatOnlyHelpsJudgesWhatIsHandedOverAsItIsToldAndNothingElse) {
  const std::string evaluator = judge("test -e go || exit 3\n");
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  EXPECT_EQ(settle(evaluator, {"--existing", "--as", "pt", "--retries", "0"}).status, 5);
  EXPECT_EQ(flor({"jobs", "retry", "--all"}).status, 0);
  std::ofstream(root() / "go") << "1";
  std::ofstream(root() / "judged") << "";
  const Words helper{"watch", "--evaluator", evaluator, "--until-idle"};
  EXPECT_EQ(flor(helper).status, 0);
  EXPECT_THAT(judged(), IsEmpty()) << "it would have given .safetensors to the evaluator";
  EXPECT_EQ(flor(helper + Words{"--as", "pt"}).status, 0);
  const std::string key = bench_.last_run().key;
  EXPECT_THAT(judged(), ElementsAre(key + "@0.pt", key + "@1.pt"));
}

TEST_F(Evaluate, AWatchThatOnlyHelpsMakesNoMoreFilesAheadThanOneThatFinds) {
  const std::string counting = judge(
      "while ! test -e go; do sleep 0.02; done\nls \"$FLOR_HOME\"/scratch/*/ | wc -l >> files\n");
  bench_.record("trainer", {"--kwargs", "epochs=30"});
  const auto watcher = start(watch(counting, {"--existing"}));
  ASSERT_TRUE(soon([&] { return !judged().empty(); }));
  EXPECT_EQ(flor({"watch", "--stop", "--now"}).status, 0);
  watcher->wait();
  std::ofstream(root() / "go") << "1";
  EXPECT_EQ(flor({"watch", "--evaluator", counting, "--until-idle"}).status, 0);
  EXPECT_EQ(count("done"), 30u);
  std::ifstream files(root() / "files");
  int most = 0;
  for (int number = 0; files >> number;) most = std::max(most, number);
  EXPECT_LE(most, 4) << "of one worker: its own, two ahead, and one that is about to go";
}

TEST_F(Evaluate, FilesOfAWatchThatWasKilledAreRemovedByTheNext) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const std::string slow = judge("test -e go || sleep 60\n");
  const auto watcher = start(watch(slow, {"--existing"}));
  ASSERT_TRUE(soon([&] { return !judged().empty(); }));
  EXPECT_FALSE(is_scratch_empty());
  watcher->kill(SIGKILL);
  EXPECT_EQ(watcher->wait().signal, SIGKILL);
  EXPECT_FALSE(is_scratch_empty());
  std::ofstream(root() / "go") << "1";
  const auto result = settle(slow);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(count("done"), 2u);
  EXPECT_TRUE(is_scratch_empty());
}

TEST_F(Evaluate, ARunKeepsTheBestByAnEvaluationAndDeletesNothingBeforeItIsJudged) {
  const auto watcher = start(watch(judge()));
  ASSERT_TRUE(is_watching());
  // Its losses are of no interest; the smallest scores are those of the epochs 1, 0 and 2.
  const auto recorded = bench_.record(
      "keeper", {"--kwargs", "losses=1,1,1,1,1,1", "keep=2", "attribute=judge.score"});
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_TRUE(soon([&] { return count("done") == 6; }));
  EXPECT_THAT(judged(), SizeIs(6));
  const auto explained = flor({"keep", "test", "--explain"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("best 2:judge.score:min (rank 1)"));
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/2"), 1u) << explained.out;
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/6"), 0u) << explained.out;
  const auto values = json::parse(flor({"query", "judge.score", "--json"}).out)["rows"];
  EXPECT_THAT(values, SizeIs(6)) << "what was deleted keeps its score";
  watcher->kill(SIGTERM);
  watcher->wait();
}

TEST_F(Evaluate, ACheckpointThatIsBeingJudgedIsNotDeleted) {
  bench_.record("trainer", {"--kwargs", "epochs=3"});
  const std::string slow = judge("while ! test -e go; do sleep 0.05; done\n");
  const auto watcher = start(watch(slow, {"--existing"}));
  ASSERT_TRUE(soon([&] { return !judged().empty(); }));
  EXPECT_THAT(flor({"keep", "test", "--last", "1", "--explain"}).out, HasSubstr("to be judged"));
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/1"), 1u);
  std::ofstream(root() / "go") << "1";
  EXPECT_TRUE(soon([&] { return count("done") == 3; }));
  EXPECT_EQ(flor({"keep", "test", "--last", "1"}).status, 0);
  EXPECT_EQ(bench_.checkpoints().count("boundary 0/1"), 0u);
  watcher->kill(SIGTERM);
  watcher->wait();
}

TEST_F(Evaluate, StopFinishesWhatIsJudgedAndLeavesTheRestForTheNextWatch) {
  bench_.record("trainer", {"--kwargs", "epochs=4"});
  const std::string slow = judge("while ! test -e go; do sleep 0.05; done\n");
  const auto watcher = start(watch(slow, {"--existing"}));
  ASSERT_TRUE(soon([&] { return !judged().empty(); }));
  const json before = status();
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_EQ(before[0]["pid"], watcher->pid());
  EXPECT_EQ(before[0]["evaluators"][0]["watches"], json({"experiment test"}));
  EXPECT_EQ(before[0]["evaluators"][0]["at_work"], 1);
  EXPECT_EQ(before[0]["evaluators"][0]["waiting"], 3);
  EXPECT_THAT(flor({"watch", "--status"}).out, HasSubstr("experiment test"));
  EXPECT_EQ(flor({"watch", "--stop", "--wait", "0"}).status, 5) << "it is still at work";
  EXPECT_EQ(status()[0]["state"], "draining");
  EXPECT_FALSE(watcher->ended());
  std::ofstream(root() / "go") << "1";
  const auto asked = flor({"watch", "--stop"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(watcher->wait().status, 0);
  EXPECT_THAT(status(), IsEmpty());
  EXPECT_EQ(count("done"), 1u);
  EXPECT_EQ(count("queued"), 3u);
  EXPECT_EQ(count("leased"), 0u);
  // Another watch, of another place, does not revive it.
  fs::create_directories(root() / "elsewhere");
  std::ofstream(root() / "other.sh") << "#!/bin/sh\necho '{}'\n";
  fs::permissions(root() / "other.sh", fs::perms::owner_all);
  EXPECT_EQ(flor({"watch", "elsewhere", "-e", "./other.sh", "--until-idle"}).status, 0);
  EXPECT_EQ(count("queued"), 3u);
  EXPECT_EQ(settle(slow).status, 0);
  EXPECT_EQ(count("done"), 4u);
  EXPECT_THAT(judged(), SizeIs(4));
}

TEST_F(Evaluate, StopNowGivesBackWhatIsJudgedAndKillsNothingThatIsNotFlors) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  Process bystander({"sleep", "60"}, bench_.options());
  const std::string slow = judge("echo $$ > pid; test -e go || exec sleep 60\n");
  const auto watcher = start(watch(slow, {"--existing"}));
  ASSERT_TRUE(soon([&] { return fs::exists(root() / "pid") && !fs::is_empty(root() / "pid"); }));
  const auto result = flor({"watch", "--stop", "--now"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("has ended"));
  EXPECT_EQ(watcher->wait().status, 0);
  EXPECT_FALSE(bystander.ended());
  pid_t pid = 0;
  std::ifstream(root() / "pid") >> pid;
  EXPECT_TRUE(soon([&] { return ::kill(pid, 0) != 0; })) << "the evaluation has ended with it";
  EXPECT_EQ(count("queued"), 2u);
  EXPECT_TRUE(is_scratch_empty());
  std::ofstream(root() / "go") << "1";
  EXPECT_EQ(settle(slow).status, 0);
  EXPECT_EQ(count("done"), 2u);
  EXPECT_THAT(flor({"watch", "--stop"}).err, HasSubstr("no watch runs"));
}

TEST_F(Evaluate, JobsAreFoundByWhatTheyAreOfAndFollowedAsTheyChange) {
  bench_.record("trainer", {"--kwargs", "epochs=2"});
  const std::string evaluator = judge();
  EXPECT_EQ(settle(evaluator).status, 0);
  const auto follower = start({"jobs", "--follow"});
  bench_.record("trainer", {"--kwargs", "epochs=3", "size=40"});
  EXPECT_EQ(settle(evaluator).status, 0);
  EXPECT_TRUE(follower->await([&] {
    return follower->out().find("@2 {\"score\":0}\n") != std::string::npos;
  })) << follower->out();
  follower->kill(SIGTERM);
  follower->wait();
  const std::string run = bench_.last_run().key;
  const auto found = [&](const Words& which) {
    return json::parse(flor(Words{"jobs", "--json"} + which).out)["jobs"].size();
  };
  EXPECT_EQ(found({"--evaluator", "judge"}), 3u);
  EXPECT_EQ(found({"--evaluator", "other"}), 0u);
  EXPECT_EQ(found({"--run", run}), 3u);
  EXPECT_EQ(found({"--run", "test~1"}), 0u) << "it was there before";
  EXPECT_EQ(found({"--path", "@[12]$"}), 2u);
  EXPECT_EQ(found({"--path", "@[12]$", "--state", "done"}), 2u);
  EXPECT_EQ(flor({"jobs", "--path", "["}).status, 2);
  EXPECT_EQ(flor({"jobs", "drop", "--path", "@2$"}).out, "1 job forgotten\n");
  EXPECT_EQ(flor({"jobs", "drop", "--path", "@2$"}).out, "0 jobs forgotten\n");
  EXPECT_EQ(found({}), 2u);
}

TEST_F(Evaluate, TheUnitForSystemdIsOneThatSystemdUnderstands) {
  if (!fs::exists("/usr/bin/systemd-analyze")) GTEST_SKIP() << "there is no systemd-analyze here";
  ProcessOptions options = bench_.options();
  const fs::path runtime = root() / "runtime";
  fs::create_directories(runtime);
  options.environment["XDG_RUNTIME_DIR"] = runtime.string();
  const auto verified =
      run_process({"/usr/bin/systemd-analyze", "--user", "verify", FLOR_SERVICE_UNIT}, options);
  EXPECT_EQ(verified.status, 0);
  EXPECT_EQ(verified.out + verified.err, "");
}

TEST_F(Evaluate, WrongUsageIsOneLine) {
  const std::string evaluator = judge();
  for (const Words& words : {Words{"watch", "--experiment", "test", ".", "-e", evaluator},
                             Words{"watch", "--experiment", "test", "-e", evaluator, "--as", "zip"},
                             Words{"jobs", "retry", "--follow"}}) {
    const auto result = flor(words);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(flor({"watch", "--run", "nothing", "-e", evaluator}).status, 3);
}

}  // namespace
}  // namespace flor::testing::evaluate_test
