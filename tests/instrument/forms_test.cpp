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
  EXPECT_THAT(text,
              HasSubstr("  for ([[maybe_unused]] auto epoch : flor::loop(\"epoch\", "
                        "flor::endless(),\n      flor::with(n))) {\n    if (!(n++ < 3)) break;\n"));
  EXPECT_THAT(
      text_of(program({.last = "if (x.sum().item<double>() > 3) break;", .epochs = "for (;;)"})),
      HasSubstr("for ([[maybe_unused]] auto epoch : flor::loop(\"epoch\", flor::endless())) {\n"));
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

/// What is asked about the loop over epochs; empty if flor::loop drives it.
std::string obstacle_of(const std::string& epochs, const std::string& before,
                        const std::string& last, const std::string& top = "") {
  const Instrumented result =
      of(program({.top = top, .before = before, .last = last, .epochs = epochs}));
  std::string all;
  for (const Question& question : result.questions) {
    if (question.text.starts_with("flor::loop cannot drive")) all += question.text;
  }
  EXPECT_EQ(all.empty(), result.files.front().after.find(epochs) == std::string::npos) << epochs;
  return all;
}

TEST(LoopForms, AreNoRangesWhereTheStepMayChangeOrHasNoSign) {
  const auto up = [](const std::string& before, const std::string& last = "") {
    return obstacle_of("for (int epoch = 0; epoch < 50; epoch += stride)", before, last);
  };
  EXPECT_THAT(up("int stride = 1;", "stride *= 2;"), HasSubstr("its step 'stride' may change"));
  EXPECT_THAT(up("int stride = 1; int& other = stride;", "other *= 2;"),
              HasSubstr("its step 'stride' may change"));
  EXPECT_THAT(up("double stride = 0.5;"), HasSubstr("its step 'stride'"));
  EXPECT_THAT(up("auto stride = step_of();"), HasSubstr("its step 'stride'"));
  EXPECT_THAT(up("const int stride = 2;"), IsEmpty());
  EXPECT_THAT(up("int stride = 2;"), IsEmpty());
  const std::string down = "for (int epoch = 10; epoch > 0; epoch -= stride)";
  EXPECT_THAT(obstacle_of(down, "unsigned stride = 2;", ""), HasSubstr("its step 'stride'"));
  EXPECT_THAT(obstacle_of(down, "std::size_t stride = 2;", ""), HasSubstr("its step 'stride'"));
  EXPECT_THAT(obstacle_of(down, "long stride = 2;", ""), IsEmpty());
  for (const char* step : {"0", "0.5", "'a'"}) {
    EXPECT_THAT(
        obstacle_of(std::string("for (int epoch = 0; epoch < 9; epoch += ") + step + ")", "", ""),
        HasSubstr("is no positive integer"));
  }
  EXPECT_THAT(obstacle_of("for (long epoch = 9; epoch > 0; epoch -= 2u)", "", ""),
              HasSubstr("is no positive integer"));
}

TEST(LoopForms, OnlyArithmeticIsALimit) {
  const std::string before = "const int n = 3, k = 1; const bool run = true;";
  for (const char* limit : {"n & run", "n | k", "n ^ k", "n && run", "n || run", "run ? n : k",
                            "n == k", "n != k", "n < k", "n, k", "n and run", "n bitor k", "!n"}) {
    EXPECT_THAT(
        obstacle_of(std::string("for (int epoch = 0; epoch < ") + limit + "; ++epoch)", before, ""),
        HasSubstr("count evenly"))
        << limit;
  }
  EXPECT_EQ(loop_of("for (int epoch = 0; epoch <= 1 << k; ++epoch)", "int k = 2;"),
            "for (int epoch : flor::loop(\"epoch\", (1 << k) + 1))");
  EXPECT_EQ(loop_of("for (int epoch = 8; epoch >= 8 >> k; --epoch)", "int k = 2;"),
            "for (int epoch : flor::loop(\"epoch\", flor::range(8, (8 >> k) - 1, -1)))");
  EXPECT_EQ(loop_of("for (int epoch = 0; epoch < (n & k); ++epoch)", before),
            "for (int epoch : flor::loop(\"epoch\", (n & k)))");
}

