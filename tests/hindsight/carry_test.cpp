// Carrying log statements: where they go, what they are called there, and when they are refused.
#include "carry/carrier.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace flor::carry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A program with these statements in its training loop.
std::string program(const std::string& body, const std::string& before = "",
                    const std::string& outside = "") {
  return outside +
         "int main(int argc, char** argv) {\n"
         "  auto session = flor::init(argc, argv);\n" +
         before +
         "  for (int epoch : flor::loop(\"epoch\", 5)) {\n"
         "    for (int step : flor::loop(\"train\", 6)) {\n" +
         body +
         "    }\n"
         "    flor::log(\"mean\", sum / 6);\n"
         "  }\n"
         "}\n";
}

struct Case {
  std::string base, work, older;
  Carrier carrier() const { return Carrier({{"t.cpp", base}}, {{"t.cpp", work}}); }
  Carried carry(const std::set<int>& chosen = {}) const {
    return carrier().carry({{"t.cpp", older}}, chosen);
  }
  std::string text() const {
    const Carried carried = carry();
    return carried.files.empty() ? "unchanged" : carried.files[0].text;
  }
  std::string reason() const {
    const Carried carried = carry();
    return carried.refused.empty() ? "" : carried.refused[0].reason;
  }
};

const std::string kForward = "      auto loss = forward(net, batch);\n";
const std::string kStep = "      optimizer.step();\n";
const std::string kLog = "      flor::log(\"norm\", net.norm());\n";

TEST(Carry, AStatementGoesBetweenItsNeighbours) {
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kForward + kStep, "  Net net(3);\n")};
  EXPECT_EQ(c.text(), program(kForward + kLog + kStep, "  Net net(3);\n"));
  EXPECT_TRUE(c.carry().placed.at(0).merged);
}

TEST(Carry, WhereAStatementWasAddedBetweenTheNeighboursItIsRefusedWithTheConflict) {
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kForward + "      clip(net);\n" + kStep)};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_THAT(c.reason(), HasSubstr("before or behind 'clip(net);' (line 6)"));
  EXPECT_THAT(c.carry().refused.at(0).conflict, HasSubstr("flor::log(\"norm\""));
}

TEST(Carry, OtherLogStatementsBetweenTheNeighboursDoNotMatter) {
  const std::string other = "      flor::log(\"loss\", loss);\n";
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kForward + other + kStep)};
  EXPECT_EQ(c.text(), program(kForward + kLog + other + kStep));
}

TEST(Carry, NeighboursInAnotherOrderAreRefused) {
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kStep + kForward)};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_FALSE(c.reason().empty());
}

TEST(Carry, AmongEqualStatementsItIsRefused) {
  const Case c{program(kStep + kStep), program(kStep + kLog + kStep), program(kStep)};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_THAT(c.reason(), HasSubstr("cannot be told"));
}

TEST(Carry, OneNeighbourThatIsLeftIsEnough) {
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kForward + "      for (auto& p : parameters) p -= rate * p.grad;\n")};
  EXPECT_EQ(c.text(),
            program(kForward + kLog + "      for (auto& p : parameters) p -= rate * p.grad;\n"));
}

TEST(Carry, VariablesWithAnotherNameAreRenamed) {
  const std::string log = "      flor::log(\"ratio\", loss / total);\n";
  const std::string sum = "      total += loss;\n";
  const Case c{program(kForward + sum, "  double total = 0;\n"),
               program(kForward + sum + log, "  double total = 0;\n"),
               program("      auto error = forward(net, batch);\n      all += error;\n",
                       "  double all = 0;\n")};
  EXPECT_EQ(c.text(), program("      auto error = forward(net, batch);\n      all += error;\n"
                              "      flor::log(\"ratio\", error / all);\n",
                              "  double all = 0;\n"));
  EXPECT_THAT(c.carry().placed.at(0).renamed,
              ElementsAre(std::pair("loss", "error"), std::pair("total", "all")));
}

