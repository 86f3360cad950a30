// The queue has a database of its own: what waits outlives the index, what was told of outlives the
// queue, and a process that is killed anywhere between the two leaves nothing that the next opening
// does not set right.
#include "queue/queue_file.h"

#include "database/sqlite.h"
#include "database/store_impl.h"
#include "journal/evaluation_log.h"
#include "maintain/repair.h"
#include "queue/job_queue.h"
#include "queue/watchers.h"
#include "store_fixture.h"
#include "support/syscall_tracer.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::store::queue_file_test {
namespace {

using flor::testing::SharedCounter;
using flor::testing::SyscallTracer;
using flor::testing::TraceResult;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }

std::string result(int number) { return fmt::format(R"({{"accuracy":{}}})", number); }

/// One who adds jobs and does them.
class Client {
 public:
  explicit Client(const fs::path& home)
      : store(Store::open(home, OpenMode::create)),
        queue(open_home_queue(*store)),
        evaluator_(queue->add_evaluator("eval.py:accuracy", "00ff")),
        owner_(fmt::format("{:08x}{:08x}", ::getpid(), ++made_)),
        lock_(store->lock_run(owner_)) {}

  JobReplies add(int first, int end) {
    JobOrders orders{.owner = owner_, .retries = {}};
    for (int i = first; i < end; ++i) {
      orders.additions.push_back(
          {.content = content(i), .evaluator = evaluator_, .path = fmt::format("/c/{}.pt", i)});
    }
    return queue->exchange(orders);
  }
  std::vector<LeasedJob> lease(std::size_t count) {
    return queue->exchange({.owner = owner_, .retries = {}, .requests = {{evaluator_, count}}})
        .leases;
  }
  JobReplies say(const std::vector<LeasedJob>& leases, JobReport::Kind kind = JobReport::Kind::done,
                 std::int64_t attempts = 1) {
    JobOrders orders{.owner = owner_, .retries = {.attempts = attempts}};
    for (const LeasedJob& leased : leases) {
      orders.reports.push_back({leased.lease, kind, result(static_cast<int>(leased.lease.job))});
    }
    return queue->exchange(orders);
  }
  void judge(std::size_t count) {
    const auto leases = lease(count);
    ASSERT_THAT(leases, SizeIs(count));
    say(leases);
    queue->sync();
  }

  std::shared_ptr<Store> store;
  std::unique_ptr<JobQueue> queue;

 private:
  std::int64_t evaluator_;
  std::string owner_;
  std::optional<RunLock> lock_;
  static inline int made_ = 0;
};

void remove_all_of(const fs::path& database) {
  for (const char* suffix : {"", "-wal", "-shm", ".old"}) fs::remove(database.string() + suffix);
}

using Results = std::map<std::string, std::string>;  // by content

Results done_in_queue(const JobQueue& queue) {
  Results results;
  for (const Job& job : queue.jobs({.state = JobState::done})) {
    results[job.what.content.hex()] = job.result;
  }
  return results;
}

/// What commands ask for.
Results done_in_index(const Store& store) {
  Results results;
  Connection& index = store.impl().database->connection;
  const auto rows = index("SELECT content, json FROM job JOIN job_result ON job_result.job = id");
  while (rows->step()) results[rows->digest(0).hex()] = rows->text(1);
  return results;
}

std::vector<std::string> waiting(const JobQueue& queue) {
  std::vector<std::string> paths;
  for (const Job& job : queue.jobs()) {
    if (!job.finished_us) paths.push_back(job.what.path);
  }
  return paths;
}

class QueueFileTest : public StoreTest {
 protected:
  void damage_queue() {
    std::fstream file(home() / "queue.db", std::ios::binary | std::ios::in | std::ios::out);
    file << "this is no database at all";
  }
};

TEST_F(QueueFileTest, WhatWaitsOutlivesTheIndex) {
  std::vector<std::string> before;
  {
    Client client(home());
    client.add(0, 6);
    client.judge(2);
    client.lease(1);
    before = waiting(*client.queue);
    ASSERT_THAT(before, SizeIs(4));
  }
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::create}) {
    remove_all_of(home() / "catalog.db");
    const auto store = open(mode);
    const auto queue = open_home_queue(*store);
    EXPECT_EQ(waiting(*queue), before);
    EXPECT_THAT(done_in_queue(*queue), SizeIs(2));
    EXPECT_EQ(done_in_index(*store), done_in_queue(*queue)) << "the logs have them";
  }
  Client client(home());
  client.judge(4);
  EXPECT_THAT(done_in_queue(*client.queue), SizeIs(6));
}

