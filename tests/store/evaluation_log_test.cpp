// What became of evaluations outlives the index, and any damage to it.
#include "journal/evaluation_log.h"

#include "database/sqlite.h"
#include "maintain/repair.h"
#include "queue/job_ledger.h"
#include "queue/job_queue.h"
#include "store_fixture.h"

#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace flor::store::evaluation_log_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

Digest content(int number) { return digest_of(std::as_bytes(std::span(&number, 1))); }

class EvaluationLogTest : public StoreTest {
 protected:
  EvaluationLogTest() { begin(); }

  void begin() {
    store_ = open();
    queue_ = open_home_queue(*store_, [this] { return ++now_; });
    evaluator_ = queue_->add_evaluator("eval.py:accuracy", "00ff");
    owner_ = new_run_key();
    lock_ = store_->lock_run(owner_);
  }
  void end() {
    lock_.reset();
    queue_.reset();
    store_.reset();
  }
  void make_index_again() {
    end();
    for (const char* suffix : {"", "-wal", "-shm", ".old"}) {
      fs::remove(home() / (std::string("catalog.db") + suffix));
    }
    begin();
  }
  void add(int number) {
    queue_->exchange({.owner = owner_,
                      .retries = {},
                      .additions = {{.content = content(number),
                                     .evaluator = evaluator_,
                                     .path = "/c/" + std::to_string(number) + ".pt",
                                     .priority = number}}});
  }
  void judge(JobReport::Kind kind, const std::string& text, std::size_t count = 1) {
    const RetryPolicy once{.attempts = 1};
    const auto leases =
        queue_->exchange({.owner = owner_, .retries = once, .requests = {{evaluator_, count}}})
            .leases;
    ASSERT_THAT(leases, SizeIs(count));
    std::vector<JobReport> reports;
    for (const LeasedJob& leased : leases) reports.push_back({leased.lease, kind, text});
    queue_->exchange({.owner = owner_, .retries = once, .reports = reports});
    queue_->sync();
  }
  /// What people see of those that have ended, by content.
  std::map<std::string, std::string> seen() {
    std::map<std::string, std::string> all;
    for (const Job& job : queue_->jobs()) {
      if (job.state == JobState::queued) continue;
      all[job.what.content.hex()] = fmt::format(
          "{} {} {} {} {} {} {} {}", to_string(job.state), job.what.path, job.what.priority,
          job.attempts, job.what.arguments, *job.finished_us, job.message, job.result);
    }
    return all;
  }
  std::vector<fs::path> logs() const {
    Paths paths;
    paths.home = home();
    return find_evaluation_logs(paths);
  }

  std::int64_t now_ = 1'700'000'000'000'000;
  std::shared_ptr<Store> store_;
  std::unique_ptr<JobQueue> queue_;
  std::string owner_;
  std::optional<RunLock> lock_;
  std::int64_t evaluator_ = 0;
};

TEST_F(EvaluationLogTest, AnIndexThatIsMadeAgainHasEveryResult) {
  for (int i = 0; i < 40; ++i) add(i);
  judge(JobReport::Kind::done, R"({"accuracy": 0.75})", 20);
  judge(JobReport::Kind::failed, "out of memory", 5);
  const auto dead = queue_->jobs({.state = JobState::dead});
  ASSERT_THAT(dead, SizeIs(5));
  queue_->cancel({.ids = {dead[0].lease.job}});
  queue_->drop({.ids = {dead[1].lease.job}});
  queue_->retry({.ids = {dead[2].lease.job}});
  queue_->drop({.ids = {queue_->jobs({.state = JobState::done})[0].lease.job}});
  const auto before = seen();
  EXPECT_THAT(before, SizeIs(19 + 3));
  for (int round = 0; round < 2; ++round) {
    make_index_again();
    EXPECT_EQ(seen(), before);
  }
  // What waited is found again by who watches: not what has ended, and what people retried is.
  for (int i = 0; i < 40; ++i) add(i);
  EXPECT_EQ(seen(), before);
  EXPECT_EQ(queue_->jobs({.state = JobState::queued}).size(), 40u - 22u);
}

TEST_F(EvaluationLogTest, WhatWasDroppedAndJudgedAgainHasItsLastResult) {
  add(1);
  judge(JobReport::Kind::done, R"({"accuracy": 1})");
  queue_->drop({});
  add(1);
  judge(JobReport::Kind::done, R"({"accuracy": 2})");
  const auto before = seen();
  make_index_again();
  EXPECT_EQ(seen(), before);
  ASSERT_EQ(queue_->jobs().size(), 1u);
  EXPECT_EQ(queue_->jobs()[0].result, R"({"accuracy": 2})");
  queue_->drop({});
  make_index_again();
  EXPECT_THAT(queue_->jobs(), IsEmpty());
}

