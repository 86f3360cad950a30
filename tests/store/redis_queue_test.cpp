// What is particular to a queue in Redis: several machines, a server that goes, comes back, and has
// forgotten.
#include "database/store_impl.h"
#include "queue/address.h"
#include "queue/job_queue.h"
#include "queue/open_queue.h"
#include "queue/queue_file.h"
#include "queue_fixture.h"
#include "store_fixture.h"

#include <flor/store/error.h>

#include <poll.h>

#include <chrono>
#include <thread>

namespace flor::store::redis_queue_test {
namespace {

using flor::testing::RedisServer;
using flor::testing::TemporaryDirectory;
using Kind = JobReport::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }

bool rings(int bell, int milliseconds = 2000) {
  pollfd waiting{bell, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) == 1;
}

/// A watch on a machine: a store and a lock of its own.
struct Machine {
  explicit Machine(const std::string& url) : queue(cli::open_queue(*store, url)) {}

  JobReplies exchange(JobOrders orders) {
    orders.owner = key;
    JobReplies replies = queue->exchange(orders);
    for (const std::string& remark : replies.remarks) remarks += remark + "\n";
    return replies;
  }
  void add(int from, int to) {
    std::vector<NewJob> jobs;
    for (int i = from; i < to; ++i) {
      jobs.push_back({.content = content(i),
                      .evaluator = evaluator,
                      .path = "/shared/" + std::to_string(i) + ".pt"});
    }
    exchange({.owner = "", .retries = {}, .additions = jobs});
  }
  std::vector<LeasedJob> lease(std::size_t count) {
    return exchange({.owner = "", .retries = {}, .requests = {{evaluator, count}}}).leases;
  }
  bool say(const Lease& lease, Kind kind, const std::string& text = {}) {
    return exchange({.owner = "", .retries = {}, .reports = {{lease, kind, text}}}).accepted.at(0);
  }
  void judge(const std::vector<LeasedJob>& jobs) {
    for (const LeasedJob& job : jobs) {
      EXPECT_TRUE(say(job.lease, Kind::done, "{\"path\":\"" + job.what.path + "\"}"));
    }
  }
  /// What the machine knows by itself.
  std::vector<Job> local() { return open_home_queue(*store)->jobs(); }
  std::size_t count(JobState state) { return queue->jobs({.state = state}).size(); }

  TemporaryDirectory directory;
  std::shared_ptr<Store> store = Store::open(directory / "home", OpenMode::create);
  std::string key = new_run_key();
  std::optional<RunLock> lock = store->lock_run(key);
  std::unique_ptr<JobQueue> queue;
  std::int64_t evaluator = queue->add_evaluator("judge.py:f", "00ff");
  std::string remarks;
};

/// With one clock, in microseconds, that the test sets.
struct TwoMachines {
  TwoMachines() {
    for (Machine* machine : {&first, &second}) {
      machine->queue = cli::open_queue(*machine->store, server.name(), [this] { return now; });
    }
  }
  RedisServer server{{"--save", ""}};
  std::int64_t now = 1'700'000'000'000'000;
  Machine first{server.name()}, second{server.name()};
};

class RedisQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed";
    ::signal(SIGPIPE, SIG_IGN);  // as the program has it
  }
};

TEST(QueueAddress, IsReadAsPeopleWriteItAndNamedWithoutItsPassword) {
  const auto full = cli::parse_queue_address("redis://me:p%40ss:%2Fword@db.example:6390/7");
  EXPECT_EQ(full.host, "db.example");
  EXPECT_EQ(full.port, 6390);
  EXPECT_EQ(full.database, 7);
  EXPECT_EQ(full.user, "me");
  EXPECT_EQ(full.password, "p@ss:/word");
  EXPECT_EQ(full.name(), "redis://db.example:6390/7");
  EXPECT_EQ(cli::parse_queue_address("redis://host").name(), "redis://host:6379/0");
  EXPECT_EQ(cli::parse_queue_address("redis://:secret@[::1]:7/").name(), "redis://[::1]:7/0");
  for (const char* wrong :
       {"", "host:1", "http://host", "redis://", "redis://host:0", "redis://host:99999",
        "redis://host/x", "redis://se:cret@host:x", "redis://secret@host", "redis://:se%zzcret@h",
        "redis://[::1", "redis://::1", "redis://host/-1"}) {
    const auto message = message_of<UsageError>([&] { cli::parse_queue_address(wrong); });
    EXPECT_THAT(message, HasSubstr("--queue")) << wrong;
    EXPECT_THAT(message, Not(HasSubstr("cret"))) << wrong;
  }
}

