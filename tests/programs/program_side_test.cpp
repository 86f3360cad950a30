// The program's side of Flor as users meet it: mains without parameters, loops of every kind, and
// mistakes that the compiler finds.
#include "compiled.h"

namespace flor::testing::program_side_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ProgramSide : public CompiledPrograms {};

constexpr const char* kNoParameters = R"code(#include <flor/flor.h>
#include <cstdio>
int main() {
  auto session = flor::init();
  double w = flor::arg("w", 1.0);
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 3)) {
    w += epoch;
    flor::log("w", w);
  }
  std::printf("w %g\n", w);
}
)code";

TEST_F(ProgramSide, AMainWithoutParametersRecordsAndReplays) {
  build("bare", kNoParameters);
  EXPECT_EQ(run("bare", {}).out, "w 4\n");
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
  const auto recorded = run("bare", {"--flor", "bare", "--kwargs", "w=2"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(recorded.out, "w 5\n");
  EXPECT_EQ(bench_.values("w").size(), 3u);
  const auto replayed = run("bare", {"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(run("bare", {"--replay_flor", "2/2"}).status, 2);
  EXPECT_THAT(run("bare", {"--florist"}).err, SaysOnce("unknown flag --florist"));
}

// Loops that count otherwise than from 0 by 1: each gives the numbers of the plain loop, and a
// replay of any part of them gives what the recording had.
constexpr const char* kLoops = R"code(#include <flor/flor.h>
#include <cstdint>
#include <cstdio>
#include <vector>
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 100;
  std::int64_t last = 4;
  auto state = flor::checkpoints(w);
  auto step = [&](const char* name, double by) { w = w * 0.5 + by; flor::log(name, w); };
  for (auto e : flor::loop("from_one", flor::range(1, last + 1))) {
    for (auto s : flor::loop("down", flor::range(9u, 0, -3))) step("down", double(s));
    for (int s : flor::loop("strided", flor::range(0, 7, 2))) step("strided", s);
    // while (w > 3) { ... }
    for ([[maybe_unused]] auto s : flor::loop("while", flor::endless())) {
      if (!(w > 3)) break;
      step("while", 0);
    }
    step("epoch", double(e));
  }
  for ([[maybe_unused]] auto e : flor::loop("until", flor::endless())) {
    if (w < 0.5) break;
    step("until", 0);
  }
}
)code";

TEST_F(ProgramSide, StridedMixedAndEndlessLoopsReplayInEveryPart) {
  build("loops", kLoops);
  const auto recorded = run("loops", {"--flor", "x", "--flor_every", "1"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(bench_.values("down").size(), 12u);
  EXPECT_EQ(bench_.values("strided").size(), 16u);
  for (const Words& flags : std::vector<Words>{{},
                                               {"0/3", "--flor_probe", "while,down,strided"},
                                               {"1/3", "--flor_probe", "while,down,strided"},
                                               {"2/3", "--flor_probe", "while,down,strided"},
                                               {"--flor_init", "strong"}}) {
    const auto replayed = run("loops", Words{"--replay_flor"} + flags);
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  }
}

TEST_F(ProgramSide, MistakesFailInFewLinesThatNameTheRemedy) {
  struct Mistake {
    const char* statement;
    const char* remedy;
  };
  const Mistake mistakes[] = {
      {"for (int i : flor::loop(\"t\", n, r)) r += i;", "flor::with(x)"},
      {"for (double x : flor::loop(\"t\", v, r)) r += x;", "flor::with(x)"},
      {"for (int i : flor::loop(\"t\", n, flor::probed, r)) r += i;", "flor::with(x)"},
      {"for (int i : flor::loop(\"t\", 0, 3)) r += i;", "flor::range(first, last)"},
      {"flor::log(\"v\", v);", "flor::log_tensor"},
      {"flor::log(\"v\", std::array<int, 3>{1, 2, 3});", "flor::log_tensor"},
      {"flor::log(\"v\", std::map<int, int>());", "flor::log_table"},
      {"flor::log(\"v\", std::vector<std::vector<int>>());", "flor::log_tensor"},
  };
  std::string text =
      "#include <flor/flor.h>\n#include <array>\n#include <map>\n#include <vector>\n"
      "void f(int n, double r, std::vector<double> v) {\n";
  for (const Mistake& mistake : mistakes) text += std::string("  ") + mistake.statement + "\n";
  bench_.repository().write("src/wrong.cpp", text + "}\n");
  const CommandResult result = compile("src/wrong.cpp", "wrong", "-fsyntax-only");
  EXPECT_NE(result.status, 0);
  const auto lines = lines_of(result.out);
  EXPECT_LE(lines.size(), 10 * std::size(mistakes)) << result.out;
  std::vector<std::string> errors;
  for (const std::string& line : lines) {
    if (line.find("error:") != line.npos) errors.push_back(line);
  }
  ASSERT_EQ(errors.size(), std::size(mistakes)) << result.out;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_THAT(errors[i], HasSubstr(mistakes[i].remedy)) << mistakes[i].statement;
  }
}

TEST_F(ProgramSide, AMisspeltArgumentIsSaidWhenTheMainLoopBegins) {
  build("slow", R"code(#include <flor/flor.h>
#include <cstdlib>
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  flor::arg("lr", 0.1);
  for (int epoch : flor::loop("epoch", 3)) {
    if (epoch == 1) std::_Exit(0);
  }
}
)code");
  const auto killed = run("slow", {"--flor", "x", "--kwargs", "lrr=0.3", "lr=0.2"});
  EXPECT_THAT(killed.err, AllOf(HasSubstr("--kwargs lrr=0.3: the program has not asked, by the "
                                          "beginning of epoch, for an argument 'lrr'"),
                                Not(HasSubstr("'lr'"))));
}

}  // namespace
}  // namespace flor::testing::program_side_test
