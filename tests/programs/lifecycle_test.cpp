// How a recording lives and ends: with its program, whatever the program does.
#include "support/soon.h"
#include "workbench.h"

#include <chrono>
#include <thread>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Lifecycle : public ::testing::Test {
 protected:
  ProcessResult record(const std::string& what) {
    return bench_.run("lifecycle", {"--flor", "test", what});
  }
  /// Waits for something that another process does; false after ten seconds.
  template <typename Condition>
  static bool eventually(Condition&& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool has_run() const {
    try {
      return bench_.run_count() == 1;
    } catch (const Error&) {  // no store yet
      return false;
    }
  }

  Workbench bench_;
};

TEST_F(Lifecycle, WithoutFlagsNothingIsWrittenAnywhere) {
  const auto before = bench_.repository().run_git({"status", "--porcelain", "--ignored"});
  auto options = bench_.options();
  options.environment["FLOR_HOME"] = std::nullopt;
  const auto result = bench_.run("trainer", {}, options);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
  EXPECT_TRUE(std::filesystem::is_empty(bench_.repository().home()));
  EXPECT_EQ(bench_.repository().run_git({"status", "--porcelain", "--ignored"}), before);
  EXPECT_EQ(bench_.repository().git_line({"for-each-ref", "--format=%(refname)"}),
            "refs/heads/main");
}

TEST_F(Lifecycle, ARecordingComputesWhatThePlainProgramComputes) {
  EXPECT_EQ(bench_.record("trainer").out, bench_.run("trainer", {}).out);
}

