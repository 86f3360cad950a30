// Snapshots whose copying overlaps with the program: right if nothing was written before the fence,
// never handed on otherwise.
#include "snapshot/overlap.h"
#include "support/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A tensor with a version counter, like those of libtorch.
class Weights {
 public:
  explicit Weights(std::size_t count) : memory_(std::make_shared<Memory>(count)) {}

  void fill(float value) {
    std::ranges::fill(memory_->values, value);
    ++memory_->version;
  }
  void fill_through_a_pointer(float value) { std::ranges::fill(memory_->values, value); }
  void set_through_a_pointer(std::size_t index, float value) { memory_->values[index] = value; }
  void move_to_other_memory(float value) {
    memory_ = std::make_shared<Memory>(memory_->values.size());
    fill(value);
  }

  void save(const StateWriter& writer) const {
    TensorSource source{.type = ElementType::f32,
                        .sizes = {static_cast<std::int64_t>(memory_->values.size())},
                        .bytes = memory_->values.size() * sizeof(float),
                        .host = reinterpret_cast<const std::byte*>(memory_->values.data()),
                        .copy = {}};
    source.watch = std::make_shared<Watch>(memory_);
    writer.tensor("", source);
  }
  void load(const StateReader&) {}

 private:
  struct Memory {
    explicit Memory(std::size_t count) : values(count) {}
    std::vector<float> values;
    std::atomic<std::uint64_t> version{0};
  };
  struct Watch final : WriteWatch {
    explicit Watch(std::shared_ptr<Memory> watched) : memory(std::move(watched)) {}
    std::uint64_t version() const override { return memory->version; }
    std::shared_ptr<Memory> memory;
  };
  std::shared_ptr<Memory> memory_;
};

constexpr std::size_t kCount = 100'000;

class Overlapping : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<Slot> slots;
    slots.push_back(slot_of(named("weights", weights_)));
    slots.push_back(slot_of(named("moments", moments_)));
    slots.push_back(slot_of(named("steps", steps_)));
    for (Slot& slot : slots) slot.overlapping = true;
    registry_.add(std::move(slots));
    set(0);
  }
  void set(int value) {
    weights_.fill(static_cast<float>(value));
    moments_.fill(static_cast<float>(-value));
    steps_ = value;
  }
  /// What a loop's end does: a snapshot, then a new stretch.
  void snapshot() {
    auto taken = snapshotter_.take(registry_, {}, overlap_.allowed(), overlap_.untouched());
    last_late_ = taken.late;
    overlap_.add(std::move(taken), [this](std::optional<TakenSnapshot> complete) {
      if (complete) handed_on_.push_back(std::move(*complete));
    });
  }
  void tail() {
    snapshot();
    overlap_.edge("epoch", "train", Edge::tail);
  }
  void body() { overlap_.edge("epoch", "train", Edge::body); }
  /// An iteration whose body writes and whose tail reads.
  void epoch(int value) {
    body();
    set(value);
    tail();
  }
  /// The values of `weights`, all of which must be equal, in each snapshot handed on.
  std::vector<float> weights() const { return values_of("weights"); }
  std::vector<float> values_of(const std::string& name) const {
    std::vector<float> found;
    for (const TakenSnapshot& taken : handed_on_) {
      for (const auto& [item, content, parts] : taken.snapshot.items) {
        if (item.name != name) continue;
        const auto* values = reinterpret_cast<const float*>(content.get());
        EXPECT_EQ(std::count(values, values + kCount, values[0]), kCount);
        found.push_back(values[0]);
      }
    }
    return found;
  }
  float element_of_weights(std::size_t snapshot, std::size_t index) const {
    for (const auto& [item, content, parts] : handed_on_.at(snapshot).snapshot.items) {
      if (item.name == "weights") return reinterpret_cast<const float*>(content.get())[index];
    }
    return -1;
  }
  /// Until the copies of the last snapshot are done, without a fence.
  void wait_for_copies() {
    const auto late = last_late_.lock();
    if (late) late->wait();
  }
  std::vector<int> steps() const {
    std::vector<int> found;
    for (const TakenSnapshot& taken : handed_on_) {
      for (const auto& [item, content, parts] : taken.snapshot.items) {
        if (item.name == "steps") std::memcpy(&found.emplace_back(), content.get(), sizeof(int));
      }
    }
    return found;
  }

  Weights weights_{kCount}, moments_{kCount};
  int steps_ = 0;
  Registry registry_;
  std::vector<TakenSnapshot> handed_on_;
  std::weak_ptr<LateCopies> last_late_;
  std::vector<std::string> dropped_;
  Snapshotter snapshotter_{[] { return false; },
                           [this](const std::function<void()>& wait) {
                             overlap_.fence();
                             wait();
                           }};
  Overlap overlap_{[this](std::string why) { dropped_.push_back(std::move(why)); }};
};

