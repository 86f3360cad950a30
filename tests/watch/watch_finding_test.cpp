// Which checkpoints are found, and when: written slowly, by the hundred, behind the back of the
// kernel's events, or where there are none.
#include "watch_fixture.h"

#include <sstream>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class WatchFindingTest : public WatchTest {
 protected:
  using Writer = std::function<void(const std::string& piece)>;

  /// Writes `content` in pieces; what must not be judged before the last one.
  void write_slowly(const std::string& content, const std::string& name, const Writer& write) {
    constexpr std::size_t kPieces = 12;
    const std::size_t size = content.size() / kPieces + 1;
    for (std::size_t at = 0; at < content.size(); at += size) {
      EXPECT_EQ(judged().count(name), 0u) << name << " at " << at << " of " << content.size();
      write(content.substr(at, size));
      std::this_thread::sleep_for(milliseconds(15));
    }
  }
  /// The file stays open.
  void write_in_one_go(const std::string& name, const std::string& content) {
    fs::create_directories((runs() / name).parent_path());
    std::ofstream out(runs() / name, std::ios::binary);
    const std::string checkpoint = *fs::path(name).begin();
    write_slowly(content, checkpoint,
                 [&](const std::string& piece) { out << piece << std::flush; });
    EXPECT_EQ(judged().count(checkpoint), 0u) << "it is still open";
  }
  /// The file is closed after each piece.
  void write_piece_by_piece(const std::string& name, const std::string& content) {
    write_slowly(content, name, [&](const std::string& piece) {
      std::ofstream(runs() / name, std::ios::binary | std::ios::app) << piece;
    });
  }
  void expect_judged_once(const std::string& name) {
    EXPECT_TRUE(soon([&] { return judged().count(name) == 1; })) << name;
  }
  /// What torch.save writes, in small: a zip with one entry that is stored.
  static std::string archive(const std::string& content) {
    const auto little = [](std::uint32_t value, int bytes) {
      std::string text;
      for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
      return text;
    };
    const std::string name = "archive/data.pkl";
    const std::string data = content + std::string(500 - content.size(), 'd');
    const std::string sizes = little(0, 4) + little(500, 4) + little(500, 4) + little(16, 2);
    std::string zip = "PK\x03\x04" + little(20, 2) + little(0, 2) + little(0, 2) + little(0, 4) +
                      sizes + little(0, 2) + name + data;
    const auto directory = static_cast<std::uint32_t>(zip.size());
    zip += "PK\x01\x02" + little(20, 2) + little(20, 2) + little(0, 2) + little(0, 2) +
           little(0, 4) + sizes + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 2) +
           little(0, 4) + little(0, 4) + name;
    const auto end = static_cast<std::uint32_t>(zip.size());
    return zip + "PK\x05\x06" + little(0, 4) + little(1, 2) + little(1, 2) +
           little(end - directory, 4) + little(directory, 4) + little(0, 2);
  }
};

TEST_F(WatchFindingTest, WhatIsWrittenSlowlyIsJudgedOnceItIsCompleteAndNeverBefore) {
  Process watcher(watch(counting_program(), {"--settle", "0.5", "--existing"}), options());
  wait_until_it_watches();
  for (const char* name : {"a.pt", "a.pth", "a.ckpt", "a.model", "a.state"}) {
    write_in_one_go(name, archive(name));
    expect_judged_once(name);
  }
  write_piece_by_piece("pieces.pt", archive("pieces"));
  expect_judged_once("pieces.pt");
  write_piece_by_piece("unknown.pt", "of no form that is known: it has to settle");
  expect_judged_once("unknown.pt");
  write_in_one_go("open.safetensors", tensors(10));
  write_piece_by_piece("closed.safetensors", tensors(11));
  expect_judged_once("open.safetensors");
  expect_judged_once("closed.safetensors");
  stop(watcher);
}

