// A process that records one run after another, as a server: each is a run like any other.
#include "workbench.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Sessions : public ::testing::Test {
 protected:
  ProcessResult serve(const Words& arguments) const {
    auto result = bench_.run("server", arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  /// Oldest first.
  std::vector<store::Run> runs() const {
    auto all = bench_.store()->catalog().runs();
    std::ranges::reverse(all);
    return all;
  }

  Workbench bench_;
};

TEST_F(Sessions, OneAfterAnotherAreWholeRunsAndTheMemoryDoesNotGrow) {
  const auto served = serve({"200", "memory"});
  const auto all = runs();
  ASSERT_THAT(all, SizeIs(200));
  const auto opened = bench_.store();
  const store::Catalog& catalog = opened->catalog();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const store::Run& run = all[i];
    EXPECT_EQ(run.state, i == 3 ? store::RunState::failed : store::RunState::finished) << i;
    EXPECT_EQ(run.epochs, 2);
    EXPECT_EQ(run.start.commit, all[0].start.commit);
    const auto arguments = catalog.arguments(run.id);
    ASSERT_THAT(arguments, SizeIs(1));
    EXPECT_EQ(arguments[0].value, std::to_string(i));
    EXPECT_THAT(
        bench_.store()->catalog().values({.run = run.id, .names = {"value"}, .first_epoch = -1}),
        SizeIs(6));
  }
  EXPECT_THAT(bench_.damage(), IsEmpty());
  const auto commits =
      run_command({"git", "log", "--format=%s", "flor.shadow"}, bench_.repository().root());
  EXPECT_THAT(lines_with(commits.out, {"flor: requests"}), SizeIs(1));
  const auto resident = lines_with(served.out, {"resident"});
  ASSERT_THAT(resident, SizeIs(4));
  const auto bytes = [&](std::size_t i) { return std::stoll(resident[i].substr(9)); };
  EXPECT_LT(bytes(3), bytes(0) + (8 << 20)) << served.out;
}

TEST_F(Sessions, AReplayIsOfTheOneThatIsNamed) {
  const auto served = serve({"5"});
  const std::string key = runs().at(2).key;
  for (const char* flag : {"--replay_flor", "--replay", "--replay-flor=0/1"}) {
    SCOPED_TRACE(flag);
    const auto replayed = bench_.run("server", {"5", flag, "--flor_run", key});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: "));
    EXPECT_THAT(lines_with(replayed.out, {"tail 3", "tail 4"}), IsEmpty());
  }
  const auto shared = run_process({FLOR_CLI, "replay", key, "--probe", "train"}, bench_.options());
  EXPECT_EQ(shared.status, 0) << shared.err;
  EXPECT_THAT(shared.out + shared.err, HasSubstr("verified"));
  EXPECT_THAT(runs(), SizeIs(5));  // and nothing was recorded by that
}

/// The loops of all of them have the same names, and the states the same sizes.
class SessionsBesideTheCommandLine : public Sessions,
                                     public ::testing::WithParamInterface<const char*> {};

TEST_P(SessionsBesideTheCommandLine, TheNamedOneIsReplayed) {
  const std::string order = GetParam();
  serve({"2", order, "--flor", "whole", "--flor_every", "1"});
  const auto all = runs();
  ASSERT_THAT(all, SizeIs(order == "twice" ? 4 : 3));
  for (const store::Run& run : all) {
    SCOPED_TRACE(run.start.experiment);
    const auto replayed = bench_.run(
        "server", {"2", order, "--replay_flor", "--flor_run", run.key, "--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(lines_with(replayed.err, {"flor: replaying run"}), SizeIs(1)) << replayed.err;
    EXPECT_THAT(lines_with(replayed.err, {"flor: verified: "}), SizeIs(1)) << replayed.err;
    const auto shared =
        run_process({FLOR_CLI, "replay", run.key, "--probe", "train"}, bench_.options());
    EXPECT_EQ(shared.status, 0) << shared.err;
    EXPECT_THAT(runs(), SizeIs(all.size())) << "a replay records nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, SessionsBesideTheCommandLine,
                         ::testing::Values("mixed", "second", "twice"),
                         [](const auto& tried) { return std::string(tried.param); });

/// As in a notebook, where the words of one are none of the others.
TEST_F(Sessions, OfWordsThatAProgramMakesItselfEachIsWhatItsWordsSay) {
  const auto served = serve({"3", "made"});
  ASSERT_THAT(runs(), SizeIs(4));
  EXPECT_EQ(runs().front().start.experiment, "made");
  EXPECT_THAT(lines_with(served.err, {"flor: replaying run"}), SizeIs(2)) << served.err;
  EXPECT_THAT(lines_with(served.err, {"flor: verified: "}), SizeIs(2)) << served.err;
}

TEST_F(Sessions, ThatAreNotReachedAreSaid) {
  serve({"3"});
  const std::string last = runs().at(2).key;
  const auto replayed = bench_.run("server", {"1", "--replay_flor", "--flor_run", last});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("nothing was replayed: the run was recorded in session 3"));
}

TEST_F(Sessions, TheStatusOfTheProcessSaysNothingOfRunsThatHaveEnded) {
  EXPECT_EQ(bench_.run("server", {"2", "exit"}).status, 3);
  ASSERT_THAT(runs(), SizeIs(2));
  for (const store::Run& run : runs()) EXPECT_EQ(run.state, store::RunState::finished);
}

TEST_F(Sessions, WhatIsRegisteredBetweenThemIsRefused) {
  const auto served = serve({"3", "early"});
  EXPECT_THAT(lines_with(served.out, {"failed: flor::checkpoints was called before flor::init"}),
              SizeIs(1));
  EXPECT_THAT(runs(), SizeIs(2));
}

TEST_F(Sessions, ASecondOneWhileOneIsOpenIsRefused) {
  const auto served = serve({"2", "thread"});
  EXPECT_THAT(lines_with(served.out, {"refused: flor::init was called while a session is open"}),
              SizeIs(2));
  EXPECT_THAT(runs(), SizeIs(2));
}

}  // namespace
}  // namespace flor::testing
