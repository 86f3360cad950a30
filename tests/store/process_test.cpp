// Several processes at one store: creating it, writing at once, being killed, being watched.
#include "behind.h"
#include "database/sqlite.h"
#include "database/store_impl.h"
#include "index/catalog/rank_launch.h"
#include "index/values/sql.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "store_fixture.h"
#include "support/process.h"

#include <flor/store/error.h>

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

class ProcessTest : public StoreTest {};

/// A pipe on which a child tells its parent how far it is.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void say(int number) const {
    if (::write(ends_[1], &number, sizeof(number)) != sizeof(number)) ::_exit(98);
  }
  /// Nothing if nobody has said anything within the time.
  std::optional<int> hear(int timeout_ms) const {
    pollfd poll{ends_[0], POLLIN, 0};
    if (::poll(&poll, 1, timeout_ms) <= 0) return std::nullopt;
    int number = 0;
    if (::read(ends_[0], &number, sizeof(number)) != sizeof(number)) return std::nullopt;
    return number;
  }

 private:
  int ends_[2];
};

constexpr int kLongMs = 20'000;

TEST_F(ProcessTest, SixteenCreateTheStoreAtOnce) {
  constexpr int kProcesses = 16;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_process([&] {
      const auto store = open();
      store->catalog().add_run(new_run("e" + std::to_string(i)));
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const auto store = open(OpenMode::existing);
  EXPECT_EQ(store->catalog().experiments().size(), static_cast<std::size_t>(kProcesses));
  EXPECT_EQ(damage(*store), "");
  expect_same_when_made_again(home());
}

// A process loses its locks on a file when it closes any descriptor of it, SQLite's or not. Without
// them the next process that closes the index takes itself for the last, and deletes the log.
TEST_F(ProcessTest, NothingThatAProcessDoesWithAnOpenStoreLetsItsLocksGo) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const std::string log = (home() / "catalog.db-wal").string();
  const std::pair<const char*, std::function<void()>> deeds[] = {
      {"opening to create", [&] { open(OpenMode::create); }},
      {"opening to change", [&] { open(OpenMode::existing); }},
      {"opening to look", [&] { open(OpenMode::read_only); }},
      {"fsck", [&] { EXPECT_EQ(damage(*store), ""); }},
      {"fsck --repair", [&] { repair(*open(OpenMode::create)); }},
      {"gc", [&] { collect(*open(OpenMode::create), false); }},
      {"SQL", [&] { SqlSession session(*store); }}};
  for (const auto& [what, act] : deeds) {
    SCOPED_TRACE(what);
    store->catalog().add_argument(run.id, {what, "int", "1"});
    act();
    const auto other = testing::run_process(
        {"python3", "-c",
         "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
         "c.execute('SELECT count(*) FROM run').fetchone(); c.close()",
         (home() / "catalog.db").string()});
    EXPECT_EQ(other.status, 0) << other.err;
    EXPECT_TRUE(std::filesystem::exists(log));
    EXPECT_EQ(open(OpenMode::read_only)->catalog().arguments(run.id).size(),
              store->catalog().arguments(run.id).size());
  }
}

TEST_F(ProcessTest, SeveralWriteAtOnceAndShareWhatIsEqual) {
  constexpr int kProcesses = 4;
  constexpr int kSteps = 6;
  open();
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(start_process([&] {
      const auto store = open();
      const Run run = store->catalog().add_run(new_run("e" + std::to_string(i)));
      CheckpointWriter writer(*store, run.id);
      for (int step = 0; step < kSteps; ++step) {
        writer.write(boundary(step), make_snapshot(9, step, 50'000));  // the same in all of them
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const auto store = open();
  EXPECT_EQ(damage(*store), "");
  const CheckReport report = check(*store, false);
  EXPECT_EQ(report.checkpoints, kProcesses * kSteps);
  EXPECT_EQ(report.chunks, kSteps * 4);  // four items, each of them new in every step
  for (const Run& run : store->catalog().runs()) {
    for (const CheckpointInfo& info : store->catalog().checkpoints(run.id)) {
      expect_holds(*store, info.id, make_snapshot(9, static_cast<int>(info.key.iteration), 50'000));
    }
  }
  expect_same_when_made_again(home());
}

TEST_F(ProcessTest, AWriterKilledAtAnyInstantLosesNothingThatItReported) {
  constexpr int kRounds = 24;
  constexpr std::size_t kShared = 40'000;
  std::minstd_rand random(4711);
  open();
  int reported = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Pipe pipe;
    const pid_t child = start_process([&]() -> int {
      const auto store = open();
      const Run run = store->catalog().add_run(new_run());
      const auto lock = store->lock_run(run.key);
      CheckpointWriter writer(*store, run.id);
      pipe.say(static_cast<int>(run.id));
      for (int step = 0;; ++step) {
        writer.write(boundary(step), make_snapshot(static_cast<unsigned>(round), step, kShared));
        pipe.say(step);
      }
    });
    const auto run = pipe.hear(kLongMs);
    ASSERT_TRUE(run);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), -SIGKILL);

    const auto store = open();
    EXPECT_EQ(damage(*store), "") << "round " << round;
    EXPECT_EQ(store->catalog().run(*run)->state, RunState::interrupted);
    int steps = 0;
    while (const auto step = pipe.hear(0)) steps = *step + 1;
    reported += steps;
    for (int step = 0; step < steps; ++step) {
      const auto info = store->catalog().checkpoint(*run, boundary(step));
      ASSERT_TRUE(info) << "round " << round << " step " << step;
      expect_holds(*store, info->id, make_snapshot(static_cast<unsigned>(round), step, kShared));
    }
    if (round % 6 == 5) expect_same_when_made_again(home());
  }
  EXPECT_GT(reported, 0);
}

TEST_F(ProcessTest, SeeWhetherARunLives) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const Pipe ready;
  const pid_t child = start_process([&]() -> int {
    const auto mine = open();
    const auto lock = mine->lock_run(run.key);
    ready.say(lock ? 1 : 0);
    for (;;) ::pause();
  });
  EXPECT_EQ(ready.hear(kLongMs), 1);
  EXPECT_EQ(store->catalog().run(run.id)->state, RunState::running);
  EXPECT_FALSE(store->lock_run(run.key));
  ::kill(child, SIGKILL);
  wait_for(child);
  EXPECT_EQ(store->catalog().run(run.id)->state, RunState::interrupted);
  EXPECT_TRUE(store->lock_run(run.key));
}

TEST_F(ProcessTest, LockRunsOfAStoreThatWasCopiedWithoutItsLocks) {
  const Run run = open()->catalog().add_run(new_run());
  std::filesystem::remove_all(home() / "locks");
  EXPECT_TRUE(open(OpenMode::existing)->lock_run(run.key));
  std::filesystem::remove_all(home() / "locks");
  EXPECT_TRUE(open(OpenMode::existing)->use_run(run.key));
}

TEST_F(ProcessTest, AskingWhetherARunLivesDoesNotKeepItFromStarting) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  store->lock_run(run.key);
  const pid_t child = start_process([&]() -> int {
    const auto mine = open(OpenMode::read_only);
    for (;;) mine->catalog().run(run.id);
  });
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(store->lock_run(run.key)) << i;
  ::kill(child, SIGKILL);
  wait_for(child);
}

TEST_F(ProcessTest, WhoeverWaitsTooLongForTheCatalogIsToldSo) {
  const auto store = open();
  store->impl().database->connection.execute("PRAGMA busy_timeout=20");
  Connection other(home() / "catalog.db", Connection::Mode::existing);
  {
    const Transaction transaction(other);
    EXPECT_THAT(message_of<Busy>([&] { store->catalog().add_run(new_run()); }),
                HasSubstr("is locked by another process"));
  }
  store->catalog().add_run(new_run());
  EXPECT_EQ(store->catalog().runs().size(), 1u);
}

/// As while another process commits, or is stopped in the middle of that.
TEST_F(ProcessTest, WhatOnlyLooksDoesNotWaitForAWriterThoughTheIndexIsBehind) {
  const Run run = open()->catalog().add_run(new_run());
  leave_argument_in_journal(home(), run.key, "lr");
  {
    Connection other(home() / "catalog.db", Connection::Mode::existing);
    const Transaction transaction(other);
    const auto began = std::chrono::steady_clock::now();
    ::testing::internal::CaptureStderr();
    const auto store = open(OpenMode::read_only);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    EXPECT_EQ(store->catalog().runs().size(), 1u);
    EXPECT_THAT(said,
                HasSubstr("flor: what is shown is older than what journals say: the catalog"));
    EXPECT_THAT(said, HasSubstr("is locked by another process since more than 1.5 s"));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
  EXPECT_EQ(open(OpenMode::read_only)->catalog().arguments(run.id).size(), 1u);
}

TEST_F(ProcessTest, AReaderSeesOneStateWhileAnotherWrites) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const pid_t child = start_process([&] {
    const auto mine = open();
    CheckpointWriter writer(*mine, run.id);
    for (int step = 0; step < 20; ++step) writer.write(boundary(0), make_snapshot(1, step, 1000));
    return 0;
  });
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(status, 0);
}

/// Someone who may read the store but not write it. The tests may run as root, whom permissions do
/// not bind, so this is a child that gives up being root.
class ReadOnlyHomeTest : public ProcessTest {
 protected:
  static constexpr uid_t kNobody = 65534;

  void SetUp() override {
    if (::geteuid() != 0) return;
    ::chmod(directory_.path().c_str(), 0755);
  }
  void forbid_writing() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home())) {
      ::chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444);
    }
    ::chmod(home().c_str(), 0555);
  }
  void TearDown() override { ::chmod(home().c_str(), 0755); }

  static pid_t start_as_nobody(const std::function<int()>& body) {
    return start_process([&] {
      if (::geteuid() == 0 && ::setuid(kNobody) != 0) return 97;
      return body();
    });
  }
};

