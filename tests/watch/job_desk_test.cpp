// The desk between a watch and its queue, with a queue in memory that fails before and after it
// has carried an exchange out, and a clock of the test's own.
#include "watch/job_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {
namespace {

using namespace std::chrono_literals;
using store::JobReport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kEvaluator = 7;

store::JobOrders desk_terms() {
  return {.owner = "owner", .lease_us = 30'000'000, .retries = {.attempts = 2}};
}

store::LeasedJob leased(std::int64_t job, std::int64_t token = 1, std::int64_t attempt = 1) {
  store::LeasedJob made;
  made.lease = {job, token};
  made.what.evaluator = kEvaluator;
  made.what.path = "/runs/" + std::to_string(job);
  made.attempt = attempt;
  return made;
}

store::NewJob new_job(const std::string& path, std::int64_t evaluator = kEvaluator) {
  store::NewJob made;
  made.evaluator = evaluator;
  made.path = path;
  return made;
}

/// A clock that only the test moves.
struct TestClock {
  Moment at{std::chrono::steady_clock::time_point(1000s), 1'000'000'000};
  void pass(std::chrono::microseconds time) {
    at.now += time;
    at.unix_us += time.count();
  }
};

class JobDeskTest : public ::testing::Test {
 protected:
  /// The replies of a queue that accepts all and has no jobs.
  static store::JobReplies accepting(const store::JobOrders& orders) {
    return {.accepted = std::vector<bool>(orders.reports.size(), true),
            .added = std::vector<bool>(orders.additions.size(), true),
            .same_as = std::vector<std::string>(orders.additions.size()),
            .leases = {},
            .next_us = {}};
  }
  JobDesk::News exchange(const std::vector<store::Lease>& held = {},
                         const std::vector<Demand>& demands = {}) {
    return desk_.take(accepting(desk_.begin(clock_.at, held, demands)));
  }
  void end(std::int64_t job, bool good, std::int64_t attempt = 1) {
    const auto one = leased(job, 1, attempt);
    desk_.end({.job = one, .good = good, .text = good ? "{}" : "why", .seconds = 1},
              one.what.path);
  }
  bool is_due(const std::vector<Demand>& demands = {}, bool holds = false) const {
    return desk_.is_due(clock_.at, demands, holds);
  }

  TestClock clock_;
  std::vector<std::string> notes_;
  JobDesk desk_{desk_terms(), store::JobOrder::newest,
                [this](const std::string& note) { notes_.push_back(note); }, clock_.at.now};
};

TEST_F(JobDeskTest, AsksTheQueueAtFirstAndThenWhenThereIsAReason) {
  EXPECT_TRUE(is_due());
  exchange();
  EXPECT_FALSE(is_due());
  EXPECT_EQ(desk_.due(clock_.at, {}, false), clock_.at.now + JobDesk::kLook);
  desk_.add(new_job("/runs/a"));
  EXPECT_TRUE(is_due()) << "something to say";
  exchange();
  desk_.ring(clock_.at.now);
  EXPECT_TRUE(is_due()) << "the bell";
  exchange();
  clock_.pass(JobDesk::kLook);
  EXPECT_TRUE(is_due()) << "the bell may not be heard";
}

TEST_F(JobDeskTest, SaysTermsDemandsAndTheOrderOfJobs) {
  const store::JobOrders& orders =
      desk_.begin(clock_.at, {}, {{kEvaluator, 3}, {8, 0}, {9, 1}});
  EXPECT_EQ(orders.owner, "owner");
  EXPECT_EQ(orders.retries.attempts, 2);
  ASSERT_THAT(orders.requests, SizeIs(2));
  EXPECT_EQ(orders.requests[0].evaluator, kEvaluator);
  EXPECT_EQ(orders.requests[0].count, 3U);
  EXPECT_EQ(orders.requests[0].order, store::JobOrder::newest);
  EXPECT_EQ(orders.requests[1].evaluator, 9);
}

TEST_F(JobDeskTest, KeepsOrdersOfARunningExchangeApartFromLaterOnes) {
  desk_.give_back({{1, 1}});
  const store::JobOrders& orders = desk_.begin(clock_.at, {}, {});
  desk_.give_back({{2, 1}});
  EXPECT_THAT(orders.reports, SizeIs(1));
  EXPECT_TRUE(desk_.is_exchanging());
  EXPECT_FALSE(is_due()) << "one at a time";
  desk_.take(accepting(orders));
  EXPECT_TRUE(desk_.has_orders());
  EXPECT_THAT(desk_.begin(clock_.at, {}, {}).reports, SizeIs(1));
}

TEST_F(JobDeskTest, ProlongsAllLeasesThreeTimesBeforeTheyEnd) {
  exchange();
  const std::vector<store::Lease> held{{1, 1}, {2, 1}};
  EXPECT_EQ(desk_.due(clock_.at, {}, true), clock_.at.now + 10s);
  EXPECT_EQ(desk_.due(clock_.at, {}, false), clock_.at.now + 60s);
  clock_.pass(10s);
  EXPECT_TRUE(is_due({}, true));
  EXPECT_FALSE(is_due({}, false));
  const store::JobOrders& orders = desk_.begin(clock_.at, held, {});
  ASSERT_THAT(orders.reports, SizeIs(2));
  for (const JobReport& report : orders.reports) EXPECT_EQ(report.kind, JobReport::Kind::alive);
  store::JobReplies replies = accepting(orders);
  replies.accepted[1] = false;
  const JobDesk::News news = desk_.take(replies);
  EXPECT_THAT(news.called_off, ElementsAre(store::Lease{2, 1}));
}

TEST_F(JobDeskTest, TellsAResultWhenItIsDurableNotBefore) {
  end(1, true);
  EXPECT_FALSE(desk_.accepted().wants_sync(clock_.at.now)) << "the queue does not know of it";
  exchange();
  EXPECT_TRUE(desk_.accepted().wants_sync(clock_.at.now));
  desk_.accepted().begin_sync();
  end(2, true);
  exchange();
  EXPECT_FALSE(desk_.accepted().wants_sync(clock_.at.now)) << "one at a time";
  EXPECT_EQ(desk_.unpublished(), 2U);
  const auto first = desk_.accepted().synced();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].job, 1) << "the second was accepted after the sync began";
  desk_.accepted().begin_sync();
  EXPECT_THAT(desk_.accepted().synced(), SizeIs(1));
  EXPECT_EQ(desk_.unpublished(), 0U);
}

