// The queue of evaluations, in the catalog and in Redis: who gets which job when, and whose word
// counts.
#include "database/sqlite.h"
#include "queue/job_choice.h"
#include "queue/job_queue.h"
#include "queue/open_queue.h"
#include "queue_fixture.h"
#include "store_fixture.h"
#include "support/syscall_tracer.h"

#include <poll.h>
#include <rapidcheck.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <thread>

namespace flor::store::jobs_test {
namespace {

using flor::testing::SharedCounter;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000;

void pause_us(std::uint64_t time) { std::this_thread::sleep_for(std::chrono::microseconds(time)); }

bool rings(int bell) {
  pollfd waiting{bell, POLLIN, 0};
  return ::poll(&waiting, 1, 200) == 1;
}

Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }

class JobsTest : public StoreTest, public ::testing::WithParamInterface<flor::testing::Queue> {
 protected:
  void SetUp() override {
    if (!url_) GTEST_SKIP() << "redis-server is not installed";
    queue_ = open_queue();
    evaluator_ = queue_->add_evaluator("eval.py:accuracy", "00ff");
  }
  std::unique_ptr<JobQueue> open_queue() {
    return cli::open_queue(*store_, *url_, [this] { return now_; });
  }

  /// A coordinator, as the catalog knows it: alive while it holds its lock.
  struct Owner {
    std::string key = new_run_key();
    std::optional<RunLock> lock;
  };
  Owner owner() {
    Owner result;
    result.lock = store_->lock_run(result.key);
    return result;
  }

  NewJob job(int number, std::int64_t priority = 0) const {
    return {.content = content(number),
            .evaluator = evaluator_,
            .arguments = "",
            .path = "/checkpoints/" + std::to_string(number) + ".pt",
            .priority = priority};
  }
  std::vector<bool> add(std::vector<NewJob> jobs) {
    return queue_->exchange({.owner = "", .retries = {}, .additions = std::move(jobs)}).added;
  }
  void add_numbers(int count) {
    std::vector<NewJob> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(job(i));
    add(std::move(jobs));
  }
  JobReplies ask(const Owner& owner, std::size_t count, JobOrder order = JobOrder::fifo) {
    return queue_->exchange(
        {.owner = owner.key, .retries = {}, .requests = {{evaluator_, count, order}}});
  }
  std::vector<LeasedJob> lease(const Owner& owner, std::size_t count,
                               JobOrder order = JobOrder::fifo) {
    return ask(owner, count, order).leases;
  }
  std::vector<std::int64_t> ids(const std::vector<LeasedJob>& leases) {
    std::vector<std::int64_t> result;
    for (const LeasedJob& leased : leases) result.push_back(leased.lease.job);
    return result;
  }
  bool say(const Owner& owner, const Lease& lease, JobReport::Kind kind, std::string text = {},
           RetryPolicy retries = {}) {
    return queue_
        ->exchange({.owner = owner.key, .retries = retries, .reports = {{lease, kind, text}}})
        .accepted.at(0);
  }
  Job only_job() { return queue_->jobs().at(0); }

