// The books of what recording takes.
#include "schedule/ledger.h"

#include <gtest/gtest.h>

namespace flor::detail {
namespace {

TEST(Ledger, BackgroundWorkCountsInFullWithoutASpareCore) {
  EXPECT_DOUBLE_EQ(background_share(2, 2), 1);
  EXPECT_DOUBLE_EQ(background_share(2.5, 2), 1);
  EXPECT_LT(background_share(1.5, 2), background_share(1.9, 2));
  EXPECT_DOUBLE_EQ(background_share(1, 2), background_share(0, 64));
  EXPECT_GT(background_share(0, 64), 0);
}

TEST(Ledger, ThereAreCoresToUse) { EXPECT_GT(usable_cores(), 0); }

TEST(Ledger, KeepsWhatTheToleranceIsForApartFromWhatIsForced) {
  Ledger ledger;
  const auto chosen = ledger.open(Batch::Kind::chosen);
  const auto forced = ledger.open(Batch::Kind::single);
  ledger.taken(*chosen, 0.5, 100);
  ledger.taken(*forced, 0.25, 100);
  ledger.spent(0.125);
  EXPECT_DOUBLE_EQ(ledger.totals().cost, 0.625);
  EXPECT_DOUBLE_EQ(ledger.totals().forced, 0.25);
}

TEST(Ledger, ABatchIsFinishedWhenItIsClosedAndItsJobsAreDone) {
  Ledger ledger;
  const auto batch = ledger.open(Batch::Kind::chosen);
  ledger.taken(*batch, 0.5, 100);
  ledger.taken(*batch, 0.25, 200);
  ledger.job_begins(0);
  ledger.job_ends(1, batch);
  ledger.close(batch);
  EXPECT_TRUE(ledger.finished().empty());
  ledger.job_begins(1);
  ledger.job_ends(1.5, batch);
  const auto finished = ledger.finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_DOUBLE_EQ(finished[0]->cost.training, 0.75);
  EXPECT_DOUBLE_EQ(finished[0]->cost.background, 1.5);
  EXPECT_EQ(finished[0]->cost.bytes, 200u);
  EXPECT_GT(finished[0]->cost.charged, 0.75);
  EXPECT_LE(finished[0]->cost.charged, 2.25);
  EXPECT_TRUE(ledger.finished().empty());
}

TEST(Ledger, AProgramThatOnlyWaitsForTheBackgroundPaysForAllOfIt) {
  Ledger ledger;
  const auto batch = ledger.open(Batch::Kind::chosen);
  ledger.taken(*batch, 0, 100);
  ledger.close(batch);
  ledger.drain();
  ledger.job_begins(0);
  ledger.job_ends(2, batch);
  EXPECT_DOUBLE_EQ(ledger.totals().cost, 2);
  EXPECT_DOUBLE_EQ(ledger.totals().background, 0);
}

}  // namespace
}  // namespace flor::detail
