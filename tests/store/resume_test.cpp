// Resuming a run in the catalog: what replays have answered behind the point is forgotten with it.
#include "store_fixture.h"

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ResumeRunTest : public StoreTest {
 protected:
  static Value value(const std::string& name, std::int64_t epoch, std::int64_t step = -1,
                     const std::string& path = "epoch/train") {
    Value value;
    value.name = name;
    value.place = {path, epoch, step, ""};
    value.type = ValueType::integer;
    value.value = std::int64_t{10 * epoch + step};
    return value;
  }
  std::int64_t replay(std::vector<std::int64_t> parts, std::vector<Value> values) {
    NewReplay start;
    start.run = run_.id;
    start.question = "q";
    const std::int64_t id = catalog_.add_replay(start);
    std::vector<ReplayedPart> done;
    for (const std::int64_t part : parts) done.push_back({.part = part, .result = {}});
    for (Value& found : values) found.replay = id;
    catalog_.add_replayed(run_.id, id, values, done);
    return id;
  }
  std::vector<std::int64_t> answered() const {
    std::vector<std::int64_t> parts;
    for (const auto& part : catalog_.replayed(run_.id, "q")) parts.push_back(part.part);
    return parts;
  }
  /// Epochs of the hindsight values with that name.
  std::vector<std::int64_t> found(const std::string& name) const {
    std::vector<std::int64_t> epochs;
    for (const auto& value :
         catalog_.values({.run = run_.id, .names = {name}, .recorded = false})) {
      epochs.push_back(value.place.epoch);
    }
    return epochs;
  }
  static Resumption at(std::int64_t epoch, const std::string& loop = {}, std::int64_t step = 0) {
    Resumption resumption;
    resumption.point.iteration = resumption.point.epoch = epoch;
    resumption.point.boundary = true;
    resumption.point.loop = loop;
    resumption.point.step = step;
    return resumption;
  }

  std::shared_ptr<Store> store_ = open();
  Catalog& catalog_ = store_->catalog();
  const Run run_ = catalog_.add_run(new_run());
};

TEST_F(ResumeRunTest, AnswersBehindThePointAreForgottenAndThoseBeforeItStay) {
  replay({part_outside(0), 0, 1, 2, 3}, {value("norm", 0), value("norm", 1), value("norm", 2),
                                         value("norm", 3), value("start", -1, -1, "")});
  catalog_.resume_run(run_.id, at(2));
  EXPECT_THAT(answered(), ElementsAre(part_outside(0), 0, 1));
  EXPECT_THAT(found("norm"), ElementsAre(0, 1));
  EXPECT_THAT(found("start"), ElementsAre(-1));
  EXPECT_EQ(catalog_.metrics(run_.id).at(0).count, 2);
}

TEST_F(ResumeRunTest, InTheMiddleOfAnEpochWhatReplaysFoundInItsFirstStepsGoesToo) {
  catalog_.add_values(run_.id, std::vector{value("loss", 2, 0), value("loss", 2, 7)});
  replay({1, 2}, {value("norm", 1, 0), value("norm", 2, 0), value("norm", 2, 7)});
  catalog_.resume_run(run_.id, at(2, "train", 5));
  EXPECT_THAT(answered(), ElementsAre(1));
  EXPECT_THAT(found("norm"), ElementsAre(1));
  EXPECT_EQ(catalog_.values({.run = run_.id, .names = {"loss"}}).size(), 1u)
      << "what was recorded before the point stays";
}

TEST_F(ResumeRunTest, WhatWasFoundAfterALoopThatIsNotCompleteAnyMoreIsForgotten) {
  replay({part_outside(0), 0}, {value("norm", 0), value("start", -1, -1, "")});
  replay({part_outside(1), 1}, {value("norm", 1), value("end", -1, -1, "")});
  catalog_.resume_run(run_.id, at(1));
  EXPECT_THAT(answered(), ElementsAre(part_outside(0), 0));
  EXPECT_THAT(found("start"), ElementsAre(-1));
  EXPECT_THAT(found("end"), IsEmpty());
}

TEST_F(ResumeRunTest, OtherRunsKeepTheirAnswers) {
  replay({0, 1}, {value("norm", 0), value("norm", 1)});
  const Run other = catalog_.add_run(new_run());
  catalog_.resume_run(other.id, at(0));
  EXPECT_THAT(answered(), ElementsAre(0, 1));
  EXPECT_THAT(found("norm"), ElementsAre(0, 1));
}

}  // namespace
}  // namespace flor::store