TEST_F(QueueFileTest, WhatIsDoneOutlivesTheQueue) {
  Results before;
  {
    Client client(home());
    client.add(0, 6);
    client.judge(3);
    const auto leases = client.lease(1);
    client.say(leases, JobReport::Kind::failed);
    before = done_in_queue(*client.queue);
    ASSERT_THAT(client.queue->jobs({.state = JobState::dead}), SizeIs(1));
  }
  remove_all_of(home() / "queue.db");
  Client client(home());
  EXPECT_EQ(done_in_queue(*client.queue), before);
  EXPECT_THAT(client.queue->jobs({.state = JobState::dead}), SizeIs(1));
  // The next watch finds what waited, and that alone is done.
  EXPECT_THAT(client.add(0, 6).added,
              ::testing::ElementsAre(false, false, false, false, true, true));
  EXPECT_THAT(client.lease(10), SizeIs(2));
}

TEST_F(QueueFileTest, WhoOnlyLooksWritesNothing) {
  {
    Client client(home());
    client.add(0, 4);
    client.judge(2);
  }
  remove_all_of(home() / "queue.db");
  {
    const auto store = open(OpenMode::read_only);
    const auto queue = open_home_queue(*store);
    EXPECT_THAT(done_in_queue(*queue), SizeIs(2)) << "the logs have them";
    EXPECT_THAT(watchers(*store), IsEmpty());
    EXPECT_THAT([&] { queue->add_evaluator("a", "b"); },
                ::testing::ThrowsMessage<Error>(HasSubstr("opened for reading only")));
    EXPECT_FALSE(fs::exists(home() / "queue.db"));
  }
  Client(home()).add(0, 1);
  damage_queue();
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(done_in_queue(*open_home_queue(*open(OpenMode::read_only))), SizeIs(2));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("queue.db was damaged: what can be read is shown, 2 evaluations that ended "
                        "and 0 that wait; `flor watch` makes it again"));
}

TEST_F(QueueFileTest, ADamagedOneIsSetAsideAndMadeAgainAndSoTheLineSays) {
  {
    Client client(home());
    client.add(0, 4);
    client.judge(3);
  }
  damage_queue();
  {
    const auto store = open();
    EXPECT_THAT(damage(*store), HasSubstr("queue.db"));
  }
  ::testing::internal::CaptureStderr();
  Client client(home());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("queue.db was damaged: it was made again with 3 evaluations that ended and "
                        "0 that wait; the old one is"));
  EXPECT_THAT(done_in_queue(*client.queue), SizeIs(3));
  EXPECT_TRUE(fs::exists(home() / "queue.db.old"));
  EXPECT_FALSE(fs::exists(home() / "queue.damaged"));
  EXPECT_EQ(damage(*client.store), "");
}