TEST_F(JobDeskTest, AResultThatTheQueueRefusesIsNotTold) {
  end(1, true);
  const store::JobOrders& orders = desk_.begin(clock_.at, {}, {});
  store::JobReplies replies = accepting(orders);
  replies.accepted[0] = false;
  desk_.take(replies);
  EXPECT_FALSE(desk_.accepted().wants_sync(clock_.at.now));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("/runs/1: its result is not wanted any more")));
}

TEST_F(JobDeskTest, AJobIsDeadWhenItsLastAttemptFails) {
  using Kind = JobEvent::Kind;
  const std::map<std::pair<bool, std::int64_t>, Kind> table{
      {{true, 1}, Kind::done},   {{true, 2}, Kind::done}, {{false, 1}, Kind::failed},
      {{false, 2}, Kind::dead}, {{false, 3}, Kind::dead}};
  std::int64_t job = 0;
  for (const auto& [facts, kind] : table) {
    end(++job, facts.first, facts.second);
    exchange();
    desk_.accepted().begin_sync();
    const bool gave_up = desk_.accepted().gave_up();
    const auto events = desk_.accepted().synced();
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].kind, kind);
    EXPECT_EQ(desk_.accepted().gave_up(), gave_up || kind == Kind::dead) << "once it is told";
  }
}

TEST_F(JobDeskTest, SaysEverythingAgainAfterAFailureExceptHeartbeats) {
  end(1, true);
  clock_.pass(10s);
  desk_.begin(clock_.at, {{2, 1}}, {});
  desk_.give_back({{3, 1}});
  desk_.failed(clock_.at.now, "disk full");
  EXPECT_THAT(notes_, ElementsAre("disk full; results are kept until it works"));
  EXPECT_FALSE(is_due()) << "a pause";
  EXPECT_EQ(desk_.due(clock_.at, {}, true), clock_.at.now + JobDesk::kFirstPause);
  clock_.pass(JobDesk::kFirstPause);
  EXPECT_TRUE(is_due());
  const store::JobOrders& orders = desk_.begin(clock_.at, {{2, 1}}, {});
  ASSERT_THAT(orders.reports, SizeIs(3));
  EXPECT_EQ(orders.reports[0].lease, (store::Lease{1, 1})) << "the earlier ones first";
  EXPECT_EQ(orders.reports[1].lease, (store::Lease{3, 1}));
  EXPECT_EQ(orders.reports[2].kind, JobReport::Kind::alive) << "at once, since none had arrived";
  desk_.take(accepting(orders));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("disk full"), "the queue can be written again"));
}

