// Evaluations that wait lie beside the index of the store: either may be lost, and the real watch
// goes on.
#include "watch_fixture.h"

#include <sys/stat.h>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class WatchQueueTest : public WatchTest {
 protected:
  std::filesystem::path home() const { return directory_ / "home"; }
  void remove_database(const std::string& name) {
    ASSERT_TRUE(std::filesystem::exists(home() / name));
    for (const char* suffix : {"", "-wal", "-shm", ".old"}) {
      std::filesystem::remove(home() / (name + suffix));
    }
  }
  /// As `counting_program`, but none of its evaluations ends before there is a file `go`.
  std::string held_program() {
    EXPECT_EQ(::mkfifo((directory_ / "held").c_str(), 0600), 0);
    return script("judge.sh", "#!/bin/sh\necho \"$1\" >> '" + (directory_ / "judged").string() +
                                  "'\n[ -e '" + (directory_ / "go").string() + "' ] || cat '" +
                                  (directory_ / "held").string() + "'\necho '{\"n\": 1}'\n");
  }
};

TEST_F(WatchQueueTest, WhatWaitsOutlivesTheCatalog) {
  const std::string evaluator = held_program();
  for (int i = 0; i < 5; ++i) publish(i);
  {
    Process watcher(watch(evaluator, {"--existing"}), options());
    EXPECT_TRUE(soon([&] { return judged().size() == 1; }));
    watcher.kill(SIGKILL);
    watcher.wait();
  }
  remove_database("catalog.db");
  EXPECT_THAT(jobs(), SizeIs(5));
  EXPECT_EQ(count("queued"), 4U);
  write_file(directory_ / "go", "");
  remove_database("catalog.db");
  const auto result = settle(evaluator);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(count("done"), 5U);
  EXPECT_THAT(judged(), SizeIs(6)) << "the one that was being judged once more";
}

TEST_F(WatchQueueTest, WhatWasToldOfIsNotDoneAgainWithoutTheQueue) {
  const std::string evaluator = counting_program();
  for (int i = 0; i < 5; ++i) publish(i);
  ASSERT_EQ(settle(evaluator, {"--existing"}).status, 0);
  ASSERT_THAT(judged(), SizeIs(5));
  remove_database("queue.db");
  EXPECT_EQ(count("done"), 5U) << "flor jobs reads the logs";
  publish(5);
  ASSERT_EQ(settle(evaluator, {"--existing"}).status, 0);
  EXPECT_EQ(judged(),
            (std::multiset<std::string>{"0.safetensors", "1.safetensors", "2.safetensors",
                                        "3.safetensors", "4.safetensors", "5.safetensors"}));
  EXPECT_EQ(count("done"), 6U);
}

TEST_F(WatchQueueTest, ADamagedQueueIsMadeAgainByTheNextWatch) {
  const std::string evaluator = counting_program();
  for (int i = 0; i < 3; ++i) publish(i);
  ASSERT_EQ(settle(evaluator, {"--existing"}).status, 0);
  write_file(home() / "queue.db", std::string(8192, 'x'));
  const auto shown = run(command({"jobs"}));
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.err, HasSubstr("queue.db was damaged: what can be read is shown"));
  EXPECT_EQ(run(command({"fsck"})).status, 4);
  const auto result = settle(evaluator, {"--existing"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("queue.db was damaged: it was made again with 3 evaluations"));
  EXPECT_THAT(judged(), SizeIs(3));
  EXPECT_EQ(run(command({"fsck"})).status, 0);
  write_file(home() / "queue.db", std::string(8192, 'x'));
  EXPECT_EQ(run(command({"fsck", "--repair"})).status, 0);
  EXPECT_EQ(count("done"), 3U);
}

}  // namespace
}  // namespace flor::testing
