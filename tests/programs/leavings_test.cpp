// A sample of the ways to leave something behind a loop (tests/sources/leavings.h), recorded, edited,
// compiled and replayed: every answer is the one that a recording of the edited program gives. Some
// two dozen are in one file, which is compiled twice.
#include "sources/analysis.h"
#include "sources/leavings.h"
#include "workbench.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace flor::testing::leavings_test {
namespace {

class Leavings : public ::testing::Test {
 protected:
  struct Numbered {
    std::string number;
    Leaving leaving;
  };
  static bool only_looks(const Numbered& numbered) {
    const auto& [number, leaving] = numbered;
    sources::AnalysisInput input;
    input.changed.push_back({"program.cpp", kLeavingsPrelude + leaving.before,
                             kLeavingsPrelude + leaving.asked});
    input.nested = {"train" + number};
    input.main = {"epoch" + number};
    return sources::Analysis(std::move(input)).computation().empty();
  }
  void build(const std::vector<Numbered>& all, bool asked) const {
    std::string text = kLeavingsPrelude, cases;
    for (const auto& [number, leaving] : all) {
      text += asked ? leaving.asked : leaving.before;
      cases += "    case " + number + ":\n      run" + number + "();\n      break;\n";
    }
    text += "int main(int argc, char** argv) {\n  auto session = flor::init(argc, argv);\n"
            "  switch (std::atoi(argv[1])) {\n" +
            cases + "  }\n}\n";
    bench_.repository().write("program.cpp", text);
    const auto root = bench_.repository().root();
    const std::string command = std::string("exec ") + FLOR_TEST_COMPILER + " " +
                                (root / "program.cpp").string() + " -o " + executable() + " " +
                                FLOR_TEST_LIBRARY + " -Wl,-rpath," FLOR_TEST_LIBRARY_DIRECTORY;
    const CommandResult result = run_command({"sh", "-c", command}, root);
    ASSERT_EQ(result.status, 0) << result.out;
  }
  std::string executable() const { return (bench_.repository().place() / "program").string(); }
  ProcessResult run(const std::string& number, const Words& flags) const {
    return run_process(Words{executable(), number} + flags, bench_.options());
  }
  std::vector<std::string> answers(const std::string& name, bool hindsight) const {
    std::vector<std::string> texts;
    for (const auto& value : bench_.values(name, !hindsight, hindsight)) {
      texts.push_back(std::to_string(value.place.epoch) + ": " + print_scalar(value));
    }
    return texts;
  }
  static std::string print_scalar(const store::Value& value) {
    return std::visit(
        [](const auto& x) -> std::string {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, std::string>) {
            return x;
          } else if constexpr (std::is_arithmetic_v<T>) {
            return std::to_string(x);
          } else {
            return "other";
          }
        },
        value.value);
  }

  void check(std::size_t every) {
    constexpr std::size_t kTogether = 24;  // every replay reads the whole file
    std::vector<Numbered> all;
    for (Leaving& leaving : ways_to_leave(every)) {
      all.push_back({std::to_string(all.size()), std::move(leaving)});
    }
    // A question that may compute something makes all answers of its file doubtful.
    const auto doubtful = std::stable_partition(all.begin(), all.end(), only_looks);
    std::printf("%zu ways to leave something behind, %td doubtful\n", all.size(),
                all.end() - doubtful);
    for (auto first = all.begin(); first != all.end();) {
      const auto end = first < doubtful ? doubtful : all.end();
      const auto next = end - first > std::ptrdiff_t{kTogether} ? first + kTogether : end;
      check({first, next}, first >= doubtful);
      first = next;
    }
  }
  void check(const std::vector<Numbered>& all, bool doubtful) {
    build(all, false);
    for (const auto& [number, leaving] : all) {
      const auto recorded = run(number, {"--flor", "before" + number, "--flor_every", "1"});
      ASSERT_EQ(recorded.status, 0) << leaving.name << recorded.err;
    }
    build(all, true);
    for (const auto& [number, leaving] : all) {
      const auto replayed = run(number, {"--replay_flor", "--flor_run", "before" + number});
      const auto truth = run(number, {"--flor", "truth" + number, "--flor_every", "1"});
      const auto found = values_of("before" + number, "q" + number);
      const auto expected = values_of("truth" + number, "q" + number);
      EXPECT_FALSE(expected.empty()) << leaving.name;
      // What differs or is doubtful says so, and nothing of it stands.
      const bool told = replayed.status == 7 || doubtful;
      EXPECT_EQ(found, told ? std::vector<std::string>() : expected)
          << leaving.name << "\n" << replayed.err << leaving.asked;
    }
  }
  std::vector<std::string> values_of(const std::string& experiment,
                                     const std::string& name) const {
    const auto opened = bench_.store();
    std::vector<std::string> texts;
    for (const store::Run& run : opened->catalog().runs()) {
      if (run.start.experiment != experiment) continue;
      for (const auto& value : opened->catalog().values(
               {.run = run.id, .names = {name}, .first_epoch = -1, .recorded = true,
                .hindsight = true})) {
        if (value.name != name) continue;  // set apart, as what is doubtful is
        texts.push_back(std::to_string(value.place.epoch) + ": " + print_scalar(value));
      }
      break;
    }
    return texts;
  }

  Workbench bench_;
};

TEST_F(Leavings, ASampleIsAnsweredAsIfItHadBeenLogged) { check(185); }
TEST_F(Leavings, SlowASampleIsAnsweredAsIfItHadBeenLogged) { check(14); }

}  // namespace
}  // namespace flor::testing::leavings_test