TEST_F(RedisQueueTest, AServerThatIsNotThereIsOneLineWithoutThePassword) {
  std::string url;
  {
    const RedisServer server;
    url = "redis://:se%20cret@127.0.0.1:" + std::to_string(server.port()) + "/3";
  }
  const auto message = message_of<QueueUnreachable>([&] { Machine machine(url); });
  EXPECT_THAT(message, HasSubstr("/3 does not answer (Connection refused)"));
  EXPECT_THAT(message, Not(HasSubstr("cret")));
}

TEST_F(RedisQueueTest, PasswordsAndDatabasesAreTheOnesOfTheUrl) {
  const RedisServer server({"--requirepass", "secret", "--save", ""});
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  for (const char* wrong : {"", ":other@", "nobody:secret@"}) {
    const auto message =
        message_of<Error>([&] { Machine machine("redis://" + (wrong + place) + "/0"); });
    EXPECT_THAT(message, HasSubstr("refuses")) << wrong;
    EXPECT_THAT(message, Not(HasSubstr("secret"))) << wrong;
  }
  EXPECT_THAT(message_of<Error>([&] { Machine machine("redis://:secret@" + place + "/99"); }),
              HasSubstr("refuses"));
  Machine one("redis://:secret@" + place), other("redis://default:secret@" + place + "/5");
  one.add(0, 3);
  EXPECT_THAT(one.queue->jobs(), SizeIs(3));
  EXPECT_THAT(other.queue->jobs(), IsEmpty());
  EXPECT_THAT(other.lease(9), IsEmpty());
  EXPECT_THAT(one.lease(9), SizeIs(3));
}

TEST_F(RedisQueueTest, TwoMachinesShareTheWorkAndNeitherTakesTheOthersWhileItLives) {
  const RedisServer server({"--save", ""});
  Machine first(server.name()), second(server.name());
  EXPECT_EQ(first.evaluator, second.evaluator);
  const int bell = second.queue->bell();
  first.add(0, 4);
  EXPECT_TRUE(rings(bell));
  EXPECT_TRUE(second.queue->hush());
  EXPECT_FALSE(rings(bell, 0));
  const auto mine = first.lease(2), others = second.lease(9);
  EXPECT_THAT(mine, SizeIs(2));
  EXPECT_THAT(others, SizeIs(2));
  first.lock.reset();  // of no meaning on another machine
  EXPECT_THAT(second.lease(9), IsEmpty());
  first.judge(mine);
  second.judge(others);
  EXPECT_EQ(second.count(JobState::done), 4u);
  EXPECT_THAT(first.local(), SizeIs(2)) << "what it has judged";
  EXPECT_EQ(first.local()[0].result, "{\"path\":\"/shared/0.pt\"}");
  EXPECT_EQ(first.queue->cancel({}), 0);
  EXPECT_EQ(first.queue->drop({.ids = {1}}), 1);
  EXPECT_TRUE(rings(bell));
}

TEST_F(RedisQueueTest, WhatADeadWatchOfThisMachineHeldIsFreeAtOnce) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name());
  machine.add(0, 2);
  EXPECT_THAT(machine.lease(9), SizeIs(2));
  const std::string key = new_run_key();
  const auto lock = machine.store->lock_run(key);
  JobOrders orders{.owner = key, .retries = {}, .requests = {{machine.evaluator, 9}}};
  const auto queue = cli::open_queue(*machine.store, server.name());
  EXPECT_THAT(queue->exchange(orders).leases, IsEmpty());
  machine.lock.reset();
  EXPECT_THAT(queue->exchange(orders).leases, SizeIs(2));
}

TEST_F(RedisQueueTest, AServerThatComesBackEmptyIsToldEverythingAgainInOneLine) {
  RedisServer server({"--save", ""});
  Machine machine(server.name()), other(server.name());
  other.lease(0);
  machine.add(0, 6);
  machine.judge(machine.lease(2));
  const auto held = machine.lease(1);
  const auto theirs = other.lease(1);
  const int bell = machine.queue->bell();
  server.stop();
  EXPECT_TRUE(rings(bell)) << "the connection is gone";
  EXPECT_TRUE(machine.queue->hush());
  const auto message =
      message_of<QueueUnreachable>([&] { machine.say(held.at(0).lease, Kind::alive); });
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0);
  server.start();
  EXPECT_TRUE(machine.say(held.at(0).lease, Kind::done, "{\"n\": 3}"))
      << "it was judged meanwhile, and counts";
  EXPECT_EQ(machine.remarks, "the queue " + server.name() +
                                 " has lost what came last: 6 evaluations added again, "
                                 "2 results told again\n");
  EXPECT_EQ(machine.count(JobState::done), 3u);
  EXPECT_TRUE(other.say(theirs.at(0).lease, Kind::alive)) << "and so does what others are at";
  EXPECT_THAT(other.remarks, IsEmpty()) << "nothing was missing any more";
  other.judge(theirs);
  machine.judge(machine.lease(9));
  const auto all = machine.queue->jobs();
  EXPECT_THAT(all, SizeIs(6));
  for (const Job& job : all) EXPECT_EQ(job.state, JobState::done) << job.what.path;
  EXPECT_EQ(all[2].result, "{\"n\": 3}");
  other.add(10, 11);
  EXPECT_TRUE(rings(bell)) << "the bell is connected again";
}

