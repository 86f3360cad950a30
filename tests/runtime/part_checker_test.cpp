// The parts of a replay: compared, judged and kept, in a store in memory of the test's own.
#include "replay/part_checker.h"

#include "support/temporary_directory.h"

#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace flor::detail {
namespace {

using store::ValueVerdict;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Findings in memory, and a disk that may be full.
class Kept final : public Findings {
 public:
  struct Memory {
    std::map<std::int64_t, std::vector<std::string>> values;  // names, by complete part
    std::map<std::int64_t, ValueVerdict> verdicts;
    bool full = false;
  };
  explicit Kept(Memory& memory) : memory_(memory) {}

  std::string write_object(const store::Item&, std::span<const std::byte>) override {
    return "reference";
  }
  void add_values(std::int64_t, std::vector<store::Value>) override {}
  void add_complete(std::vector<CompletePart> parts) override {
    if (memory_.full) throw std::runtime_error("disk full");
    for (const CompletePart& part : parts) {
      memory_.verdicts[part.part.part] = part.part.found;
      for (const store::Value& value : part.values) {
        memory_.values[part.part.part].push_back(value.name);
      }
    }
  }
  void add_restore_time(const RestoreTime&) override {}

 private:
  Memory& memory_;
};

store::Value number(const std::string& name, std::int64_t epoch, double value) {
  store::Value made;
  made.name = name;
  made.place = {"epoch", epoch, -1, ""};
  made.type = store::ValueType::real;
  made.value = value;
  return made;
}

class PartCheckerTest : public ::testing::Test {
 protected:
  PartCheckerTest() {
    std::vector<store::Value> recorded;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      recorded.push_back(number("loss", epoch, 1.0 / static_cast<double>(epoch + 1)));
    }
    store_->catalog().add_values(run_, recorded);
  }

  PartChecker checker(NewValueFacts facts = {}, SameProgram same = {}) {
    return {std::make_unique<Kept>(kept_),
            *assignment_,
            std::make_unique<ValueCheck>(*store_, run_, comparison_, same),
            comparison_,
            facts,
            [this](const std::string& why) { failures_.push_back(why); }};
  }

  flor::testing::TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ = store::Store::open(home_.path(), store::OpenMode::create);
  std::int64_t run_ = store_->catalog().add_run(store::NewRun()).id;
  std::unique_ptr<Assignment> assignment_ = fixed_assignment({Epochs{0, 4}}, {});
  Comparison comparison_;
  Kept::Memory kept_;
  std::vector<std::string> failures_;
};

TEST_F(PartCheckerTest, ComparesWhatIsRecordedAndKeepsWhatIsNew) {
  PartChecker parts = checker();
  parts.take_value(1, number("loss", 1, 0.5), false);
  parts.take_value(1, number("norm", 1, 7), false);
  parts.complete(1, true, 0.25);
  parts.keep(true);
  EXPECT_THAT(kept_.values[1], ElementsAre("norm"));
  EXPECT_EQ(kept_.verdicts.at(1), ValueVerdict::verified);
  ASSERT_EQ(parts.parts().size(), 1U);
  EXPECT_EQ(parts.parts()[0].result.values_compared, 1);
  EXPECT_EQ(parts.parts()[0].result.values_found, 1);
  EXPECT_EQ(parts.parts()[0].result.verdict, store::Verdict::verified);
}

TEST_F(PartCheckerTest, TellsTheDifferenceOfTheEpochInWhichItIs) {
  PartChecker parts = checker();
  parts.take_value(0, number("loss", 0, 1), false);
  parts.take_value(1, number("loss", 1, 0.75), false);
  parts.complete(0, true, 0);
  parts.complete(1, true, 0);
  EXPECT_EQ(parts.parts()[0].result.verdict, store::Verdict::verified);
  EXPECT_EQ(parts.parts()[1].result.verdict, store::Verdict::differs);
}

TEST_F(PartCheckerTest, OfAnEpochWithSkippedLoopsHasTheVerdictThatTheSourcesAllow) {
  PartChecker open = checker(), proven = checker({.proven = true}),
              plugged = checker({.proven = true, .plugged = true}),
              otherwise = checker({.otherwise = true, .proven = true});
  for (PartChecker* parts : {&open, &proven, &plugged, &otherwise}) {
    parts->take_value(2, number("norm", 2, 7), false);
    parts->complete(2, false, 0);
  }
  EXPECT_EQ(open.parts()[0].found, ValueVerdict::unverified);
  EXPECT_EQ(proven.parts()[0].found, ValueVerdict::proven);
  EXPECT_EQ(plugged.parts()[0].found, ValueVerdict::unverified);
  EXPECT_EQ(otherwise.parts()[0].found, ValueVerdict::doubtful);
}

TEST_F(PartCheckerTest, OfTheSameProgramMissesRecordedValuesThatDoNotCome) {
  PartChecker parts = checker({}, {.inside = true, .outside = true});
  parts.end_epoch(3, "epoch", {}, true);
  parts.complete(3, true, 0);
  EXPECT_EQ(parts.parts()[0].result.values_different, 1);
  parts.forget(2);
  parts.complete(2, true, 0);
  EXPECT_EQ(parts.parts()[1].result.values_different, 0) << "the store answered for it";
}

TEST_F(PartCheckerTest, OfAFullDiskSaysSoOnceAndKeepsNothingMore) {
  PartChecker parts = checker();
  kept_.full = true;
  parts.take_value(0, number("norm", 0, 1), false);
  parts.complete(0, true, 0);
  EXPECT_THAT(failures_, IsEmpty()) << "it is tried again later";
  parts.keep(true);
  EXPECT_THAT(failures_, ElementsAre("disk full"));
  kept_.full = false;
  parts.complete(1, true, 0);
  parts.keep(true);
  parts.fail("another");
  EXPECT_THAT(failures_, ElementsAre("disk full"));
  EXPECT_EQ(parts.failure(), "disk full");
  EXPECT_THAT(kept_.verdicts, IsEmpty());
}

/// Whichever values come in whichever order, and however often they are to be kept: each part that
/// is complete has its own new values, once.
RC_GTEST_FIXTURE_PROP(PartCheckerTest, EachCompletePartHasItsNewValuesOnce, ()) {
  PartChecker parts = checker();
  std::map<std::int64_t, std::vector<std::string>> expected;
  const auto count = *rc::gen::inRange(0, 40);
  std::set<std::int64_t> open{10, 11, 12, 13, 14};
  for (int i = 0; i < count && !open.empty(); ++i) {
    const auto part = *rc::gen::elementOf(open);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        parts.complete(part, *rc::gen::arbitrary<bool>(), 0);
        open.erase(part);
        break;
      case 1:
        parts.keep(*rc::gen::arbitrary<bool>());
        break;
      default:
        parts.take_value(part, number("v" + std::to_string(i), part, i), false);
        expected[part].push_back("v" + std::to_string(i));
    }
  }
  parts.keep(true);
  for (const std::int64_t part : open) expected.erase(part);
  RC_ASSERT(kept_.values == expected);
  RC_ASSERT(kept_.verdicts.size() == 5 - open.size());
}

}  // namespace
}  // namespace flor::detail