TEST(Carry, ANameThatMayBeTwoThingsIsRefused) {
  const std::string log = "      flor::log(\"l\", loss);\n";
  const Case c{program(kForward + "      total += loss;\n      best = min(best, loss);\n"),
               program(kForward + "      total += loss;\n      best = min(best, loss);\n" + log),
               program("      auto raw = forward(net, batch);\n      total += raw;\n"
                       "      best = min(best, smooth);\n")};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_THAT(c.reason(), HasSubstr("'loss' may be"));
}

TEST(Carry, NamesThatChangedPlacesAreNotMixedUp) {
  const std::string body = "      auto a = left(x);\n      auto b = right(x);\n      use(a, b);\n";
  const std::string swapped =
      "      auto b = left(x);\n      auto a = right(x);\n      use(b, a);\n";
  const Case c{program(body), program(body + "      flor::log(\"a\", a);\n"), program(swapped)};
  EXPECT_EQ(c.text(), "unchanged");
}

TEST(Carry, AVariableThatIsNotThereIsNamed) {
  const std::string move = "      velocity = decay * velocity + gradient;\n";
  const Case c{program(kForward + move + kStep, "  double velocity = 0;\n"),
               program(kForward + move + kStep + "      flor::log(\"v\", velocity);\n",
                       "  double velocity = 0;\n"),
               program(kForward + kStep)};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_THAT(c.reason(), HasSubstr("nothing is called 'velocity' there"));
}

TEST(Carry, ALoopThatIsNotThereIsNamed) {
  std::string older = program(kForward + kStep);
  older.replace(older.find("\"train\", 6"), 10, "\"learn\", 6");
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep), older};
  EXPECT_THAT(c.carry().placed.at(0).remarks, Contains("the loop \"train\" is called \"learn\""));
  std::string without = "int main() {\n  for (int i = 0; i < 3; ++i) {\n" + kForward + "  }\n}\n";
  EXPECT_THAT((Case{c.base, c.work, without}.reason()), HasSubstr("there is no loop \"train\""));
}

TEST(Carry, OfTwoLoopsOfOneNameTheOneInTheSameFunctionIsMeant) {
  const auto two = [](const std::string& log) {
    return "void a() {\n  for (int i : flor::loop(\"train\", 3)) {\n    one(i);\n" + log +
           "  }\n}\nvoid b() {\n  for (int i : flor::loop(\"train\", 3)) {\n    one(i);\n  }\n}\n";
  };
  const std::string log = "    flor::log(\"x\", i);\n";
  EXPECT_EQ((Case{two(""), two(log), two("")}.text()), two(log));
  const std::string merged =
      "void c() {\n  for (int i : flor::loop(\"train\", 3)) {\n    one(i);\n  }\n"
      "  for (int i : flor::loop(\"train\", 3)) {\n    one(i);\n  }\n}\n";
  EXPECT_THAT((Case{two(""), two(log), merged}.reason()), HasSubstr("2 loops \"train\""));
}

TEST(Carry, AFunctionThatOnlyLogsNeedAndItsHeaderComeAlong) {
  const std::string helper = "double norm_of(const Net& n) {\n  return std::sqrt(n.dot(n));\n}\n\n";
  const std::string log = "      flor::log(\"norm\", norm_of(net));\n";
  const std::string older = program(kForward + kStep, "  Net net(3);\n", "#include <vector>\n\n");
  const Case c{
      program(kForward + kStep, "", "#include <vector>\n\n"),
      program(kForward + kStep + log, "", "#include <cmath>\n#include <vector>\n\n" + helper),
      older};
  EXPECT_EQ(c.text(), program(kForward + kStep + log, "  Net net(3);\n",
                              "#include <vector>\n#include <cmath>\n\n" + helper));
}