/// Programs that break the rules: the data races in them are their own.
class OverlappingTooFar : public Overlapping {
 protected:
  void SetUp() override {
    if (testing::kThreadSanitizer)
      GTEST_SKIP() << "under the thread sanitizer: these programs race on purpose";
    Overlapping::SetUp();
  }
};

TEST_F(Overlapping, ASnapshotIsHandedOnAtTheFence) {
  epoch(1);
  epoch(2);
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2));
  EXPECT_THAT(steps(), ElementsAre(1, 2));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, StretchesThatWriteAreFencedWithoutBeingAsked) {
  for (int i = 1; i <= 20; ++i) epoch(i);
  overlap_.fence();
  EXPECT_THAT(weights(), SizeIs(20));
  EXPECT_EQ(weights().back(), 20);
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, AStretchThatReadsDoesNotWait) {
  epoch(1);
  EXPECT_THAT(handed_on_, SizeIs(1)) << "not seen yet: it waits at its beginning";
  epoch(2);
  EXPECT_TRUE(fence_needed);
  overlap_.fence();
  EXPECT_FALSE(fence_needed);
}

TEST_F(OverlappingTooFar, WhatIsWrittenTooEarlyIsDroppedAndSaidOnce) {
  epoch(1);
  epoch(2);
  weights_.fill(7);  // a tail that has only read so far
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1));
  EXPECT_THAT(dropped_, ElementsAre(HasSubstr("'weights' was written before flor::fence()")));
  EXPECT_FALSE(overlap_.allowed());
  epoch(3);
  weights_.fill(8);
  epoch(4);
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 3, 4)) << "copied before the tail goes on";
  EXPECT_THAT(dropped_, SizeIs(1));
}

TEST_F(Overlapping, AStretchThatAlwaysWritesIsFencedFromTheSecondTimeOn) {
  for (int i = 1; i <= 10; ++i) {
    epoch(i);
    weights_.fill(static_cast<float>(i) + 0.5F);
  }
  overlap_.fence();
  EXPECT_THAT(weights(), SizeIs(10));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, AFenceOfTheProgramsOwnLetsTheBodyOverlapUpToIt) {
  for (int i = 1; i <= 5; ++i) {
    body();
    if (i > 2) {
      EXPECT_TRUE(fence_needed) << "the copies are not waited for at the beginning";
    }
    overlap_.fence();
    set(i);
    tail();
  }
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(OverlappingTooFar, AForgottenFenceIsFound) {
  for (int i = 1; i <= 3; ++i) {
    body();
    overlap_.fence();
    set(i);
    tail();
  }
  body();
  set(4);
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2));
  EXPECT_THAT(dropped_, SizeIs(1));
}

TEST_F(OverlappingTooFar, DenseWritesThroughPointersAreFoundToo) {
  epoch(1);
  epoch(2);
  weights_.fill_through_a_pointer(7);
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1));
  EXPECT_THAT(dropped_, ElementsAre(HasSubstr("'weights'")));
}

TEST_F(Overlapping, AnOptimizerThatWritesThroughPointersIsFencedAtTheBeginningOfTheBody) {
  for (int i = 1; i <= 10; ++i) {
    body();
    weights_.fill_through_a_pointer(static_cast<float>(i));
    tail();
  }
  overlap_.fence();
  EXPECT_THAT(weights(), SizeIs(10));
  EXPECT_EQ(weights().back(), 10);
  EXPECT_THAT(dropped_, IsEmpty());
}