  std::optional<std::string> url_ = flor::testing::empty_queue(GetParam());
  std::shared_ptr<Store> store_ = open();
  std::int64_t now_ = 1'700'000'000'000'000;
  std::unique_ptr<JobQueue> queue_;
  std::int64_t evaluator_ = 0;
};

using Kind = JobReport::Kind;
INSTANTIATE_TEST_SUITE_P(Queues, JobsTest, flor::testing::kAllQueues, flor::testing::queue_name);

TEST_P(JobsTest, AContentIsJudgedOnceUnderHoweverManyNames) {
  NewJob copy = job(1);
  copy.path = "/elsewhere/copy.pt";
  EXPECT_THAT(add({job(1), job(2), copy}), ElementsAre(true, true, false));
  EXPECT_THAT(add({job(1)}), ElementsAre(false));
  EXPECT_THAT(queue_->jobs(), SizeIs(2));
}

TEST_P(JobsTest, AnotherEvaluatorAndOtherArgumentsMakeOtherJobs) {
  NewJob changed = job(1), told = job(1);
  changed.evaluator = queue_->add_evaluator("eval.py:accuracy", "0100");
  told.arguments = "{\"split\":\"test\"}";
  EXPECT_NE(changed.evaluator, evaluator_);
  EXPECT_EQ(queue_->add_evaluator("eval.py:accuracy", "00ff"), evaluator_);
  EXPECT_THAT(add({job(1), changed, told}), ElementsAre(true, true, true));
}

TEST_P(JobsTest, OrdersAreOldestFirstNewestFirstAndPriorityBeforeBoth) {
  add({job(1), job(2), job(3, 7), job(4)});
  const Owner me = owner();
  EXPECT_THAT(ids(lease(me, 2)), ElementsAre(3, 1));
  EXPECT_THAT(ids(lease(me, 5, JobOrder::newest)), ElementsAre(4, 2));
  EXPECT_THAT(lease(me, 5), IsEmpty());
}

TEST_P(JobsTest, BisectTakesTheEndsThenTheMiddles) {
  add_numbers(9);
  const Owner me = owner();
  EXPECT_THAT(ids(lease(me, 3, JobOrder::bisect)), ElementsAre(1, 9, 5));
  const auto rest = lease(me, 2, JobOrder::bisect);
  EXPECT_THAT(ids(rest), ElementsAre(3, 7));
}

TEST(JobChoice, BisectChoosesEveryOpenJobOnceAndNeverANeighbourWhileAGapIsWider) {
  EXPECT_TRUE(rc::check([] {
    const auto open = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
    std::vector<JobPlace> places;
    for (std::size_t i = 0; i < open.size(); ++i) {
      places.push_back({static_cast<std::int64_t>(i), 0, open[i]});
    }
    const auto chosen = bisect(places, places.size());
    const std::set<std::int64_t> different(chosen.begin(), chosen.end());
    RC_ASSERT(different.size() == chosen.size());
    RC_ASSERT(chosen.size() == static_cast<std::size_t>(std::ranges::count(open, true)));
    // Whatever is chosen after both ends are known lies no nearer to a known one than any other.
    std::vector<bool> known = open;
    known.flip();
    const auto distance = [&](std::size_t at) {
      std::size_t nearest = open.size();
      for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i]) nearest = std::min(nearest, i > at ? i - at : at - i);
      }
      return nearest;
    };
    for (const std::int64_t id : chosen) {
      const auto at = static_cast<std::size_t>(id);
      if (known.front() && known.back()) {
        for (std::size_t i = 0; i < known.size(); ++i) {
          RC_ASSERT(known[i] || distance(at) >= distance(i));
        }
      }
      known[at] = true;
    }
  }));
}

TEST_P(JobsTest, ALeaseIsSomebodysUntilNobodyProlongsIt) {
  add({job(1)});
  const Owner first = owner(), second = owner();
  const Lease lost = lease(first, 1).at(0).lease;
  EXPECT_THAT(lease(second, 1), IsEmpty());
  now_ += 29 * kSecond;
  EXPECT_TRUE(say(first, lost, Kind::alive));
  now_ += 29 * kSecond;
  const JobReplies waiting = ask(second, 1);
  EXPECT_THAT(waiting.leases, IsEmpty()) << "it was prolonged";
  EXPECT_EQ(waiting.next_us, now_ + kSecond);
  now_ += kSecond;
  EXPECT_EQ(ask(second, 1).next_us, now_ + 15 * kSecond) << "who lives may still prolong it";
  now_ += 15 * kSecond;
  const auto taken = lease(second, 1);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_GT(taken[0].lease.token, lost.token);
  EXPECT_EQ(taken[0].attempt, 1) << "to be lost is no failure of the job";

  EXPECT_FALSE(say(first, lost, Kind::alive));
  EXPECT_FALSE(say(first, lost, Kind::failed, "too late"));
  EXPECT_FALSE(say(first, lost, Kind::done, "{\"loss\":1}"));
  EXPECT_TRUE(say(second, taken[0].lease, Kind::done, "{\"loss\":2}"));
  EXPECT_FALSE(say(second, taken[0].lease, Kind::done, "{\"loss\":3}"));
  EXPECT_EQ(only_job().state, JobState::done);
  EXPECT_EQ(only_job().result, "{\"loss\":2}");
  EXPECT_EQ(only_job().finished_us, now_);
}

