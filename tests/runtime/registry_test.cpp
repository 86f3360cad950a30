// Names of registered objects.
#include "state/registry.h"
#include "state/sharing.h"
#include "support/memory_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

class Names : public ::testing::Test {
 protected:
  template <typename... T>
  std::vector<std::uint64_t> add(T&&... objects) {
    std::vector<Slot> slots;
    (slots.push_back(slot_of(std::forward<T>(objects))), ...);
    return registry_.add(std::move(slots));
  }
  Registry registry_;
  int a_ = 0, b_ = 0, c_ = 0;
  std::string text_;
  std::vector<int> list_;
};

TEST_F(Names, AreKindsNumberedFromTheSecondOn) {
  add(a_, list_, text_);
  add(b_);
  EXPECT_THAT(registry_.names(), ElementsAre("value", "values", "value2", "value3"));
}

TEST_F(Names, GivenOnesAreKept) {
  add(named("rate", a_), named("best", b_), c_);
  EXPECT_THAT(registry_.names(), ElementsAre("rate", "best", "value"));
}

TEST_F(Names, BecomeFreeWhenTheObjectIsDropped) {
  const auto first = add(a_);
  add(b_);
  registry_.drop(first);
  EXPECT_THAT(registry_.names(), ElementsAre("value2"));
  add(c_);
  EXPECT_THAT(registry_.names(), ElementsAre("value2", "value"));
}

TEST_F(Names, MustDiffer) {
  add(named("rate", a_));
  EXPECT_THAT([&] { add(named("rate", b_)); },
              ThrowsMessage<UsageError>(HasSubstr("two registered objects are named 'rate'")));
  EXPECT_THAT(registry_.names(), ElementsAre("rate")) << "nothing was added";
}

TEST_F(Names, CannotLookLikeFlorsOwn) {
  for (const char* name : {"@slots", "with:sum", "a/b", "a\nb"}) {
    EXPECT_THROW(add(named(name, a_)), UsageError) << name;
  }
}

TEST_F(Names, OfAttachedLocalsArePrefixed) {
  const With with = flor::with(a_, named("counts", list_));
  EXPECT_THAT(attached_names(with.slots), ElementsAre("with:value", "with:counts"));
}

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// 10^5 took the cube of that; now some 0.1 s of a processor, 1.5 with sanitizers.
TEST_F(Names, OfAHundredThousandObjectsRegisteredOneByOneTakeLittleTime) {
  std::vector<int> objects(100'000);
  std::vector<std::uint64_t> tickets;
  const double began = processor_seconds();
  for (int& object : objects) tickets.push_back(add(object).front());
  const double registered = processor_seconds();
  EXPECT_EQ(registry_.names().back(), "value100000");
  for (const std::uint64_t ticket : tickets) registry_.drop({ticket});
  const double dropped = processor_seconds();
  std::printf("registered in %.3f s, dropped in %.3f s\n", registered - began,
              dropped - registered);
  EXPECT_LT(dropped - began, 10.0);
  EXPECT_TRUE(registry_.names().empty());
}

TEST(ItemTitle, SaysInWordsWhatFlorKeepsByItself) {
  for (const auto& [name, title] : {std::pair("model/1.weight", "model/1.weight"),
                                    {"@slots", "the list of registered objects"},
                                    {"@rng/cpu", "the random generator of the CPU"},
                                    {"@rng/cuda1", "the random generator of GPU 1"},
                                    {"@sharing", "the memory that tensors share"},
                                    {"model/.layout", "the structure of model"},
                                    {"mask/.values", "mask"}}) {
    EXPECT_EQ(item_title(name), title);
  }
}

/// What the function throws.
template <typename Function>
std::string complaint(Function&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(ItemTitle, IsWhatMessagesOfChangedTypesAndOfDamageSay) {
  testing::MemoryState state;
  state.save("optimizer/.step", 3);
  state.save("@elapsed", 3);
  double number = 0;
  EXPECT_THAT(complaint([&] { state.load("optimizer/.step", number); }),
              StartsWith("'optimizer' was recorded as i32"));
  EXPECT_THAT(complaint([&] { state.load("@elapsed", number); }),
              StartsWith("'the time that was used' was recorded as i32"));
  EXPECT_EQ(complaint([] { parse_sharing("no numbers"); }),
            "what a checkpoint says of the memory that tensors share is damaged");
}

}  // namespace
}  // namespace flor::detail
