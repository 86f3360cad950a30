// What is judged, when, and how often.
#include "watch_fixture.h"

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using WatchProgramTest = WatchTest;

TEST_F(WatchProgramTest, WhatIsThereIsLeftAloneAndWhatComesIsJudgedAlsoIfNobodyWatchedThen) {
  const std::string judge = counting_program();
  publish("old.safetensors", tensors(0));
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_THAT(judged(), IsEmpty());
  publish("new.safetensors", tensors(1));
  publish("notes.txt", "no checkpoint");
  publish(".hidden.pt", tensors(2));
  const auto result = settle(judge);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("new.safetensors n=1 ("));
  EXPECT_THAT(judged(), ElementsAre("new.safetensors"));
  settle(judge);
  EXPECT_THAT(judged(), SizeIs(1)) << "it is known";
  settle(judge, {"--existing"});
  EXPECT_THAT(judged(), ElementsAre("new.safetensors", "old.safetensors"));
  settle(judge, {"--existing"});
  EXPECT_THAT(judged(), SizeIs(2));
}

TEST_F(WatchProgramTest, AnotherContentIsJudgedAndAnotherNameOrPlaceInTimeIsNot) {
  const std::string judge = counting_program();
  settle(judge);
  publish("latest.safetensors", tensors(1));
  settle(judge);
  publish("latest.safetensors", tensors(2));
  settle(judge);
  EXPECT_THAT(judged(), SizeIs(2)) << "it was overwritten";
  publish("copy.safetensors", tensors(2));
  fs::rename(runs(), directory_ / "away");
  fs::rename(directory_ / "away", runs());
  const auto again = settle(judge);
  EXPECT_THAT(judged(), SizeIs(2));
  EXPECT_THAT(again.err, HasSubstr("copy.safetensors has the content of " +
                                   (runs() / "latest.safetensors: judged once").string()));
  EXPECT_THAT(settle(judge).err, Not(HasSubstr("judged once")));
}

TEST_F(WatchProgramTest, WhatWasStillToBeJudgedWhenTheEvaluatorWasEditedIsJudgedAsItIsNow) {
  const std::string judge = script("judge.sh", "#!/bin/sh\nexit 3\n");
  settle(judge);
  publish(1);
  EXPECT_EQ(settle(judge, {"--retries", "0"}).status, 5);
  EXPECT_EQ(run(command({"jobs", "retry", "1"})).status, 0);
  counting_program();  // the same file
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_THAT(judged(), SizeIs(1));
  EXPECT_THAT(jobs(), SizeIs(1)) << "the old job is forgotten";
  EXPECT_EQ(count("done"), 1U);
}

TEST_F(WatchProgramTest, AnEvaluatorThatIsEditedBackFindsAllThatWaits) {
  const std::string first = "#!/bin/sh\ntest -e go || exit 3\necho \"$1\" >> judged\necho 1\n";
  const std::string judge = script("judge.sh", first);
  const Words once{"--retries", "0"};
  settle(judge);
  publish(1);
  EXPECT_EQ(settle(judge, once).status, 5);
  EXPECT_EQ(run(command({"jobs", "retry", "1"})).status, 0);
  script("judge.sh", "#!/bin/sh\nexit 4\n");
  EXPECT_EQ(settle(judge, once).status, 5);
  EXPECT_EQ(run(command({"jobs", "retry", "--all"})).status, 0);
  script("judge.sh", first);
  write_file(directory_ / "go", "");
  EXPECT_EQ(settle(judge, once).status, 0);
  EXPECT_THAT(judged(), ElementsAre("1.safetensors"));
  EXPECT_THAT(jobs(), SizeIs(1));
}