TEST_P(JobsTest, AfterAPauseOfEverybodyWhoLivesKeepsItsLeases) {
  add({job(1)});
  const Owner first = owner(), second = owner();
  const Lease mine = lease(first, 1).at(0).lease;
  now_ += 3600 * kSecond;  // the machine was suspended
  EXPECT_THAT(lease(second, 1), IsEmpty());
  now_ += kSecond;
  EXPECT_TRUE(say(first, mine, Kind::alive));
  now_ += 29 * kSecond;
  EXPECT_THAT(lease(second, 1), IsEmpty());
  now_ += 3600 * kSecond;  // again
  EXPECT_THAT(lease(second, 1), IsEmpty()) << "that it was extended before does not count";
  EXPECT_TRUE(say(first, mine, Kind::done, "{}"));
}

TEST_P(JobsTest, ALateResultCountsWhileNobodyElseHasTheJob) {
  add({job(1)});
  const Owner me = owner();
  const Lease mine = lease(me, 1).at(0).lease;
  now_ += 3600 * kSecond;
  EXPECT_TRUE(say(me, mine, Kind::done, "{}"));
}

TEST_P(JobsTest, WhatADeadCoordinatorHeldIsFreeAtOnce) {
  add_numbers(3);
  Owner dead = owner();
  EXPECT_THAT(lease(dead, 2), SizeIs(2));
  dead.lock.reset();
  EXPECT_THAT(ids(lease(owner(), 9)), ElementsAre(1, 2, 3));
}

TEST_P(JobsTest, AFailureIsTriedAgainWhenItIsDueAndGivenUpInTheEnd) {
  add({job(1)});
  const Owner me = owner();
  const RetryPolicy policy{.attempts = 3};
  std::int64_t waited = 0;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const LeasedJob leased = lease(me, 1).at(0);
    EXPECT_EQ(leased.attempt, attempt);
    EXPECT_TRUE(say(me, leased.lease, Kind::failed, "no data", policy));
    EXPECT_EQ(only_job().state, JobState::failed);
    EXPECT_EQ(only_job().message, "no data");
    const JobReplies waiting = ask(me, 1);
    EXPECT_THAT(waiting.leases, IsEmpty());
    ASSERT_TRUE(waiting.next_us);
    EXPECT_GT(*waiting.next_us - now_, waited) << "each wait is longer";
    waited = *waiting.next_us - now_;
    now_ = *waiting.next_us - 1;
    EXPECT_THAT(lease(me, 1), IsEmpty());
    now_ += 1;
  }
  EXPECT_TRUE(say(me, lease(me, 1).at(0).lease, Kind::failed, "no data", policy));
  EXPECT_EQ(only_job().state, JobState::dead);
  now_ += 3600 * kSecond;
  EXPECT_THAT(lease(me, 1), IsEmpty());
  EXPECT_EQ(ask(me, 1).next_us, std::nullopt);

  EXPECT_EQ(queue_->retry({}), 1);
  EXPECT_EQ(lease(me, 1).at(0).attempt, 1);
}

TEST(Backoff, DoublesUpToItsLimitAndStaysWithinAQuarter) {
  EXPECT_TRUE(rc::check([] {
    const Lease lease{*rc::gen::positive<std::int64_t>(), *rc::gen::positive<std::int64_t>()};
    const RetryPolicy policy{.first_us = *rc::gen::inRange<std::int64_t>(4, 10'000'000),
                             .longest_us = *rc::gen::inRange<std::int64_t>(4, 400'000'000)};
    const auto failed = *rc::gen::inRange<std::int64_t>(1, 200);
    const double expected =
        std::min(static_cast<double>(policy.longest_us),
                 static_cast<double>(policy.first_us) * std::exp2(static_cast<double>(failed - 1)));
    const auto wait = static_cast<double>(backoff_us(policy, lease, failed));
    RC_ASSERT(wait >= 0.74 * expected - 1);
    RC_ASSERT(wait <= 1.26 * expected + 1);
  }));
}

