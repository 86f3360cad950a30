// The loops that flor::loop can drive, and those that it cannot.
#include "inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::instrument::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string loop_of(const std::string& epochs, const std::string& before = "",
                    const std::string& last = "(void)epoch;") {
  const std::string text = text_of(program({.before = before, .last = last, .epochs = epochs}));
  for (const std::string& line : flor::testing::lines_of(text)) {
    if (line.find("flor::loop(\"epoch\"") != line.npos) {
      const std::size_t end = line.ends_with(" {") ? line.size() - 2 : line.size();
      return line.substr(2, end - 2);
    }
  }
  return "";
}

TEST(LoopForms, ThatCount) {
  EXPECT_EQ(loop_of("for (int epoch = 0; epoch < 3; ++epoch)"),
            "for (int epoch : flor::loop(\"epoch\", 3))");
  EXPECT_EQ(loop_of("for (size_t epoch = 0; epoch != n; epoch++)", "const size_t n = 3;"),
            "for (size_t epoch : flor::loop(\"epoch\", n))");
  EXPECT_EQ(loop_of("for (int epoch = 1; epoch <= n; epoch += 1)", "int n = 3;"),
            "for (int epoch : flor::loop(\"epoch\", flor::range(1, n + 1)))");
  EXPECT_EQ(loop_of("for (long epoch = 10; epoch > 0; epoch -= 2)"),
            "for (long epoch : flor::loop(\"epoch\", flor::range(10, 0, -2)))");
  EXPECT_EQ(loop_of("for (int epoch = 9; epoch >= 2; --epoch)"),
            "for (int epoch : flor::loop(\"epoch\", flor::range(9, 2 - 1, -1)))");
  EXPECT_EQ(loop_of("for (std::int64_t epoch{0}; 3 > epoch; ++epoch)"),
            "for (std::int64_t epoch : flor::loop(\"epoch\", 3))");
  EXPECT_EQ(loop_of("for (auto epoch = 0; epoch < 3; ++epoch)"),
            "for (int epoch : flor::loop(\"epoch\", 3))");
  EXPECT_EQ(loop_of("for (int epoch = 0; epoch < static_cast<int>(n); ++epoch)", "long n = 3;"),
            "for (int epoch : flor::loop(\"epoch\", static_cast<int>(n)))");
  EXPECT_EQ(loop_of("for (int epoch = 0; epoch < 3; ++epoch)", "", ""),
            "for ([[maybe_unused]] int epoch : flor::loop(\"epoch\", 3))");
}

TEST(LoopForms, OverRanges) {
  EXPECT_EQ(loop_of("for (int epoch : {1, 2, 3})"),
            "for (int epoch : flor::loop(\"epoch\", {1, 2, 3}))");
  EXPECT_EQ(loop_of("for (const auto& epoch : plan)", "std::vector<int> plan{1, 2};"),
            "for (const auto& epoch : flor::loop(\"epoch\", plan))");
}

TEST(LoopForms, WithAConditionOnly) {
  const std::string text = text_of(program({.before = "int n = 0;", .epochs = "while (n++ < 3)"}));
  EXPECT_THAT(
      text,
      HasSubstr("  for ([[maybe_unused]] int epoch : flor::loop(\"epoch\", "
                "std::views::iota(0),\n      flor::with(n))) {\n    if (!(n++ < 3)) break;\n"));
  EXPECT_THAT(text, HasSubstr("#include <ranges>\n"));
  EXPECT_THAT(
      text_of(program({.last = "if (x.sum().item<double>() > 3) break;", .epochs = "for (;;)"})),
      HasSubstr(
          "for ([[maybe_unused]] int epoch : flor::loop(\"epoch\", std::views::iota(0))) {\n"));
  EXPECT_THAT(text_of(program({.last = "break;", .epochs = "while (true)"})),
              Not(HasSubstr("if (!(")));
}