TEST_F(WatchProgramTest, WhatAWatchWasAtThatWasKilledIsJudgedByTheEditedEvaluatorToo) {
  publish(1);
  const std::string judge = script("judge.sh", "#!/bin/sh\necho begun > begun\nexec sleep 60\n");
  {
    Process watcher(watch(judge, {"--existing"}), options());
    ASSERT_TRUE(soon([&] { return fs::exists(directory_ / "begun"); }));
    watcher.kill(SIGKILL);
    watcher.wait();
  }
  counting_program();  // the same file
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_THAT(judged(), SizeIs(1));
  EXPECT_THAT(jobs(), SizeIs(1));
}

TEST_F(WatchProgramTest, AnEvaluatorThatIsEditedWhileItIsWatchedWithIsAnotherOneFromThenOn) {
  const std::string waiting =
      "#!/bin/sh\necho begun >> begun\nwhile ! test -e go; do sleep 0.02; done\n"
      "echo \"old ${1##*/}\" >> judged\necho 1\n";
  const std::string judge = script("judge.sh", waiting);
  Process watcher(watch(judge, {"--existing"}), options());
  publish(1);
  ASSERT_TRUE(soon([&] { return fs::exists(directory_ / "begun"); }));
  publish(2);
  ASSERT_TRUE(soon([&] { return jobs().size() == 2; }));
  write_file(directory_ / "new.sh", "#!/bin/sh\necho \"new ${1##*/}\" >> judged\necho 2\n");
  fs::permissions(directory_ / "new.sh", fs::perms::owner_all);
  fs::rename(directory_ / "new.sh", judge);  // the old one runs on
  publish(3);
  ASSERT_TRUE(watcher.await([&] { return watcher.err().find("was edited") != std::string::npos; }));
  write_file(directory_ / "go", "");
  EXPECT_TRUE(soon([&] { return count("done") == 3; })) << watcher.err();
  publish(4);
  EXPECT_TRUE(soon([&] { return count("done") == 4; }));
  stop(watcher);
  EXPECT_THAT(judged_in_order(), ElementsAre("old 1.safetensors", "new 2.safetensors",
                                             "new 3.safetensors", "new 4.safetensors"));
  EXPECT_EQ(settle(judge, {"--existing"}).status, 0);
  EXPECT_THAT(judged(), SizeIs(5)) << "only the first was judged by the old one";
}

TEST_F(WatchProgramTest, OneWatchSeesWhatIsWrittenSlowlyOverwrittenAndReplaced) {
  const std::string judge = counting_program();
  Process watcher(watch(judge, {"--settle", "1.5"}),
                  {.directory = directory_.path(), .environment = {}});
  ASSERT_TRUE(soon([&] { return fs::exists(directory_ / "home/jobs.bell"); }));
  std::this_thread::sleep_for(milliseconds(200));
  {
    const std::string content = tensors(1);
    std::ofstream out(runs() / "slow.safetensors", std::ios::binary);
    for (const char byte : content) {
      out << byte << std::flush;
      std::this_thread::sleep_for(milliseconds(2));
    }
    EXPECT_THAT(judged(), IsEmpty());
  }
  EXPECT_TRUE(soon([&] { return judged().count("slow.safetensors") == 1; }));
  // In pieces, each of which closes the file, and of no known form.
  for (int i = 0; i < 6; ++i) {
    std::ofstream(runs() / "pieces.pt", std::ios::app) << "piece";
    EXPECT_EQ(judged().count("pieces.pt"), 0u);
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_TRUE(soon([&] { return judged().count("pieces.pt") == 1; }));
  fs::create_directories(runs() / "step_5/rank0");
  write_file(runs() / "step_5/rank0/w.safetensors", tensors(5).substr(0, 50));
  write_file(runs() / "step_5/.complete", "");
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(judged().count("step_5"), 0u);
  write_file(runs() / "step_5/rank0/w.safetensors", tensors(5));
  EXPECT_TRUE(soon([&] { return judged().count("step_5") == 1; }));
  fs::rename(runs(), directory_ / "away");
  fs::create_directories(runs());
  publish("after.safetensors", tensors(9));
  EXPECT_TRUE(soon([&] { return judged().count("after.safetensors") == 1; }));
  EXPECT_TRUE(soon([&] { return count("done") == 4; }));
  watcher.kill(SIGTERM);
  EXPECT_EQ(watcher.wait().status, 130);
  EXPECT_THAT(judged(), SizeIs(4));
}

TEST_F(WatchProgramTest, AFailureIsRetriedThenGivenUpAndCanBeTriedAgainByHand) {
  const std::string judge = script("judge.sh",
                                   "#!/bin/sh\necho looking at $1\n"
                                   "test -e ok && echo '{\"n\": 1}' && exit 0\n"
                                   "echo no data >&2\nexit 3\n");
  settle(judge);
  publish("a.safetensors", tensors(1));
  const auto result = settle(judge, {"--retries", "1"});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.out, HasSubstr("failed"));
  EXPECT_THAT(result.out, HasSubstr("dead"));
  EXPECT_THAT(result.out, HasSubstr("ended with status 3"));
  EXPECT_EQ(count("dead"), 1u);
  const auto logs = run(command({"jobs", "logs", "1"}));
  EXPECT_THAT(logs.out, HasSubstr("looking at"));
  EXPECT_THAT(logs.out, HasSubstr("no data"));
  write_file(directory_ / "ok", "");
  EXPECT_EQ(run(command({"jobs", "retry", "1"})).out, "1 job queued again\n");
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_EQ(count("done"), 1u);
  EXPECT_EQ(run(command({"jobs", "drop", "--all"})).out, "1 job forgotten\n");
  EXPECT_THAT(jobs(), IsEmpty());
}

