// Checkpoints that go because a replay has computed them again: none without its proof, whatever
// fails, and those that come back are what they were.
#include "retention/proofs.h"

#include "database/store_impl.h"
#include "faulty_filesystem.h"
#include "maintain/collect.h"
#include "retention_fixture.h"

#include <flor/store/error.h>

#include <algorithm>
#include <filesystem>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> kHere{{"host", "node7"}, {"threads", "1"}};

class ProofsTest : public RetentionTest {
 protected:
  /// A finished run of six epochs.
  Run record_six(Store& store) {
    const Run run = record(store, {6, 5, 4, 1, 3, 2});
    finish(store, run);
    return run;
  }
  static std::vector<std::int64_t> numbers(const WalkPlan& plan) {
    std::vector<std::int64_t> epochs;
    for (const WalkPlan::Unit& unit : plan.units) epochs.push_back(unit.epoch);
    return epochs;
  }
  /// A proof of all checkpoints of these units of the plan.
  static Proof proof_of(Store& store, const Run& run, const WalkPlan& plan,
                        const std::set<std::int64_t>& epochs) {
    Proof proof{key_of_replay(store, add_replay(store, run)), {}, kHere};
    for (const WalkPlan::Unit& unit : plan.units) {
      if (!epochs.contains(unit.epoch)) continue;
      proof.checkpoints.insert(proof.checkpoints.end(), unit.checkpoints.begin(),
                               unit.checkpoints.end());
    }
    return proof;
  }
  /// The deleted checkpoints that no proof names.
  static std::size_t unproven(const Store& store, const Run& run) {
    std::vector<CheckpointName> named;
    for (const Proof& proof : proofs(store, run.id)) {
      named.insert(named.end(), proof.checkpoints.begin(), proof.checkpoints.end());
    }
    const auto gone = store.catalog().discarded(run.id);
    return static_cast<std::size_t>(std::ranges::count_if(gone, [&](const auto& deleted) {
      return std::ranges::find(named, CheckpointName{deleted.info.key, deleted.info.digest}) ==
             named.end();
    }));
  }
};

TEST_F(ProofsTest, OnlyTheFirstAndTheLastStateStayWhereWalksAreShort) {
  const auto store = open();
  const Run run = record_six(*store);
  const WalkPlan plan = plan_walks(*store, run.id, {.within = 60});
  EXPECT_THAT(numbers(plan), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(plan.starts, SizeIs(2));
  EXPECT_EQ(plan.stored, 6);
  EXPECT_THAT(numbers(plan_walks(*store, run.id, {.within = 1.6})), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(numbers(plan_walks(*store, run.id, {.within = 60, .portable = 3})),
              ElementsAre(0, 2, 4));
}

TEST_F(ProofsTest, TheBestByTheRunsOwnStrategyStaysAndSoDoesWhatAResumeNeeds) {
  const auto store = open();
  const Run run = record_six(*store);
  store->catalog().put_strategy(run.id,
                                {.score_attribute = "loss", .score_order = ScoreOrder::min});
  EXPECT_THAT(numbers(plan_walks(*store, run.id, {})), ElementsAre(0, 1, 2, 4));
  const Run open_end = record(*store, {1, 1, 1});
  store->catalog().interrupt_run(open_end.id, "");
  EXPECT_THAT(numbers(plan_walks(*store, open_end.id, {})), ElementsAre(0, 1));
}

TEST_F(ProofsTest, AnEpochGoesWhenAllOfItIsProvenByOneReplay) {
  const auto store = open();
  const Run run = record_six(*store);
  const WalkPlan plan = plan_walks(*store, run.id, {});
  Proof whole = proof_of(*store, run, plan, {1, 3});
  EXPECT_EQ(drop_proven(*store, run.id, plan, whole), 2);
  EXPECT_THAT(epochs(*store, run), ElementsAre(0, 1, 3, 5, 6));
  // Half of an epoch by one replay, and the other half by another.
  Proof half = proof_of(*store, run, plan, {0});
  Proof other = proof_of(*store, run, plan, {0});
  half.checkpoints.resize(1);
  other.checkpoints.erase(other.checkpoints.begin());
  EXPECT_EQ(drop_proven(*store, run.id, plan, half), 0);
  EXPECT_EQ(drop_proven(*store, run.id, plan, other), 0);
  other.replay = half.replay;
  EXPECT_EQ(drop_proven(*store, run.id, plan, other), 1);
  EXPECT_EQ(unproven(*store, run), 0u);
  expect_intact(*store, run);
}

TEST_F(ProofsTest, AnotherContentAtThePlaceIsNotProven) {
  const auto store = open();
  const Run run = record_six(*store);
  const WalkPlan plan = plan_walks(*store, run.id, {});
  Proof proof = proof_of(*store, run, plan, {2});
  proof.checkpoints.front().digest.bytes[0] ^= 1;
  EXPECT_EQ(drop_proven(*store, run.id, plan, proof), 0);
  // An epoch that was not planned to go stays, proven or not.
  const WalkPlan less = plan_walks(*store, run.id, {.within = 60, .portable = 6});
  EXPECT_EQ(drop_proven(*store, run.id, less, proof_of(*store, run, plan, {2})), 0);
  EXPECT_THAT(store->catalog().discarded(run.id), IsEmpty());
}

TEST_F(ProofsTest, WhatIsTheBestDoesNotDependOnWhatWasDropped) {
  const auto store = open();
  const Run run = record_six(*store);
  const CheckpointStrategy by_loss{.score_attribute = "loss", .score_order = ScoreOrder::min};
  ASSERT_EQ(best_checkpoint(*store, run.id, by_loss)->number, 3);
  const WalkPlan plan = plan_walks(*store, run.id, {});
  drop_proven(*store, run.id, plan, proof_of(*store, run, plan, {0, 1, 2, 3, 4}));
  EXPECT_EQ(best_checkpoint(*store, run.id, by_loss)->number, 3);
  EXPECT_EQ(latest_epoch(*store, run.id)->number, 5);
}

TEST_F(ProofsTest, ProofsAreInTheJournalAndOutliveTheIndex) {
  Run run;
  {
    const auto store = open();
    run = record_six(*store);
    const WalkPlan plan = plan_walks(*store, run.id, {});
    drop_proven(*store, run.id, plan, proof_of(*store, run, plan, {0, 1, 2}));
    collect(*store, false);
  }
  std::filesystem::remove(home() / "catalog.db");
  const auto store = open();
  run = *store->catalog().run(1);
  const std::vector<Proof> all = proofs(*store, run.id);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].environment, kHere);
  EXPECT_EQ(all[0].checkpoints.size(), store->catalog().discarded(run.id).size());
  EXPECT_EQ(unproven(*store, run), 0u);
  EXPECT_EQ(damage(*store), "");
}

