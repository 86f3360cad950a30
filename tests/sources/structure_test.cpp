// What the scan takes for functions, loops and lambdas, and how two versions are compared.
#include "sources/analysis.h"
#include "sources/syntax/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> functions(const std::string& text) {
  const Source source("a.cpp", text);
  std::vector<std::string> labels;
  for (const Piece& piece : source.structure.pieces) {
    if (piece.kind == PieceKind::function) labels.push_back(piece.label());
  }
  return labels;
}

TEST(Structure, FunctionsHaveTheirNames) {
  EXPECT_THAT(functions("int f() { return 1; } static inline auto g(int x) -> int { return x; }"),
              ElementsAre("f", "g"));
  EXPECT_THAT(functions("namespace a::b { void f() const noexcept {} } namespace { int g() {} }"),
              ElementsAre("a::b::f", "g"));
  EXPECT_THAT(functions("template <typename T = int> requires std::integral<T> T f(T x) { }"),
              ElementsAre("f"));
  EXPECT_THAT(functions("struct X make() { return {}; } struct Y { int m(int) override { } };"),
              ElementsAre("make", "Y::m"));
  EXPECT_THAT(functions("void A::f() {} A::A(int x) : a_{x}, b_(x) { run(); } A::~A() {}"),
              ElementsAre("A::f", "A::A", "A::A"));
  EXPECT_THAT(functions("struct EXPORT(x) A final : B<int> { void f() {} };"), ElementsAre("A::f"));
  EXPECT_THAT(functions("extern \"C\" { void f() {} } extern \"C\" void g() {}"),
              ElementsAre("f", "g"));
  EXPECT_THAT(functions("int f() try { } catch (...) { } int g() {}"), ElementsAre("f", "g"));
}

TEST(Structure, InitializersAreNoFunctions) {
  EXPECT_THAT(functions("int a[] = {1, 2}; std::vector<int> b{1}; enum class C { x, y };"),
              IsEmpty());
  EXPECT_THAT(functions("const auto f = [](int x) { return x; };"), IsEmpty());
}

TEST(Structure, EveryTokenBelongsToOnePiece) {
  const std::string text =
      "#include <a>\nnamespace n { struct S : T { int x = 3; S() : x{1} {} private: void f(); };\n"
      "#ifdef A\nint f(int a\n#else\nint f(long a\n#endif\n) { return a; }\n} enum { p, q } r; }}";
  const Source source("a.cpp", text);
  std::size_t at = 0;
  for (const Piece& piece : source.structure.pieces) {
    EXPECT_EQ(piece.range.begin, at);
    at = piece.range.end;
  }
  EXPECT_EQ(at, source.tokens.all.size());
}

TEST(Structure, BranchesOfConditionalsMayEachOpenABrace) {
  EXPECT_THAT(functions("#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n} void g() {}"),
              Contains("g"));
}

TEST(Structure, OperatorsAndMembersOfDerivedClassesMayBeCalledFromAnywhere) {
  const Source source("a.cpp",
                      "bool operator==(A, A) { } struct B { int plain() { } ~B() { } "
                      "operator bool() { } virtual void v() { } };");
  std::vector<bool> anywhere;
  for (const Piece& piece : source.structure.pieces) {
    if (piece.kind == PieceKind::function) anywhere.push_back(piece.anywhere);
  }
  EXPECT_THAT(anywhere, ElementsAre(true, false, true, true, true));
}

std::vector<std::string> loops(const std::string& text) {
  const Source source("a.cpp", "void f() {" + text + "}");
  std::vector<std::string> result;
  for (const ForLoop& loop : source.structure.loops) {
    result.push_back(loop.name + "|" + source.excerpt(loop.range, 200));
  }
  return result;
}

TEST(Structure, LoopsReachToTheEndOfTheirStatement) {
  EXPECT_THAT(loops("for (auto x : flor::loop(\"a\", r)) { b; } c;"),
              ElementsAre("a|for (auto x : flor::loop(\"a\", r)) { b; }"));
  EXPECT_THAT(loops("for (auto x : r) if (a) b; else if (c) d; else { e; } f;"),
              ElementsAre("|for (auto x : r) if (a) b; else if (c) d; else { e; }"));
  EXPECT_THAT(loops("for (int i = 0; i < 3; ++i) while (x) do y; while (z); u;"),
              ElementsAre("|for (int i = 0; i < 3; ++i) while (x) do y; while (z);"));
  EXPECT_THAT(loops("for (;;) try { a; } catch (...) { b; } c;"),
              ElementsAre("|for (;;) try { a; } catch (...) { b; }"));
  EXPECT_THAT(loops("for (auto x : r) g([&] { return 1; }, {1, 2}); c;"),
              ElementsAre("|for (auto x : r) g([&] { return 1; }, {1, 2});"));
}