TEST(Carry, VariablesThatOnlyLogsUseComeAlongAllOrNone) {
  const std::string before = "  double seen = 0;\n";
  const std::string in = "      seen += batch.size();\n";
  Case c{program(kForward + kStep), program(kForward + kStep + in, before),
         program(kForward + kStep)};
  c.work.replace(c.work.find("    flor::log(\"mean\""), 0, "    flor::log(\"seen\", seen);\n");
  EXPECT_EQ(c.carrier().hunks().size(), 3u);
  EXPECT_EQ(c.text(), c.work);
  // One of them has no place: none is carried.
  c.older = program(kForward + kStep + "      clip(net);\n");
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_EQ(c.carry().refused.size(), 3u);
}

TEST(Carry, WhatComputesIsNotCarriedAndNamed) {
  Case c{program(kForward + kStep), program(kForward + "      net.train();\n" + kLog + kStep),
         program(kForward + kStep)};
  EXPECT_EQ(c.text(), program(kForward + kLog + kStep));
  ASSERT_EQ(c.carrier().others().size(), 1u);
  EXPECT_THAT(c.carrier().others()[0].what, HasSubstr("net.train()"));
  EXPECT_EQ(c.carrier().others()[0].line, 6u);
}

TEST(Carry, ALogInsideAnExpressionIsNamed) {
  const Case c{program("      total += forward(net);\n"),
               program("      total += flor::log(\"loss\", forward(net));\n"), program("")};
  EXPECT_THAT(c.carrier().hunks(), IsEmpty());
  EXPECT_THAT(c.carrier().others().at(0).what, HasSubstr("\"loss\" is logged within a statement"));
}

TEST(Carry, WhatIsLoggedInAnotherWayIsNotCarried) {
  const std::string now = "      flor::log(\"loss\", loss / 2);\n";
  const Case c{program(kForward + "      flor::log(\"loss\", loss);\n"), program(kForward + now),
               program(kForward)};
  EXPECT_THAT(c.carrier().hunks(), IsEmpty());
  EXPECT_EQ(c.carrier().others().size(), 1u);
}

TEST(Carry, AVersionThatLogsItAlreadyIsLeftAsItIs) {
  const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
               program(kForward + kLog + kStep)};
  EXPECT_EQ(c.text(), "unchanged");
  EXPECT_TRUE(c.carry().placed.at(0).present);
  const Case other{c.base, c.work,
                   program(kForward + "      flor::log(\"norm\", net.norm() / 2);\n" + kStep)};
  EXPECT_THAT(other.reason(), HasSubstr("logs \"norm\" there in another way"));
}

TEST(Carry, AVersionThatLogsItOnConditionDoesNotLogItAlready) {
  const std::string log = "flor::log(\"norm\", net.norm());";
  for (const std::string& there : {"      if (epoch == 0) " + log + "\n",
                                   "      if (epoch == 0) {\n        " + log + "\n      }\n"}) {
    const Case c{program(kForward + kStep), program(kForward + kLog + kStep),
                 program(kForward + there + kStep)};
    EXPECT_EQ(c.text(), "unchanged");
    EXPECT_THAT(c.carry().placed, IsEmpty()) << "it is not there already";
    EXPECT_THAT(c.reason(), HasSubstr("logs \"norm\" there in another way"));
  }
}

TEST(Carry, WhatALoopWithinLogsUnderTheNameIsAtAnotherPlace) {
  const std::string inner = "      flor::log(\"mean of\", mean);\n";
  const auto with = [&](const std::string& body, const std::string& last) {
    std::string text = program(body);
    text.insert(text.find("    flor::log(\"mean\""), last);
    return text;
  };
  const std::string last = "    flor::log(\"mean of\", sum);\n";
  const Case c{with(kForward, ""), with(kForward, last), with(kForward + inner, "")};
  EXPECT_EQ(c.text(), with(kForward + inner, last));
}

TEST(Carry, ANameThatTheHunkDeclaresMustNotHideAnother) {
  const std::string log = "      const double norm = net.norm();\n      flor::log(\"n\", norm);\n";
  const Case c{program(kForward + kStep), program(kForward + log + kStep),
               program(kForward + kStep, "  double norm = 3;\n")};
  EXPECT_THAT(c.reason(), HasSubstr("'norm', which the hunk declares"));
}

