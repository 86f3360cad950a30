// Trainings that flor instrument wrote Flor into, without an edit by hand: each is recorded,
// replays exactly, and answers a question that is asked where it trains, with the values of a run
// that had logged them.
#include "programs/workbench.h"
#include "support/content.h"

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class InstrumentedPrograms : public ::testing::TestWithParam<std::string> {
 protected:
  static void add_source(const Workbench& bench, const std::string& of) {
    const auto path = std::filesystem::path(FLOR_TEST_SOURCES) / (of + ".cpp");
    bench.repository().write(GetParam() + ".cpp", read_file(path));
  }
  static std::vector<double> asked(const Workbench& bench) {
    std::vector<double> values;
    for (const store::Value& value : bench.values("asked")) values.push_back(real(value));
    return values;
  }
};

TEST_P(InstrumentedPrograms, AreRecordedAndReplayedExactly) {
  Workbench bench;
  add_source(bench, GetParam());
  bench.repository().commit_all("instrumented");
  const auto recorded = bench.record(GetParam());
  const auto replayed = bench.replay(GetParam());
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  // What skipped loops printed is missing, and nothing else.
  const auto all = lines_of(recorded.out);
  auto next = all.begin();
  for (const std::string& line : lines_of(replayed.out)) {
    next = std::find(next, all.end(), line);
    ASSERT_NE(next, all.end()) << line;
    ++next;
  }
  EXPECT_THAT(replayed.err, ::testing::Not(HasSubstr("which is not registered")));
  EXPECT_THAT(replayed.err, HasSubstr(" equal the record"));
  for (int part = 0; part < 2; ++part) {
    const auto half = bench.replay(GetParam(), {std::to_string(part) + "/2"});
    EXPECT_EQ(half.status, 0) << half.err;
  }
}

TEST_P(InstrumentedPrograms, AnswerWhatARunWouldHaveLogged) {
  Workbench truth;
  add_source(truth, GetParam() + "_asked");
  truth.repository().commit_all("asked");
  truth.record(GetParam() + "_asked");
  const std::vector<double> expected = asked(truth);
  ASSERT_GE(expected.size(), 3u);

  Workbench bench;
  add_source(bench, GetParam());
  bench.repository().commit_all("instrumented");
  bench.record(GetParam());
  add_source(bench, GetParam() + "_asked");
  const auto replayed = bench.replay(GetParam() + "_asked");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(asked(bench), expected) << replayed.err;
}

TEST(InstrumentedLoops, RunAsOftenAsBefore) {
  const auto printed = [](const std::string& name) {
    const auto path = std::filesystem::path(FLOR_TEST_PROGRAMS) / name;
    const ProcessResult result = run_process({path.string()});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const std::string before = printed("loop_counts_before");
  EXPECT_THAT(before, HasSubstr("doubles 30\n"));
  EXPECT_EQ(printed("loop_counts"), before);
  const auto path = std::filesystem::path(FLOR_TEST_SOURCES) / "loop_counts.cpp";
  // Those that surely can are wrapped: of loops that all stay as they are, this would say nothing.
  const std::string written = read_file(path), wrapped = "flor::loop(";
  int count = 0;
  for (auto at = written.find(wrapped); at != written.npos; at = written.find(wrapped, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 5);
}

std::vector<std::string> programs() {
  std::vector<std::string> names = {"clusters", "line_fit", "other_names"};
#ifdef FLOR_TEST_TORCH
  for (const char* name : {"adversarial", "characters", "digits", "folds", "inline_loop",
                           "scheduled", "trainer_class", "until_good"}) {
    names.emplace_back(name);
  }
#endif
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, InstrumentedPrograms, ::testing::ValuesIn(programs()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace flor::testing