TEST_P(JobsTest, AJobThatIsGivenBackIsFreeAtOnceAndHasNotFailed) {
  add({job(1)});
  const Owner me = owner();
  EXPECT_TRUE(say(me, lease(me, 1).at(0).lease, Kind::back));
  EXPECT_EQ(only_job().state, JobState::queued);
  EXPECT_EQ(lease(owner(), 1).at(0).attempt, 1);
}

TEST_P(JobsTest, AJobWhoseCheckpointIsGoneIsForgottenUntilItComesBack) {
  add({job(1)});
  const Owner me = owner();
  const Lease lost = lease(me, 1).at(0).lease;
  EXPECT_FALSE(say(me, {lost.job, lost.token + 1}, Kind::gone));
  EXPECT_TRUE(say(me, lost, Kind::gone));
  EXPECT_FALSE(say(me, lost, Kind::done, "{}"));
  EXPECT_THAT(queue_->jobs(), IsEmpty());
  EXPECT_THAT(lease(me, 1), IsEmpty());
  EXPECT_THAT(add({job(1)}), ElementsAre(true));
  const auto again = lease(me, 1);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_TRUE(say(me, again[0].lease, Kind::done, "{}"));
}

TEST_P(JobsTest, WhoeverCancelsOrDropsAJobIsObeyedByItsWorker) {
  add_numbers(3);
  const Owner me = owner();
  const auto leases = lease(me, 2);
  const auto other = open_queue();
  const int bell = other->bell();
  other->hush();
  EXPECT_FALSE(rings(bell));
  EXPECT_EQ(queue_->cancel({.ids = {1}}), 1);
  EXPECT_TRUE(rings(bell)) << "its coordinator is told";
  other->hush();
  EXPECT_FALSE(rings(bell));
  EXPECT_EQ(queue_->drop({.ids = {2}}), 1);
  EXPECT_EQ(queue_->cancel({.ids = {1}}), 0);
  EXPECT_FALSE(say(me, leases[0].lease, Kind::alive));
  EXPECT_FALSE(say(me, leases[0].lease, Kind::done, "{}"));
  EXPECT_FALSE(say(me, leases[1].lease, Kind::done, "{}"));
  EXPECT_EQ(only_job().state, JobState::cancelled);
  EXPECT_THAT(ids(lease(me, 9)), ElementsAre(3));
  EXPECT_EQ(queue_->retry({.ids = {1}}), 1);
  EXPECT_THAT(ids(lease(me, 9)), ElementsAre(1));
}

TEST_P(JobsTest, FiltersNameTheJobsThatAreMeant) {
  add_numbers(4);
  const Owner me = owner();
  say(me, lease(me, 1).at(0).lease, Kind::done, "{}");
  lease(me, 1);
  EXPECT_THAT(queue_->jobs({.state = JobState::queued}), SizeIs(2));
  EXPECT_THAT(queue_->jobs({.state = JobState::done}), SizeIs(1));
  EXPECT_THAT(queue_->jobs({.ids = {2, 3, 77}}), SizeIs(2));
  EXPECT_THAT(queue_->jobs({.evaluator = evaluator_ + 1}), IsEmpty());
  EXPECT_EQ(queue_->cancel({}), 3) << "what is done stays done";
  EXPECT_EQ(queue_->retry({}), 3);
  for (const JobState state : {JobState::queued, JobState::leased, JobState::failed, JobState::done,
                               JobState::dead, JobState::cancelled}) {
    EXPECT_EQ(job_state_from(to_string(state)), state);
  }
  EXPECT_EQ(job_state_from("gone"), std::nullopt);
}

