// Edits that only add or remove braces around a single statement that an if or a loop controls, which
// change nothing, and edits where a brace does change something.
#include "sources/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string braced_program(const std::string& statements) {
  return R"(#define TWICE(x) \
  net.learn(x);    \
  net.check(x)
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Net net;
  double sum = 0;
  auto state = flor::checkpoints(net, sum);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int i : flor::loop("train", 10)) {
      )" + statements +
         R"(
    }
    net.check(epoch);
  }
}
)";
}

Analysis analyse_braces(const std::string& before, const std::string& now) {
  AnalysisInput input;
  input.changed.push_back({"train.cpp", braced_program(before), braced_program(now)});
  input.program = "/project/train.cpp";
  input.nested = {"train"};
  input.main = {"epoch"};
  return Analysis(std::move(input));
}

/// What can control STATEMENT, in every shape of nesting.
std::vector<std::string> controls() {
  const std::vector<std::string> plain = {
      "for (int k = 0; k < 3; ++k) BODY",
      "for (double w : net.weights()) BODY",
      "while (net.learn(i) > 0.5) BODY",
      "do BODY while (net.learn(i) > 0.5);",
      "if (net.learn(i) > 0.5) BODY",
      "if constexpr (kLarge) BODY",
      "if (net.learn(i) > 0.5) BODY else net.check(i);",
      "if (net.learn(i) > 0.5) net.check(i); else BODY",
      "if (net.learn(i) > 0.5) net.check(i); else if (i > 3) BODY",
      "if (net.learn(i) > 0.5) net.check(i); else if (i > 3) BODY else net.check(2 * i);",
  };
  std::vector<std::string> all = plain;
  for (const std::string& outer : plain) {
    for (const std::string& inner : plain) {
      std::string nest = outer;
      all.push_back(nest.replace(nest.find("BODY"), 4, inner));
    }
  }
  return all;
}

std::string with_body(std::string control, const std::string& body) {
  return control.replace(control.find("BODY"), 4, body);
}

const std::vector<std::string> kStatements = {"net.learn(i);", "sum += net.learn(i);",
                                              "for (int j = 0; j < 2; ++j) net.learn(j);",
                                              "if (i > 2) net.learn(i);", "continue;"};
const std::string kLog = "flor::log(\"w\", net.learned);";

TEST(Braces, AroundOneStatementAreNoChange) {
  for (const std::string& control : controls()) {
    for (const std::string& statement : kStatements) {
      // An else after it would be that of the statement itself.
      const bool open = statement.starts_with("if") && control.find("BODY else") != control.npos;
      if (open) continue;
      const std::string bare = with_body(control, statement);
      const std::string braced = with_body(control, "{ " + statement + " }");
      EXPECT_TRUE(analyse_braces(bare, braced).nothing_changed()) << braced;
      EXPECT_TRUE(analyse_braces(braced, bare).nothing_changed()) << braced;
    }
  }
}

TEST(Braces, ThatHoldANewLogStatementChangeNoComputation) {
  for (const std::string& control : controls()) {
    for (const std::string& statement : {kStatements[0], kStatements[1], kStatements[2]}) {
      const std::string bare = with_body(control, statement);
      for (const std::string& body :
           {"{ " + statement + " " + kLog + " }", "{ " + kLog + " " + statement + " }",
            "{ " + kLog + " " + statement + " " + kLog + " }",
            "{ const double half = net.learned / 2; " + statement +
                " if (half > 1) flor::log(\"half\", half); }"}) {
        const std::string braced = with_body(control, body);
        for (const bool added : {true, false}) {
          const Analysis analysis =
              added ? analyse_braces(bare, braced) : analyse_braces(braced, bare);
          EXPECT_THAT(analysis.computation(), IsEmpty())
              << bare << "\n" << braced << "\n" << analysis.computation().front().why;
          ASSERT_EQ(analysis.touched().size(), 1u) << braced;
          EXPECT_THAT(analysis.touched().front().why, HasSubstr(added ? "logs \"" : "is gone"))
              << braced;
        }
      }
    }
  }
}

TEST(Braces, OfAnElseThatOnlyLogsChangeNoComputation) {
  const std::string bare = "if (net.learn(i) > 0.5) net.check(i);";
  for (const std::string& other : {"else " + kLog, "else { " + kLog + " }",
                                   "else { " + kLog + " " + kLog + " }",
                                   "else if (i > 3) { " + kLog + " }"}) {
    EXPECT_THAT(analyse_braces(bare, bare + " " + other).computation(), IsEmpty()) << other;
  }
}

