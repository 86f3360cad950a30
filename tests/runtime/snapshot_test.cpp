// Snapshots share what did not change and never change afterwards.
#include "snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    for (const auto& [item, content] : taken.snapshot.items) found[item.name] = content;
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

}  // namespace
}  // namespace flor::detail
