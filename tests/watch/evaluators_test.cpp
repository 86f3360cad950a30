// The evaluators of a watch, whose workers start no process, and their edits by the test's clock.
#include "fake_group.h"
#include "watch/evaluators/evaluators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::cli {
namespace {

using namespace std::chrono_literals;
using flor::testing::FakeEvaluators;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

/// All facts in a small range: the bounds that must hold whatever the numbers are.
TEST(JobsToLease, StayWithinWhatWorkersAndFilesHaveRoomFor) {
  for (std::size_t could = 0; could < 9; ++could) {
    for (std::size_t coming = 0; coming < 5; ++coming) {
      for (std::size_t held = 0; held < 9; ++held) {
        for (std::size_t workers = 0; workers < 3; ++workers) {
          LeaseFacts facts{
              .could_take = could, .coming = coming, .held = held, .workers = workers};
          const std::size_t free = jobs_to_lease(facts);
          EXPECT_EQ(free, could > coming ? could - coming : 0);
          facts.needs_room = true;
          const std::size_t with_files = jobs_to_lease(facts);
          EXPECT_LE(with_files, free);
          const std::size_t room = 3 * std::max<std::size_t>(workers, 1);
          EXPECT_TRUE(with_files == 0 || held + coming + with_files <= room);
          EXPECT_TRUE(with_files == free || held + coming + with_files >= room);
          facts.rests = true;
          EXPECT_EQ(jobs_to_lease(facts), 0U);
        }
      }
    }
  }
}

class EvaluatorsTest : public ::testing::Test {
 protected:
  EvaluatorsTest() {
    evaluators_.add("accuracy", 3);
    evaluators_.add("loss", 5);
    evaluators_.all.start();
  }
  void give(std::int64_t job, std::int64_t evaluator) {
    store::LeasedJob made;
    made.lease = {job, 1};
    made.what.evaluator = evaluator;
    evaluators_.all.give(std::move(made));
  }
  Evaluators::Edits look() { return evaluators_.all.look_for_edits(); }

  FakeEvaluators evaluators_;
};

TEST_F(EvaluatorsTest, EachGetsItsOwnJobs) {
  give(1, 5);
  give(2, 3);
  give(3, 5);
  evaluators_.all.dispatch();
  EXPECT_EQ(evaluators_.groups[0]->running->lease.job, 2);
  EXPECT_EQ(evaluators_.groups[1]->running->lease.job, 1);
  EXPECT_EQ(evaluators_.all.leases().size(), 3U);
  EXPECT_EQ(evaluators_.all.facts(1).held, 2U);
  EXPECT_THAT(evaluators_.all.take_waiting(), ElementsAre(store::Lease{3, 1}));
  evaluators_.all.call_off({1, 1});
  EXPECT_THAT(evaluators_.all.leases(), ElementsAre(store::Lease{2, 1}));
  evaluators_.groups[0]->end(true);
  std::vector<std::int64_t> ended;
  evaluators_.all.hear([&](const Verdict& verdict) { ended.push_back(verdict.job.lease.job); });
  EXPECT_THAT(ended, ElementsAre(2));
}

TEST_F(EvaluatorsTest, AnEditedOneFinishesWhatItHasAndIsThenReplaced) {
  give(1, 5);
  evaluators_.all.dispatch();
  give(2, 5);
  evaluators_.edit("loss", "second");
  const auto edits = look();
  EXPECT_THAT(edits.noticed, ElementsAre(EndsWith("/loss")));
  EXPECT_THAT(edits.unstarted, ElementsAre(store::Lease{2, 1}));
  EXPECT_THAT(edits.replaceable, IsEmpty());
  EXPECT_TRUE(evaluators_.all.facts(1).rests);
  EXPECT_FALSE(evaluators_.all.facts(0).rests);
  EXPECT_EQ(evaluators_.all.next_edit(), Evaluators::Clock::time_point::max()) << "it has a job";
  evaluators_.now += 1s;
  EXPECT_THAT(look().noticed, IsEmpty()) << "once";
  EXPECT_THAT(look().replaceable, IsEmpty());
  evaluators_.groups[1]->end(true);
  EXPECT_THAT(look().replaceable, ElementsAre(1));
  evaluators_.all.replace(1, 8);
  EXPECT_EQ(evaluators_.all.number(1), 8);
  EXPECT_TRUE(evaluators_.groups[2]->is_started);
  EXPECT_FALSE(evaluators_.all.facts(1).rests);
  EXPECT_THAT(look().replaceable, IsEmpty());
}

TEST_F(EvaluatorsTest, AnEditSettlesBeforeItCounts) {
  evaluators_.edit("loss", "sec");
  EXPECT_THAT(look().replaceable, IsEmpty());
  EXPECT_EQ(evaluators_.all.next_edit(), evaluators_.now + 500ms);
  evaluators_.now += 400ms;
  evaluators_.edit("loss", "second");
  EXPECT_THAT(look().replaceable, IsEmpty());
  evaluators_.now += 400ms;
  EXPECT_THAT(look().replaceable, IsEmpty()) << "since the latest edit";
  evaluators_.now += 100ms;
  EXPECT_THAT(look().replaceable, ElementsAre(1));
  evaluators_.all.postpone(1);
  EXPECT_THAT(look().replaceable, IsEmpty()) << "the queue could not be written";
  evaluators_.now += 500ms;
  EXPECT_THAT(look().replaceable, ElementsAre(1));
}

TEST_F(EvaluatorsTest, AnEditThatIsUndoneIsNone) {
  evaluators_.edit("loss", "second");
  EXPECT_THAT(look().noticed, ElementsAre(EndsWith("/loss")));
  evaluators_.edit("loss", "first");
  evaluators_.now += 1s;
  EXPECT_THAT(look().replaceable, IsEmpty());
  EXPECT_FALSE(evaluators_.all.facts(1).rests);
}

}  // namespace
}  // namespace flor::cli
