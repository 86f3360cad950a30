// Snapshots share what did not change and never change afterwards.
#include "snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace flor::detail {
namespace {

class Snapshots : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<Slot> slots;
    slots.push_back(slot_of(named("large", large_)));
    slots.push_back(slot_of(named("small", small_)));
    registry_.add(std::move(slots));
  }
  static std::map<std::string, store::Content> contents(const TakenSnapshot& taken) {
    std::map<std::string, store::Content> found;
    for (const auto& [item, content, parts] : taken.snapshot.items) found[item.name] = content;
    return found;
  }
  double first(const store::Content& content) const {
    double value = 0;
    std::memcpy(&value, content.get(), sizeof value);
    return value;
  }

  std::vector<double> large_ = std::vector<double>(1000, 1.0);
  int small_ = 1;
  Registry registry_;
  Snapshotter snapshotter_{[] { return false; }, [](const std::function<void()>& wait) { wait(); }};
};

TEST_F(Snapshots, ShareTheMemoryOfWhatDidNotChange) {
  const auto one = snapshotter_.take(registry_, {});
  small_ = 2;
  const auto two = snapshotter_.take(registry_, {});
  EXPECT_EQ(contents(one)["large/values"], contents(two)["large/values"]);
  EXPECT_NE(contents(one)["small"], contents(two)["small"]);
  EXPECT_LT(two.copied_bytes, 100u);
  EXPECT_GE(one.copied_bytes, 8000u);
}

TEST_F(Snapshots, NoticeAChangeOfOneByteMadeThroughAPointer) {
  const auto one = snapshotter_.take(registry_, {});
  large_.data()[0] = 1.0000000000000002;
  const auto two = snapshotter_.take(registry_, {});
  EXPECT_NE(contents(one)["large/values"], contents(two)["large/values"]);
}

TEST_F(Snapshots, StayWhatTheyWereWhenTheStateGoesOn) {
  std::vector<TakenSnapshot> taken;
  for (int i = 0; i < 5; ++i) {
    large_[0] = i;
    taken.push_back(snapshotter_.take(registry_, {}));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(first(contents(taken[static_cast<std::size_t>(i)])["large/values"]), i);
  }
}

TEST_F(Snapshots, GiveTheirMemoryBackForTheNext) {
  for (int i = 0; i < 20; ++i) {
    large_[0] = i;
    snapshotter_.take(registry_, {});
  }
  EXPECT_LE(snapshotter_.buffers().in_use(), 3u * 8500u);
}

TEST_F(Snapshots, HoldAttachedLocalsToo) {
  double sum = 3;
  With with = flor::with(sum);
  const auto taken = snapshotter_.take(registry_, with.slots);
  EXPECT_TRUE(contents(taken).contains("with:value"));
  EXPECT_FALSE(contents(snapshotter_.take(registry_, {})).contains("with:value"));
}

/// Numbers in a row, and something large among them.
class SnapshotsOfManySmallObjects : public ::testing::Test {
 protected:
  void add(std::size_t count) {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < count; ++i) slots.push_back(slot_of(numbers_.at(used_++)));
    registry_.add(std::move(slots));
  }
  void add_large() { registry_.add({slot_of(named("large", large_))}); }
  TakenSnapshot take() { return snapshotter_.take(registry_, {}); }
  /// Numbers of items of the slabs, 1 for what is stored by itself; Flor's own items left out.
  static std::vector<std::size_t> sizes(const TakenSnapshot& taken) {
    std::vector<std::size_t> sizes;
    for (const auto& [item, content, parts] : taken.snapshot.items) {
      if (parts || !item.name.starts_with('@')) sizes.push_back(parts ? parts->size() : 1);
    }
    return sizes;
  }
  static const store::SnapshotItem& slab(const TakenSnapshot& taken) {
    return *std::ranges::find_if(taken.snapshot.items,
                                 [](const auto& item) { return item.parts != nullptr; });
  }

  std::vector<double> numbers_ = std::vector<double>(1000, 1.0);
  std::vector<double> large_ = std::vector<double>(1000, 1.0);
  std::size_t used_ = 0;
  Registry registry_;
  Snapshotter snapshotter_{[] { return false; }, [](const std::function<void()>& wait) { wait(); }};
};

TEST_F(SnapshotsOfManySmallObjects, StoreThemAsOneWhereTheyAreManyInARow) {
  add_large();
  add(100);
  EXPECT_THAT(sizes(take()), ::testing::ElementsAre(1, 100));
}

TEST_F(SnapshotsOfManySmallObjects, KeepTheirNamesWhileNoneComesOrGoes) {
  add_large();
  add(100);
  const auto one = take();
  numbers_[50] = 2;
  const auto two = take();
  EXPECT_EQ(slab(one).parts, slab(two).parts);
  EXPECT_NE(slab(one).content, slab(two).content);
  EXPECT_EQ(slab(take()).content, slab(two).content);
  add(1);
  const auto three = take();
  EXPECT_NE(slab(three).parts, slab(two).parts);
  EXPECT_THAT(sizes(three), ::testing::ElementsAre(1, 101));
  EXPECT_EQ(slab(three).parts->front(), slab(two).parts->front());
}

TEST_F(SnapshotsOfManySmallObjects, LeaveFewByThemselves) {
  add_large();
  add(20);
  EXPECT_EQ(sizes(take()).size(), 21u);
}

TEST_F(SnapshotsOfManySmallObjects, MayBecomeFewAgain) {
  add_large();
  add(30);
  std::vector<Slot> slots;
  for (std::size_t i = 30; i < 40; ++i) slots.push_back(slot_of(numbers_[i]));
  const auto tickets = registry_.add(std::move(slots));
  EXPECT_THAT(sizes(take()), ::testing::ElementsAre(1, 40));
  registry_.drop(tickets);
  numbers_[7] = 7;
  const auto few = take();
  ASSERT_EQ(sizes(few).size(), 31u);
  double value = 0;
  const auto& item = *std::ranges::find_if(
      few.snapshot.items, [](const auto& stored) { return stored.item.name == "value8"; });
  std::memcpy(&value, item.content.get(), sizeof value);
  EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace flor::detail