/// Pairs of statements that compute different things, with braces and logs that look harmless.
TEST(Braces, ThatChangeSomethingAreAChangeOfTheComputation) {
  const std::string next = "net.check(i);";
  const std::vector<std::pair<std::string, std::string>> always = {
      {"{ Guard guard; net.learn(i); } net.check(i);", "Guard guard; net.learn(i); net.check(i);"},
      {"for (int k = 0; k < 3; ++k) TWICE(k);", "for (int k = 0; k < 3; ++k) { TWICE(k); }"},
      {"if (i > 1) TWICE(i);", "if (i > 1) { TWICE(i); " + kLog + " }"},
      {"if (i > 1) CHECKED(i);", "if (i > 1) { CHECKED(i); }"},
      {"if (i > 1) if (i > 2) net.learn(i); else net.check(i);",
       "if (i > 1) { if (i > 2) net.learn(i); } else net.check(i);"},
      {"if (i > 1) if (i > 2) net.learn(i); else net.check(i);",
       "if (i > 1) if (i > 2) net.learn(i); else " + kLog + " else net.check(i);"},
      {"if (i > 1) for (int k = 0; k < 3; ++k) if (k) net.learn(i); else net.check(i);",
       "if (i > 1) { for (int k = 0; k < 3; ++k) if (k) net.learn(i); } else net.check(i);"},
  };
  for (const auto& [a, b] : always) {
    EXPECT_THAT(analyse_braces(a, b).computation(), Not(IsEmpty())) << a << "\n" << b;
    EXPECT_THAT(analyse_braces(b, a).computation(), Not(IsEmpty())) << a << "\n" << b;
  }
  for (const std::string& control : controls()) {
    if (control.find("BODY else") != control.npos || control.find("BODY while") != control.npos) {
      continue;  // there is one statement, or it is no program
    }
    const std::string bare = with_body(control, "net.learn(i);") + " " + next;
    const std::vector<std::string> others = {
        with_body(control, "{ net.learn(i); " + next + " }"),         // drawn in
        with_body(control, "{ net.learn(i); " + kLog + " " + next + " }"),
        with_body(control, kLog) + " net.learn(i); " + next,          // drawn out
        with_body(control, "{ " + kLog + " }") + " net.learn(i); " + next,
        with_body(control, "{ if (i > 3) { " + kLog + " } }") + " net.learn(i); " + next,
        with_body(control, ";") + " net.learn(i); " + next,
        with_body(control, "{ Guard guard; net.learn(i); }") + " " + next,
        with_body(control, "{ net.learn(i); int sum = 0; sum += i; }") + " " + next};
    for (const std::string& other : others) {
      EXPECT_THAT(analyse_braces(bare, other).computation(), Not(IsEmpty())) << bare << "\n"
                                                                             << other;
      EXPECT_THAT(analyse_braces(other, bare).computation(), Not(IsEmpty())) << bare << "\n"
                                                                             << other;
    }
    // A log that was there moves into the loop: no other computation, but another question.
    const std::string outside = with_body(control, "net.learn(i);") + " " + kLog;
    const std::string inside = with_body(control, "{ net.learn(i); " + kLog + " }");
    EXPECT_THAT(analyse_braces(outside, inside).computation(), IsEmpty()) << inside;
    EXPECT_FALSE(analyse_braces(outside, inside).nothing_changed()) << inside;
    EXPECT_FALSE(analyse_braces(inside, outside).nothing_changed()) << inside;
  }
}

TEST(Braces, OfALoopOfFlorsDrawInWhatTheyHold) {
  const auto whole = [](const std::string& loop) {
    return "int main(int argc, char** argv) {\n  auto session = flor::init(argc, argv);\n  Net net;\n"
           "  auto state = flor::checkpoints(net);\n"
           "  for (int epoch : flor::loop(\"epoch\", 5)) {\n    " +
           loop + "\n    flor::log(\"norm\", net.norm());\n  }\n}\n";
  };
  const auto asked = [&](const std::string& before, const std::string& now) {
    AnalysisInput input;
    input.changed.push_back({"train.cpp", whole(before), whole(now)});
    input.program = "/project/train.cpp";
    input.nested = {"train"};
    input.main = {"epoch"};
    return Analysis(std::move(input));
  };
  const std::string loop = "for (int i : flor::loop(\"train\", 10)) ";
  const Analysis held = asked(loop + "net.learn(i);", loop + "{ net.learn(i); " + kLog + " }");
  EXPECT_THAT(held.computation(), IsEmpty());
  ASSERT_EQ(held.touched().size(), 1u);
  EXPECT_EQ(held.touched().front().why, "train.cpp:6 logs \"w\"");
  EXPECT_TRUE(held.proof().proven) << held.proof().why_not;
  EXPECT_THAT(asked(loop + "net.learn(i);", loop + kLog + " net.learn(i);").computation(),
              Not(IsEmpty()));
  const Analysis second = asked(loop + "flor::log(\"a\", net.norm());",
                                loop + "{ flor::log(\"a\", net.norm()); " + kLog + " }");
  EXPECT_THAT(second.computation(), IsEmpty());
}

}  // namespace
}  // namespace flor::sources