// The limit: one element, no version, no sample. Nothing here can know of it.
TEST_F(OverlappingTooFar, ASingleElementWrittenThroughAPointerIsNotFound) {
  epoch(1);
  epoch(2);
  weights_.set_through_a_pointer(kCount / 3 + 1, 99);
  overlap_.fence();
  EXPECT_THAT(handed_on_, SizeIs(2));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, MemoryThatTheTensorLeavesIsKeptUntilItIsCopied) {
  epoch(1);
  epoch(2);
  weights_.move_to_other_memory(9);
  tail();
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2, 9));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, ASecondSnapshotBeforeTheCopyingIsDoneSharesIt) {
  epoch(1);
  epoch(2);
  tail();
  tail();
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2, 2, 2));
  const auto content = [&](std::size_t snapshot) {
    return handed_on_[snapshot].snapshot.items[1].content;
  };
  EXPECT_EQ(content(1), content(2));
  EXPECT_EQ(content(2), content(3));
}

TEST_F(Overlapping, AWriteThroughAPointerAfterAFenceIsInTheNextSnapshot) {
  epoch(1);
  epoch(2);
  overlap_.fence();
  weights_.fill_through_a_pointer(5);
  tail();
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2, 5));
}

/// An element that no sample looks at.
constexpr std::size_t kUnseen = kCount / 3 + 1;

TEST_F(Overlapping, AnElementWrittenThroughAPointerAfterAFenceIsInTheNextSnapshot) {
  epoch(1);
  epoch(2);
  overlap_.fence();
  weights_.set_through_a_pointer(kUnseen, 5);
  snapshot();
  overlap_.fence();
  EXPECT_EQ(element_of_weights(2, kUnseen), 5);
}

TEST_F(Overlapping, AnElementWrittenThroughAPointerInALoopIsInTheSnapshotAtItsEnd) {
  epoch(1);
  epoch(2);
  wait_for_copies();
  body();
  weights_.set_through_a_pointer(kUnseen, 5);
  snapshot();
  overlap_.fence();
  EXPECT_EQ(element_of_weights(2, kUnseen), 5);
}

// The limit again: what is written after a checkpoint without a fence, where nothing shows it, is
// missed by the next one, which looks at nothing that the program has promised to leave alone.
TEST_F(OverlappingTooFar, ASingleElementWrittenBehindALoopWithoutAFenceIsMissed) {
  epoch(1);
  epoch(2);
  wait_for_copies();
  weights_.set_through_a_pointer(kUnseen, 5);
  snapshot();
  overlap_.fence();
  EXPECT_EQ(element_of_weights(2, kUnseen), 2);
  EXPECT_EQ(handed_on_[1].snapshot.items[1].content, handed_on_[2].snapshot.items[1].content);
}

TEST_F(Overlapping, OtherThreadsMayFence) {
  epoch(1);
  epoch(2);
  std::thread([&] {
    overlap_.fence();
    weights_.fill(3);
  }).join();
  tail();
  overlap_.fence();
  EXPECT_THAT(weights(), ElementsAre(1, 2, 3));
}

TEST_F(Overlapping, NoMoreThanThreeStatesAreInMemory) {
  constexpr std::size_t kState = 2 * kCount * sizeof(float);
  std::size_t most = 0;
  for (int i = 1; i <= 30; ++i) {
    epoch(i);
    overlap_.fence();
    most = std::max(most, snapshotter_.buffers().in_use());
    handed_on_.clear();  // written
  }
  EXPECT_LE(most, 3 * kState + (1 << 20));
}

TEST_F(Overlapping, ObjectsThatWereRegisteredWithoutItAreCopiedAtOnce) {
  Weights plain(kCount);
  plain.fill(1);
  std::vector<Slot> slots;
  slots.push_back(slot_of(named("plain", plain)));
  registry_.add(std::move(slots));
  epoch(1);
  epoch(2);
  plain.fill(3);  // allowed: nobody asked for overlapping it
  overlap_.fence();
  EXPECT_THAT(values_of("plain"), ElementsAre(1, 1));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(Overlapping, EndingWhileCopyingIsUnderWayIsSafe) {
  epoch(1);
  epoch(2);
  weights_.move_to_other_memory(3);
}

TEST_F(Overlapping, ASnapshotInBetweenKeepsItsPlace) {
  epoch(1);
  epoch(2);
  overlap_.add(snapshotter_.take(registry_, {}, false), [this](std::optional<TakenSnapshot> taken) {
    if (taken) handed_on_.push_back(std::move(*taken));
  });
  overlap_.fence();
  EXPECT_THAT(steps(), ElementsAre(1, 2, 2));
  EXPECT_THAT(weights(), ElementsAre(1, 2, 2));
}

}  // namespace
}  // namespace flor::detail