TEST_F(JobDeskTest, KnowsWhenAUserHasWaitedLongEnough) {
  desk_.begin(clock_.at, {}, {});
  desk_.failed(clock_.at.now, "first");
  EXPECT_EQ(desk_.failure(clock_.at.now + 60s, 60s), std::nullopt);
  clock_.pass(30s);
  desk_.begin(clock_.at, {}, {});
  desk_.failed(clock_.at.now, "latest");
  EXPECT_EQ(desk_.failure(clock_.at.now + 31s, 60s), "latest") << "since the first failure";
}

TEST_F(JobDeskTest, AFailedSyncIsTriedAgainAndKeepsItsResults) {
  end(1, true);
  exchange();
  desk_.accepted().begin_sync();
  desk_.accepted().sync_failed(clock_.at.now, "disk full");
  EXPECT_THAT(notes_, ElementsAre("disk full; results are not told of until it works"));
  EXPECT_FALSE(desk_.accepted().wants_sync(clock_.at.now));
  EXPECT_EQ(desk_.due(clock_.at, {}, false), clock_.at.now + AcceptedResults::kPause);
  clock_.pass(AcceptedResults::kPause);
  ASSERT_TRUE(desk_.accepted().wants_sync(clock_.at.now));
  desk_.accepted().begin_sync();
  EXPECT_THAT(desk_.accepted().synced(), SizeIs(1));
}

TEST_F(JobDeskTest, AsksAgainAtOnceWhileTheQueueHasMoreAndElseWhenItSays) {
  const std::vector<Demand> wants{{kEvaluator, 1}};
  store::JobReplies replies = accepting(desk_.begin(clock_.at, {}, wants));
  replies.leases = {leased(1)};
  EXPECT_THAT(desk_.take(replies).leases, SizeIs(1));
  EXPECT_TRUE(is_due(wants)) << "it gave all that was asked for";
  replies = accepting(desk_.begin(clock_.at, {}, wants));
  replies.next_us = clock_.at.unix_us + 300'000;
  desk_.take(replies);
  EXPECT_FALSE(is_due(wants));
  EXPECT_FALSE(is_due({{kEvaluator, 0}}));
  EXPECT_TRUE(is_due({{kEvaluator + 1, 1}})) << "another evaluator was not refused";
  const auto due = desk_.due(clock_.at, wants, false);
  EXPECT_EQ(due, clock_.at.now + 301ms) << "a failed job is due then";
  clock_.pass(300ms);
  EXPECT_FALSE(is_due(wants)) << "not a moment too early";
  clock_.pass(1ms);
  EXPECT_TRUE(is_due(wants));
}

/// A due job that another evaluator's busy workers would take hides the times of later ones.
TEST_F(JobDeskTest, AsksEverySecondWhileATimeInThePastHidesOthers) {
  const std::vector<Demand> wants{{kEvaluator, 1}, {8, 0}};
  store::JobReplies replies = accepting(desk_.begin(clock_.at, {}, wants));
  replies.next_us = clock_.at.unix_us - 5;
  desk_.take(replies);
  EXPECT_FALSE(is_due(wants));
  EXPECT_EQ(desk_.due(clock_.at, wants, false), clock_.at.now + 1s);
}

TEST_F(JobDeskTest, IsIdleOnceAnExchangeFoundNothingWhileAllRested) {
  const std::vector<Demand> wants{{kEvaluator, 2}};
  EXPECT_FALSE(desk_.is_idle(true));
  EXPECT_TRUE(is_due(wants)) << "it asks first";
  exchange({}, wants);
  EXPECT_TRUE(desk_.is_idle(true));
  EXPECT_FALSE(desk_.is_idle(false)) << "something else came";
  EXPECT_FALSE(desk_.is_idle(true)) << "so it asks once more";
  EXPECT_TRUE(is_due());
  exchange({}, {{kEvaluator, 2}, {8, 0}});
  EXPECT_FALSE(desk_.is_idle(true)) << "not asked for all evaluators";
  store::JobReplies replies = accepting(desk_.begin(clock_.at, {}, wants));
  replies.next_us = clock_.at.unix_us + 1000;
  desk_.take(replies);
  EXPECT_FALSE(desk_.is_idle(true)) << "a failed job will be due";
}