TEST_F(RedisQueueTest, AMachineThatWasOffTellsItsResultsWhenItComesBack) {
  RedisServer server({"--save", ""});
  auto away = std::make_unique<Machine>(server.name());
  away->add(0, 3);
  away->judge(away->lease(2));
  away->queue.reset();
  server.stop();
  server.start();
  Machine other(server.name());
  other.add(0, 3);
  EXPECT_EQ(other.lease(1).at(0).what.path, "/shared/0.pt")
      << "nobody here knows that it is judged";
  away->queue = cli::open_queue(*away->store, server.name());
  away->lease(0);
  EXPECT_THAT(away->remarks, HasSubstr("0 evaluations added again, 2 results told again"));
  EXPECT_THAT(other.lease(9), SizeIs(1));
  EXPECT_EQ(away->count(JobState::done), 2u);
}

TEST_F(RedisQueueTest, AQueueThatIsEmptiedWhileTheServerRunsIsNoticed) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name());
  machine.add(0, 3);
  machine.judge(machine.lease(1));
  const auto held = machine.lease(1).at(0);
  server.ask("FLUSHALL");
  EXPECT_TRUE(machine.say(held.lease, Kind::done, "{}"));
  EXPECT_THAT(machine.remarks, HasSubstr("3 evaluations added again, 1 result told again"));
  EXPECT_EQ(machine.count(JobState::done), 2u);
  server.ask("FLUSHALL");
  server.ask("SCRIPT FLUSH");
  EXPECT_THAT(machine.lease(9), SizeIs(1));
}

TEST_F(RedisQueueTest, AServerThatWasKilledAndLostWhatCameLastIsToldThat) {
  RedisServer server;  // its own save points: after an hour, or many changes
  Machine machine(server.name());
  machine.add(0, 4);
  const auto early = machine.lease(1);
  EXPECT_THAT(server.ask("SAVE"), HasSubstr("OK"));
  machine.judge(early);
  machine.judge(machine.lease(1));
  machine.add(4, 6);
  const auto held = machine.lease(1).at(0);
  server.kill();
  server.start();
  EXPECT_TRUE(machine.say(held.lease, Kind::done, "{}"));
  EXPECT_THAT(machine.remarks, HasSubstr("2 evaluations added again, 2 results told again"));
  machine.judge(machine.lease(9));
  const auto all = machine.queue->jobs();
  EXPECT_THAT(all, SizeIs(6));
  for (const Job& job : all) EXPECT_EQ(job.state, JobState::done) << job.what.path;
  EXPECT_THAT(machine.local(), SizeIs(6));
}

TEST_F(RedisQueueTest, AWatchThatLivesKeepsItsLeasesThoughTheServerWasAwayForLonger) {
  TwoMachines two;
  auto& [server, now, first, second] = two;
  first.add(0, 1);
  const LeasedJob held = first.lease(1).at(0);
  // As when it was started anew.
  server.ask("HSET {flor}:head server another life 1");
  now += 3'600'000'000;
  EXPECT_THAT(second.lease(1), IsEmpty());
  EXPECT_TRUE(first.say(held.lease, Kind::alive));
  now += 29'000'000;
  EXPECT_THAT(second.lease(1), IsEmpty());
  now += 2'000'000;
  EXPECT_THAT(second.lease(1), IsEmpty()) << "it is extended once";
  now += 15'000'000;
  EXPECT_THAT(second.lease(1), SizeIs(1));
}

TEST_F(RedisQueueTest, AServerThatWasStartedAnewRenewsALeaseForAsLongAsItsHolderHasIt) {
  TwoMachines two;
  auto& [server, now, first, second] = two;
  first.add(0, 1);
  constexpr std::int64_t kLong = 600'000'000, kShort = 1'000'000;
  const auto held =
      first
          .exchange(
              {.owner = "", .lease_us = kLong, .retries = {}, .requests = {{first.evaluator, 1}}})
          .leases.at(0);
  server.ask("HSET {flor}:head server another life 1");
  now += kLong - 1;
  const JobOrders hasty{
      .owner = "", .lease_us = kShort, .retries = {}, .requests = {{second.evaluator, 1}}};
  EXPECT_THAT(second.exchange(hasty).leases, IsEmpty());
  now += kLong - 1;
  EXPECT_THAT(second.exchange(hasty).leases, IsEmpty()) << "its holder may be silent for so long";
  EXPECT_TRUE(first.say(held.lease, Kind::done, "{}"));
}