TEST(LoopForms, AreNoRangesWhereAnotherNameMayChangeTheLimit) {
  const std::string up = "for (int epoch = 0; epoch < n; ++epoch)";
  const auto limit = [&](const std::string& before, const std::string& last,
                         const std::string& top = "") {
    return obstacle_of(up, before, last, top);
  };
  EXPECT_THAT(limit("int n = 3; int& m = n;", "m += 2;"), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int m = 3; const int& n = m;", "m += 2;"), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3; int* m = &n;", "*m += 2;"), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3; auto [m] = std::tie(n);", "m += 2;"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3; auto grow = [&] { n += 2; };", "grow();"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3; Holder holder{n};", "holder.grow();",
                    "struct Holder { int& kept; void grow() { kept += 2; } };"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3;", "MORE;", "#define MORE n += 1\n"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("int n = 3;", "RAISE(n);", "#define RAISE(x) x += 1\n"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("", "n += 1;", "int n = 3;"), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("", "grow();", "int n = 3;\nvoid grow() { n += 2; }"),
              HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("std::atomic<int> n{3};", ""), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("volatile int n = 3;", ""), HasSubstr("limit 'n' may change"));
  EXPECT_THAT(limit("", "m += 1;", "int m = 3;\n#define n m\n"), HasSubstr("limit 'n' may"));
  const std::string sized = "for (size_t epoch = 0; epoch < work.size(); ++epoch)";
  EXPECT_THAT(
      obstacle_of(sized, "std::vector<int> work(3); auto& more = work;", "more.push_back(1);"),
      HasSubstr("limit 'work.size()' may change"));
  EXPECT_THAT(
      obstacle_of(sized, "std::vector<int> more(3); auto& work = more;", "more.push_back(1);"),
      HasSubstr("limit 'work.size()' may change"));
  EXPECT_THAT(obstacle_of("for (int epoch = 0; epoch < limit(); ++epoch)", "", "n += 2;",
                          "int n = 3;\nint limit() { return n; }"),
              HasSubstr("limit 'limit()' may change"));
  EXPECT_THAT(obstacle_of("for (int epoch = 0; epoch < *n; ++epoch)", "int* n = new int(3);", ""),
              HasSubstr("count evenly"));
}