TEST(Structure, LoopsAreNamedByTheirLiteralOrNotAtAll) {
  const auto naming = [](const std::string& header) {
    const Source source("a.cpp", "void f() { for (" + header + ") {} }");
    return source.structure.loops.at(0).naming;
  };
  EXPECT_EQ(naming("auto x : r"), ForLoop::Naming::none);
  EXPECT_EQ(naming("auto x : flor::loop(\"a\", r)"), ForLoop::Naming::literal);
  EXPECT_EQ(naming("auto x : loop(\"a\", {1, 2})"), ForLoop::Naming::literal);
  EXPECT_EQ(naming("auto x : flor::loop(r)"), ForLoop::Naming::unnamed);
  EXPECT_EQ(naming("auto x : flor::loop(3, flor::with(s))"), ForLoop::Naming::unnamed);
  EXPECT_EQ(naming("auto x : flor::loop(name, r)"), ForLoop::Naming::computed);
  EXPECT_EQ(naming("auto [a, b] : std::views::reverse(flor::loop(\"z\", r))"),
            ForLoop::Naming::literal);
}

std::string hunks(const std::string& before, const std::string& now) {
  const Source a("a", before), b("b", now);
  Sequence x, y;
  for (const Token& token : a.tokens.all) x.push_back(&token);
  for (const Token& token : b.tokens.all) y.push_back(&token);
  std::string text;
  for (const Hunk& hunk : difference(x, y)) {
    text.append("-").append(a.excerpt(hunk.before)).append(" +");
    text.append(b.excerpt(hunk.now)).append("\n");
  }
  return text;
}

TEST(Difference, IsInTokens) {
  EXPECT_EQ(hunks("a b c", "a  b\nc"), "");
  EXPECT_EQ(hunks("a = 1;", "a = 2;"), "-1 +2\n");
  EXPECT_EQ(hunks("a; c;", "a; b; c;"), "- +b;\n");
  EXPECT_EQ(hunks("a; b; c;", "a; c;"), "-b; +\n");
  EXPECT_EQ(hunks("", "a"), "- +a\n");
  EXPECT_EQ(hunks("for (x : y) a; b;", "for (x : y) a; log(z); b;"), "- +log(z);\n");
  EXPECT_EQ(hunks("{ a; } b;", "{ a; log(a); } log(b); b;"), "- +log(a);\n- +log(b);\n");
}

Analysis analyse(const std::string& before, const std::string& now,
                 std::set<std::string> nested = {"a", "b", "loop"}) {
  AnalysisInput input;
  input.changed.push_back({"src/train.cpp", before, now});
  input.nested = std::move(nested);
  return Analysis(std::move(input));
}

std::vector<std::string> touched_names(const std::string& before, const std::string& now) {
  std::vector<std::string> result;
  const Analysis analysis = analyse(before, now);
  for (const auto& entry : analysis.touched()) result.push_back(entry.loop);
  return result;
}

TEST(Analysis, FormattingLineEndingsAndByteOrderMarksAreNoChange) {
  const std::string text = "int main() {\n  for (auto x : flor::loop(\"a\", 3)) { f(x); }\n}\n";
  std::string dos = "\xEF\xBB\xBF";
  for (const char c : text) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_TRUE(analyse(text, dos).nothing_changed());
  EXPECT_TRUE(analyse(text, "// x\nint main(){for(auto x:flor::loop(\"a\",3)){\nf(x);}}")
                  .nothing_changed());
}

TEST(Analysis, FunctionsThatMovedAreNoChange) {
  EXPECT_TRUE(analyse("void f() { a; }\nvoid g() { b; }\n", "void g() { b; }\nvoid f() { a; }\n")
                  .nothing_changed());
}

TEST(Analysis, TheSameNameInSeveralFunctionsIsToldApartByItsPlace) {
  const std::string before =
      "void f() {\n  for (int i : flor::loop(\"a\", 3)) one(i);\n}\n"
      "void g() {\n  for (int i : flor::loop(\"a\", 3)) two(i);\n}\n"
      "int main() { f(); g(); }\n";
  std::string now = before;
  now.replace(now.find("two(i)"), 6, "flor::log(\"i\", i)");
  const Analysis analysis = analyse(before, now);
  EXPECT_FALSE(analysis.touched({"/x/src/train.cpp", 2, 31}, "a"));
  EXPECT_EQ(analysis.touched({"/x/src/train.cpp", 5, 31}, "a")->why, "src/train.cpp:5 logs \"i\"");
  // Another file, another line: by name.
  EXPECT_TRUE(analysis.touched({"/x/src/train.cpp", 99, 1}, "a"));
  EXPECT_TRUE(analysis.touched({"elsewhere.cpp", 2, 31}, "a"));
  EXPECT_FALSE(analysis.touched({"elsewhere.cpp", 2, 31}, "b"));
}