TEST(Carry, OtherPreprocessorConditionsAreRefused) {
  const Case c{program(kForward + kStep), program(kForward + kStep + kLog),
               program("#ifdef FAST\n" + kForward + kStep + "#endif\n")};
  EXPECT_EQ(c.text(), "unchanged");
  const std::string in_if = "#ifdef ASK\n" + kLog + "#endif\n";
  const Case added{c.base, program(kForward + kStep + in_if), c.base};
  EXPECT_THAT(added.reason(), HasSubstr("#if"));
}

TEST(Carry, ALogThatLeavesAPreprocessorConditionIsAdded) {
  const std::string guarded = "#ifdef VERBOSE\n" + kLog + "#endif\n";
  const std::string after = program(kForward + kLog + kStep);
  const Case c{program(kForward + guarded + kStep), after, program(kForward + kStep)};
  ASSERT_EQ(c.carrier().hunks().size(), 1u);
  EXPECT_EQ(c.carrier().hunks()[0].hunk.what, "logs \"norm\"");
  EXPECT_EQ(c.text(), after) << "where it is not there at all";
  const Case there{c.base, after, c.base};
  EXPECT_THAT(there.carry().placed, IsEmpty()) << "it is not logged there";
  EXPECT_THAT(there.reason(), HasSubstr("logs \"norm\" there in another way"));
  const Case entered{after, c.base, program(kForward + kStep)};
  EXPECT_THAT(entered.reason(), HasSubstr("#if")) << "the other way round";
}

TEST(Carry, CommentsDoNotSwallowAHunk) {
  for (const std::string comment :
       {"  // to do\n", "  /* one */\n", "  /* two\n   lines */\n", "  // goes on \\\n   here\n"}) {
    std::string step = kStep;
    step.replace(step.size() - 1, 1, comment);
    const Case c{program(kForward + kStep), program(kForward + kStep + kLog),
                 program(kForward + step)};
    const Source patched("t.cpp", c.text()), expected("t.cpp", program(kForward + kStep + kLog));
    EXPECT_TRUE(same_tokens(patched, {0, patched.tokens.all.size()}, expected,
                            {0, expected.tokens.all.size()}))
        << c.text();
  }
}

TEST(Carry, OneLineBlocksAndWindowsLinesWork) {
  const std::string log = "flor::log(\"x\", i);";
  const auto one = [](const std::string& in) {
    return "void a() { for (int i : flor::loop(\"l\", 3)) { f(i); " + in + "} }\n";
  };
  const Case c{one(""), one(log), one("")};
  EXPECT_EQ(c.carry().placed.size(), 1u);
  std::string crlf = program(kForward + kStep), expected = program(kForward + kLog + kStep);
  for (std::string* text : {&crlf, &expected}) {
    for (std::size_t at = 0; (at = text->find('\n', at)) != text->npos; at += 2) {
      text->replace(at, 1, "\r\n");
    }
  }
  EXPECT_EQ((Case{program(kForward + kStep), program(kForward + kLog + kStep), crlf}.text()),
            expected);
}

TEST(Carry, ARawStringKeepsItsLines) {
  const std::string log = "      flor::log(\"note\", R\"(a\n  b\n        c)\");\n";
  const Case c{program(kForward + kStep), program(kForward + kStep + log),
               program(kForward + kStep, "  int x;\n")};
  EXPECT_EQ(c.text(), program(kForward + kStep + log, "  int x;\n"));
}

TEST(Carry, TextThatIsNoProgramIsRefusedNotBroken) {
  for (const std::string older : {"", "}}}}", "\"", "int main( {", "#if\n#else\n", "for (;;"}) {
    const Case c{program(kForward + kStep), program(kForward + kLog + kStep), older};
    EXPECT_EQ(c.text(), "unchanged");
    EXPECT_FALSE(c.reason().empty());
  }
}

}  // namespace
}  // namespace flor::carry
