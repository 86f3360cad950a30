// `flor watch --engine`: evaluations in seats that something else has started. Here that is a
// script which starts them on this machine, so that each of them can be ended; with Slurm see
// watch_slurm_test.cpp.
#include "support/times.h"
#include "watch_fixture.h"

#include <algorithm>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WatchClusterTest : public WatchTest {
 protected:
  ProcessOptions options() const {
    ProcessOptions result = WatchTest::options();
    result.environment["FLOR_PATIENCE"] = "2";
    return result;
  }
  /// Starts so many seats and notes their processes.
  std::string engine(int seats) {
    return "run:" + script("start.sh", "#!/bin/sh\nfor i in $(seq " + std::to_string(seats) +
                                           "); do \"$@\" & echo $! >> seats; done; wait\n");
  }
  std::vector<pid_t> seats() const {
    std::vector<pid_t> all;
    std::ifstream in(directory_ / "seats");
    for (pid_t pid = 0; in >> pid;) all.push_back(pid);
    return all;
  }
  /// Notes who judged what, and takes a while.
  std::string slow_program(const std::string& seconds) {
    return script("judge.sh", "#!/bin/sh\nsleep " + seconds + "\necho \"${1##*/}\" >> '" +
                                  (directory_ / "judged").string() + "'\necho '{\"n\": 1}'\n");
  }
  ProcessResult settle(const std::string& evaluator, Words more = {}) {
    more.emplace_back("--until-idle");
    return Process(watch(evaluator, more), options()).wait();
  }
  void expect_nobody_is_left() {
    EXPECT_TRUE(soon([&] { return processes_with(mark()).empty(); }));
  }
};

TEST_F(WatchClusterTest, EveryCheckpointIsJudgedOnceBySeatsThatNeverOpenTheStore) {
  // Its parent is the worker, whose parent is the seat.
  const std::string judge =
      script("judge.sh",
             "#!/bin/sh\nseat=$(awk '/^PPid/ {print $2}' /proc/$PPID/status)\n"
             "tr '\\0' ' ' < /proc/$seat/cmdline | grep -q __judge || exit 3\n"
             "ls -l /proc/$seat/fd /proc/$PPID/fd | grep -q catalog && exit 4\n"
             "echo \"${1##*/}\" >> judged\necho \"{\\\"told\\\": ${FLOR_ARGUMENTS:-0}}\"\n");
  for (int i = 0; i < 40; ++i) publish(i);
  const auto result = settle(judge, {"--existing", "--workers", "3", "--retries", "0", "--engine",
                                     engine(3), "--arguments", R"({"k": 7})"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(judged(), SizeIs(40));
  EXPECT_EQ(count("done"), 40u);
  EXPECT_EQ(times(result.out, "told.k=7"), 40u);
  expect_nobody_is_left();
  EXPECT_THAT(seats(), SizeIs(3));
}

TEST_F(WatchClusterTest, FailuresAndLogsAreWhatTheyAreOnThisMachine) {
  const std::string judge = script("judge.sh",
                                   "#!/bin/sh\necho looking\ntest -e ok && echo 1 && exit 0\n"
                                   "exit 3\n");
  publish(1);
  const Words more{"--existing", "--engine", engine(1), "--retries", "1"};
  const auto failed = settle(judge, more);
  EXPECT_EQ(failed.status, 5) << failed.err;
  EXPECT_THAT(failed.out, HasSubstr("ended with status 3"));
  EXPECT_THAT(run(command({"jobs", "logs", "1"})).out, HasSubstr("looking"));
  write_file(directory_ / "ok", "");
  EXPECT_EQ(run(command({"jobs", "retry", "1"})).status, 0);
  EXPECT_EQ(settle(judge, more).status, 0);
  const auto broken = settle(script("broken.py", "import no_such_module\n") + ":f", more);
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.err, HasSubstr("No module named 'no_such_module'"));
  expect_nobody_is_left();
}

TEST_F(WatchClusterTest, WhatASeatWasAtThatIsKilledOrStoppedAnotherOneJudges) {
  const std::string judge = slow_program("0.3");
  for (int i = 0; i < 12; ++i) publish(i);
  Process watcher(
      watch(judge, {"--existing", "--workers", "3", "--engine", engine(3), "--until-idle"}),
      options());
  ASSERT_TRUE(soon([&] { return judged().size() >= 3; })) << watcher.err();
  const auto all = seats();
  ASSERT_THAT(all, SizeIs(3));
  ::kill(all[0], SIGKILL);
  ::kill(all[1], SIGSTOP);  // says nothing any more, but comes back
  EXPECT_TRUE(soon([&] { return times(watcher.err(), "has been silent") == 2; }));
  ::kill(all[1], SIGCONT);
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(count("done"), 12u);
  EXPECT_EQ(times(result.out, " done "), 12u) << "each result counts once";
  const auto names = judged();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 12u);
  expect_nobody_is_left();
}

