// What an object store promises, whichever it is.
#include "remote_fixture.h"

#include <flor/store/error.h>

#include <thread>

namespace flor::remote {
namespace {

using ObjectsTest = RemoteTest;

std::vector<std::byte> text(std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

TEST_F(ObjectsTest, AnObjectIsReadAsItWasWritten) {
  const auto store = objects();
  EXPECT_TRUE(store->put_if_absent("runs/a/1.json", text("hello")));
  EXPECT_EQ(store->get("runs/a/1.json", kMuch), text("hello"));
  EXPECT_EQ(store->get_range("runs/a/1.json", 1, 3), text("ell"));
  EXPECT_EQ(store->head("runs/a/1.json")->bytes, 5U);
  EXPECT_TRUE(store->put_if_absent("empty", {}));
  EXPECT_EQ(store->get("empty", kMuch), text(""));
}

TEST_F(ObjectsTest, AnObjectIsNotReplacedUnlessAskedTo) {
  const auto store = objects();
  store->put_if_absent("a/b", text("first"));
  EXPECT_FALSE(store->put_if_absent("a/b", text("second")));
  EXPECT_EQ(store->get("a/b", kMuch), text("first"));
  store->put("a/b", text("third"));
  EXPECT_EQ(store->get("a/b", kMuch), text("third"));
}

TEST_F(ObjectsTest, OfManyWritersOneWins) {
  const auto store = objects();
  for (int round = 0; round < 20; ++round) {
    const std::string key = fmt::format("runs/{}", round);
    std::atomic<int> winners{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        if (store->put_if_absent(key, text(std::string(1000, static_cast<char>('a' + i))))) {
          ++winners;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(store->get(key, kMuch).size(), 1000U);
  }
}

TEST_F(ObjectsTest, AListHasWhatIsBelowAPrefixInOrder) {
  const auto store = objects();
  EXPECT_THAT(store->list("runs/"), ::testing::IsEmpty());
  for (const char* key : {"runs/b/2", "runs/a/1", "runs/b/1", "other/1"}) {
    store->put_if_absent(key, text(key));
  }
  std::vector<std::string> keys;
  for (const ObjectInfo& object : store->list("runs/")) keys.push_back(object.key);
  EXPECT_THAT(keys, ::testing::ElementsAre("runs/a/1", "runs/b/1", "runs/b/2"));
  EXPECT_EQ(store->list("").size(), 4U);
}

TEST_F(ObjectsTest, WhatIsNotThereIsSaidToBeMissing) {
  const auto store = objects();
  EXPECT_THROW(store->get("nothing", kMuch), NotFound);
  EXPECT_THROW(store->get_range("nothing", 0, 1), NotFound);
  EXPECT_FALSE(store->head("nothing"));
  store->remove("nothing");
  store->put_if_absent("short", text("abc"));
  EXPECT_THROW(store->get_range("short", 2, 5), Damaged);
}

TEST_F(ObjectsTest, RemainsOfAKilledWriterAreRemovedAndThoseOfALivingOneAreNot) {
  const auto store = objects();
  store->put_if_absent("a", text("a"));
  std::ofstream(remote_path() / ".unfinished" / "1-1") << "half";
  EXPECT_EQ(store->list("").size(), 1U);
  EXPECT_EQ(store->remove_unfinished(0, false), 0);
  EXPECT_EQ(store->remove_unfinished(INT64_MAX, true), 1);
  EXPECT_EQ(store->remove_unfinished(INT64_MAX, false), 1);
  EXPECT_EQ(store->remove_unfinished(INT64_MAX, false), 0);
}

TEST_F(ObjectsTest, OtherPlacesAreRefused) {
  for (const char* url : {"", "file://", "file://relative", "/plain/path", "ftp://host/x"}) {
    EXPECT_THROW(open_objects(url), UsageError) << url;
  }
}

}  // namespace
}  // namespace flor::remote