TEST_F(WatchFindingTest, ADirectoryThatIsWrittenSlowlyIsJudgedWhenItsMarkerOrItsIndexIsTrue) {
  Process watcher(watch(counting_program(), {"--settle", "30", "--existing"}), options());
  wait_until_it_watches();
  write_in_one_go("step_5/rank0/w.safetensors", tensors(1));
  write_in_one_go("step_5/rank1/w.safetensors", tensors(2));
  EXPECT_EQ(judged().count("step_5"), 0u);
  write_file(runs() / "step_5/.complete", "");
  expect_judged_once("step_5");
  fs::create_directories(runs() / "checkpoint-7");
  write_file(runs() / "checkpoint-7/model.safetensors.index.json",
             R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  write_in_one_go("checkpoint-7/one.safetensors", tensors(3));
  write_in_one_go("checkpoint-7/two.safetensors", tensors(4));
  expect_judged_once("checkpoint-7");
  stop(watcher);
}

TEST_F(WatchFindingTest, HiddenNestedAndOtherNamesAreLeftOutAndDirectoriesAreNot) {
  const std::string judge = counting_program();
  settle(judge);
  publish(".hidden.safetensors", tensors(1));
  publish("notes.txt", "no checkpoint");
  fs::create_directories(runs() / "old");
  write_file(runs() / "old/nested.safetensors", tensors(2));
  fs::create_directories(runs() / "step_5/.complete");
  fs::remove(runs() / "step_5/.complete");
  write_file(runs() / "step_5/w.safetensors", tensors(3));
  write_file(runs() / "step_5/.complete", "");
  publish("named[1].safetensors", tensors(4));
  fs::create_symlink("named[1].safetensors", runs() / "latest.safetensors");
  settle(judge);
  EXPECT_THAT(judged_in_order(), UnorderedElementsAre("step_5", "named[1].safetensors"));
}

TEST_F(WatchFindingTest, NoNameOfACheckpointIsRun) {
  const fs::path made = directory_ / "made";
  fs::create_directories(made);
  const std::vector<std::string> names{"step_$(cd ..; cd made; touch a).pt",
                                       "step_`touch b`.pt",
                                       "step_1;touch c.pt",
                                       "step_|touch d.pt",
                                       "step_&touch e.pt",
                                       "step_'; touch f; '.pt",
                                       "step_\"; touch g; \".pt",
                                       "step_\ntouch h.pt",
                                       "-c touch i.pt",
                                       "step_ two words.pt",
                                       "step_*.pt",
                                       "step_${IFS}touch.pt"};
  int number = 0;
  for (const std::string& name : names) publish(name, "content " + std::to_string(++number));
  const std::string text = "echo 1; test -f \\\"$FLOR_CHECKPOINT\\\" && echo 1";
  const std::string words = "test \\\"$1\\\" = \\\"$FLOR_CHECKPOINT\\\" && echo 2";
  for (const std::string& judge : Words{"sh -c \"" + text + "\"", "bash -c \"" + words + "\" sh {}",
                                        script("judge.sh", "#!/bin/sh\ntest -f \"$1\" && echo 1\n"),
                                        "sh -c 'test -f \"$0\" && echo 3'"}) {
    const auto result = settle(judge, {"--existing", "--settle", "0.01"});
    EXPECT_EQ(result.status, 0) << judge << "\n" << result.out << result.err;
  }
  EXPECT_EQ(count("done"), 4 * names.size());
  EXPECT_TRUE(fs::is_empty(made));
  for (const fs::path& place : {directory_.path(), runs()}) {
    for (const auto& entry : fs::directory_iterator(place)) {
      EXPECT_NE(entry.path().filename().string().size(), 1u) << entry.path() << " was made";
    }
  }
  const auto refused = settle("sh -c 'echo 1 {}'");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("$FLOR_CHECKPOINT"));
}