TEST_F(WatchClusterTest, ASeatThatIsAskedToLeaveGivesBackWhatItIsAtAtOnce) {
  const std::string judge =
      script("judge.sh",
             "#!/bin/sh\necho begun >> begun\nwhile ! test -e go; do sleep 0.02; done\n"
             "echo \"${1##*/}\" >> judged\necho 1\n");
  publish(1);
  auto patient = options();
  patient.environment["FLOR_PATIENCE"] = "600";
  Process watcher(
      watch(judge, {"--existing", "--workers", "2", "--engine", engine(2), "--until-idle"}),
      patient);
  ASSERT_TRUE(soon([&] { return fs::exists(directory_ / "begun") && seats().size() == 2; }));
  for (const pid_t seat : seats()) {
    ::kill(seat, SIGTERM);
    if (soon([&] { return watcher.err().find("was taken away") != std::string::npos; })) break;
  }
  write_file(directory_ / "go", "");
  EXPECT_EQ(watcher.wait().status, 0);
  EXPECT_EQ(count("done"), 1u);
}

TEST_F(WatchClusterTest, SeatsLeaveAWatchThatWasKilledAndTheNextOneJudgesTheRest) {
  const std::string judge = slow_program("0.2");
  for (int i = 0; i < 8; ++i) publish(i);
  const Words more{"--existing", "--workers", "2", "--engine", engine(2)};
  {
    Process watcher(watch(judge, more), options());
    ASSERT_TRUE(soon([&] { return judged().size() >= 2; }));
    watcher.kill(SIGKILL);
    watcher.wait();
  }
  expect_nobody_is_left();
  const auto result = settle(judge, more);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(count("done"), 8u);
  expect_nobody_is_left();
}

TEST_F(WatchClusterTest, SeatsAreGivenBackWhileThereIsNothingToJudgeAndAreBegunAnew) {
  const std::string judge = slow_program("0");
  Process watcher(watch(judge, {"--existing", "--engine", engine(1), "--idle", "0.3"}), options());
  publish(1);
  EXPECT_TRUE(soon([&] { return seats().size() == 1 && is_gone(seats()[0]); }));
  EXPECT_EQ(count("done"), 1u);
  publish(2);
  EXPECT_TRUE(soon([&] { return count("done") == 2; }));
  EXPECT_THAT(seats(), SizeIs(2));
  stop(watcher);
  expect_nobody_is_left();
}

TEST_F(WatchClusterTest, AWatchThatIsEndedEndsItsSeatsAndGivesBackWhatTheyWereAt) {
  const std::string judge = script("judge.sh", "#!/bin/sh\necho begun >> begun\nexec sleep 60\n");
  publish(1);
  Process watcher(watch(judge, {"--existing", "--engine", engine(2), "--workers", "2"}), options());
  ASSERT_TRUE(soon([&] { return fs::exists(directory_ / "begun"); }));
  stop(watcher);
  EXPECT_EQ(count("queued"), 1u);
  expect_nobody_is_left();
}

TEST_F(WatchClusterTest, WhatCannotBeStartedIsOneLine) {
  publish(1);
  const std::string judge = slow_program("0");
  const auto none = settle(judge, {"--existing", "--engine", "run:no-such-program"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no-such-program"));
  const auto dies = settle(judge, {"--existing", "--engine", "run:false"});
  EXPECT_EQ(dies.status, 1);
  EXPECT_THAT(dies.err, HasSubstr("has ended with status 1"));
  EXPECT_EQ(count("queued"), 1u);
  for (const Words& wrong :
       {Words{"--engine", "slurm", "--gpus", "0"}, Words{"--partition", "main"},
        Words{"--engine", "moon"}, Words{"--engine", "slurm", "--as", "reference"}}) {
    const auto result = settle(judge, wrong);
    EXPECT_EQ(result.status, 2) << result.err;
  }
}

}  // namespace
}  // namespace flor::testing
