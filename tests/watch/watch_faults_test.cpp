// Evaluators that hang, flood or fail, disks that are full, and processes that are killed.
#include "watch_fixture.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WatchFaultsTest : public WatchTest {
 protected:
  void expect_nobody_is_left() {
    EXPECT_TRUE(soon([&] { return processes_with(mark()).empty(); }));
  }
  /// From now on every write to a file fails; or works again.
  static void fill_disk_of(const Process& process, bool full) {
    rlimit limit{};
    ::prlimit(process.pid(), RLIMIT_FSIZE, nullptr, &limit);
    limit.rlim_cur = full ? 0 : limit.rlim_max;
    ASSERT_EQ(::prlimit(process.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  /// Judges when the file `go` is there.
  std::string waiting_program() {
    return script("judge.sh",
                  "#!/bin/sh\necho begun >> begun\nwhile ! test -e go; do sleep 0.02; done\n"
                  "echo \"$1\" >> judged\necho '{\"n\": 1}'\n");
  }
  bool has_begun() const { return fs::exists(directory_ / "begun"); }
};

TEST_F(WatchFaultsTest, ResultsOutliveAFullDisk) {
  ::signal(SIGXFSZ, SIG_IGN);  // the watch inherits that: it sees an error instead
  publish(1);
  Process watcher(watch(waiting_program(), {"--existing"}), options());
  ASSERT_TRUE(soon([&] { return has_begun(); }));
  fill_disk_of(watcher, true);
  write_file(directory_ / "go", "");
  ASSERT_TRUE(soon([&] { return judged().size() == 1; }));
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(count("leased"), 1u);
  fill_disk_of(watcher, false);
  EXPECT_TRUE(soon([&] { return count("done") == 1; }));
  publish(2);
  EXPECT_TRUE(soon([&] { return count("done") == 2; }));
  EXPECT_THAT(judged(), SizeIs(2)) << "nothing was judged twice";
  EXPECT_THAT(watcher.out(), HasSubstr("1 done"));
  stop(watcher);
}

TEST_F(WatchFaultsTest, AWatchThatIsStoppedWhileTheDiskIsFullFailsAndTheNextOneJudgesAgain) {
  ::signal(SIGXFSZ, SIG_IGN);
  publish(1);
  const std::string judge = waiting_program();
  {
    Process watcher(watch(judge, {"--existing"}), options());
    ASSERT_TRUE(soon([&] { return has_begun(); }));
    fill_disk_of(watcher, true);
    write_file(directory_ / "go", "");
    ASSERT_TRUE(soon([&] { return judged().size() == 1; }));
    std::this_thread::sleep_for(milliseconds(300));
    watcher.kill(SIGTERM);
    EXPECT_EQ(watcher.wait().status, 1);
  }
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_EQ(count("done"), 1u);
  expect_nobody_is_left();
}

TEST_F(WatchFaultsTest, AProgramThatFloodsItsOutputCostsNeitherMemoryNorItsResult) {
  publish(1);
  const std::string judge =
      script("judge.sh", "#!/bin/sh\nhead -c 200000000 /dev/zero\necho\necho '{\"n\": 1}'\n");
  const auto result = settle(judge, {"--existing"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("n=1"));
  EXPECT_LT(result.peak_kib, 100'000);
}

TEST_F(WatchFaultsTest, OfALogThatGrowsTheEndIsKept) {
  publish(1);
  const auto result =
      settle(std::string(FLOR_JUDGE_LIBRARY) + ":noisy", {"--existing", "--retries", "0"});
  EXPECT_EQ(result.status, 0) << result.err;
  const fs::path log = directory_ / "home/logs/jobs/1.1.log";
  EXPECT_LT(fs::file_size(log), 64u << 20);
  // At the beginning, unless it was being written just then.
  EXPECT_NE(read_file(log).find("[flor: the first 64 MiB were removed]\n"), std::string::npos);
}

TEST_F(WatchFaultsTest, AnEvaluatorThatHangsWhileItIsImportedCanBeInterrupted) {
  const std::string file = script("judge.py",
                                  "import subprocess, time\nopen('begun', 'w')\n"
                                  "time.sleep(1000)\ndef f(path): return 1\n");
  for (const int signal : {SIGINT, SIGTERM}) {
    Process watcher(watch(file + ":f"), options());
    ASSERT_TRUE(soon([&] { return has_begun(); }));
    fs::remove(directory_ / "begun");
    watcher.kill(signal);
    EXPECT_EQ(watcher.wait().status, 130);
    expect_nobody_is_left();
  }
  {
    Process watcher(watch(file + ":f"), options());
    ASSERT_TRUE(soon([&] { return has_begun(); }));
    watcher.kill(SIGKILL);
    watcher.wait();
    expect_nobody_is_left();
  }
}

TEST_F(WatchFaultsTest, WhatCannotBeLoadedIsOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {script("dies.py", "import os\nos._exit(3)\n") + ":f", "its process ended with status 3"},
      {script("empty.py", "x = 1\n") + ":f", "no attribute 'f'"},
      {script("wrong.py", "def f(:\n") + ":f", "SyntaxError"}};
  for (const auto& [spec, reason] : cases) {
    const auto result = run(watch(spec));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  auto without_python = options();
  without_python.environment["PATH"] = directory_.path().string();
  const auto result = Process(watch(script("judge.py", "") + ":f"), without_python).wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("python3 cannot be started"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(WatchFaultsTest, AWatchThatFailsGivesBackWhatItWasAt) {
  publish(1);
  const std::string late = script("late.py",
                                  "import os, time\nwhile not os.path.exists('begun'): "
                                  "time.sleep(0.02)\nraise ValueError('too late')\n");
  const auto result = run(watch(waiting_program(), {"--existing", "--evaluator", late + ":f"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("too late"));
  EXPECT_TRUE(has_begun());
  EXPECT_EQ(count("leased"), 0u);
  EXPECT_EQ(count("queued"), 2u);
  expect_nobody_is_left();
}

TEST_F(WatchFaultsTest, WhatCameOutBeforeAnEvaluatorCouldNotGoOnCounts) {
  fs::create_directories(directory_ / "bin");
  const auto where = run({"python3", "-c", "import sys; print(sys.executable)"}).out;
  fs::create_symlink(where.substr(0, where.find('\n')), directory_ / "bin/python3");
  const std::string file =
      script("judge.py",
             "import os\nopen('server', 'w').write(str(os.getpid()))\n"
             "def f(path):\n    open('begun', 'a').write('x')\n"
             "    open('never' if '2' in os.path.basename(path) else 'go').read()\n"
             "    open('judged', 'a').write(path + '\\n')\n    return 1\n");
  for (const char* fifo : {"go", "never"}) {  // reading one waits for its writer
    ASSERT_EQ(::mkfifo((directory_ / fifo).c_str(), 0600), 0);
  }
  publish(1);
  publish(2);
  auto alone = options();
  alone.environment["PATH"] = (directory_ / "bin").string();
  Process watcher(watch(file + ":f", {"--existing", "--workers", "2"}), alone);
  ASSERT_TRUE(soon([&] { return read_file(directory_ / "begun") == "xx"; })) << watcher.err();
  watcher.kill(SIGSTOP);
  write_file(directory_ / "go", "");
  ASSERT_TRUE(soon([&] { return judged().size() == 1; }));
  std::this_thread::sleep_for(milliseconds(300));  // until it has said so
  fs::remove(directory_ / "bin/python3");
  ::kill(std::stoi(read_file(directory_ / "server")), SIGKILL);
  watcher.kill(SIGCONT);
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("python3 cannot be started"));
  EXPECT_EQ(count("done"), 1u) << result.err;
  expect_nobody_is_left();
}

TEST_F(WatchFaultsTest, AnEvaluationMayTakeLongerThanItsLease) {
  publish(1);
  const std::string judge = waiting_program();
  const Words words = watch(judge, {"--existing", "--lease", "0.3"});
  Process first(words, options()), second(words, options());
  ASSERT_TRUE(soon([&] { return has_begun(); }));
  std::this_thread::sleep_for(milliseconds(1500));
  write_file(directory_ / "go", "");
  EXPECT_TRUE(soon([&] { return count("done") == 1; }));
  EXPECT_EQ(read_file(directory_ / "begun"), "begun\n") << "nobody else began";
  stop(first);
  stop(second);
}

TEST_F(WatchFaultsTest, AWatchThatStopsAnsweringLosesItsJobAndItsLateResultDoesNotCount) {
  publish(1);
  const std::string judge = waiting_program();
  const Words words = watch(judge, {"--existing", "--lease", "0.3"});
  Process first(words, options());
  ASSERT_TRUE(soon([&] { return has_begun(); }));
  first.kill(SIGSTOP);
  Process second(words, options());
  EXPECT_TRUE(soon([&] { return read_file(directory_ / "begun") == "begun\nbegun\n"; }));
  write_file(directory_ / "go", "");
  EXPECT_TRUE(soon([&] { return count("done") == 1; }));
  first.kill(SIGCONT);
  EXPECT_TRUE(soon([&] {
    return first.err().find("not wanted any more") != std::string::npos ||
           first.err().find("called off") != std::string::npos;
  }));
  stop(first);
  stop(second);
  EXPECT_EQ(count("done"), 1u);
}

TEST_F(WatchFaultsTest, NobodyIsLeftBehindWhoeverIsKilled) {
  const std::string program =
      script("judge.sh", "#!/bin/sh\nsleep 1000 &\necho begun >> begun\nwait\n");
  const std::string python =
      script("judge.py",
             "import subprocess\ndef f(path):\n    child = subprocess.Popen(['sleep', '1000'])\n"
             "    open('begun', 'w')\n    child.wait()\n    return 1\n") +
      ":f";
  for (const std::string& judge : {program, python}) {
    publish(1);
    for (const int signal : {SIGKILL, SIGTERM}) {
      Process watcher(watch(judge, {"--existing"}), options());
      ASSERT_TRUE(soon([&] { return has_begun(); }));
      fs::remove(directory_ / "begun");
      watcher.kill(signal);
      watcher.wait();
      expect_nobody_is_left();
    }
  }
}

TEST_F(WatchFaultsTest, AServerOfPythonThatIsKilledIsStartedAgain) {
  const std::string file =
      script("judge.py",
             "import os\nopen('server', 'w').write(str(os.getpid()))\n"
             "def f(path):\n    open('judged', 'a').write(path + '\\n')\n    return 1\n");
  Process watcher(watch(file + ":f", {"--existing"}), options());
  wait_until_it_watches();
  const std::string server = read_file(directory_ / "server");
  ::kill(std::stoi(server), SIGKILL);
  EXPECT_TRUE(soon([&] { return read_file(directory_ / "server") != server; }));
  publish(1);
  EXPECT_TRUE(soon([&] { return count("done") == 2; }));
  stop(watcher);
  expect_nobody_is_left();
}

TEST_F(WatchFaultsTest, AWatchThatIsStoppedLeavesNothingBehindAndRevivesNothing) {
  publish(1);
  Process watcher(watch(waiting_program(), {"--existing"}), options());
  ASSERT_TRUE(soon([&] { return has_begun(); }));
  stop(watcher);
  expect_nobody_is_left();
  EXPECT_EQ(count("queued"), 1u) << "it was given back";
  fs::create_directories(directory_ / "other");
  const auto other = run(command({"watch", (directory_ / "other").string(), "--evaluator",
                                  counting_program(), "--until-idle"}));
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(judged(), IsEmpty()) << "another evaluator, another directory";
}

TEST_F(WatchFaultsTest, ADirectoryThatIsNotThereYetIsMadeAndWatched) {
  std::filesystem::remove(runs());
  const std::string judge = counting_program();
  const auto result = settle(judge);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("runs was not there yet: made"));
  publish(1);
  EXPECT_THAT(settle(judge).out, HasSubstr("1.safetensors n=1"));
}

TEST_F(WatchFaultsTest, ACopyOfWhatWasJudgedIsNamed) {
  const std::string judge = counting_program();
  publish(1);
  EXPECT_EQ(settle(judge, {"--existing"}).status, 0);
  fs::copy_file(runs() / "1.safetensors", runs() / "copy.safetensors");
  publish(2);
  const auto result = settle(judge, {"--existing"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("copy.safetensors has the content of "));
  EXPECT_THAT(result.err, HasSubstr("1.safetensors: judged once, not again\n"));
  EXPECT_THAT(judged_in_order(), ElementsAre("1.safetensors", "2.safetensors"));
}

// A child that came back would read jobs and answer them beside its parent: every later result
// would stand under another checkpoint.
TEST_F(WatchFaultsTest, AForkedChildNeverAnswersForItsParent) {
  for (const char* end : {"sys.exit(0)", "return {'n': -1}", "raise ValueError()", "os._exit(0)"}) {
    for (const Words& flags : std::vector<Words>{{}, {"--fresh"}}) {
      const std::string judge =
          script("judge.py", std::string("import os, sys\ndef f(path):\n"
                                         "    n = int(os.path.basename(path).split('.')[0])\n"
                                         "    if n == 2 and os.fork() == 0:\n        ") +
                                 end + "\n    return {'n': n}\n# " + std::to_string(flags.size())) +
          ":f";
      for (int number = 1; number <= 6; ++number) publish(number);
      Words arguments{"--existing"};
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      const auto result = settle(judge, arguments);
      EXPECT_EQ(result.status, 0) << result.err;
      for (int number = 1; number <= 6; ++number) {
        EXPECT_THAT(result.out, HasSubstr(std::to_string(number) +
                                          ".safetensors n=" + std::to_string(number) + " "))
            << end;
      }
    }
  }
}

TEST_F(WatchFaultsTest, AnEvaluationFindsWhatTheFirstOneFound) {
  const std::string text =
      "import os, sys\ncount = 0\n"
      "def place():\n    return os.getcwd(), {k: v for k, v in os.environ.items() "
      "if not k.startswith('FLOR_')}\nfirst = place()\ndef f(path):\n"
      "    global count\n    count += 1\n"
      "    found = {'here': place() == first, 'count': count, 'out': not sys.stdout.closed}\n"
      "    os.chdir('/')\n    os.environ['LEFT'] = '1'\n    os.environ.pop('PATH')\n"
      "    sys.stdout.close()\n    os.close(1)\n    os.close(2)\n    return found\n";
  for (int number = 1; number <= 4; ++number) publish(number);
  const auto kept = settle(script("judge.py", text) + ":f", {"--existing"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("count=4"));
  EXPECT_THAT(kept.out, Not(HasSubstr("=false")));
  const auto fresh =
      settle(script("judge.py", text + "# again\n") + ":f", {"--existing", "--fresh"});
  EXPECT_EQ(fresh.status, 0) << fresh.err;
  EXPECT_THAT(fresh.out, Not(HasSubstr("count=2")));
  EXPECT_THAT(fresh.out, Not(HasSubstr("=false")));
}

}  // namespace
}  // namespace flor::testing
