// The examples of the repository, as a newcomer builds them: each is recorded and replayed bit for
// bit, in any number of segments, jumping and walking, executing the training and skipping it.
#include "support/some_points.h"
#include "workbench.h"

namespace flor::testing::examples_test {
namespace {

using ::testing::HasSubstr;

struct Example {
  std::string name;
  Words kwargs;  ///< small enough for a test; five epochs
};

void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

class Examples : public ::testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    const auto recorded = bench_.record(GetParam().name, Words{"--kwargs"} + GetParam().kwargs);
    epochs_ = lines_with(recorded.out, {"epoch"});
    ASSERT_EQ(epochs_.size(), 5u) << recorded.out;
  }

  /// Replays all segments and insists that each found itself exact; returns their epochs' lines.
  std::vector<std::string> replay(int segments, const Words& flags) {
    std::vector<std::string> lines;
    for (int segment = 0; segment < segments; ++segment) {
      const std::string share = std::to_string(segment) + "/" + std::to_string(segments);
      const auto result = bench_.replay(GetParam().name, Words{share} + flags);
      EXPECT_EQ(result.status, 0) << share << "\n" << result.err;
      EXPECT_THAT(result.err, HasSubstr(segment < 5 ? "verified: " : "nothing to do")) << share;
      // A replay that walks to its segment prints on its way, too.
      auto printed = lines_with(result.out, {"epoch"});
      const std::size_t own = own_epochs(segment, segments);
      EXPECT_GE(printed.size(), own) << share;
      for (std::size_t i = printed.size() - std::min(own, printed.size()); i < printed.size();
           ++i) {
        lines.push_back(std::move(printed[i]));
      }
    }
    return lines;
  }

  static std::size_t own_epochs(int segment, int segments) {
    return static_cast<std::size_t>(5 / segments + (segment < 5 % segments ? 1 : 0));
  }

  Workbench bench_;
  std::vector<std::string> epochs_;
};

TEST_P(Examples, EverySegmentTrainsExactlyAsRecorded) {
  for (const int segments : some_of<int>({1, 2, 3, 5, 7}, 2)) {
    EXPECT_EQ(replay(segments, {"--flor_probe", "train"}), epochs_) << segments << " segments";
  }
}

TEST_P(Examples, WalkingToASegmentGivesWhatJumpingGives) {
  EXPECT_EQ(replay(3, {"--flor_probe", "train", "--flor_init", "strong"}), epochs_);
}

TEST_P(Examples, WithoutTrainingTheEpochsEndAsRecorded) {
  EXPECT_EQ(replay(1, {}), epochs_);
  EXPECT_EQ(replay(3, {"--flor_init", "strong"}), epochs_);
}

INSTANTIATE_TEST_SUITE_P(
    , Examples,
    ::testing::Values(Example{"linear", {"epochs=5", "pictures=600", "hidden=64"}},
                      Example{"convnet", {"epochs=5", "pictures=300", "channels=4"}},
                      Example{"charlm",
                              {"epochs=5", "steps=6", "width=32", "layers=1", "batch=4"}}),
    [](const auto& example) { return example.param.name; });

}  // namespace
}  // namespace flor::testing::examples_test