TEST_F(RedisQueueTest, ADurableServerLosesNothingAndWhatWasDroppedStaysDropped) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  Machine machine(server.name());
  machine.add(0, 4);
  machine.judge(machine.lease(1));
  const auto held = machine.lease(1).at(0);
  EXPECT_EQ(machine.queue->drop({.ids = {1, 4}}), 2);
  server.kill();
  server.start();
  EXPECT_TRUE(machine.say(held.lease, Kind::done, "{}"));
  EXPECT_THAT(machine.remarks, IsEmpty());
  EXPECT_THAT(machine.queue->jobs(), SizeIs(2));
}

TEST_F(RedisQueueTest, ResultsThatOthersFoundAreLearntWhenTheQueueIsOpenedAgain) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name()), other(server.name());
  machine.add(0, 2);
  other.judge(other.lease(2));
  EXPECT_THAT(machine.local(), IsEmpty());
  machine.queue = cli::open_queue(*machine.store, server.name());
  machine.lease(0);
  EXPECT_THAT(machine.local(), SizeIs(2));
}

TEST_F(RedisQueueTest, AResultThatTheHomeCannotTakeIsKeptWithTheLeasesOfItsAnswer) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name());
  machine.add(0, 2);
  const LeasedJob job = machine.lease(1).at(0);
  Connection& home = queue_of(*machine.store->impl().database, QueueUse::look)->connection;
  home.execute(
      "CREATE TEMP TRIGGER full BEFORE INSERT ON job_result BEGIN SELECT RAISE(ABORT, 'full'); "
      "END");
  const JobOrders orders{.owner = "",
                         .retries = {},
                         .reports = {{job.lease, Kind::done, "{\"a\":1}"}},
                         .requests = {{machine.evaluator, 1}}};
  for (int i = 0; i < 2; ++i) EXPECT_THROW(machine.exchange(orders), Error);
  EXPECT_EQ(machine.local().size(), 0U);
  home.execute("DROP TRIGGER full");
  const JobReplies replies = machine.exchange(orders);
  EXPECT_THAT(replies.accepted, ElementsAre(true));
  ASSERT_THAT(replies.leases, SizeIs(1));
  EXPECT_NE(replies.leases[0].lease.job, job.lease.job);
  ASSERT_THAT(machine.local(), SizeIs(1));
  EXPECT_EQ(machine.local()[0].result, "{\"a\":1}");
  machine.judge(replies.leases);
  EXPECT_EQ(machine.count(JobState::done), 2U);
}

TEST_F(RedisQueueTest, ThousandsAreAddedAtOnceAndWhatTheServerEvictedIsAddedAgain) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name());
  machine.add(0, 4100);
  EXPECT_THAT(machine.queue->jobs(), SizeIs(4100));
  for (const char* gone : {"1", "2", "4100"}) {
    server.ask(std::string("DEL {flor}:job:") + gone);
  }
  EXPECT_EQ(machine.lease(2).at(0).what.path, "/shared/2.pt");
  machine.add(0, 4100);
  EXPECT_THAT(machine.queue->jobs(), SizeIs(4100));
  EXPECT_THAT(machine.lease(5000), SizeIs(4098));
}

TEST_F(RedisQueueTest, AnAnswerThatIsLostIsGivenAgainAndNothingHappensTwice) {
  const RedisServer server({"--save", ""});
  Machine machine(server.name());
  machine.add(0, 5);
  const auto first = machine.lease(1).at(0);
  JobOrders orders{.owner = "", .retries = {}, .reports = {{first.lease, Kind::done, "{}"}}};
  orders.requests = {{machine.evaluator, 2}};
  server.pause();
  EXPECT_THAT(message_of<QueueUnreachable>([&] { machine.exchange(orders); }),
              HasSubstr("it takes too long"));
  server.go_on();
  for (int i = 0; i < 500 && Machine(server.name()).count(JobState::leased) < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  orders.requests.clear();
  const JobReplies replies = machine.exchange(orders);
  EXPECT_THAT(replies.accepted, ElementsAre(true));
  EXPECT_THAT(replies.leases, SizeIs(2)) << "those of the first time";
  machine.judge(replies.leases);
  EXPECT_EQ(machine.count(JobState::done), 3u);
  EXPECT_THAT(machine.local(), SizeIs(3));
}

}  // namespace
}  // namespace flor::store::redis_queue_test
