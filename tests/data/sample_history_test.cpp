// Random histories of trainings that are killed and go on with other numbers of replicas: every
// sample is used exactly once an epoch, and the audit of the records agrees.
#include "support/some_points.h"
#include "support/thread_group.h"

#include <flor/data/sample_audit.h>
#include <flor/data/sample_stream.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace flor {
namespace {

/// What was done in all histories together.
struct Totals {
  int histories = 0, epochs = 0, kills = 0, world_changes = 0, same_worlds = 0;
  std::uint64_t samples = 0, once = 0, repeated = 0, dropped = 0, lost_work = 0;
};

/// A training of several replicas in step, each with a loader that reads ahead.
class Training {
 public:
  Training(std::uint32_t seed, Totals& totals) : random_(seed), totals_(totals) {
    constexpr Shuffle kShuffles[] = {Shuffle::none, Shuffle::torch, Shuffle::keyed};
    constexpr Tail kTails[] = {Tail::repeat, Tail::drop, Tail::uneven};
    setup_ = {.samples = pick(150),
              .shuffle = kShuffles[pick(3)],
              .seed = random_(),
              .tail = kTails[pick(3)],
              .sharded = pick(3) == 0};
    epochs_ = 1 + pick(3);
    batch_ = 1 + pick(6);
    ahead_ = 1 + pick(4);
    agrees_ = pick(12) == 0;
    start();
  }

  void run() {
    while (epoch_ < epochs_) {
      if (!train_epoch()) continue;
      commit();
      ++epoch_;
    }
    check();
  }

 private:
  struct Replica {
    std::unique_ptr<SampleStream> stream;
    std::deque<std::vector<std::size_t>> ahead;
  };

  std::uint64_t pick(std::uint64_t count) { return random_() % count; }

  void start() {
    std::uint64_t world = 1 + pick(9);
    if (!replicas_.empty() && pick(4) == 0) world = replicas_.size();
    if (setup_.tail == Tail::drop) {
      world = std::min(world, std::max<std::uint64_t>(1, setup_.samples));
    }
    if (!replicas_.empty()) {
      ++(world == replicas_.size() ? totals_.same_worlds : totals_.world_changes);
    }
    replicas_.clear();
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      Replica& replica = replicas_.emplace_back();
      replica.stream = std::make_unique<SampleStream>(setup_, world, rank);
      if (!saved_.empty()) replica.stream->parse(saved_);
    }
    epoch_ = replicas_[0].stream->resume_epoch();
    for (const Replica& replica : replicas_) {
      ASSERT_EQ(replica.stream->resume_epoch(), epoch_);
    }
    uncommitted_.clear();
    records_since_.clear();
    if (agrees_) agree();
  }

  void agree() {
    testing::ThreadGroups groups(static_cast<int>(replicas_.size()));
    const auto errors = groups.run([&](Group& group) {
      replicas_[static_cast<std::size_t>(group.rank())].stream->agree(group);
    });
    ASSERT_THAT(errors, ::testing::Each("")) << describe(epoch_);
  }

  /// False if it was killed.
  bool train_epoch() {
    for (Replica& replica : replicas_) {
      replica.stream->set_epoch(epoch_);
      replica.stream->begin();
      replica.ahead.clear();
    }
    while (step()) {
      if (pick(4) == 0) commit();
      if (pick(12) == 0) {
        ++totals_.kills;
        totals_.lost_work += uncommitted_.size();
        start();
        return false;
      }
    }
    return true;
  }

  bool step() {
    std::size_t trained = 0;
    for (Replica& replica : replicas_) {
      while (replica.ahead.size() < ahead_) {
        auto batch = replica.stream->next(batch_);
        if (!batch) break;
        replica.ahead.push_back(std::move(*batch));
      }
      if (replica.ahead.empty()) continue;
      ++trained;
      for (const std::size_t sample : replica.ahead.front()) {
        uncommitted_.emplace_back(epoch_, sample);
      }
      replica.ahead.pop_front();
      replica.stream->advance();
      if (replica.stream->complete()) records_since_.push_back(replica.stream->epoch_record());
    }
    // A replica that has no batch when others have would let them wait for it.
    EXPECT_TRUE(trained == 0 || trained == replicas_.size()) << describe(epoch_);
    return trained > 0;
  }

  /// A checkpoint by one of the replicas.
  void commit() {
    if (agrees_) agree();
    Replica& saver = replicas_[pick(replicas_.size())];
    saved_ = saver.stream->print();
    for (const auto& [epoch, sample] : uncommitted_) ++uses_[epoch][sample];
    uncommitted_.clear();
    records_.insert(records_.end(), records_since_.begin(), records_since_.end());
    records_since_.clear();
  }

  void check() {
    ++totals_.histories;
    const auto audit = audit_samples(records_);
    for (std::uint64_t epoch = 0; epoch < epochs_; ++epoch) {
      ++totals_.epochs;
      std::uint64_t once = 0, more = 0, unused = 0;
      for (std::size_t sample = 0; sample < setup_.samples; ++sample) {
        const int uses = uses_[epoch][sample];
        ++(uses == 0 ? unused : uses == 1 ? once : more);
      }
      const std::uint64_t world = 9;
      ASSERT_LT(unused, setup_.tail == Tail::drop ? world : 1) << describe(epoch);
      ASSERT_LT(more, setup_.tail == Tail::drop ? 1 : world) << describe(epoch);
      totals_.samples += setup_.samples;
      totals_.once += once;
      totals_.repeated += more;
      totals_.dropped += unused;
      for (const EpochAudit& counted : audit) {
        if (counted.epoch != epoch) continue;
        EXPECT_TRUE(counted.exact()) << describe(epoch);
        EXPECT_EQ(counted.once, once) << describe(epoch);
        EXPECT_EQ(counted.repeated, more) << describe(epoch);
        EXPECT_EQ(counted.unused, unused) << describe(epoch);
      }
    }
  }

