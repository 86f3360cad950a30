// Checkpoints that are copied while the training goes on: exact where the program keeps the rules,
// dropped and said where it does not.
#include "workbench.h"

#include <csignal>

namespace flor::testing::overlapper_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Overlapper : public ::testing::Test {
 protected:
  ProcessResult record(const std::string& ways) {
    const ProcessResult result = bench_.run(
        "overlapper", {"--flor", "test", "--flor_every", "1", "--kwargs", "ways=" + ways});
    recorded_ = lines_of(result.out);
    return result;
  }
  void expect_exact(const Segments& segments) {
    SCOPED_TRACE(std::to_string(segments.count) + (segments.strong ? " strong" : " weak"));
    const auto all = replay_segments(bench_, "overlapper", segments);
    EXPECT_EQ(all.out, recorded_);
    for (const auto& result : all.results) {
      EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_THAT(result.err, AllOf(HasSubstr("flor: verified:"), Not(HasSubstr("differs"))));
    }
  }
  /// The replay computes what the record computed.
  void expect_exact() { expect_exact({.count = 1, .flags = {"--flor_probe", "train,test"}}); }

  /// That checkpoint was dropped and said, and nothing else is wrong. What was taken just before it
  /// may have shared its copies, and its fate.
  void expect_dropped(const std::string& ways, const std::string& key, std::size_t at_most) {
    ProcessResult result = record(ways);
    // Copies that were done before the update are right, and nothing is to be found: once more.
    for (int i = 0; i < 9 && result.err.find("is dropped") == std::string::npos; ++i) {
      result = record(ways);
    }
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("is dropped: 'model/"), HasSubstr("flor::fence()")));
    EXPECT_EQ(lines_of(result.err).size(), 3u) << "said once: " << result.err;
    EXPECT_THAT(bench_.checkpoints(), Not(Contains(key)));
    EXPECT_GE(bench_.checkpoints().size(), kCheckpoints - at_most);
    EXPECT_EQ(bench_.run("overlapper", {"--kwargs", "ways=" + ways}).out, result.out)
        << "recording does not change what is computed";
    expect_exact();
  }

  static constexpr std::size_t kCheckpoints = 1 + 6 * 3;  // entry; train, test and boundary
  Workbench bench_;
  std::vector<std::string> recorded_;
};

TEST_F(Overlapper, RecordsWhatTheCopyingFormRecords) {
  const auto plain = record("plain");
  const auto checkpoints = bench_.checkpoints();
  EXPECT_EQ(checkpoints.size(), kCheckpoints);
  for (const char* ways : {"auto", "fence"}) {
    const auto result = record(ways);
    EXPECT_EQ(result.out, plain.out);
    EXPECT_EQ(lines_of(result.err).size(), 2u) << result.err;
    EXPECT_EQ(bench_.checkpoints(), checkpoints);
    const auto runs = bench_.store()->catalog().runs();
    const auto digests = [&](const store::Run& run) {
      std::vector<std::string> found;
      for (const auto& info : bench_.store()->catalog().checkpoints(run.id)) {
        found.push_back(info.digest.hex());
      }
      return found;
    };
    EXPECT_EQ(digests(runs.front()), digests(runs.back())) << ways;
  }
}

TEST_F(Overlapper, ReplaysExactly) {
  record("auto");
  expect_exact();
  expect_exact({.count = 3, .strong = true, .flags = {"--flor_probe", "train,test"}});
}

TEST_F(Overlapper, ReplaysExactlyWithFencesOfItsOwn) {
  record("fence");
  expect_exact();
}

TEST_F(Overlapper, AFenceThatIsForgottenIsFoundByTheVersions) {
  expect_dropped("forgets", "boundary 0/3", 3);
}

TEST_F(Overlapper, AWriteBehindTheLoopIsFoundByTheVersions) {
  expect_dropped("in_place", "train 0/3", 1);
}

TEST_F(Overlapper, AWriteInInferenceModeIsFoundByTheVersions) {
  expect_dropped("inference", "train 0/3", 1);
}

TEST_F(Overlapper, AWriteOfAllElementsThroughAPointerIsFoundByTheSamples) {
  expect_dropped("dense_pointer", "train 0/3", 1);
}

// The limit that docs/checkpoints.md names: the recorded content may be wrong, and the replay says
// so.
TEST_F(Overlapper, AWriteOfOneElementThroughAPointerIsNotFoundButTheReplayDiffers) {
  const auto result = record("one_element");
  EXPECT_EQ(lines_of(result.err).size(), 2u) << result.err;
  const auto replayed = bench_.replay("overlapper", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("differs: state at the end of train"));
  EXPECT_THAT(replayed.err, HasSubstr("model/second.weight"));
}

TEST_F(Overlapper, MemoryThatAParameterLeavesIsKeptUntilItIsCopied) {
  const auto result = record("other_memory");
  EXPECT_EQ(lines_of(result.err).size(), 2u) << result.err;
  EXPECT_EQ(bench_.checkpoints().size(), kCheckpoints);
  expect_exact();
}

TEST_F(Overlapper, AnExceptionBehindTheLoopLosesNoCheckpoint) {
  const auto result = record("throw");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(bench_.checkpoints(), AllOf(Contains("train 0/4"), Contains("boundary 0/4")));
  EXPECT_THAT(bench_.damage(), ::testing::IsEmpty());
}

TEST_F(Overlapper, AnExitBehindTheLoopLosesNoCheckpoint) {
  EXPECT_EQ(record("exit").status, 0);
  EXPECT_THAT(bench_.checkpoints(), AllOf(Contains("train 0/4"), Contains("boundary 0/4")));
  EXPECT_THAT(bench_.damage(), ::testing::IsEmpty());
}

TEST_F(Overlapper, AForkedChildLeavesTheCopyingToItsParent) {
  const auto plain = bench_.run("overlapper", {"--kwargs", "ways=fork"});
  const auto result = record("fork");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, plain.out);
  EXPECT_EQ(bench_.checkpoints().size(), kCheckpoints);
  expect_exact();
}

TEST_F(Overlapper, AKillWhileCopyingIsUnderWayGoesBackToADurableBoundary) {
  const auto result = record("kill");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(bench_.damage(), ::testing::IsEmpty());
  EXPECT_THAT(bench_.checkpoints(), Contains("boundary 0/2")) << "of the epoch before";
  const auto replayed = bench_.replay("overlapper", {"--flor_probe", "train,test"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("flor: verified:"));
}

}  // namespace
}  // namespace flor::testing::overlapper_test