TEST_F(WatchFindingTest, LinksThatLeadOutOfTheDirectoryAreNotFollowed) {
  write_file(directory_ / "secret.pt", "a secret");
  fs::create_directories(runs() / "deeper");
  write_file(runs() / "deeper/there.safetensors", tensors(1));
  fs::create_symlink("../secret.pt", runs() / "step_1.pt");
  fs::create_symlink("deeper/there.safetensors", runs() / "step_2.safetensors");
  for (const char* name : {"step_3", "step_4"}) {
    fs::create_directories(runs() / name);
    write_file(runs() / name / ".complete", "");
  }
  fs::create_symlink("/etc/passwd", runs() / "step_3/model.pt");
  fs::create_symlink("../deeper/there.safetensors", runs() / "step_4/model.safetensors");
  const auto result = settle(counting_program(), {"--existing", "--settle", "0.01"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(judged_in_order(), UnorderedElementsAre("step_2.safetensors", "step_4"));
  EXPECT_THAT(result.err, HasSubstr("step_1.pt is left out: the link step_1.pt leads out"));
  EXPECT_THAT(result.err, HasSubstr("step_3 is left out: the link model.pt leads out"));
}

TEST_F(WatchFindingTest, ABurstIsJudgedInTheOrderInWhichItCame) {
  const std::string library = FLOR_JUDGE_LIBRARY;
  auto environment = options();
  environment.environment["FLOR_TEST_NOTES"] = (directory_ / "judged").string();
  Process watcher(watch(library + ":note", {"--existing"}), environment);
  wait_until_it_watches("step_1000.safetensors");
  constexpr int kBurst = 200;
  std::vector<std::string> names{"step_1000.safetensors"};
  for (int i = 0; i < kBurst; ++i) {
    write_file(runs() / ("temporary" + std::to_string(i)), tensors(i));
    names.push_back("step_" + std::to_string((i * 7) % kBurst) + ".safetensors");
  }
  for (int i = 0; i < kBurst; ++i) {
    fs::rename(runs() / ("temporary" + std::to_string(i)),
               runs() / names[static_cast<std::size_t>(i) + 1]);
  }
  EXPECT_TRUE(soon([&] { return judged().size() == names.size(); }));
  EXPECT_EQ(judged_in_order(), names);
  EXPECT_TRUE(soon([&] { return count("done") == names.size(); }));
  stop(watcher);
}

TEST_F(WatchFindingTest, WhatCameWhileNobodyWatchedIsJudgedOldestFirst) {
  const std::string judge = counting_program();
  settle(judge);
  for (const int number : {10, 9, 100, 2}) publish(number);
  const auto one_time = fs::last_write_time(runs() / "2.safetensors");
  fs::last_write_time(runs() / "10.safetensors", one_time - std::chrono::seconds(5));
  fs::last_write_time(runs() / "9.safetensors", one_time);
  fs::last_write_time(runs() / "100.safetensors", one_time);
  settle(judge);
  EXPECT_THAT(judged_in_order(),
              ElementsAre("10.safetensors", "2.safetensors", "9.safetensors", "100.safetensors"))
      << "by time, then by number";
}

TEST_F(WatchFindingTest, MoreEventsThanTheKernelKeepsLoseNothing) {
  const std::string limit = read_file("/proc/sys/fs/inotify/max_queued_events");
  const int events = std::stoi(limit);
  if (events > 100'000) GTEST_SKIP() << "the kernel keeps " << events << " events";
  Process watcher(watch(counting_program(), {"--existing"}), options());
  wait_until_it_watches();
  watcher.kill(SIGSTOP);
  for (int i = 0; i < events / 3 + 100; ++i) {
    write_file(runs() / "scratch", "");
    fs::remove(runs() / "scratch");
  }
  for (int i = 0; i < 20; ++i) publish(i);
  EXPECT_THAT(judged(), SizeIs(1));
  watcher.kill(SIGCONT);
  EXPECT_TRUE(soon([&] { return judged().size() == 21; }));
  EXPECT_TRUE(soon([&] { return count("done") == 21; }));
  stop(watcher);
}

TEST_F(WatchFindingTest, WithoutEventsItLooksAtIntervals) {
  Process watcher(watch(counting_program(),
                        {"--existing", "--poll", "--watch-interval", "0.2", "--settle", "0.5"}),
                  options());
  wait_until_it_watches();
  write_piece_by_piece("a.safetensors", tensors(1));
  expect_judged_once("a.safetensors");
  write_file(runs() / "b.pt", "of no known form: it has to stay the same for a while");
  expect_judged_once("b.pt");
  publish("a.safetensors", tensors(2));
  EXPECT_TRUE(soon([&] { return judged().count("a.safetensors") == 2; })) << "overwritten";
  fs::rename(runs(), directory_ / "away");
  std::this_thread::sleep_for(milliseconds(300));
  fs::create_directories(runs());
  publish("c.safetensors", tensors(3));
  expect_judged_once("c.safetensors");
  stop(watcher);
}

TEST_F(WatchFindingTest, AnIntervalOfManyMinutesDoesNotEndTheWatch) {
  Process watcher(watch(counting_program(), {"--existing", "--watch-interval", "100000"}),
                  options());
  wait_until_it_watches();
  publish(1);
  EXPECT_TRUE(soon([&] { return judged().count("1.safetensors") == 1; }));
  stop(watcher);
}

TEST_F(WatchFindingTest, ADirectoryThatGoesAndComesBackIsJudgedOnce) {
  Process watcher(watch(counting_program(), {"--existing"}), options());
  wait_until_it_watches();
  publish(1);
  EXPECT_TRUE(soon([&] { return judged().size() == 2; }));
  fs::rename(runs(), directory_ / "away");
  write_file(directory_ / "away/meanwhile.safetensors", tensors(2));
  std::this_thread::sleep_for(milliseconds(100));
  fs::rename(directory_ / "away", runs());
  expect_judged_once("meanwhile.safetensors");
  EXPECT_THAT(judged(), SizeIs(3)) << "the others are known";
  fs::remove_all(runs());
  fs::create_directories(runs());
  publish("new.safetensors", tensors(3));
  expect_judged_once("new.safetensors");
  EXPECT_THAT(watcher.err(), HasSubstr("is back"));
  stop(watcher);
}

TEST_F(WatchFindingTest, WhatWillNeverBeCompleteIsToldOfOnceAndNotJudged) {
  Process watcher(watch(counting_program(), {"--existing", "--settle", "0.2"}), options());
  wait_until_it_watches();
  write_file(runs() / "broken.safetensors", tensors(1).substr(0, 50));
  EXPECT_TRUE(watcher.await(
      [&] { return watcher.err().find("no process writes it") != std::string::npos; }));
  EXPECT_THAT(watcher.err(), HasSubstr("broken.safetensors is not complete"));
  EXPECT_THAT(judged(), SizeIs(1));
  stop(watcher);
}

TEST_F(WatchFindingTest, AnIdleWatchOfManyFilesUsesNoProcessor) {
  constexpr int kFiles = 5000;
  const TemporaryDirectory quick(fast_parent());  // 5,000 files are made at once there
  for (int i = 0; i < kFiles; ++i) write_file(quick / (std::to_string(i) + ".pt"), "x");
  const std::string judge = counting_program();
  settle(judge, {quick.path().string()});
  Process watcher(watch(judge, {quick.path().string()}), options());
  const auto ticks = [&] {
    long sum = 0;
    for (const pid_t pid : processes_with(mark())) {
      std::istringstream fields(read_file("/proc/" + std::to_string(pid) + "/stat"));
      std::string field;
      for (int i = 1; i <= 15 && fields >> field; ++i) sum += i >= 14 ? std::stol(field) : 0;
    }
    return sum;
  };
  wait_until_it_watches();
  std::this_thread::sleep_for(milliseconds(500));
  const long before = ticks();
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_LE(ticks() - before, 1) << "hundredths of a second in 2 s";
  EXPECT_THAT(judged(), SizeIs(1));
  stop(watcher);
}

}  // namespace
}  // namespace flor::testing
