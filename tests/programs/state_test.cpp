// Everything that can be registered without libtorch comes back bit for bit, and what does not fit
// is refused by name.
#include "workbench.h"

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class State : public ::testing::Test {
 protected:
  /// The lines on stderr after the one that says what is replayed.
  static std::string complaint(const ProcessResult& result) {
    const auto lines = lines_of(result.err);
    return lines.size() == 2 ? lines[1] : "not one line: " + result.err;
  }
  Workbench bench_;
};

TEST_F(State, OfEveryKindIsRestoredInEverySegment) {
  const auto recorded = bench_.record("state");
  const auto lines = lines_of(recorded.out);
  for (const int count : {1, 2, 5}) {
    const auto executed =
        replay_segments(bench_, "state", {.count = count, .flags = {"--flor_probe", "train"}});
    EXPECT_EQ(executed.out, lines);
    const auto skipped = replay_segments(bench_, "state", {.count = count, .flags = {}});
    EXPECT_EQ(skipped.out, lines_with(recorded.out, {"tail"}));
    for (const auto& result : skipped.results) EXPECT_EQ(result.status, 0) << result.err;
  }
}

TEST_F(State, OfAnotherShapeIsRefusedAndNamed) {
  bench_.record("state");
  const auto result = bench_.replay("state", {"1/2", "wide"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(complaint(result), AllOf(HasSubstr("'matrix/values'"), HasSubstr("f32 [2, 3]"),
                                       HasSubstr("f32 [2, 4]"), HasSubstr("record again")));
}

TEST_F(State, OfAnotherTypeIsRefusedAndNamed) {
  bench_.record("state");
  const auto result = bench_.replay("state", {"1/2", "retyped"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(complaint(result), AllOf(HasSubstr("'ticks'"), HasSubstr("type has changed")));
}

TEST_F(State, WithAnotherNumberOfObjectsIsRefused) {
  bench_.record("state");
  for (const char* what : {"fewer", "more", "renamed"}) {
    const auto result = bench_.replay("state", {"1/2", what});
    EXPECT_EQ(result.status, 1) << what;
    EXPECT_THAT(complaint(result),
                AllOf(HasSubstr("regist"), HasSubstr("same objects in the same order")));
  }
}

TEST_F(State, TwoObjectsOfOneNameAreAnErrorThatLeavesNoRun) {
  const auto result = bench_.run("state", {"--flor", "test", "twice"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, SaysOnce("two registered objects are named 'meter'"));
  EXPECT_EQ(bench_.run_count(), 0u);
}

TEST_F(State, ThatDoesNotFitLeavesTheRecordAsItWas) {
  bench_.record("state");
  const auto before = bench_.checkpoints();
  for (const char* what : {"wide", "retyped", "fewer"}) bench_.replay("state", {"1/2", what});
  EXPECT_EQ(bench_.checkpoints(), before);
  EXPECT_EQ(bench_.replay("state").status, 0);
  EXPECT_THAT(bench_.damage(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace flor::testing
