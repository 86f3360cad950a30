// `flor watch --queue redis://...`: the same queue for several machines, on a server that may go
// and come back, with what it knew or without.
#include "support/redis_server.h"
#include "watch_fixture.h"

namespace flor::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class WatchRedisTest : public WatchTest {
 protected:
  void SetUp() override {
    if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed";
    server_ = std::make_unique<RedisServer>();
  }
  Words queue() const override { return {"--queue", server_->name()}; }

  std::string slow_program() {
    return script("judge.sh", "#!/bin/sh\nsleep 0.2\necho \"$1\" >> '" +
                                  (directory_ / "judged").string() + "'\necho '{\"n\": 1}'\n");
  }
  /// Of the machine itself, wherever the queue is.
  nlohmann::json local_jobs() {
    const auto result = run({FLOR_CLI, "--home", (directory_ / "home").string(), "jobs", "--json"});
    return nlohmann::json::parse(result.out)["jobs"];
  }
  static std::size_t lines_with(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  /// Something happens to the server while a watch is at work; in the end all is judged. Returns
  /// what the watch said.
  std::string outage(const std::function<void()>& happens) {
    const std::string judge = slow_program();
    settle(judge);
    Process watcher(watch(judge, {"--workers", "2"}), options());
    for (int i = 0; i < 8; ++i) publish(i);
    EXPECT_TRUE(soon([&] { return judged().size() >= 2; }));
    happens();
    for (int i = 8; i < 12; ++i) publish(i);
    EXPECT_TRUE(soon([&] { return count("done") == 12; })) << watcher.err();
    watcher.kill(SIGTERM);
    const auto result = watcher.wait();
    EXPECT_EQ(result.status, 130) << result.err;
    const auto names = judged();
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), 12u);
    EXPECT_THAT(names, SizeIs(12));
    EXPECT_THAT(local_jobs(), SizeIs(12)) << "the results are in the catalog, too";
    EXPECT_EQ(lines_with(result.out, " done "), 12u) << "each result was told of once";
    return result.err;
  }
  void interrupt_server(milliseconds pause) {
    server_->stop();
    std::this_thread::sleep_for(pause);
    server_->start();
  }

  std::unique_ptr<RedisServer> server_;
};

TEST_F(WatchRedisTest, JobsAreOnTheServerAndResultsInTheCatalogToo) {
  const std::string judge = script("judge.sh",
                                   "#!/bin/sh\necho looking at $1\n"
                                   "test -e ok && echo '{\"n\": 1}' && exit 0\nexit 3\n");
  settle(judge);
  publish(1);
  EXPECT_EQ(settle(judge, {"--retries", "0"}).status, 5);
  EXPECT_EQ(count("dead"), 1u);
  EXPECT_THAT(local_jobs(), IsEmpty());
  EXPECT_THAT(run(command({"jobs", "logs", "1"})).out, HasSubstr("looking at"));
  write_file(directory_ / "ok", "");
  EXPECT_EQ(run(command({"jobs", "retry", "1"})).out, "1 job queued again\n");
  EXPECT_EQ(settle(judge).status, 0);
  EXPECT_EQ(count("done"), 1u);
  ASSERT_THAT(local_jobs(), SizeIs(1));
  EXPECT_EQ(local_jobs()[0]["result"]["n"], 1);
  EXPECT_EQ(run(command({"jobs", "drop", "--all"})).out, "1 job forgotten\n");
  EXPECT_THAT(jobs(), IsEmpty());
}

TEST_F(WatchRedisTest, AServerThatDoesNotAnswerIsOneLineAtTheStart) {
  const std::string judge = counting_program(), name = server_->name();
  server_->stop();
  for (const Words& words : {watch(judge), command({"jobs"})}) {
    const auto result = run(words);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "flor: the queue " + name +
                              " does not answer (Connection refused): is its server running?\n");
  }
  server_->start();
}

TEST_F(WatchRedisTest, RunsOfOneStoreAreNotOfferedToWatchesWithAnother) {
  const std::string judge = counting_program();
  const auto result = run(command({"watch", "--experiment", "linear", "--evaluator", judge}));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("leave out --queue"));
}

TEST_F(WatchRedisTest, TwoMachinesWithStoresOfTheirOwnJudgeEveryCheckpointOnce) {
  const std::string judge = counting_program();
  const auto on = [&](const std::string& home, const Words& more) {
    Words words = watch(judge, more);
    words[2] = (directory_ / home).string();
    return words;
  };
  for (const char* home : {"one", "two"}) run(on(home, {"--until-idle"}));
  Process one(on("one", {}), options()), two(on("two", {}), options());
  std::this_thread::sleep_for(milliseconds(300));
  for (int i = 0; i < 40; ++i) publish(i);
  EXPECT_TRUE(soon([&] { return count("done") == 40; }));
  stop(one);
  stop(two);
  EXPECT_THAT(judged(), SizeIs(40));
}

TEST_F(WatchRedisTest, AShortOutageCostsNothing) {
  const auto said = outage([&] { interrupt_server(milliseconds(300)); });
  EXPECT_LE(lines_with(said, "does not answer"), 1u) << said;
  EXPECT_THAT(said, Not(HasSubstr("has lost"))) << "the server saved what it knew";
}

TEST_F(WatchRedisTest, AnOutageIsTwoLinesAndWhatIsHeldIsJudgedMeanwhile) {
  const auto said = outage([&] { interrupt_server(milliseconds(2500)); });
  EXPECT_EQ(lines_with(said, "does not answer"), 1u) << said;
  EXPECT_EQ(lines_with(said, "can be written again"), 1u) << said;
}

TEST_F(WatchRedisTest, AServerThatComesBackEmptyIsToldAgainAndNobodyJudgesTwice) {
  const auto said = outage([&] {
    server_->stop();
    server_->forget();
    server_->start();
  });
  EXPECT_EQ(lines_with(said, "has lost what came last"), 1u) << said;
}

TEST_F(WatchRedisTest, AServerThatIsKilledWithItsOwnSavePointsLosesNothingSilently) {
  const auto said = outage([&] {
    server_->kill();
    server_->start();
  });
  EXPECT_EQ(lines_with(said, "has lost what came last"), 1u) << said;
}

using WatchRedisOftenTest = WatchRedisTest;
TEST_F(WatchRedisOftenTest, AnOutageOfEightSeconds) {
  const auto said = outage([&] { interrupt_server(milliseconds(8000)); });
  EXPECT_EQ(lines_with(said, "does not answer"), 1u) << said;
  EXPECT_EQ(lines_with(said, "can be written again"), 1u) << said;
}

}  // namespace
}  // namespace flor::testing
