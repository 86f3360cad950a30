// The queue in the catalog and that in Redis give the same replies to the same orders.
#include "queue/job_queue.h"
#include "queue/open_queue.h"
#include "queue_fixture.h"
#include "store_fixture.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>

namespace flor::store::queues_agree_test {
namespace {

using Kind = JobReport::Kind;
constexpr std::int64_t kSecond = 1'000'000;

Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }

/// One of the two, with what it has given so far.
struct Side {
  std::shared_ptr<Store> store;
  std::unique_ptr<JobQueue> queue;
  std::vector<std::int64_t> evaluators;
  std::vector<Lease> given;           ///< the same attempts at the same places on both sides
  std::vector<std::int64_t> numbers;  ///< of all jobs that there were, in order

  std::size_t place(std::int64_t job) {
    if (std::ranges::find(numbers, job) == numbers.end()) {
      for (const Job& one : queue->jobs()) {
        if (numbers.empty() || one.lease.job > numbers.back()) numbers.push_back(one.lease.job);
      }
    }
    return static_cast<std::size_t>(std::ranges::find(numbers, job) - numbers.begin());
  }

  /// As a text that does not depend on how a queue numbers jobs, evaluators and tokens.
  std::string text(const NewJob& what) const {
    const auto evaluator = std::ranges::find(evaluators, what.evaluator) - evaluators.begin();
    return fmt::format("{} e{} '{}' {} p{}", what.content.hex().substr(0, 4), evaluator,
                       what.arguments, what.path, what.priority);
  }
  std::string text(const Job& job) {
    const auto time = [](std::optional<std::int64_t> us) { return us ? std::to_string(*us) : "-"; };
    const std::string owner = job.owner.substr(job.owner.find('/') + 1);
    return fmt::format(
        "{} {} {} failed {} owner '{}' added {} due {} leased {} until {} finished "
        "{} '{}' '{}'\n",
        place(job.lease.job), text(job.what), to_string(job.state), job.attempts, owner,
        job.added_us, job.due_us, time(job.leased_us), time(job.lease_until_us),
        time(job.finished_us), job.message, job.result);
  }
  std::string jobs(const JobFilter& filter = {}) {
    std::string all;
    for (const Job& job : queue->jobs(filter)) all += text(job);
    return all;
  }
  std::string text(const JobReplies& replies, std::int64_t now) {
    std::string all = "accepted";
    for (const bool accepted : replies.accepted) all += accepted ? " yes" : " no";
    all += ", added";
    for (const bool added : replies.added) all += added ? " yes" : " no";
    for (const std::string& path : replies.same_as) all += path.empty() ? " -" : " " + path;
    for (const LeasedJob& leased : replies.leases) {
      given.push_back(leased.lease);
      all += fmt::format(", {} {} for the {}th time", place(leased.lease.job), text(leased.what),
                         leased.attempt);
    }
    // When that is does not matter if it is over.
    const auto next =
        replies.next_us ? std::optional(std::max(now, *replies.next_us)) : std::nullopt;
    return all + ", next " + (next ? std::to_string(*next) : "never");
  }
};

class QueuesAgreeTest : public ::testing::Test {
 protected:
  struct Owner {
    std::string key;
    std::array<std::optional<RunLock>, 2> locks;
  };

  void SetUp() override {
    const auto url = flor::testing::empty_queue(flor::testing::Queue::redis);
    if (!url) GTEST_SKIP() << "redis-server is not installed";
    const std::array<std::string, 2> urls{"", *url};
    for (std::size_t i = 0; i < 2; ++i) {
      Side& side = sides_[i];
      side.store = Store::open(directory_ / std::to_string(i), OpenMode::create);
      side.queue = cli::open_queue(*side.store, urls[i], [this] { return now_; });
      side.evaluators = {side.queue->add_evaluator("a.py:f", "00"),
                         side.queue->add_evaluator("b.py:g", "11")};
    }
    for (Owner& owner : owners_) replace(owner);
  }

  void replace(Owner& owner) {
    for (auto& lock : owner.locks) lock.reset();
    owner.key = new_run_key();
    for (std::size_t i = 0; i < 2; ++i) owner.locks[i] = sides_[i].store->lock_run(owner.key);
  }

  template <typename Do>
  void both(const Do& act) {
    const std::string one = act(sides_[0]), other = act(sides_[1]);
    RC_ASSERT(one == other);
    RC_ASSERT(sides_[0].given.size() == sides_[1].given.size());
  }