TEST_P(JobsTest, AWatchRemembersWhatItHasFound) {
  WatchMemory memory(*store_);
  const Sighting old{0, "/checkpoints/a.pt", {1, 2, 3, 4}, {}};
  const auto watch = memory.add("/checkpoints", "eval.py:accuracy", "", "", {old});
  EXPECT_TRUE(watch.is_new);
  ASSERT_THAT(memory.sightings(watch.id), SizeIs(1));
  EXPECT_FALSE(memory.sightings(watch.id)[0].content);
  EXPECT_FALSE(memory.add("/checkpoints", "eval.py:accuracy", "", "", {old, old}).is_new);
  EXPECT_TRUE(memory.add("/checkpoints", "eval.py:loss", "").is_new);
  EXPECT_TRUE(memory.add("/checkpoints", "eval.py:accuracy", "", "redis://there:1/0").is_new)
      << "another queue has not got its jobs";
  Sighting now = old;
  now.watch = watch.id;
  now.file.modified_ns = 5;
  now.content = content(1);
  queue_->exchange({.owner = "", .retries = {}, .additions = {job(1)}, .sightings = {now}});
  const auto found = memory.sightings(watch.id);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].file, now.file);
  EXPECT_EQ(found[0].content, content(1));
}

class JobCatalogTest : public StoreTest {};