TEST(LoopForms, AreNoRangesWhereAnotherNameMayChangeTheCounter) {
  const std::string up = "for (int epoch = 0; epoch < 9; ++epoch)";
  const auto counter = [&](const std::string& last, const std::string& before = "",
                           const std::string& top = "") {
    return obstacle_of(up, before, last, top);
  };
  for (const char* last :
       {"int& e = epoch; if (e == 2) e = 3;", "int* e = &epoch; *e = 3;", "auto&& e = epoch; ++e;",
        "auto skip = [&] { epoch += 1; }; skip();", "auto skip = [&epoch] { ++epoch; }; skip();",
        "auto skip = [&e = epoch] { ++e; }; skip();", "int other = 3; std::swap(epoch, other);",
        "std::exchange(epoch, 3);", "std::tie(epoch) = std::make_tuple(3);", "int& e{epoch}; ++e;",
        "int& e(epoch); ++e;", "auto e = std::ref(epoch); ++e.get();",
        "int o = 0; int& e = o ? epoch : o; ++e;", "std::cin >> epoch;"}) {
    EXPECT_THAT(counter(last), HasSubstr("its body changes 'epoch'")) << last;
  }
  EXPECT_THAT(counter("skip(epoch);", "", "void skip(int& e) { ++e; }"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(counter("skip(epoch);", "", "void skip(int& e);"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(counter("SKIP;", "", "#define SKIP epoch += 1\n"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(counter("SKIP;", "", "#define ONE ++epoch\n#define SKIP ONE\n"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(counter("SKIP(epoch);", "", "#define SKIP(e) e += 1\n"),
              HasSubstr("its body changes 'epoch'"));
  EXPECT_THAT(counter("later = [&] { return epoch; };", "std::function<int()> later;"),
              HasSubstr("its body changes 'epoch'"));
}

TEST(LoopForms, AreNoRangesWhereCodeThatIsOnlyDeclaredGetsTheCounter) {
  const auto counter = [&](const std::string& top, const std::string& last,
                           const std::string& before = "") {
    return obstacle_of("for (int epoch = 0; epoch < 9; ++epoch)", before, last, top);
  };
  const auto changes = HasSubstr("its body changes 'epoch'");
  const std::string skip = "void skip(int& e);", made = "struct S { S(int& e); void go(); };";
  EXPECT_THAT(counter(skip, "skip((epoch));"), changes);
  EXPECT_THAT(counter(skip, "int o = 0; skip(o ? epoch : o);"), changes);
  EXPECT_THAT(counter(skip, "skip(static_cast<int&>(epoch));"), changes);
  EXPECT_THAT(counter(skip, "std::invoke(skip, epoch);"), changes);
  EXPECT_THAT(counter(skip, "auto f = skip; f(epoch);"), changes);
  EXPECT_THAT(counter("using Ref = int&; void skip(Ref e);", "skip(epoch);"), changes);
  EXPECT_THAT(counter("typedef int& Ref; void skip(Ref e);", "skip(epoch);"), changes);
  EXPECT_THAT(counter("template <class T> void skip(T& e);", "skip<int>(epoch);"), changes);
  EXPECT_THAT(counter("template <class... T> void skip(T&... e);", "skip(1, epoch);"), changes);
  for (const char* make : {"S s(epoch);", "S s{epoch};", "S{epoch};", "auto s = S(epoch);",
                           "auto s = std::make_unique<S>(epoch);"}) {
    EXPECT_THAT(counter(made, make), changes) << make;
  }
  EXPECT_THAT(counter("struct S { void operator()(int& e); };", "s(epoch);", "S s;"), changes);
  EXPECT_THAT(counter("void (*skip)(int&);", "skip(epoch);"), changes);
  EXPECT_THAT(counter("", "skip(epoch);", "void (*skip)(int&) = find();"), changes);
  EXPECT_THAT(counter("", "skip(epoch);", "std::function<void(int&)> skip = find();"), changes);
  // Copies of the counter, and references that change nothing.
  EXPECT_THAT(counter("void skip(const int& e);", "skip((epoch));"), IsEmpty());
  EXPECT_THAT(counter("struct S { S(int e); void go(); };", "S s(epoch);"), IsEmpty());
  EXPECT_THAT(counter(skip, "skip(epoch + 1);"), Not(changes));
  EXPECT_THAT(counter("", "show(epoch);", "std::function<void(int)> show = find();"), IsEmpty());
  EXPECT_THAT(counter("", "show(epoch);", "auto show = [](int e) { std::cout << e; };"), IsEmpty());
}

TEST(LoopForms, WhoseSignsOrSizesDecideAreNoRanges) {
  const auto asks = [](const std::string& epochs, const std::string& before = "") {
    EXPECT_THAT(obstacle_of("for (" + epochs + ")", before, ""), HasSubstr("signs or sizes"))
        << epochs;
  };
  asks("size_t epoch = 9; epoch >= 0; --epoch");
  asks("unsigned epoch = 10; epoch > 0; epoch -= 3");
  asks("int epoch = -1; epoch < n; ++epoch", "size_t n = 3;");
  asks("std::uint8_t epoch = 0; epoch < 300; ++epoch");
  asks("short epoch = 0; epoch < n; ++epoch", "int n = 3;");
  asks("int epoch = n; epoch >= k; --epoch", "int n = 3; unsigned k = 0;");
  asks("int epoch = 5; epoch != n; ++epoch", "int n = 3;");
  asks("int epoch = 0; epoch <= n; ++epoch", "const int n = std::numeric_limits<int>::max();");
  asks("int epoch = 1; epoch <= INT_MAX; ++epoch");
  asks("unsigned epoch = 0; epoch < n; ++epoch", "long n = -1;");
  EXPECT_EQ(loop_of("for (size_t epoch = 0; epoch < n; ++epoch)", "int n = 3;"),
            "for (size_t epoch : flor::loop(\"epoch\", static_cast<size_t>(n)))");
  EXPECT_EQ(obstacle_of("for (size_t epoch = 1; epoch <= kEpochs; ++epoch)", "", "",
                        "const int64_t kEpochs = 10;"),
            "");
  EXPECT_EQ(loop_of("for (size_t epoch = n; epoch > 0; --epoch)", "int n = 3;"),
            "for (size_t epoch : flor::loop(\"epoch\", flor::range(static_cast<size_t>(n), 0, "
            "-1)))");
}

TEST(LoopForms, ThatOnlyReadTheirCounterAndLimitAreNotAskedAbout) {
  const std::string up = "for (int epoch = 0; epoch < n; ++epoch)";
  for (const char* last :
       {"const int e = epoch; (void)e;", "auto& row = rows[epoch]; (void)row;",
        "std::printf(\"%d of %d\", epoch, n);", "use(epoch, 1);", "writer.add(\"x\", epoch);",
        "auto show = [&] { std::cout << epoch << n; }; show();", "const double& d = 2.0 * n;",
        "LOG(epoch);", "int a = epoch & 1, b = epoch * n;", "std::vector<int> all{epoch, n};"}) {
    EXPECT_THAT(obstacle_of(up, "int n = 3; std::vector<int> rows(9);", last,
                            "#define LOG(x) std::cout << (x)\nvoid use(int a, int b);\n"),
                IsEmpty())
        << last;
  }
  EXPECT_THAT(obstacle_of(up, "int n = 2; if (x.defined()) n = 3;", ""), IsEmpty());
  EXPECT_THAT(obstacle_of(up, "", "", "#define n 10\n"), IsEmpty());
  EXPECT_THAT(obstacle_of(up, "", "", "#define n (2 * 5)\n"), IsEmpty());
  EXPECT_THAT(obstacle_of("for (int epoch = 0; epoch < o.epochs; ++epoch)",
                          "Options options; const auto& o = options;", "",
                          "struct Options { int epochs = 3; };"),
              IsEmpty());
  EXPECT_THAT(
      obstacle_of("for (int epoch = 0; epoch < o.epochs; ++epoch)", "Options o; parse(o);", "",
                  "struct Options { int epochs = 3; };\nvoid parse(Options& o) { "
                  "o.epochs = 4; }"),
      IsEmpty());
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