  void exchange() {
    const Owner& owner = owners_[*rc::gen::inRange<std::size_t>(0, owners_.size())];
    struct Said {
      std::size_t which = 0;
      Kind kind = Kind::alive;
    };
    std::vector<Said> reports;
    // The latest leases most of the time; sometimes one whose job another worker has by now.
    const std::size_t count = sides_[0].given.size();
    for (int i = *rc::gen::inRange(0, 4); i > 0 && count > 0; --i) {
      const auto back = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(count, 6));
      const bool old = *rc::gen::inRange(0, 6) == 0;
      const auto which = old ? *rc::gen::inRange<std::size_t>(0, count) : count - 1 - back;
      reports.push_back({which, *rc::gen::element(Kind::alive, Kind::done, Kind::failed, Kind::back,
                                                  Kind::done, Kind::failed)});
    }
    struct Added {
      int content = 0, priority = 0, path = 0;
      std::size_t evaluator = 0;
      bool told = false;
    };
    std::vector<Added> additions;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      additions.push_back({*rc::gen::inRange(0, 30), *rc::gen::inRange(-1, 2),
                           *rc::gen::inRange(0, 2), *rc::gen::inRange<std::size_t>(0, 2),
                           *rc::gen::inRange(0, 5) == 0});
    }
    const int requests = *rc::gen::inRange(0, 3);
    std::vector<LeaseRequest> wanted;
    for (int i = 0; i < requests; ++i) {
      wanted.push_back({*rc::gen::inRange(0, 2), *rc::gen::inRange<std::size_t>(0, 4),
                        *rc::gen::element(JobOrder::fifo, JobOrder::newest, JobOrder::bisect)});
      // Two requests of one evaluator, one of which is answered later, may share in another way.
      if (i > 0) wanted[1].evaluator = 1 - wanted[0].evaluator;
    }
    const auto attempts = *rc::gen::element<std::int64_t>(1, 2, 100);
    both([&](Side& side) {
      JobOrders orders{.owner = owner.key,
                       .lease_us = 30 * kSecond,
                       .retries = {.attempts = attempts, .first_us = 0, .longest_us = 0}};
      for (const Said& said : reports) {
        orders.reports.push_back({side.given[said.which], said.kind, "{\"n\": 1}"});
      }
      for (const Added& added : additions) {
        orders.additions.push_back(
            {.content = content(added.content),
             .evaluator = side.evaluators[added.evaluator],
             .arguments = added.told ? "{\"split\": \"a:b\"}" : "",
             .path = fmt::format("/runs {}/{}.pt", added.path, added.content),
             .priority = added.priority});
      }
      for (LeaseRequest request : wanted) {
        request.evaluator = side.evaluators[static_cast<std::size_t>(request.evaluator)];
        orders.requests.push_back(request);
      }
      return side.text(side.queue->exchange(orders), now_);
    });
  }

  void interfere() {
    const int what = *rc::gen::inRange(0, 3);
    const std::size_t jobs = sides_[0].numbers.size();
    std::vector<std::size_t> places;
    for (int i = *rc::gen::inRange(0, 3); i > 0 && jobs > 0; --i) {
      places.push_back(jobs - 1 -
                       *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(jobs, 20)));
    }
    const int state = *rc::gen::inRange(0, 8);
    const auto evaluator = *rc::gen::inRange<std::size_t>(0, 4);
    both([&](Side& side) {
      JobFilter filter;
      for (const std::size_t place : places) filter.ids.insert(side.numbers.at(place));
      if (state < 6) filter.state = static_cast<JobState>(state);
      if (evaluator < 2) filter.evaluator = side.evaluators[evaluator];
      const std::int64_t count = what == 0   ? side.queue->retry(filter)
                                 : what == 1 ? side.queue->cancel(filter)
                                             : side.queue->drop(filter);
      return std::to_string(count) + side.jobs(filter);
    });
  }

  flor::testing::TemporaryDirectory directory_;
  std::int64_t now_ = 1'700'000'000'000'000;
  std::array<Side, 2> sides_;
  std::array<Owner, 3> owners_;
};

TEST_F(QueuesAgreeTest, WhateverIsOrderedInWhateverOrder) {
  EXPECT_TRUE(rc::check([&] {
    both([](Side& side) {
      side.given.clear();
      return std::to_string(side.queue->drop({}));
    });
    const int steps = *rc::gen::inRange(5, 60);
    for (int step = 0; step < steps; ++step) {
      const int what = *rc::gen::inRange(0, 12);
      if (what == 0) {
        interfere();
      } else if (what == 1) {
        replace(owners_[*rc::gen::inRange<std::size_t>(0, owners_.size())]);
      } else if (what == 2) {
        now_ += *rc::gen::inRange<std::int64_t>(0, 40) * kSecond;
      } else {
        exchange();
      }
      if (step % 4 == 0) both([](Side& side) { return side.jobs(); });
    }
    both([](Side& side) { return side.jobs(); });
  }));
}

}  // namespace
}  // namespace flor::store::queues_agree_test
