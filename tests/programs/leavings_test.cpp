// A sample of the ways to leave something behind a loop (tests/sources/leavings.h), recorded, edited,
// compiled and replayed: every answer is the one that a recording of the edited program gives. All
// of the sample are in one file, so that it is compiled twice.
#include "sources/leavings.h"
#include "workbench.h"

#include <string>
#include <vector>

namespace flor::testing {
namespace {

class Leavings : public ::testing::Test {
 protected:
  void build(const std::vector<Leaving>& all, bool asked) const {
    std::string text = kLeavingsPrelude, cases;
    for (std::size_t i = 0; i < all.size(); ++i) {
      text += asked ? all[i].asked : all[i].before;
      cases += "    case " + std::to_string(i) + ":\n      run" + std::to_string(i) +
               "();\n      break;\n";
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
  ProcessResult run(std::size_t number, const Words& flags) const {
    return run_process(Words{executable(), std::to_string(number)} + flags, bench_.options());
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
    const std::vector<Leaving> all = ways_to_leave(every);
    const auto name = [](std::size_t i) { return std::to_string(i); };
    build(all, false);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto recorded = run(i, {"--flor", "before" + name(i), "--flor_every", "1"});
      ASSERT_EQ(recorded.status, 0) << all[i].name << recorded.err;
    }
    build(all, true);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto replayed = run(i, {"--replay_flor", "--flor_run", "before" + name(i)});
      const auto truth = run(i, {"--flor", "truth" + name(i), "--flor_every", "1"});
      const auto found = values_of("before" + name(i), "q" + name(i));
      const auto expected = values_of("truth" + name(i), "q" + name(i));
      EXPECT_FALSE(expected.empty()) << all[i].name;
      const bool silent = replayed.status == 0 && found != expected;
      wrong += silent ? 1 : 0;
      EXPECT_FALSE(silent) << all[i].name << "\n" << replayed.err << all[i].asked;
    }
    EXPECT_EQ(wrong, 0u) << "of " << all.size();
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
}  // namespace flor::testing