TEST_F(JobDeskTest, NotesCopiesInOneLine) {
  for (const char* path : {"/runs/a", "/runs/b", "/runs/c", "/runs/d"}) desk_.add(new_job(path));
  store::JobReplies replies = accepting(desk_.begin(clock_.at, {}, {}));
  replies.same_as = {"", "/runs/a", "/runs/a", "/runs/a"};
  desk_.take(replies);
  EXPECT_THAT(notes_, ElementsAre("/runs/b has the content of /runs/a, and 2 more are copies: "
                                  "judged once, not again"));
}

TEST_F(JobDeskTest, GivesWaitingJobsToTheNewVersionOfAnEvaluator) {
  desk_.add(new_job("/runs/a", 1));
  desk_.add(new_job("/runs/b", 2));
  desk_.replace_evaluator(1, 3);
  const store::JobOrders& orders = desk_.begin(clock_.at, {}, {});
  EXPECT_EQ(orders.additions[0].evaluator, 3);
  EXPECT_EQ(orders.additions[1].evaluator, 2);
}

// ---------------------------------------------------------------------------------------------
// In any order.

/// Unlike rapidcheck's own numbers, as likely large in early cases as in late ones.
int any_number(int first, int end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, end));
}

/// A queue that gives leases, refuses reports about those that it took back, and may carry out
/// orders although the watch is told that it failed.
class ModelQueue {
 public:
  store::JobReplies exchange(const store::JobOrders& orders, std::int64_t now) {
    store::JobReplies replies;
    for (const JobReport& report : orders.reports) replies.accepted.push_back(take(report, now));
    for (const store::NewJob& job : orders.additions) {
      const bool is_new = added.insert(job.path).second;
      if (is_new) jobs_.push_back({.path = job.path});
      replies.added.push_back(is_new);
      replies.same_as.emplace_back();
    }
    for (const store::LeaseRequest& request : orders.requests) {
      for (std::size_t i = 0; i < jobs_.size() && replies.leases.size() < request.count; ++i) {
        lease(i, now, replies.leases);
      }
    }
    for (const One& job : jobs_) {
      if (!job.is_leased || job.is_over) continue;
      replies.next_us = std::min(replies.next_us.value_or(job.until), job.until);
    }
    return replies;
  }
  /// As a user would.
  void cancel(std::size_t job) {
    jobs_[job].is_over = true;
    ++jobs_[job].token;
  }
  bool is_current(const store::Lease& lease) const {
    const One& job = jobs_[static_cast<std::size_t>(lease.job)];
    return job.token == lease.token && !job.is_over;
  }
  std::size_t size() const { return jobs_.size(); }

  std::set<std::string> added;
  std::set<store::Lease> ended;    // by a report that was accepted
  std::set<store::Lease> results;  // of these, with a verdict

 private:
  struct One {
    std::string path;
    std::int64_t token = 0, attempts = 0, until = 0;
    bool is_leased = false, is_over = false;
  };

  bool take(const JobReport& report, std::int64_t now) {
    One& job = jobs_[static_cast<std::size_t>(report.lease.job)];
    if (ended.contains(report.lease)) return true;  // carried out before
    if (!is_current(report.lease) || !job.is_leased) return false;
    if (report.kind == JobReport::Kind::alive) {
      job.until = now + 30'000'000;
      return true;
    }
    job.is_leased = false;
    if (report.kind == JobReport::Kind::back) return true;
    ended.insert(report.lease);
    if (report.kind != JobReport::Kind::gone) results.insert(report.lease);
    const bool again = report.kind == JobReport::Kind::failed && ++job.attempts < 2;
    job.is_over = !again;
    return true;
  }
  void lease(std::size_t i, std::int64_t now, std::vector<store::LeasedJob>& leases) {
    One& job = jobs_[i];
    if (job.is_over || (job.is_leased && now < job.until)) return;
    job.is_leased = true;
    job.until = now + 30'000'000;
    leases.push_back(leased(static_cast<std::int64_t>(i), ++job.token, job.attempts + 1));
  }

  std::vector<One> jobs_;
};