TEST(LoopForms, ThatAreAskedAbout) {
  const auto asks = [](const std::string& epochs, const std::string& before,
                       const std::string& last) {
    const Instrumented result = of(program({.before = before, .last = last, .epochs = epochs}));
    EXPECT_THAT(result.loops, IsEmpty()) << epochs;
    EXPECT_THAT(result.files.front().after, HasSubstr(epochs));
    std::string all;
    for (const Question& question : result.questions) all += question.text + "\n";
    return all;
  };
  EXPECT_THAT(asks("for (int epoch = 0; epoch < 9; ++epoch)", "",
                   "if (x.sum().item<double>() > 1) ++epoch;"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(
      asks("for (int epoch = 0; epoch < n; ++epoch)", "int n = 3;", "if (epoch == 1) n = 2;"),
      HasSubstr("its limit 'n' may change meanwhile"));
  EXPECT_THAT(asks("for (int epoch = 0; epoch < n; ++epoch)", "double n = 2.5;", ""),
              HasSubstr("its limit 'n' is no integer"));
  EXPECT_THAT(asks("for (double epoch = 0; epoch < 1; epoch += 0.1)", "", ""), HasSubstr("counts"));
  EXPECT_THAT(asks("for (int epoch = 1; epoch < 100; epoch *= 2)", "", ""),
              HasSubstr("count evenly"));
  EXPECT_THAT(asks("for (int epoch = 0, k = 1; epoch < 3; ++epoch)", "", ""),
              HasSubstr("count evenly"));
  EXPECT_THAT(asks("for (int epoch = 0; epoch < 3 && net->weight.defined(); ++epoch)", "", ""),
              HasSubstr("count evenly"));
  EXPECT_THAT(asks("while (int n = 3)", "", "break;"), HasSubstr("declares a variable"));
}

TEST(LoopForms, EachLineEndAndIndentationIsKept) {
  std::string text = program({.last = "(void)epoch;"});
  std::string lines;
  for (const char c : text) lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::string after = text_of(lines);
  for (std::size_t at = after.find('\n'); at != after.npos; at = after.find('\n', at + 1)) {
    EXPECT_EQ(after[at - 1], '\r');
  }
  EXPECT_THAT(after, HasSubstr("\r\n  const auto state = flor::checkpoints(net, optimizer);\r\n"));
  std::string tabs = text;
  for (std::size_t at; (at = tabs.find("  ")) != tabs.npos;) tabs.replace(at, 2, "\t");
  EXPECT_THAT(text_of(tabs),
              HasSubstr("\n\tconst auto state = flor::checkpoints(net, optimizer);\n"));
  text.pop_back();
  EXPECT_TRUE(text_of(text).ends_with("}"));
}

TEST(LoopForms, ALineThatHoldsSeveralStatementsIsDivided) {
  const std::string text =
      "#include <torch/torch.h>\nint seen = 0;\nint main() { torch::nn::Linear net(2, 1); "
      "/* one */ for (int i = 0; i < 3; ++i) { net(torch::rand({2})).backward(); ++seen; } }\n";
  EXPECT_EQ(
      text_of(text),
      "#include <flor/flor.h>\n#include <flor/torch.h>\n#include <torch/torch.h>\nint seen = 0;\n"
      "int main(int argc, char** argv) {\n  const auto session = flor::init(argc, argv);\n  "
      "torch::nn::Linear net(2, 1); /* one */ \nconst auto state = flor::checkpoints(net);\n"
      "// flor: the loop changes 'seen', which is a global variable; is it state, and should it be "
      "a "
      "local that flor::checkpoints gets?\n"
      "for ([[maybe_unused]] int i : flor::loop(\"step\", 3)) { net(torch::rand({2})).backward(); "
      "++seen; } }\n");
}

TEST(LoopForms, ALoopWithoutBlockIsAskedAbout) {
  EXPECT_THAT(questions_of(program({.before = "if (x.defined())"})),
              ElementsAre(HasSubstr("where no statement can precede it")));
}

}  // namespace
}  // namespace flor::instrument::testing