TEST_F(Lifecycle, OnlyFlorsFlagsAreTakenOutOfTheArguments) {
  const auto result =
      bench_.run("lifecycle", {"plain", "--verbose", "--flor", "test", "-x=1", "--lr", "0.5",
                               "--kwargs", "a=1", "tail", "", "query"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(
      lines_with(result.out, {"argument", "termin"}),
      ElementsAre("argument plain", "argument --verbose", "argument -x=1", "argument --lr",
                  "argument 0.5", "argument tail", "argument ", "argument query", "terminated"));
}

TEST_F(Lifecycle, NothingAfterTheDoubleDashIsFlors) {
  const auto result =
      bench_.run("lifecycle", {"plain", "--", "--flor", "x", "--replay_flor", "--florist"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(lines_with(result.out, {"argument"}),
              ElementsAre("argument plain", "argument --", "argument --flor", "argument x",
                          "argument --replay_flor", "argument --florist"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
}

TEST_F(Lifecycle, ExitInMidRunKeepsWhatWasRecorded) {
  const auto result = record("exit");
  EXPECT_EQ(result.status, 3);
  const auto run = bench_.last_run();
  EXPECT_EQ(run.state, store::RunState::failed);
  EXPECT_THAT(run.message, HasSubstr("status 3"));
  EXPECT_EQ(run.epochs, 2);
  EXPECT_EQ(bench_.values("value").size(), 9u) << "the values of the third epoch, too";
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(Lifecycle, ExitWithZeroIsNoFailure) {
  EXPECT_EQ(record("exit_well").status, 0);
  EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
}

TEST_F(Lifecycle, AnUncaughtExceptionFailsTheRunAndEndsTheProgramAsEver) {
  const auto plain = bench_.run("lifecycle", {"throw"});
  const auto result = record("throw");
  EXPECT_EQ(result.signal, plain.signal);
  EXPECT_EQ(result.status, plain.status);
  EXPECT_THAT(result.err, HasSubstr("what():  out of data"));
  const auto run = bench_.last_run();
  EXPECT_EQ(run.state, store::RunState::failed);
  EXPECT_EQ(run.message, "out of data");
  EXPECT_EQ(run.epochs, 2);
  EXPECT_EQ(bench_.values("value").size(), 9u);
}

// The background writes what the replay has logged so far, with the lock that the catalog held when
// it threw.
TEST_F(Lifecycle, AnExceptionOfTheCatalogThatNobodyCatchesEndsAReplayAndKeepsItsValues) {
  const Words slow{"--kwargs", "epochs=100", "evaluate=20000", "mib=1"};
  ASSERT_EQ(bench_.run("paced", Words{"--flor", "test", "--flor_every", "1"} + slow).status, 0);
  // Is there before the replay: to start it would take as long as the replay on a busy machine.
  Process deletes({"python3", "-c",
                   "import sqlite3, sys, time\n"
                   "catalog = sqlite3.connect(sys.argv[1], timeout=60)\n"
                   "print('ready', flush=True)\n"
                   "while catalog.execute('SELECT count(*) FROM replay').fetchone()[0] == 0:\n"
                   "    time.sleep(0.001)\n"
                   "catalog.execute('DELETE FROM checkpoint')\n"
                   "catalog.commit()\n",
                   (bench_.home() / "catalog.db").string()},
                  bench_.options());
  ASSERT_TRUE(deletes.await([&] { return deletes.out() == "ready\n"; })) << deletes.err();
  const auto replay = bench_.start("paced", {"--replay_flor"});
  const ProcessResult deleted = deletes.wait();
  ASSERT_EQ(deleted.status, 0) << deleted.err;
  const ProcessResult result = replay->wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("there is no checkpoint"));
}

TEST_F(Lifecycle, AnExceptionOfAnyTypeFailsTheRun) {
  const auto result = record("throw_int");
  EXPECT_EQ(result.signal, SIGABRT);
  EXPECT_EQ(bench_.last_run().state, store::RunState::failed);
}

TEST_F(Lifecycle, AnExceptionThatIsCaughtIsTheProgramsOwnAffair) {
  const auto result = record("catch");
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(bench_.last_run().epochs, 2);
}

// `main` catches, says what happened, and returns 1: the session ends before the status is known.
TEST_F(Lifecycle, ARunWhoseProgramReturnsAFailureCanBeResumed) {
  const auto result = record("catch");
  EXPECT_THAT(result.err, HasSubstr("counts as failed; --flor test --flor_resume goes on with it"));
  EXPECT_EQ(bench_.last_run().state, store::RunState::failed);
  EXPECT_THAT(bench_.last_run().message, HasSubstr("status 5"));
  const auto resumed = bench_.run("lifecycle", {"catch", "--flor", "test", "--flor_resume"});
  EXPECT_THAT(resumed.err, HasSubstr("resuming run"));
  EXPECT_EQ(resumed.status, 5);
  EXPECT_EQ(bench_.store()->catalog().runs().size(), 1u);
}

TEST_F(Lifecycle, AbortLeavesAnInterruptedRunThatReplays) {
  EXPECT_EQ(record("abort").signal, SIGABRT);
  EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
  EXPECT_EQ(bench_.replay("lifecycle", {"plain"}).status, 0);
  EXPECT_THAT(bench_.values("value", false), IsEmpty()) << "of epochs that were never recorded";
}

// Defect 21: the forked writer returned into the user's code, which then ran twice.
TEST_F(Lifecycle, AForkedChildDoesNotEndTheSessionOfItsParent) {
  const auto result = record("fork");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("child 0"));
  const auto run = bench_.last_run();
  EXPECT_EQ(run.state, store::RunState::finished);
  EXPECT_EQ(run.epochs, 4);
  EXPECT_THAT(bench_.values("child"), IsEmpty()) << "the session is the parent's";
  EXPECT_EQ(lines_with(result.out, {"tail 3"}).size(), 1u) << "nothing runs twice";
}

TEST_F(Lifecycle, OtherThreadsMayLogAndTheirLoopsArePlainOnes) {
  const auto result = record("thread");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(bench_.values("thread").size(), 2u);
  EXPECT_EQ(bench_.last_run().epochs, 4);
}

TEST_F(Lifecycle, AfterFinishTheProgramGoesOnWithoutFlor) {
  const auto result = record("finish");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("late 1"));
  EXPECT_THAT(bench_.values("too_late"), IsEmpty());
  EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
}

TEST_F(Lifecycle, ARunIsRunningWhileItsProcessLivesAndInterruptedTheMomentItIsKilled) {
  const auto process =
      bench_.start("trainer", {"--flor", "test", "--kwargs", "pause_ms=5", "epochs=10000"});
  ASSERT_TRUE(eventually([&] { return has_run() && bench_.last_run().epochs > 1; }));
  EXPECT_EQ(bench_.last_run().state, store::RunState::running);
  const auto busy = bench_.replay("trainer", {"--flor_run", "test"});
  EXPECT_EQ(busy.status, 6);
  EXPECT_THAT(busy.err, SaysOnce("is still being recorded"));
  process->kill(SIGKILL);
  EXPECT_EQ(process->wait().signal, SIGKILL);
  EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
}

// Defect 14: everything was written at the end, so a killed run left nothing.
TEST_F(Lifecycle, AKilledRunKeepsItsEpochsAndTheirValues) {
  const auto process =
      bench_.start("trainer", {"--flor", "test", "--kwargs", "pause_ms=5", "epochs=10000"});
  ASSERT_TRUE(eventually([&] { return has_run() && bench_.last_run().epochs >= 3; }));
  process->kill(SIGKILL);
  process->wait();
  const auto run = bench_.last_run();
  EXPECT_GE(run.epochs, 3);
  EXPECT_GE(bench_.values("mean").size(), static_cast<std::size_t>(run.epochs));
  EXPECT_THAT(bench_.damage(), IsEmpty());
  const auto replayed = bench_.replay("trainer", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("interrupted"));
  EXPECT_THAT(bench_.values("end"), IsEmpty()) << "the record never got there";
}

// Defect 16: what was committed was the code at the end of the run.
TEST_F(Lifecycle, TheCommittedSourcesAreThoseOfTheStart) {
  const auto process =
      bench_.start("trainer", {"--flor", "test", "--kwargs", "pause_ms=5", "epochs=20"});
  ASSERT_TRUE(eventually([&] { return has_run() && bench_.last_run().epochs >= 1; }));
  bench_.repository().write("train.cpp", "int main() { return 1; }\n");
  EXPECT_EQ(process->wait().status, 0);
  EXPECT_EQ(bench_.repository().run_git({"show", bench_.last_run().start.commit + ":train.cpp"}),
            "int main() {}\n");
}

// Defect 15: runs that started in the same second shared a journal and lost checkpoints.
TEST_F(Lifecycle, RunsThatStartTogetherAreAllKept) {
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 6; ++i) {
    processes.push_back(bench_.start("trainer", {"--flor", "test", "--flor_every", "1"}));
  }
  for (const auto& process : processes) {
    const auto result = process->wait();
    EXPECT_EQ(result.status, 0) << result.err;
  }
  const auto store = bench_.store();
  std::set<std::string> keys;
  for (const auto& run : store->catalog().runs()) {
    keys.insert(run.key);
    EXPECT_EQ(run.state, store::RunState::finished);
    EXPECT_GE(run.checkpoints, 13);
    EXPECT_EQ(run.start.commit.size(), 40u);
  }
  EXPECT_EQ(keys.size(), 6u);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

}  // namespace
}  // namespace flor::testing