TEST_F(WatchProgramTest, AnEvaluationThatTakesTooLongIsEndedWithAllItStarted) {
  const std::string judge = script("judge.sh", "#!/bin/sh\nsleep 60 & echo $! > child\nwait\n");
  settle(judge);
  publish("a.safetensors", tensors(1));
  const auto result = settle(judge, {"--timeout", "0.5", "--retries", "0"});
  EXPECT_EQ(result.status, 5);
  EXPECT_THAT(result.out, HasSubstr("took longer than 0.5 s"));
  const pid_t child = std::stoi(read_file(directory_ / "child"));
  EXPECT_TRUE(soon([&] { return is_gone(child); }));
}

TEST_F(WatchProgramTest, FunctionsOfALibraryRunInAProcessThatMayCrash) {
  const std::string library = FLOR_JUDGE_LIBRARY;
  for (const char* symbol : {"size", "crash", "refuse", "nothing"}) settle(library + ":" + symbol);
  publish("a.safetensors", tensors(1));
  const auto good = settle(library + ":size", {"--workers", "2"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("bytes=" + std::to_string(tensors(1).size())));
  const std::vector<std::pair<std::string, std::string>> reasons{
      {"crash", "ended by signal 6"}, {"refuse", "these weights are no good"}, {"nothing", "null"}};
  for (const auto& [symbol, reason] : reasons) {
    const auto result = settle(library + ":" + symbol, {"--retries", "0"});
    EXPECT_EQ(result.status, 5);
    EXPECT_THAT(result.out, HasSubstr(reason));
  }
  const auto missing = settle(library + ":no_such_function");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("cannot be loaded"));
}