TEST_F(EvaluationLogTest, ResultsOfAServersQueueAreThereToo) {
  JobLedger ledger(*store_, "redis://127.0.0.1/flor");
  JobLedger::Entry entry{.job = 7,
                         .what = {.content = content(3), .path = "/c/3.pt"},
                         .spec = "eval.py:loss",
                         .digest = "11"};
  entry.result = {.token = 2, .attempts = 1, .finished_us = now_, .json = R"({"loss": 3})"};
  ledger.write({.known = {entry}});
  const auto before = seen();
  ASSERT_THAT(before, SizeIs(1));
  make_index_again();
  EXPECT_EQ(seen(), before);
}

/// Each process has a log of its own, and `flor gc` joins those of processes that have ended.
TEST_F(EvaluationLogTest, LogsOfManyProcessesAreJoined) {
  for (int i = 0; i < 40; ++i) {
    end();
    begin();
    add(i);
    judge(JobReport::Kind::done, fmt::format(R"({{"accuracy": {}}})", i));
  }
  EXPECT_THAT(logs(), SizeIs(40));
  const auto before = seen();
  EXPECT_THAT(before, SizeIs(40));
  Paths paths;
  paths.home = home();
  join_evaluation_logs(Filesystem::system(), paths);
  EXPECT_THAT(logs(), SizeIs(2)) << "the joined one, and that of this process";
  join_evaluation_logs(Filesystem::system(), paths);
  EXPECT_THAT(logs(), SizeIs(2));
  make_index_again();
  EXPECT_EQ(seen(), before);
  EXPECT_THAT(check(*store_, true).findings, IsEmpty());
}

/// A bit in each byte of a log, and every length to which it may be cut.
TEST_F(EvaluationLogTest, NoDamageYieldsAWrongResult) {
  for (int i = 0; i < 3; ++i) {
    add(i);
    judge(JobReport::Kind::done, fmt::format(R"({{"accuracy": {}}})", i));
  }
  end();
  ASSERT_THAT(logs(), SizeIs(1));
  Paths paths;
  paths.home = home();
  const auto read = [&](std::vector<std::string>& damage) {
    std::map<std::string, std::string> found;
    LogPositions all;
    for (const auto& event : read_evaluations(Filesystem::system(), paths, all, damage)) {
      found[event.content.hex()] = event.path + event.text;
    }
    return found;
  };
  std::vector<std::string> none;
  const auto whole = read(none);
  ASSERT_THAT(whole, SizeIs(3));
  EXPECT_THAT(none, IsEmpty());
  const fs::path log = logs()[0];
  std::string bytes;
  {
    std::ifstream in(log, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto expect_part = [&](const std::string& content, bool told) {
    { std::ofstream(log, std::ios::binary) << content; }
    std::vector<std::string> damage;
    for (const auto& [key, result] : read(damage)) {
      const auto right = whole.find(key);
      ASSERT_NE(right, whole.end());
      EXPECT_EQ(result, right->second);
    }
    EXPECT_TRUE(!told || !damage.empty());
  };
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 7) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    SCOPED_TRACE(bit);
    expect_part(flipped, true);
    if (HasFailure()) return;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    expect_part(bytes.substr(0, length), false);
    if (HasFailure()) return;
  }
}

TEST_F(EvaluationLogTest, DamageIsNamedAndMended) {
  for (int i = 0; i < 3; ++i) {
    add(i);
    judge(JobReport::Kind::done, fmt::format(R"({{"accuracy": {}}})", i));
  }
  const auto before = seen();
  end();
  begin();  // whose queue knows that the log is whole: what comes is no loss of power
  end();
  {
    std::fstream file(logs()[0], std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(fs::file_size(logs()[0]) / 2));
    file << "damaged all along";
  }
  begin();
  const auto findings = check(*store_, true).findings;
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].what, HasSubstr("are damaged, which cost 1 of its frames"));
  EXPECT_THAT(repair(*store_).quarantined, SizeIs(1));
  EXPECT_THAT(check(*store_, true).findings, IsEmpty());
  EXPECT_EQ(seen(), before) << "the index has them all";
  make_index_again();
  EXPECT_EQ(seen(), before) << "and so has one that is made again";
}

}  // namespace
}  // namespace flor::store::evaluation_log_test