TEST_F(ReadOnlyHomeTest, IsReadWithoutWritingAnything) {
  std::int64_t id = 0;
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    id = CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 0, 100)).id;
  }
  forbid_writing();
  const pid_t child = start_as_nobody([&] {
    const auto store = open(OpenMode::read_only);
    if (store->catalog().runs().size() != 1) return 1;
    if (!damage(*store).empty()) return 2;
    return CheckpointReader(*store, id).read(0).size() == 400 ? 0 : 3;
  });
  EXPECT_EQ(wait_for(child), 0);
}

TEST_F(ReadOnlyHomeTest, AStoreOpenedForReadingIsNotWrittenTo) {
  const Run run = open()->catalog().add_run(new_run());
  const auto store = open(OpenMode::read_only);
  EXPECT_THAT(message_of<Error>([&] { CheckpointWriter(*store, run.id); }),
              HasSubstr("for reading only"));
  EXPECT_THAT(message_of<Error>([&] { store->catalog().add_run(new_run()); }),
              HasSubstr("cannot write the catalog"));
}

TEST_F(ReadOnlyHomeTest, IsNotRecordedTo) {
  open();
  forbid_writing();
  const pid_t child = start_as_nobody([&] {
    try {
      open()->catalog().add_run(new_run());
    } catch (const Error& error) {
      return std::string(error.what()).find("FLOR_HOME") != std::string::npos ? 0 : 2;
    }
    return 1;
  });
  EXPECT_EQ(wait_for(child), 0);
}