TEST_F(JobCatalogTest, AStoreWithoutAQueueOpensForReadingAndForWriting) {
  open();
  const auto reader = open(OpenMode::read_only);
  EXPECT_THAT(open_home_queue(*reader)->jobs(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(home() / "queue.db")) << "who only looks makes none";
  const auto store = open(OpenMode::existing);
  const auto queue = open_home_queue(*store);
  const NewJob job{
      .content = content(1), .evaluator = queue->add_evaluator("a", "b"), .path = "/a"};
  const auto replies = queue->exchange({.owner = "", .retries = {}, .additions = {job}});
  EXPECT_THAT(replies.added, ElementsAre(true));
}

/// What the queue must do, in the simplest words: it knows for each job which lease is valid.
struct Model {
  struct Entry {
    bool done = false;
    std::optional<std::pair<std::size_t, Lease>> lease;  ///< owner
    std::int64_t until = 0;
    int results = 0;
  };
  std::map<std::int64_t, Entry> jobs;
};

TEST_P(JobsTest, WhateverIsSaidInWhateverOrderEachJobHasOneHolderAndOneResult) {
  std::array<Owner, 3> owners{owner(), owner(), owner()};
  int added = 0;
  EXPECT_TRUE(rc::check([&] {
    queue_->drop({});
    Model model;
    std::vector<std::pair<std::size_t, Lease>> given;  // all leases that there ever were
    const int steps = *rc::gen::inRange(5, 60);
    for (int step = 0; step < steps; ++step) {
      const auto who = *rc::gen::inRange<std::size_t>(0, owners.size());
      const int what = *rc::gen::inRange(0, 10);
      if (what < 2) {
        add({job(++added)});
        model.jobs[queue_->jobs().back().lease.job];
      } else if (what < 5) {
        for (const LeasedJob& leased : lease(owners[who], 2, JobOrder::newest)) {
          auto& entry = model.jobs.at(leased.lease.job);
          RC_ASSERT(!entry.done);
          RC_ASSERT(!entry.lease || entry.until <= now_);
          entry.lease = {who, leased.lease};
          entry.until = now_ + 30 * kSecond;
          given.emplace_back(who, leased.lease);
        }
      } else if (what == 5) {
        now_ += *rc::gen::inRange<std::int64_t>(0, 40) * kSecond;
      } else if (!given.empty()) {
        const auto& [holder, named] = given[*rc::gen::inRange<std::size_t>(0, given.size())];
        const auto kind = *rc::gen::element(Kind::alive, Kind::done, Kind::failed, Kind::back);
        const bool accepted = say(owners[holder], named, kind, "{}", {.attempts = 1000});
        auto& entry = model.jobs.at(named.job);
        const bool valid = !entry.done && entry.lease && entry.lease->second == named;
        // A lease that ran out may have been taken away without being given to another.
        RC_ASSERT(!accepted || valid);
        RC_ASSERT(accepted || !valid || entry.until <= now_);
        if (!accepted) continue;
        if (kind == Kind::alive) {
          entry.until = now_ + 30 * kSecond;
        } else {
          entry.lease.reset();
          entry.done = kind == Kind::done;
          entry.results += kind == Kind::done ? 1 : 0;
        }
      }
    }
    for (const Job& found : queue_->jobs()) {
      const auto& entry = model.jobs.at(found.lease.job);
      RC_ASSERT(entry.results == (entry.done ? 1 : 0));
      RC_ASSERT((found.state == JobState::done) == entry.done);
      RC_ASSERT(found.result.empty() != entry.done);
    }
  }));
}

/// Workers are processes that lease, work for a moment and report; one of them is killed at random
/// again and again.
class JobStormTest : public JobsTest {
 protected:
  static constexpr int kWorkers = 3;

  int work(const SharedCounter& stop) {
    const auto store = Store::open(home(), OpenMode::existing);
    const std::string key = new_run_key();
    const auto lock = store->lock_run(key);
    const auto queue = cli::open_queue(*store, *url_);
    std::minstd_rand random(static_cast<unsigned>(::getpid()));
    JobOrders orders{.owner = key, .retries = {.attempts = 1'000'000, .first_us = 1000}};
    orders.requests = {{evaluator_, 1 + random() % 3, JobOrder::fifo}};
    while (stop.get() == 0) {
      const JobReplies replies = queue->exchange(orders);
      orders.reports.clear();
      for (const LeasedJob& leased : replies.leases) {
        pause_us(random() % 2000);
        const bool fails = random() % 4 == 0;
        orders.reports.push_back({leased.lease, fails ? Kind::failed : Kind::done,
                                  fails ? "unlucky" : leased.what.path});
      }
      if (replies.leases.empty()) pause_us(1000);
    }
    return 0;
  }

  void storm(int jobs, int kills) {
    add_numbers(jobs);
    queue_.reset();  // before fork
    store_.reset();
    SharedCounter stop;
    stop.set(0);
    std::array<pid_t, kWorkers> pids;
    const auto start = [&] { return start_process([&] { return work(stop); }); };
    for (pid_t& pid : pids) pid = start();
    std::minstd_rand random(static_cast<unsigned>(kills));
    for (int i = 0; i < kills; ++i) {
      pause_us(1000 + random() % 12'000);
      pid_t& victim = pids[random() % kWorkers];
      ::kill(victim, SIGKILL);
      EXPECT_EQ(wait_for(victim), -SIGKILL);
      victim = start();
    }
    const auto store = open();
    const auto queue = cli::open_queue(*store, *url_);
    for (int i = 0; i < 6000; ++i) {
      if (queue->jobs({.state = JobState::done}).size() == static_cast<std::size_t>(jobs)) break;
      pause_us(10'000);
    }
    stop.set(1);
    for (const pid_t pid : pids) EXPECT_EQ(wait_for(pid), 0);
    const auto all = queue->jobs();
    ASSERT_THAT(all, SizeIs(jobs));
    for (const Job& found : all) {
      EXPECT_EQ(found.state, JobState::done) << found.what.path;
      EXPECT_EQ(found.result, found.what.path);
    }
    Connection connection(home() / "queue.db", Connection::Mode::read_only);
    const auto row = connection(
        "SELECT count(*) FROM job_result JOIN job ON job.id = job_result.job "
        "WHERE job_result.token = job.token");
    ASSERT_TRUE(row->step());
    const bool same = GetParam() == flor::testing::Queue::home;  // else a copy, see JobLedger
    EXPECT_LE(row->integer(0), jobs);
    EXPECT_TRUE(row->integer(0) == jobs || !same) << "each result is that of the last lease";
    EXPECT_EQ(damage(*store), "");
  }
};

INSTANTIATE_TEST_SUITE_P(Queues, JobStormTest, flor::testing::kAllQueues,
                         flor::testing::queue_name);
TEST_P(JobStormTest, EveryJobHasOneResultHoweverOftenWorkersAreKilled) { storm(60, 15); }

class JobStormOftenTest : public JobStormTest {};
INSTANTIATE_TEST_SUITE_P(Queues, JobStormOftenTest, flor::testing::kAllQueues,
                         flor::testing::queue_name);
TEST_P(JobStormOftenTest, EveryJobHasOneResultHoweverOftenWorkersAreKilled) { storm(1500, 400); }

}  // namespace
}  // namespace flor::store::jobs_test