TEST(Analysis, LoopsInMacrosAreFoundByTheirPlace) {
  const std::string before =
      "#define EACH(x) for (int x : flor::loop(\"a\", 3))\nint main() {\n  EACH(k) { f(k); }\n"
      "  EACH(k) { g(k); }\n}\n";
  std::string now = before;
  now.replace(now.find("g(k);"), 5, "g(k); flor::log(\"k\", k);");
  const Analysis analysis = analyse(before, now);
  EXPECT_FALSE(analysis.touched({"train.cpp", 3, 3}, "a"));
  EXPECT_TRUE(analysis.touched({"train.cpp", 4, 3}, "a"));
  EXPECT_TRUE(analysis.touched({"train.cpp", 4, 9}, "a")) << "where clang says it is";
  EXPECT_FALSE(analysis.touched({"train.cpp", 3, 9}, "a"));
}

TEST(Analysis, LambdasThatAreHandedOnMayBeCalledByAnyLoop) {
  const auto program = [](const std::string& lambda, const std::string& in_loop) {
    return "int x, y, sum; std::vector<int> v; int main() { " + lambda +
           " for (int i : flor::loop(\"a\", 3)) { " + in_loop +
           " } for (int i : flor::loop(\"b\", 3)) sum += i; }";
  };
  EXPECT_THAT(touched_names(program("hooks.push_back([&] { x; });", "s();"),
                            program("hooks.push_back([&] { y; });", "s();")),
              ElementsAre("a", "b"));
  EXPECT_THAT(touched_names(program("auto f = [&] { x; };", "f();"),
                            program("auto f = [&] { y; };", "f();")),
              ElementsAre("a"));
  EXPECT_THAT(touched_names(program("auto f = [&] { x; }; hooks.push_back(f);", "s();"),
                            program("auto f = [&] { y; }; hooks.push_back(f);", "s();")),
              ElementsAre("a", "b"));
  EXPECT_THAT(touched_names(program("", "optimizer.step([&] { x; });"),
                            program("", "optimizer.step([&] { y; });")),
              ElementsAre("a"));
  EXPECT_THAT(
      touched_names(
          program("std::sort(v.begin(), v.end(), [](int a, int b) { return a < b; });", "s();"),
          program("std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });", "s();")),
      IsEmpty());
}

TEST(Analysis, MembersThatLibrariesCallConcernEveryLoop) {
  const auto program = [](const std::string& body) {
    return "struct Pictures : torch::data::Dataset<Pictures> { Example get(size_t i) override { " +
           body + " } }; int main() { for (auto& x : flor::loop(\"a\", *loader)) s(x); }";
  };
  EXPECT_THAT(touched_names(program("return load(i);"), program("return load(i + 1);")),
              ElementsAre("a"));
}

TEST(Analysis, LocalClassesAreReadToo) {
  const auto program = [](const std::string& body) {
    return "int n, last; int main() { struct Sum { void add(int x) { " + body +
           " } } sum; for (int i : flor::loop(\"a\", 3)) sum.add(i); for (int i : "
           "flor::loop(\"b\", 3)) last = i; }";
  };
  EXPECT_THAT(touched_names(program("n += x;"), program("n -= x;")), ElementsAre("a"));
}

TEST(Analysis, FilesThatWereNotReadMayCallEverything) {
  AnalysisInput input;
  input.changed.push_back(
      {"a.cpp", "void f() { x; } void g() { f(); } ", "void f() { y; } void g() { f(); } "});
  input.rest.push_back({"b.cpp", "int main() { for (int i : flor::loop(\"a\", 3)) s(i); }"});
  input.nested = {"a"};
  input.complete = false;
  EXPECT_EQ(Analysis(std::move(input)).touched().size(), 1u);
}

TEST(Analysis, UnnamedLoopsAreTheLoopsWithoutAName) {
  EXPECT_THAT(
      touched_names("int main() { for (int i : flor::loop(3)) f(i); }",
                    "int main() { for (int i : flor::loop(3)) { f(i); flor::log(\"i\", i); } }"),
      ElementsAre("loop"));
}

TEST(Analysis, AGuardOfAHeaderMayBeRenamed) {
  EXPECT_TRUE(analyse("#ifndef A_H\n#define A_H\nvoid f() { x; }\n#endif\n",
                      "#ifndef B_H\n#define B_H\nvoid f() { x; }\n#endif\n")
                  .computation()
                  .empty());
}

TEST(Analysis, PathsAreMatchedFromTheirEnd) {
  EXPECT_EQ(common_suffix("src/a/train.cpp", "/home/x/src/a/train.cpp"), 3u);
  EXPECT_EQ(common_suffix("src/a/train.cpp", "../a/train.cpp"), 2u);
  EXPECT_EQ(common_suffix("train.cpp", "retrain.cpp"), 0u);
}

}  // namespace
}  // namespace flor::sources
