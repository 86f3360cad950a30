// Runs that are interrupted while something else goes wrong as well: the disk is full, the writer
// is behind, a second signal comes.
#include "whole_record.h"
#include "workbench.h"

#include <csignal>

namespace flor::testing::resume_faults_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kPreempted = 75;

class ResumeFaults : public ::testing::Test {
 protected:
  WholeRecord record() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  ProcessResult run(const Words& arguments, const std::string& raise = {}) const {
    auto options = bench_.options();
    if (!raise.empty()) options.environment["RAISE"] = raise;
    return bench_.run("trainer", arguments, options);
  }
  /// Where no file can grow beyond `kib`, as on a disk that is full.
  ProcessResult run_with_limit(int kib, const Words& arguments, const std::string& raise) const {
    const std::string script =
        "trap '' XFSZ; ulimit -f " + std::to_string(kib * 2) + "; exec \"$0\" \"$@\"";
    auto options = bench_.options();
    options.environment["RAISE"] = raise;
    return run_process(Words{"/bin/sh", "-c", script, program("trainer").string()} + arguments,
                       options);
  }
  void expect_goes_on_to(const WholeRecord& whole) const {
    const auto resumed = run({"--flor", "test", "--flor_resume"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
    WholeRecord expected = whole;
    const WholeRecord now = record();
    // What was a gap before the point from which it went on remains one.
    if (!bench_.last_run().degraded.empty()) {
      std::erase_if(expected.checkpoints,
                    [&](const auto& entry) { return !now.checkpoints.contains(entry.first); });
    }
    EXPECT_EQ(now, expected);
    const auto replayed = bench_.replay("trainer", {"--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: "));
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
  static Words recording(const Words& kwargs) {
    return Words{"--flor", "test", "--flor_every", "1", "--kwargs"} + kwargs;
  }

  Workbench bench_;
};

TEST_F(ResumeFaults, ARunThatTheFullDiskDegradedGoesOnWhenThereIsRoom) {
  const Words arguments = recording({"size=10000", "epochs=6"});
  ASSERT_EQ(run(arguments).status, 0);
  const WholeRecord whole = record();
  int degraded = 0;
  for (const int kib : {120, 200, 300, 450, 700}) {
    for (const int signal : {SIGTERM, SIGKILL}) {
      SCOPED_TRACE(std::to_string(kib) + " KiB, signal " + std::to_string(signal));
      const std::size_t before = bench_.run_count();
      const auto result = run_with_limit(kib, arguments, std::to_string(signal) + ":20:2000");
      if (bench_.run_count() == before) continue;  // there was no room for anything
      ASSERT_TRUE(signal == SIGKILL ? result.signal == SIGKILL : result.status == kPreempted)
          << result.status << result.err;
      if (result.err.find("CANNOT BE STORED NOW") != std::string::npos) ++degraded;
      expect_goes_on_to(whole);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(degraded, 2);
}

// 3 MiB of state, of which every checkpoint holds all: writing takes longer than a step.
TEST_F(ResumeFaults, ASignalWhileTheWriterIsBusyLosesNothing) {
  const Words arguments = recording({"size=200000", "epochs=4"});
  ASSERT_EQ(run(arguments).status, 0);
  const WholeRecord whole = record();
  for (const int count : {1, 2, 5, 7, 9, 16}) {
    SCOPED_TRACE(count);
    const auto preempted = run(arguments, std::to_string(SIGTERM) + ":" + std::to_string(count));
    ASSERT_EQ(preempted.status, kPreempted) << preempted.err;
    const std::string place = "epoch " + std::to_string((count - 1) / 4) + ", step " +
                              std::to_string((count - 1) % 4 + 1) + " of train";
    EXPECT_THAT(preempted.err, HasSubstr("preempted by SIGTERM at " + place));
    EXPECT_THAT(preempted.err, HasSubstr("goes on with run " + bench_.last_run().key.substr(0, 8) +
                                         " at " + place));
    expect_goes_on_to(whole);
  }
}

TEST_F(ResumeFaults, TwoSignalsAtOnceLeaveARunThatGoesOn) {
  const Words arguments = recording({"epochs=4"});
  ASSERT_EQ(run(arguments).status, 0);
  const WholeRecord whole = record();
  const auto raising = [](int first, int second) {
    return std::to_string(first) + ":6:0:" + std::to_string(second);
  };
  for (const auto& [first, second] :
       {std::pair(SIGUSR1, SIGTERM), {SIGTERM, SIGUSR1}, {SIGUSR1, SIGUSR1}}) {
    SCOPED_TRACE(raising(first, second));
    EXPECT_EQ(run(arguments, raising(first, second)).status, kPreempted);
    expect_goes_on_to(whole);
  }
  EXPECT_EQ(run(arguments, raising(SIGTERM, SIGTERM)).signal, SIGTERM) << "the second insists";
  EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
  expect_goes_on_to(whole);
}

}  // namespace
}  // namespace flor::testing::resume_faults_test
