// How far new values are believed, and what is done about it: all cases.
#include "verdict/new_values.h"

#include "support/truth_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using flor::testing::all_facts;
using flor::testing::first_that_fits;
using flor::testing::TableRow;
using store::ValueVerdict;

TEST(NewValues, HaveTheVerdictOfTheTable) {
  // otherwise, whole, compared, proven, plugged
  const std::vector<TableRow<ValueVerdict>> table{{"1----", ValueVerdict::doubtful},
                                                  {"-11--", ValueVerdict::verified},
                                                  {"---10", ValueVerdict::proven},
                                                  {"-----", ValueVerdict::unverified}};
  for (const std::string& facts : all_facts(5)) {
    EXPECT_EQ(verdict_of_new({.otherwise = facts[0] == '1',
                              .whole = facts[1] == '1',
                              .compared = facts[2] == '1',
                              .proven = facts[3] == '1',
                              .plugged = facts[4] == '1'}),
              first_that_fits(table, facts))
        << facts;
  }
}

TEST(VerifyDecision, IsThatOfTheTable) {
  // the replay (same, differs, failed); wanted, nothing nested, open, of a rank, first rank
  const std::vector<TableRow<VerifyStep>> table{
      {"d-----", VerifyStep::doubt},   {"f-----", VerifyStep::nothing},
      {"-0----", VerifyStep::nothing}, {"--1---", VerifyStep::nothing},
      {"---0--", VerifyStep::nothing}, {"----10", VerifyStep::nothing},
      {"----11", VerifyStep::tell_how}, {"------", VerifyStep::plan},
  };
  using store::Verdict;
  const std::map<Verdict, char> verdicts{{Verdict::unverified, 's'}, {Verdict::verified, 's'},
                                         {Verdict::doubtful, 's'},   {Verdict::differs, 'd'},
                                         {Verdict::failed, 'f'}};
  for (const auto& [verdict, letter] : verdicts) {
    for (const std::string& facts : all_facts(5)) {
      EXPECT_EQ(decide({.verdict = verdict,
                        .wanted = facts[0] == '1',
                        .nothing_nested = facts[1] == '1',
                        .open = facts[2] == '1',
                        .of_rank = facts[3] == '1',
                        .first_rank = facts[4] == '1'}),
                first_that_fits(table, letter + facts))
          << letter << facts;
    }
  }
}

store::ReplayedPart part(std::int64_t number, std::int64_t found, ValueVerdict verdict) {
  store::ReplayedPart made{.part = number, .result = {}, .found = verdict};
  made.result.values_found = found;
  return made;
}

TEST(OpenEpochs, AreThoseWithNewValuesThatExecutionCouldVerify) {
  EXPECT_THAT(open_epochs({part(0, 2, ValueVerdict::proven), part(1, 2, ValueVerdict::unverified),
                           part(2, 0, ValueVerdict::unverified),
                           part(3, 1, ValueVerdict::verified), part(4, 1, ValueVerdict::doubtful),
                           part(store::part_outside(0), 3, ValueVerdict::unverified)}),
              ElementsAre(0, 1));
}

}  // namespace
}  // namespace flor::detail
