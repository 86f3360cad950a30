// Whether a nested loop is skipped, from its facts alone.
#include "replay/skip.h"
#include "support/truth_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {
namespace {

using flor::testing::all_facts;
using flor::testing::first_that_fits;
using flor::testing::TableRow;
using sources::Leaving;

SkipReason reason(const LoopFacts& facts) { return decide(facts).reason; }

TEST(SkipDecision, SkipsWhatIsStoredAndConcernsNobody) {
  EXPECT_TRUE(decide({.stored = true}).skips());
  EXPECT_TRUE(decide({.stored = true, .broke = true}).skips());
  EXPECT_TRUE(decide({.stored = true, .leaving = Leaving::possible}).skips());
  EXPECT_TRUE(decide({.stored = true, .leaving = Leaving::unknown}).skips());
}

TEST(SkipDecision, SaysWhyALoopIsExecuted) {
  EXPECT_EQ(reason({}), SkipReason::not_stored);
  EXPECT_EQ(reason({.stored = true, .named = true}), SkipReason::named);
  EXPECT_EQ(reason({.stored = true, .changed = true}), SkipReason::changed);
  EXPECT_EQ(reason({.stored = true, .read = true}), SkipReason::read);
  EXPECT_EQ(reason({.stored = true, .left_main = true}), SkipReason::left);
  EXPECT_EQ(reason({.stored = true, .broke = true, .leaving = Leaving::possible}),
            SkipReason::left);
  EXPECT_EQ(reason({.stored = true, .broke = true, .leaving = Leaving::unknown}),
            SkipReason::no_source);
}

TEST(SkipDecision, OnTheWayOnlyWhatIsAskedLaterCounts) {
  EXPECT_TRUE(decide({.stored = true, .catching_up = true, .changed = true}).skips());
  EXPECT_EQ(reason({.stored = true, .catching_up = true, .read = true, .leads = true}),
            SkipReason::read);
  EXPECT_EQ(reason({.catching_up = true, .changed = true}), SkipReason::not_stored);
}

struct Case {
  std::string facts;
  LoopFacts loop;
};

/// Every combination of facts: stored, catching up, named, changed, read, leads, broke, left with
/// its main loop; and whether its sources show how it is left: impossible, possible, unknown.
std::vector<Case> all_cases() {
  const std::map<char, Leaving> ways{
      {'i', Leaving::impossible}, {'p', Leaving::possible}, {'u', Leaving::unknown}};
  std::vector<Case> cases;
  for (const std::string& facts : all_facts(8)) {
    for (const auto& [letter, leaving] : ways) {
      cases.push_back({facts + letter,
                       {.stored = facts[0] == '1',
                        .catching_up = facts[1] == '1',
                        .named = facts[2] == '1',
                        .changed = facts[3] == '1',
                        .read = facts[4] == '1',
                        .leads = facts[5] == '1',
                        .broke = facts[6] == '1',
                        .left_main = facts[7] == '1',
                        .leaving = leaving}});
    }
  }
  return cases;
}

TEST(SkipDecision, OfEveryCombinationOfFactsIsThatOfTheTable) {
  const std::vector<TableRow<SkipReason>> table{
      {"-01------", SkipReason::named},      {"--1--1---", SkipReason::named},
      {"-0-1-----", SkipReason::changed},    {"---1-1---", SkipReason::changed},
      {"-0--1----", SkipReason::read},       {"----11---", SkipReason::read},
      {"0--------", SkipReason::not_stored}, {"-------1-", SkipReason::left},
      {"------1-p", SkipReason::left},       {"------1-u", SkipReason::no_source},
      {"---------", SkipReason::skipped},
  };
  const std::vector<Case> cases = all_cases();
  EXPECT_EQ(cases.size(), 768U);
  for (const auto& [facts, loop] : cases) {
    EXPECT_EQ(reason(loop), first_that_fits(table, facts)) << facts;
  }
}

/// A wrong skip would load a state that the program does not leave.
TEST(SkipDecision, NeverSkipsMoreForAFurtherReasonToExecute) {
  for (const auto& [facts, loop] : all_cases()) {
    if (decide(loop).skips()) {
      EXPECT_TRUE(loop.stored) << facts;
      continue;
    }
    for (bool LoopFacts::* further : {&LoopFacts::named, &LoopFacts::changed, &LoopFacts::read,
                                      &LoopFacts::leads, &LoopFacts::left_main}) {
      LoopFacts more = loop;
      more.*further = true;
      EXPECT_FALSE(decide(more).skips()) << facts;
    }
    LoopFacts less = loop;
    less.stored = false;
    EXPECT_FALSE(decide(less).skips()) << facts;
  }
}

TEST(SkipDecision, EveryReasonHasAText) {
  std::set<std::string> texts;
  for (const auto& [facts, loop] : all_cases()) texts.insert(print_reason(reason(loop), ""));
  EXPECT_EQ(texts.size(), 7U);
  EXPECT_FALSE(texts.contains(""));
}

TEST(SkipDecision, IsPrintedWithTheQuestion) {
  EXPECT_EQ(print_reason(SkipReason::read, "\"norm\""), "read by \"norm\"");
  EXPECT_EQ(print_reason(SkipReason::not_stored, ""), "not stored");
}

}  // namespace
}  // namespace flor::detail
