// Checkpoints of Flor's own, made ready for evaluators.
#include "checkpoint/named_checkpoints.h"
#include "store/store_fixture.h"
#include "watch/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

namespace flor::cli {
namespace {

using ::testing::HasSubstr;
using End = CheckpointFiles::Made::End;
using Clock = std::chrono::steady_clock;

class CheckpointFilesTest : public store::StoreTest {
 protected:
  /// A run of one epoch, whose state after it is this.
  store::NamedCheckpoint record(const store::Snapshot& snapshot) {
    const store::Run run = store_->catalog().add_run(store::new_run());
    store::CheckpointWriter writer(*store_, run.id);
    store_->catalog().put_main_loop(run.id, {0, "epoch", 0, 1, false, false});
    writer.write(store::boundary(1), snapshot);
    return store::find_checkpoint(*store_, run.key + "@0");
  }
  static CheckpointFiles::Made next(CheckpointFiles& files) {
    for (;;) {
      pollfd waiting{files.descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, 60'000) != 1) return {};
      auto made = files.take();
      if (!made.empty()) return made.at(0);
    }
  }
  CheckpointFiles::Made make(const store::Digest& content, const std::string& path,
                             Handover form = Handover::safetensors) {
    CheckpointFiles files(store_, "owner", form);
    files.make({1, 1}, {.content = content, .path = path});
    auto made = next(files);
    if (made.end == End::made && form != Handover::reference) {
      EXPECT_TRUE(std::filesystem::exists(made.path));
    }
    return made;
  }

  std::shared_ptr<store::Store> store_ = open();
};

TEST_F(CheckpointFilesTest, WhatTheFormCannotHoldIsAFailureOfTheCheckpointAndNoReasonToWait) {
  for (const char* name : {"__metadata__", "no UTF-8: \xff"}) {
    const auto odd = record(store::bytes_snapshot(name, store::random_bytes(1, 10)));
    const auto made = make(odd.info.digest, odd.reference);
    EXPECT_EQ(made.end, End::damaged) << made.failure;
    EXPECT_THAT(made.failure, HasSubstr("use a .pt file"));
    EXPECT_EQ(make(odd.info.digest, odd.reference, Handover::pt).end, End::made);
  }
}

TEST_F(CheckpointFilesTest, OneThatIsGoneIsTakenFromAnotherRunThatHasItsContent) {
  const auto there = record(store::make_snapshot(1, 1, 100));
  for (const Handover form : {Handover::safetensors, Handover::reference}) {
    const auto made = make(there.info.digest, "00112233aabbccdd@7", form);
    EXPECT_EQ(made.end, End::made) << made.failure;
    EXPECT_THAT(made.path.string(), HasSubstr(there.reference));
  }
  const auto another = record(store::make_snapshot(2, 2, 100));
  EXPECT_THAT(make(there.info.digest, another.reference).path.string(), HasSubstr(there.reference))
      << "under that name is another content now";
  EXPECT_EQ(make(store::Digest{}, there.reference).end, End::gone);
}

TEST_F(CheckpointFilesTest, TheEndWaitsForNoneOfThoseThatAreStillToBeMade) {
  const auto large = record(store::make_snapshot(1, 1, 2'000'000));
  const auto began = Clock::now();
  make(large.info.digest, large.reference);
  const auto one = Clock::now() - began;
  const auto then = Clock::now();
  {
    CheckpointFiles files(store_, "owner", Handover::safetensors);
    for (int i = 0; i < 40; ++i) {
      files.make({i, 1}, {.content = large.info.digest, .path = large.reference});
    }
  }
  EXPECT_LT(Clock::now() - then, 20 * one);
}

}  // namespace
}  // namespace flor::cli