TEST_F(ReadOnlyHomeTest, IsNotCreated) {
  std::filesystem::create_directory(home());
  forbid_writing();
  const pid_t child = start_as_nobody([&] {
    try {
      Store::open(home() / "below", OpenMode::create);
    } catch (const Error& error) {
      return std::string(error.what()).find("Permission denied") != std::string::npos ? 0 : 2;
    }
    return 1;
  });
  EXPECT_EQ(wait_for(child), 0);
}

/// A group of two whose rank 0 has begun, as it is left when that is killed.
class LaunchTest : public ProcessTest {
 protected:
  LaunchTest() {
    NewRun start = new_run();
    start.rank = RankPlace{0, 0, 2};
    first_ = store_->catalog().add_run(start);
    store_->catalog().open_launch(
        {.group = first_.id, .launch = "the start", .started_us = 1, .commit = {}, .point = {}});
  }
  RunState state() const { return store_->catalog().run(first_.id)->state; }
  std::optional<RankLaunch> launch() const { return store_->catalog().find_launch("the start"); }

  static constexpr std::chrono::milliseconds kMoment{200};
  std::shared_ptr<Store> store_ = open();
  Run first_;
};

TEST_F(LaunchTest, ARunThatGoesOnIsNeverSeenWithTheLaunchOfTheAttemptBefore) {
  const auto own = open(OpenMode::existing);
  Connection other(home() / "catalog.db", Connection::Mode::existing);
  other.execute("BEGIN IMMEDIATE");  // so that it comes no farther than to its first transaction
  auto goes_on = std::async(std::launch::async, [&] { return lock_first_rank(*own, first_.key); });
  EXPECT_EQ(goes_on.wait_for(kMoment), std::future_status::timeout);
  EXPECT_EQ(state(), RunState::interrupted) << "the launch of before is still there";
  EXPECT_TRUE(launch());
  other.execute("COMMIT");
  const auto lock = goes_on.get();
  EXPECT_TRUE(lock);
  EXPECT_EQ(state(), RunState::running);
  EXPECT_FALSE(launch());
}

TEST_F(LaunchTest, ARankThatJoinsLooksBeforeOrAfterRankZeroGoesOnAndNotBetween) {
  const RankLaunch before = *launch();
  EXPECT_FALSE(is_present(*store_, before)) << "nobody holds the lock";
  const auto own = open(OpenMode::existing);
  Connection other(home() / "catalog.db", Connection::Mode::existing);
  other.execute("BEGIN IMMEDIATE");
  const auto lock = store_->lock_run(first_.key);
  auto joins = std::async(std::launch::async, [&] { return is_present(*own, before); });
  EXPECT_EQ(joins.wait_for(kMoment), std::future_status::timeout);
  other.execute("UPDATE rank_launch SET launch = ''; COMMIT");
  EXPECT_FALSE(joins.get());
  store_->catalog().open_launch(
      {.group = first_.id, .launch = "the start", .started_us = 2, .commit = {}, .point = {}});
  EXPECT_FALSE(is_present(*store_, before)) << "of another attempt";
  EXPECT_TRUE(is_present(*store_, *launch())) << "however late";
}

TEST_F(LaunchTest, WhoeverCannotHaveTheLockLeavesTheLaunchOpen) {
  const auto lock = store_->lock_run(first_.key);
  EXPECT_FALSE(lock_first_rank(*open(OpenMode::existing), first_.key));
  EXPECT_TRUE(launch());
}

}  // namespace
}  // namespace flor::store