  std::string describe(std::uint64_t epoch) const {
    return fmt::format("epoch {}, {} samples, tail {}, batches of {}, saved {}", epoch,
                       setup_.samples, to_string(setup_.tail), batch_, saved_);
  }

  std::mt19937 random_;
  Totals& totals_;
  SampleSetup setup_;
  std::uint64_t epochs_ = 1, batch_ = 1, ahead_ = 1, epoch_ = 0;
  bool agrees_ = false;
  std::vector<Replica> replicas_;
  std::string saved_;
  std::map<std::uint64_t, std::map<std::size_t, int>> uses_;  ///< by what was saved
  std::vector<std::pair<std::uint64_t, std::size_t>> uncommitted_;
  std::vector<std::string> records_, records_since_;
};

TEST(SampleHistory, EverySampleIsUsedExactlyOnceInThousandsOfHistories) {
  Totals totals;
  for (std::uint32_t seed = 0; seed < 5'000 && !HasFatalFailure();
       seed += testing::every_point() ? 1 : 2) {
    SCOPED_TRACE(seed);
    Training(seed, totals).run();
  }
  fmt::print(
      "{} histories, {} epochs, {} kills, {} changes of the world size, {} restarts with the same: "
      "{} samples were "
      "due, "
      "{} used once, {} repeated to fill up, {} dropped on request; {} uses lost in kills and "
      "done again\n",
      totals.histories, totals.epochs, totals.kills, totals.world_changes, totals.same_worlds,
      totals.samples, totals.once, totals.repeated, totals.dropped, totals.lost_work);
  EXPECT_GT(totals.kills, 2'500);
  EXPECT_GT(totals.world_changes, 2'000);
  EXPECT_GT(totals.same_worlds, 750);
  EXPECT_EQ(totals.samples, totals.once + totals.repeated + totals.dropped);
}

// The audit ---------------------------------------------------------------------------------------

std::vector<std::string> records_of_two() {
  std::vector<std::string> records;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    SampleStream stream({.samples = 10, .seed = 5}, 2, rank);
    stream.begin();
    while (stream.next(3)) stream.advance();
    records.push_back(stream.epoch_record());
  }
  return records;
}

TEST(SampleAudit, CountsEveryReplicasSamples) {
  const auto audit = audit_samples(records_of_two());
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].once, 10u);
  EXPECT_EQ(audit[0].known, 2u);
  EXPECT_TRUE(audit[0].exact());
}

TEST(SampleAudit, AReplicaWhoseRecordIsMissingIsTakenToBeInStep) {
  const auto records = records_of_two();
  const auto audit = audit_samples(std::span(records).first(1));
  EXPECT_EQ(audit.at(0).known, 1u);
  EXPECT_EQ(audit[0].once, 10u);
}

TEST(SampleAudit, TellsARecordWhoseSamplesAreNotThoseItClaims) {
  auto records = records_of_two();
  const std::size_t digit = records[1].find("\"digest\":\"") + 10;
  records[1][digit] = records[1][digit] == '0' ? '1' : '0';
  const auto audit = audit_samples(records);
  EXPECT_THAT(audit.at(0).forged, ::testing::ElementsAre(1));
  EXPECT_FALSE(audit[0].exact());
}

TEST(SampleAudit, TellsWhichSamplesWereUsedTwiceOrNever) {
  auto records = records_of_two();
  // As if 8 had been consumed by others before: 4 of them come again.
  const auto replace = [&](std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  for (std::string& record : records) replace(record, "\"before\":[]", "\"before\":[[2,6,2]]");
  auto audit = audit_samples(records);
  EXPECT_EQ(audit.at(0).twice, 4u);
  EXPECT_EQ(audit[0].once, 6u);
  const SampleOrder order(10, Shuffle::torch, 5, 0);
  EXPECT_THAT(audit[0].examples, ::testing::ElementsAre(order[2], order[3], order[4], order[5]));
  for (std::string& record : records) replace(record, "\"count\":5", "\"count\":4");
  audit = audit_samples(records);
  EXPECT_EQ(audit.at(0).unused, 2u);
  EXPECT_FALSE(audit[0].exact());
}

TEST(SampleAudit, TakesTheLastRecordOfAnEpochThatWasDoneAgain) {
  auto records = records_of_two();
  SampleStream alone({.samples = 10, .seed = 5}, 1, 0);
  alone.begin();
  while (alone.next(3)) alone.advance();
  records.push_back(alone.epoch_record());
  const auto audit = audit_samples(records);
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].world, 1u);
  EXPECT_TRUE(audit[0].exact());
}

TEST(SampleAudit, PassesOverOtherValuesAndRefusesImpossibleOnes) {
  EXPECT_TRUE(audit_samples(std::vector<std::string>{"{\"a\":1}", "3", "nonsense"}).empty());
  auto records = records_of_two();
  records[0].replace(records[0].find("\"count\":5"), 9, "\"count\":7");
  EXPECT_THROW(audit_samples(records), Error);
  EXPECT_THROW(audit_samples(std::vector<std::string>{"{\"sampler\":1}"}), Error);
}

}  // namespace
}  // namespace flor