/// SQLite meets the damage only where a page of it is read.
TEST_F(QueueFileTest, WhatOfADamagedOneCanBeReadWaitsOn) {
  {
    Client client(home());
    client.add(0, 60);
    client.judge(3);
    client.store->impl().database->queue->connection.truncate_log();
  }
  std::int64_t page = 0;
  {
    Connection connection(home() / "queue.db", Connection::Mode::read_only);
    const auto row = connection("SELECT rootpage FROM sqlite_schema WHERE name = 'sighting'");
    ASSERT_TRUE(row->step());
    page = row->integer(0);
  }
  {
    std::fstream file(home() / "queue.db", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp((page - 1) * 4096);
    file << std::string(4096, 'x');
  }
  {
    const auto store = open();
    EXPECT_THAT(damage(*store), HasSubstr("the queue"));
    doubt_index(*store);
    repair(*store);
    EXPECT_EQ(damage(*store), "");
  }
  Client client(home());
  EXPECT_THAT(waiting(*client.queue), SizeIs(57));
  EXPECT_THAT(done_in_queue(*client.queue), SizeIs(3));
}

/// A process that has the old one open must not believe that others see what it says.
TEST_F(QueueFileTest, OneThatWasMadeAgainRefusesThoseWhoHaveTheOldOne) {
  Client client(home());
  client.add(0, 2);
  remove_all_of(home() / "queue.db");
  Client(home()).add(0, 1);
  for (const auto& change : std::vector<std::function<void()>>{
           [&] { client.add(2, 3); }, [&] { client.queue->add_evaluator("a", "b"); },
           [&] { client.queue->drop({}); }}) {
    EXPECT_THAT(change, ::testing::ThrowsMessage<Error>(
                            HasSubstr("was made again while this process had it open")));
  }
}

/// The disk had the queue's log, but not the end of the log of evaluations.
TEST_F(QueueFileTest, WhatALogHasLostIsSaidAgain) {
  fs::path log;
  {
    Client client(home());
    client.add(0, 4);
    client.judge(2);
    client.say(client.lease(1));  // not synced
    const auto logs = find_evaluation_logs(Paths{home()});
    ASSERT_THAT(logs, SizeIs(1));
    log = logs[0];
    EXPECT_THAT(done_in_index(*open()), SizeIs(3));
  }
  for (const auto& lose : std::vector<std::function<void()>>{
           [&] { fs::resize_file(log, fs::file_size(log) - 100); }, [&] { fs::remove(log); }}) {
    lose();
    EXPECT_THAT(done_in_queue(*Client(home()).queue), SizeIs(3));
    remove_all_of(home() / "catalog.db");
    EXPECT_THAT(done_in_index(*open()), SizeIs(3));
    remove_all_of(home() / "queue.db");
    EXPECT_THAT(done_in_queue(*Client(home()).queue), SizeIs(3));
  }
}

/// A change that fails when it is committed was never made, also for those who have read its log.
TEST_F(QueueFileTest, WhatIsTakenBackIsReadByNobody) {
  Client client(home());
  client.add(0, 3);
  client.judge(1);
  const auto leases = client.lease(1);
  Connection& queue = client.store->impl().database->queue->connection;
  queue.execute(
      "CREATE TEMP TRIGGER full BEFORE INSERT ON evaluation_log BEGIN SELECT RAISE(ABORT, 'full'); "
      "END");
  EXPECT_THROW(client.say(leases), Error);
  queue.execute("DROP TRIGGER full");
  EXPECT_EQ(done_in_index(*open()), done_in_queue(*client.queue));
  EXPECT_THAT(client.say(leases).accepted, ::testing::ElementsAre(true));
  client.queue->sync();
  EXPECT_THAT(find_evaluation_logs(Paths{home()}), SizeIs(2)) << "goes on in another one";
  EXPECT_THAT(done_in_index(*open()), SizeIs(2));
  EXPECT_EQ(done_in_index(*open()), done_in_queue(*client.queue));
}

/// Recorders and watches wait for no lock of each other.
TEST_F(QueueFileTest, AnExchangeNeedsNoLockOfTheIndexNorTheOtherWayRound) {
  Client client(home());
  client.store->set_patience(std::chrono::milliseconds(0));
  const auto recorder = open();
  recorder->set_patience(std::chrono::milliseconds(0));
  {
    const Transaction recording(recorder->impl().database->connection);
    client.add(0, 2);
    client.judge(1);
    client.queue->cancel({});
  }
  {
    const Transaction exchanging(client.store->impl().database->queue->connection);
    recorder->catalog().add_run(new_run());
  }
  EXPECT_THAT(done_in_queue(*client.queue), SizeIs(1));
}

TEST_F(QueueFileTest, IsForItsUserAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  Client(home()).add(0, 1);
  damage_queue();
  Client client(home());
  client.add(0, 1);
  ::umask(before);
  for (const char* name : {"queue.db", "queue.db-wal", "queue.db.old"}) {
    struct stat status {};
    ASSERT_EQ(::stat((home() / name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0600U) << name;
  }
}

TEST_F(QueueFileTest, LiesInAHomeWithALongPathToo) {
  fs::path deep = home();
  for (int i = 0; i < 12; ++i) deep /= std::string(80, 'd');
  {
    Client client(deep);
    client.add(0, 3);
    client.judge(1);
  }
  remove_all_of(deep / "catalog.db");
  { std::ofstream(deep / "queue.damaged"); }
  Client client(deep);
  EXPECT_THAT(waiting(*client.queue), SizeIs(2)) << "read from the one set aside";
  EXPECT_THAT(done_in_queue(*client.queue), SizeIs(1));
}

/// An index that is older than the queue's own database has its tables.
class OlderIndex {
 public:
  /// Moves the queue of a home into its index.
  static void make(const fs::path& home) {
    Store::open(home, OpenMode::create)->impl().database->connection.truncate_log();
    Connection index(home / "catalog.db", Connection::Mode::existing);
    for (const LaterTable& table : kQueueTables) {
      index.execute((create_statement(table) + table.indexes).c_str());
    }
    index("ATTACH ?1 AS queue", (home / "queue.db").string())->run();
    index.execute(
        "DELETE FROM main.job_result; DELETE FROM main.job; DELETE FROM main.evaluator; DROP TABLE "
        "main.evaluation_log;");
    for (const LaterTable& table : kQueueTables) {
      if (table.name == std::string_view("evaluation_log")) continue;
      index.execute(
          fmt::format("INSERT INTO main.{0} SELECT * FROM queue.{0}", table.name).c_str());
    }
    index.execute("DETACH queue");
    remove_all_of(home / "queue.db");
    fs::remove_all(home / "evaluations");
  }
};

TEST_F(QueueFileTest, IsTakenFromAnIndexThatIsOlder) {
  std::vector<std::string> before;
  Results done;
  {
    Client client(home());
    client.add(0, 5);
    client.judge(2);
    before = waiting(*client.queue);
    done = done_in_queue(*client.queue);
  }
  OlderIndex::make(home());
  {
    const auto looks = open(OpenMode::read_only);
    EXPECT_EQ(waiting(*open_home_queue(*looks)), before);
  }
  Client client(home());
  EXPECT_EQ(waiting(*client.queue), before);
  EXPECT_EQ(done_in_queue(*client.queue), done);
  Connection& index = client.store->impl().database->connection;
  EXPECT_FALSE(has_table(index, "sighting"));
  EXPECT_FALSE(index("SELECT 1 FROM job WHERE finished_us IS NULL")->step());
  client.queue->cancel({});
  remove_all_of(home() / "queue.db");
  Client again(home());
  EXPECT_THAT(waiting(*again.queue), IsEmpty()) << "it is taken once";
  EXPECT_EQ(done_in_queue(*again.queue), done) << "no log had them";
  EXPECT_EQ(done_in_index(*again.store), done);
}

/// A process is killed before and after each system call of a change.
class QueueKillTest : public StoreTest {
 protected:
  fs::path fast_home() const { return memory_ / "home"; }
  fs::path original() const { return memory_ / "original"; }

  struct Scenario {
    std::string name;
    std::function<void()> prepare = [] {};  ///< in the child, uncounted
    std::function<void()> body;             ///< in the child, killed
    std::set<int> waits = {};               ///< content that no kill may lose, done or not
    std::set<int> done = {};                ///< content that is done, whatever happens
  };

  void kill_everywhere(const Scenario& scenario) {
    int points = 0;
    for (int stop = 1;; stop += every_) {
      ASSERT_LT(stop, 20'000);
      fs::remove_all(fast_home());
      fs::copy(original(), fast_home(), fs::copy_options::recursive);
      told_.set(0);
      const TraceResult result = SyscallTracer::run(scenario.prepare, scenario.body, stop);
      if (result.refused) GTEST_SKIP() << "this system does not let a process trace its child";
      if (result.finished) {
        ASSERT_EQ(result.status, 0);
        break;
      }
      ++points;
      expect_right(scenario);
      if (HasFailure()) FAIL() << "killed at stop " << stop << ", system call " << result.call;
    }
    std::printf("%s: killed at %d points\n", scenario.name.c_str(), points);
    EXPECT_GT(points, 10);
  }

  void expect_right(const Scenario& scenario) {
    ::testing::internal::CaptureStderr();
    expect_kept(scenario);
    const std::string said = ::testing::internal::GetCapturedStderr();
    if (!fs::exists(original() / "queue.damaged")) {
      EXPECT_THAT(said, ::testing::Not(HasSubstr("damaged")));
    }
    if (HasFailure()) std::fputs(said.c_str(), stderr);
  }

  void expect_kept(const Scenario& scenario) {
    std::set<int> done = scenario.done;
    for (int i = 0; i < told_.get(); ++i) done.insert(i);
    Results found;
    {
      Client client(fast_home());
      found = done_in_queue(*client.queue);
      EXPECT_EQ(done_in_index(*open_again()), found) << "they say the same";
      EXPECT_EQ(damage(*client.store), "");
      std::set<std::string> known;
      for (const Job& job : client.queue->jobs()) known.insert(job.what.content.hex());
      for (const int number : scenario.waits) EXPECT_THAT(known, Contains(content(number).hex()));
      for (const int number : done) EXPECT_TRUE(found.contains(content(number).hex())) << number;
    }
    // Nothing of it is in one of the two databases alone.
    remove_all_of(fast_home() / "catalog.db");
    EXPECT_EQ(done_in_index(*open_again()), found);
    remove_all_of(fast_home() / "queue.db");
    Client client(fast_home());
    EXPECT_EQ(done_in_queue(*client.queue), found);
    client.add(0, 8);
    EXPECT_THAT(client.lease(100), SizeIs(8 - found.size())) << "what is done is not done again";
  }

  std::shared_ptr<Store> open_again() const { return Store::open(fast_home(), OpenMode::create); }

  void kill_while_it_is_made();
  void kill_while_it_is_made_again();
  void kill_while_it_is_taken_from_an_older_index();
  void kill_while_the_index_follows();

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  SharedCounter told_;
  int every_ = 1;  ///< of so many stops one
};

TEST_F(QueueKillTest, WhileResultsAreSaidAndSynced) {
  Client(original()).add(0, 4);
  std::optional<Client> child;
  std::vector<LeasedJob> leases;
  kill_everywhere({.name = "an exchange of results",
                   .prepare =
                       [&] {
                         child.emplace(fast_home());
                         leases = child->lease(2);
                       },
                   .body =
                       [&] {
                         child->say(leases);
                         child->queue->sync();
                         told_.set(2);
                       },
                   .waits = {0, 1, 2, 3}});
}

void QueueKillTest::kill_while_it_is_made() {
  {
    Client client(original());
    client.add(0, 4);
    client.judge(3);
  }
  remove_all_of(original() / "queue.db");
  kill_everywhere({.name = "a queue that is made",
                   .body = [&] { Client client(fast_home()); },
                   .done = {0, 1, 2}});
}

void QueueKillTest::kill_while_it_is_made_again() {
  {
    Client client(original());
    client.add(0, 4);
    client.judge(2);
  }
  { std::ofstream(original() / "queue.damaged"); }
  kill_everywhere({.name = "a queue that is made again",
                   .body =
                       [&] {
                         ::freopen("/dev/null", "w", stderr);
                         Client client(fast_home());
                       },
                   .waits = {2, 3},
                   .done = {0, 1}});
}

void QueueKillTest::kill_while_it_is_taken_from_an_older_index() {
  {
    Client client(original());
    client.add(0, 4);
    client.judge(2);
  }
  OlderIndex::make(original());
  kill_everywhere({.name = "a queue from an older index",
                   .body = [&] { Client client(fast_home()); },
                   .waits = {2, 3},
                   .done = {0, 1}});
}

TEST_F(QueueKillTest, WhileResultsAreDropped) {
  {
    Client client(original());
    client.add(0, 4);
    client.judge(3);
  }
  std::optional<Client> child;
  kill_everywhere({.name = "results that are dropped",
                   .prepare = [&] { child.emplace(fast_home()); },
                   .body = [&] { child->queue->drop({.ids = {2}}); },
                   .waits = {3},
                   .done = {0, 2}});
}

/// The index is behind: a command that looks enters what the logs say.
void QueueKillTest::kill_while_the_index_follows() {
  {
    Client client(original());
    client.add(0, 4);
    client.judge(3);
  }
  kill_everywhere({.name = "an index that follows",
                   .body = [&] { Store::open(fast_home(), OpenMode::existing); },
                   .waits = {3},
                   .done = {0, 1, 2}});
}

/// Some of their stops: odd ones are before a call, even ones after it.
class QueueKillSomewhereTest : public QueueKillTest {
 protected:
  QueueKillSomewhereTest() { every_ = 37; }
};
class QueueKillOftenTest : public QueueKillTest {};

TEST_F(QueueKillSomewhereTest, WhileTheQueueIsMadeFromTheLogs) { kill_while_it_is_made(); }
TEST_F(QueueKillSomewhereTest, WhileADamagedQueueIsMadeAgain) { kill_while_it_is_made_again(); }
TEST_F(QueueKillSomewhereTest, WhileTheQueueIsTakenFromAnOlderIndex) {
  kill_while_it_is_taken_from_an_older_index();
}
TEST_F(QueueKillSomewhereTest, WhileTheIndexFollows) { kill_while_the_index_follows(); }

TEST_F(QueueKillOftenTest, WhileTheQueueIsMadeFromTheLogs) { kill_while_it_is_made(); }
TEST_F(QueueKillOftenTest, WhileADamagedQueueIsMadeAgain) { kill_while_it_is_made_again(); }
TEST_F(QueueKillOftenTest, WhileTheQueueIsTakenFromAnOlderIndex) {
  kill_while_it_is_taken_from_an_older_index();
}
TEST_F(QueueKillOftenTest, WhileTheIndexFollows) { kill_while_the_index_follows(); }

}  // namespace
}  // namespace flor::store::queue_file_test