TEST_F(ProofsTest, WhatIsComputedAgainIsStoredOnlyIfItIsWhatItWas) {
  std::size_t left = 0;
  {
    const auto store = open();
    const Run run = record_six(*store);
    const WalkPlan plan = plan_walks(*store, run.id, {});
    drop_proven(*store, run.id, plan, proof_of(*store, run, plan, {2}));
    collect(*store, false);
    const auto gone = store->catalog().discarded(run.id);
    const auto found =
        std::ranges::find(gone, boundary(3), [](const auto& deleted) { return deleted.info.key; });
    ASSERT_NE(found, gone.end());
    const CheckpointName name{found->info.key, found->info.digest};
    CheckpointWriter writer(*store, run.id, kOneThread);
    EXPECT_FALSE(writer.write_again(name, state(4, 300)));
    EXPECT_FALSE(store->catalog().checkpoint(run.id, name.key));
    EXPECT_EQ(store->catalog().discarded(run.id).size(), gone.size());
    ASSERT_TRUE(writer.write_again(name, state(3, 300)));
    EXPECT_EQ(store->catalog().checkpoint(run.id, name.key)->digest, name.digest);
    left = store->catalog().discarded(run.id).size();
    EXPECT_EQ(left, gone.size() - 1);
    expect_intact(*store, run);
  }
  std::filesystem::remove(home() / "catalog.db");
  const auto store = open();
  const Run run = store->catalog().runs().front();
  EXPECT_EQ(store->catalog().discarded(run.id).size(), left);
  expect_intact(*store, run);
}

/// Drops what is proven in a process of its own, over a disk that fails, or kills it, at its call
/// number `call`. True if the process lived to the end.
bool drop_and_die(const std::filesystem::path& home, FaultyFilesystem::Fault fault, int call) {
  const pid_t pid = start_process([&] {
    FaultyFilesystem files;
    const auto store = Store::Impl::open(home, OpenMode::existing, files);
    const Run run = store->catalog().runs().front();
    const WalkPlan plan = plan_walks(*store, run.id, {});
    Proof proof{key_of_replay(*store, store->catalog().replays(run.id).back().id), {}, kHere};
    for (const WalkPlan::Unit& unit : plan.units) {
      proof.checkpoints.insert(proof.checkpoints.end(), unit.checkpoints.begin(),
                               unit.checkpoints.end());
    }
    files.calls = 0;
    files.fault = fault;
    files.fail_at = call;
    try {
      drop_proven(*store, run.id, plan, proof);
    } catch (const Error&) {
      return 3;
    }
    return files.has_failed() ? 4 : 0;
  });
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ProofFaultsTest : public ProofsTest,
                        public ::testing::WithParamInterface<FaultyFilesystem::Fault> {};

TEST_P(ProofFaultsTest, NothingIsDroppedWithoutItsProof) {
  {
    const auto store = open();
    const Run run = record_six(*store);
    add_replay(*store, run);
  }
  int call = 0;
  bool lived = false;
  while (!lived) {
    ASSERT_LT(++call, 100);
    lived = drop_and_die(home(), GetParam(), call);
    const auto store = open();
    const Run run = store->catalog().runs().front();
    EXPECT_EQ(unproven(*store, run), 0u) << "at call " << call;
    expect_intact(*store, run);
  }
  EXPECT_GT(call, 1);
  const auto store = open();
  EXPECT_THAT(epochs(*store, store->catalog().runs().front()), ElementsAre(0, 6));
}

INSTANTIATE_TEST_SUITE_P(Faults, ProofFaultsTest,
                         ::testing::Values(FaultyFilesystem::Fault::kill,
                                           FaultyFilesystem::Fault::error));

}  // namespace
}  // namespace flor::store