TEST_F(WatchProgramTest, PythonIsImportedOnceForManyCheckpoints) {
  const std::string file = script("judge.py", R"(
import os
open('imports', 'a').write('x')
def accuracy(path):
    print('judging', path)
    if 'bad' in path:
        raise ValueError('bad weights')
    if 'exit' in path:
        os._exit(3)
    return {'accuracy': 0.5, 'loss': float('nan'), 'nested': {'bytes': os.path.getsize(path)}}
)");
  settle(file + ":accuracy");
  fs::remove(directory_ / "imports");
  for (int i = 0; i < 10; ++i) publish("epoch_" + std::to_string(i) + ".safetensors", tensors(i));
  publish("bad.safetensors", tensors(100));
  publish("exit.safetensors", tensors(101));
  const auto result = settle(file + ":accuracy", {"--workers", "2", "--retries", "0"});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.out, HasSubstr("accuracy=0.5 loss=NaN nested.bytes="));
  EXPECT_THAT(result.out, HasSubstr("ValueError: bad weights (judge.py:"));
  EXPECT_EQ(read_file(directory_ / "imports"), "x");
  EXPECT_EQ(count("done"), 10u);
  EXPECT_EQ(count("dead"), 2u);
  const auto broken = settle(script("broken.py", "import no_such_module\n") + ":f");
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.err, HasSubstr("No module named 'no_such_module'"));
}

TEST_F(WatchProgramTest, TwoWatchersJudgeEveryCheckpointOnce) {
  const std::string judge = counting_program();
  settle(judge);
  const ProcessOptions options{.directory = directory_.path(), .environment = {}};
  Process first(watch(judge), options), second(watch(judge), options);
  std::this_thread::sleep_for(milliseconds(300));
  for (int i = 0; i < 40; ++i) publish(std::to_string(i) + ".safetensors", tensors(i));
  EXPECT_TRUE(soon([&] { return count("done") == 40; }));
  for (Process* watcher : {&first, &second}) {
    watcher->kill(SIGTERM);
    EXPECT_EQ(watcher->wait().status, 130);
  }
  EXPECT_THAT(judged(), SizeIs(40));
}

TEST_F(WatchProgramTest, AWatcherThatIsKilledLosesNothingAndLeavesNobodyBehind) {
  const std::string judge = script("judge.sh",
                                   "#!/bin/sh\necho $$ >> pids\nsleep 0.05\necho \"$1\" >> judged\n"
                                   "echo '{\"n\": 1}'\n");
  settle(judge);
  for (int i = 0; i < 20; ++i) publish(std::to_string(i) + ".safetensors", tensors(i));
  for (int round = 0; round < 5; ++round) {
    Process watcher(watch(judge, {"--workers", "2"}),
                    {.directory = directory_.path(), .environment = {}});
    std::this_thread::sleep_for(milliseconds(60 + 40 * round));
    watcher.kill(SIGKILL);
    EXPECT_EQ(watcher.wait().signal, SIGKILL);
  }
  EXPECT_EQ(settle(judge, {"--workers", "2"}).status, 0);
  EXPECT_EQ(count("done"), 20u);
  const auto all = judged();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 20u);
  std::ifstream pids(directory_ / "pids");
  for (pid_t pid = 0; pids >> pid;) {
    EXPECT_TRUE(soon([&] { return is_gone(pid); }));
  }
}

TEST_F(WatchProgramTest, WrongUsageIsOneLineAndWritesNothing) {
  const std::string judge = counting_program();
  const std::vector<std::vector<std::string>> wrong{
      {"watch"},
      {"watch", runs().string()},
      {"watch", runs().string(), "-e", judge, "--order", "random"},
      {"watch", runs().string(), "-e", judge, "--timeout", "soon"},
      {"watch", runs().string(), "-e", judge, "--workers", "0"},
      {"jobs", "explode"},
      {"jobs", "--state", "asleep"}};
  for (const auto& words : wrong) {
    const auto result = run(command(words));
    EXPECT_TRUE(result.status == 2 || (words[0] == "jobs" && result.status == 3)) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  // A directory that is not there is made; below a file it cannot be, not even by root.
  std::ofstream(directory_ / "file") << "no directory";
  EXPECT_EQ(run(command({"watch", (directory_ / "file/below").string(), "-e", judge})).status, 3);
  EXPECT_EQ(run(watch("/nowhere/judge.py:f")).status, 3);
}

}  // namespace
}  // namespace flor::testing