/// A watch around the desk that does one thing after another.
class ModelWatch {
 public:
  void step(int kind) {
    switch (kind) {
      case 0:
        desk_.add(new_job("/runs/" + std::to_string(next_++)));
        break;
      case 1:
        end_one(any_number(0, 4));
        break;
      case 2:
        if (queue.size() > 0 && any_number(0, 3) == 0) {
          queue.cancel(static_cast<std::size_t>(any_number(0, static_cast<int>(queue.size()))));
        }
        break;
      case 3:
      case 4:
        exchange(any_number(0, 4));
        break;
      case 5:
        sync(*rc::gen::arbitrary<bool>());
        break;
      default:
        clock_.pass(std::chrono::milliseconds(any_number(1, 20'000)));
    }
    check_due();
  }

  /// All that is held ends, and all that the desk wants to do works.
  void settle() {
    for (int i = 0; i < 200; ++i) {
      while (!held.empty()) end_one(0);
      clock_.pass(10s);
      exchange(3);
      sync(true);
      if (desk_.is_idle(held.empty())) return;
    }
    RC_FAIL("the desk never comes to rest");
  }

  ModelQueue queue;
  std::map<store::Lease, store::LeasedJob> held;
  std::set<store::Lease> told;
  std::set<std::string> found() const {
    std::set<std::string> paths;
    for (int i = 0; i < next_; ++i) paths.insert("/runs/" + std::to_string(i));
    return paths;
  }

 private:
  std::vector<Demand> demands() const {
    return {{kEvaluator, held.size() < 3 ? 3 - held.size() : 0}};
  }

  void end_one(int how) {
    if (held.empty()) return;
    const store::LeasedJob job = held.begin()->second;
    held.erase(held.begin());
    if (how == 2) return desk_.give_back(job.lease);
    if (how == 3) return desk_.forget(job.lease);
    verdicts_.push_back(job.lease);
    desk_.end({.job = job, .good = how == 0, .text = "{}"}, job.what.path);
  }

  /// 0: it fails before it was carried out, 1: afterwards; else it works.
  void exchange(int how) {
    std::vector<store::Lease> leases;
    for (const auto& [lease, job] : held) leases.push_back(lease);
    if (!desk_.is_due(clock_.at, demands(), !held.empty())) return;
    const store::JobOrders& orders = desk_.begin(clock_.at, leases, demands());
    if (how == 0) return desk_.failed(clock_.at.now, "not reached");
    const store::JobReplies replies = queue.exchange(orders, clock_.at.unix_us);
    if (how == 1) return desk_.failed(clock_.at.now, "no reply");
    const JobDesk::News news = desk_.take(replies);
    for (const store::LeasedJob& job : news.leases) RC_ASSERT(held.emplace(job.lease, job).second);
    for (const store::Lease& lease : news.called_off) {
      RC_ASSERT(!queue.is_current(lease));
      held.erase(lease);
    }
  }

  void sync(bool works) {
    if (!desk_.accepted().wants_sync(clock_.at.now)) return;
    desk_.accepted().begin_sync();
    if (!works) return desk_.accepted().sync_failed(clock_.at.now, "disk full");
    for (const JobEvent& event : desk_.accepted().synced()) {
      const auto lease = std::ranges::find_if(verdicts_, [&](const store::Lease& one) {
        return one.job == event.job && !told.contains(one) && queue.results.contains(one);
      });
      RC_ASSERT(lease != verdicts_.end());  // each once, and none that the queue has not accepted
      told.insert(*lease);
    }
  }

  /// The loop neither sleeps when there is something to do nor spins when there is nothing.
  void check_due() const {
    const bool holds = !held.empty();
    const auto due = desk_.due(clock_.at, demands(), holds);
    const bool acts = desk_.is_due(clock_.at, demands(), holds) || desk_.accepted().wants_sync(clock_.at.now);
    if (desk_.is_due(clock_.at, demands(), holds)) RC_ASSERT(due <= clock_.at.now);
    if (acts) return;
    RC_ASSERT(due > clock_.at.now);
    RC_ASSERT(due < RetryPause::Time::max());
    TestClock later = clock_;
    later.pass(std::chrono::ceil<std::chrono::microseconds>(due - clock_.at.now));
    RC_ASSERT(desk_.is_due(later.at, demands(), holds) || desk_.accepted().wants_sync(later.at.now));
  }

  TestClock clock_;
  JobDesk desk_{desk_terms(), store::JobOrder::fifo, [](const std::string&) {}, clock_.at.now};
  std::vector<store::Lease> verdicts_;
  int next_ = 0;
};

RC_GTEST_PROP(JobDeskProperty, EachAcceptedResultIsToldOnceAndEachCheckpointArrives, ()) {
  ModelWatch watch;
  const int steps = any_number(0, 150);
  for (int i = 0; i < steps; ++i) watch.step(any_number(0, 8));
  watch.settle();
  RC_ASSERT(watch.queue.added == watch.found());
  RC_ASSERT(watch.held.empty());
  RC_ASSERT(watch.told == watch.queue.results);
}

}  // namespace
}  // namespace flor::cli
