// The parts of a recording, each by itself: what waits for the store, saved checkpoints, arguments,
// and the way to where a run was interrupted.
#include "record/row_writer.h"
#include "record/run_arguments.h"
#include "record/saved_checkpoints.h"
#include "resume/recorded_way.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace flor::detail::record_parts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

store::Value number(const char* name, std::int64_t epoch, double value) {
  store::Value made;
  made.name = name;
  made.place.epoch = epoch;
  made.value = value;
  return made;
}

class RecordedRun : public ::testing::Test {
 protected:
  store::Run add_run(const std::vector<std::string>& command = {}) {
    store::NewRun run;
    run.experiment = "test";
    run.command = command;
    return store_->catalog().add_run(run);
  }
  std::vector<store::Value> values(const store::Run& run) {
    return store_->catalog().values({.run = run.id});
  }

  flor::testing::TemporaryDirectory home_;
  std::shared_ptr<store::Store> store_ = store::Store::open(home_.path(), store::OpenMode::create);
};

class RowWriterTest : public RecordedRun {
 protected:
  // Time that passes only here.
  static inline Outage::Time now_{std::chrono::hours(1)};
  void SetUp() override {
    before_ = recorder_clock;
    recorder_clock = [] { return now_; };
  }
  void TearDown() override { recorder_clock = before_; }
  static bool fail(store::Catalog&) { throw std::runtime_error("the disk is full"); }

  Outage::Time (*before_)() = nullptr;
  store::Run run_ = add_run();
  int flushed_ = 0;
  RowWriter rows_{store_,
                  run_,
                  {.flush_journal = [this] { ++flushed_; },
                   .write_content = [](const LoggedContent&) -> std::string {
                     throw std::runtime_error("the disk is full");
                   }}};
};

TEST_F(RowWriterTest, WhatIsAddedIsDurableOnceItWasFlushed) {
  rows_.add(number("loss", 0, 0.5), nullptr);
  EXPECT_TRUE(rows_.make_durable(false));
  EXPECT_EQ(flushed_, 1) << "with what was logged and not added yet";
  EXPECT_THAT(values(run_), SizeIs(1));
}

TEST_F(RowWriterTest, AnUpdateThatFailsWaitsAndKeepsValuesBehindIt) {
  bool fails = true;
  rows_.update([&](store::Catalog& catalog) {
    if (fails) throw std::runtime_error("the disk is full");
    catalog.add_argument(run_.id, {.name = "lr", .type = "real", .value = "0.1"});
  });
  EXPECT_TRUE(rows_.health().lasts());
  rows_.add(number("loss", 0, 0.5), nullptr);
  fails = false;
  EXPECT_FALSE(rows_.make_durable(false)) << "it is tried again after a pause, not at once";
  EXPECT_THAT(values(run_), IsEmpty());
  now_ += Outage::kLongestPause;
  rows_.works(RowWriter::Part::rows);
  rows_.flush_values();
  EXPECT_THAT(values(run_), SizeIs(1));
  EXPECT_THAT(store_->catalog().arguments(run_.id), SizeIs(1));
  EXPECT_FALSE(rows_.health().lasts());
}

TEST_F(RowWriterTest, ACheckpointThatMustBeTriedIsTriedInAnOutage) {
  rows_.write(fail);
  rows_.trouble(RowWriter::Part::content, "the disk is full");
  rows_.add(number("loss", 0, 0.5), nullptr);
  EXPECT_FALSE(rows_.make_durable(false));
  now_ += Outage::kLongestPause;
  EXPECT_TRUE(rows_.make_durable(true));
}

TEST_F(RowWriterTest, AnEpochWaitsWithItsValues) {
  LoggedContent content{{.name = "image", .type = store::ElementType::u8, .sizes = {}, .bytes = 4},
                        std::vector<std::byte>(4)};
  rows_.add(number("image", 0, 0), &content);
  rows_.progress().add(store::Iteration{.main_loop = 0, .iteration = 0});
  rows_.flush_values();
  rows_.flush_progress();
  EXPECT_EQ(store_->catalog().run(run_.id)->epochs, 0);
  rows_.begin_end(false);
  rows_.give_up_rest();
  EXPECT_THAT(rows_.health().gaps(), SizeIs(1));
  rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
    EXPECT_THAT(rest.progress.iterations, SizeIs(1));
    ASSERT_TRUE(rest.gaps);
    EXPECT_THAT(*rest.gaps, SizeIs(1)) << "the gap is written with the end";
    catalog.finish_run(run_.id, 1, false, "", rest);
  });
  EXPECT_EQ(store_->catalog().run(run_.id)->epochs, 1);
}

TEST_F(RowWriterTest, TheEndIsTriedAgainAndGivesUpValuesThatAlonePreventIt) {
  rows_.add(number("loss", 3, 0.5), nullptr);
  rows_.begin_end(false);
  int tries = 0;
  rows_.write_end([&](store::Catalog&, const store::UnwrittenRest& rest) {
    ++tries;
    if (!rest.values.empty()) throw std::runtime_error("this value cannot be stored");
  });
  EXPECT_GT(tries, 2);
  ASSERT_THAT(rows_.health().gaps(), SizeIs(1));
  EXPECT_EQ(rows_.health().gaps()[0].first, 3);
}

class SavedCheckpointsTest : public RecordedRun {
 protected:
  store::SavedCheckpoint saved(const std::string& place, const std::string& name = {}) {
    store::SavedCheckpoint made;
    made.name = name;
    checkpoints_.identify(made, place);
    return made;
  }
  SavedCheckpoints checkpoints_;
};

TEST_F(SavedCheckpointsTest, AreNumberedAndNamed) {
  EXPECT_EQ(saved("a").name, "s1");
  EXPECT_EQ(saved("b", "best").number, 2);
  EXPECT_EQ(saved("c").name, "s3");
  EXPECT_EQ(checkpoints_.recorded_name("a"), "");
}

TEST_F(SavedCheckpointsTest, OfARunThatIsContinuedHaveTheirNumbersAgain) {
  store::SavedCheckpoint before;
  before.name = "good";
  before.number = 7;
  checkpoints_.know({{"there", before}});
  EXPECT_EQ(checkpoints_.recorded_name("there"), "good");
  EXPECT_EQ(saved("there").number, 7);
  EXPECT_EQ(saved("elsewhere").number, 8);
}

TEST_F(SavedCheckpointsTest, AreEnteredAndScoredOnlyIfTheyAreStored) {
  const store::Run run = add_run();
  store::Catalog& catalog = store_->catalog();
  const auto first = saved("a");
  EXPECT_FALSE(checkpoints_.enter(first, catalog, run.id));
  EXPECT_FALSE(checkpoints_.score(first.name, {{"loss", 1}}, catalog, run.id));
  checkpoints_.stored(first.name);
  EXPECT_TRUE(checkpoints_.enter(first, catalog, run.id));
  EXPECT_FALSE(checkpoints_.enter(first, catalog, run.id)) << "once";
  EXPECT_TRUE(checkpoints_.score(first.name, {{"loss", 1}}, catalog, run.id));
}

class RunArgumentsTest : public RecordedRun {
 protected:
  RunArgumentsTest() {
    store_->catalog().add_argument(run_.id, {.name = "lr", .type = "real", .value = "0.1"});
  }
  std::vector<ChangedArgument> take(const std::map<std::string, std::string>& kwargs) {
    flags_.kwargs = kwargs;
    return arguments_.take(store_->catalog(), run_, flags_);
  }
  std::optional<std::string> text(const char* name) {
    return arguments_.text(name, Fallback::none, flags_);
  }
  store::Run run_ = add_run({"./train", "--flor", "test", "--kwargs", "lr=0.1", "later=5"});
  Flags flags_;
  RunArguments arguments_;
};

TEST_F(RunArgumentsTest, AreThoseOfTheFirstStartAlsoIfTheyWereNotReadYet) {
  EXPECT_THAT(take({}), IsEmpty());
  EXPECT_EQ(text("lr"), "0.1");
  EXPECT_EQ(text("later"), "5");
  EXPECT_EQ(text("unknown"), std::nullopt);
}

TEST_F(RunArgumentsTest, ThatAreGivenOtherwiseAreToldAndTaken) {
  EXPECT_THAT(take({{"lr", "1e-1"}}), IsEmpty()) << "the same number";
  const auto changed = take({{"lr", "0.3"}, {"later", "6"}});
  ASSERT_THAT(changed, SizeIs(2));
  EXPECT_EQ(changed[1].name, "lr");
  EXPECT_EQ(changed[1].recorded, "0.1");
  EXPECT_EQ(changed[1].given, "0.3");
  EXPECT_EQ(text("lr"), "0.3");
  EXPECT_EQ(text("later"), "6");
}

TEST_F(RunArgumentsTest, ThatTheProgramDoesNotAskForAreNamed) {
  Flags flags;
  flags.kwargs = {{"epochs", "3"}, {"epoch", "4"}, {"password", "s3cr3t-5f7a9"}};
  EXPECT_EQ(arguments_.text("epochs", Fallback::none, flags), "3");
  const auto lines = arguments_.unused("never asked for", flags);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("--kwargs epoch=4: the program never asked for"),
                                 HasSubstr("'password'")));
  EXPECT_THAT(lines[1], ::testing::Not(HasSubstr("s3cr3t")));
}

class RecordedWayTest : public RecordedRun {
 protected:
  RecordedWayTest() {
    std::vector<store::Value> recorded{number("before", 2, 0.5), number("inside", 2, 7),
                                       number("before", 1, 9)};
    recorded[1].place.step = 4;
    store_->catalog().add_values(run_.id, recorded);
    store::ResumePoint point;
    point.epoch = 2;
    point.loop = "train";
    way_.know(values_on_way(store_->catalog(), run_.id, point));
  }
  store::Run run_ = add_run();
  RecordedWay way_;
};

TEST_F(RecordedWayTest, TheRecordedValueStaysAndADifferenceIsTold) {
  store::Value same = number("before", 2, 0.5);
  EXPECT_TRUE(way_.compare(same, nullptr));
  EXPECT_EQ(way_.difference(), "");
  store::Value other = number("before", 2, 0.25);
  EXPECT_FALSE(way_.compare(other, nullptr));
  EXPECT_EQ(std::get<double>(other.value), 0.5);
  EXPECT_THAT(way_.difference(), HasSubstr("recorded 0.5, now 0.25"));
}

TEST_F(RecordedWayTest, ValuesThatWereNotRecordedAreNew) {
  store::Value fresh = number("new", 2, 1);
  EXPECT_TRUE(way_.compare(fresh, nullptr));
  EXPECT_EQ(std::get<double>(fresh.value), 1);
  EXPECT_EQ(way_.difference(), "");
}

}  // namespace
}  // namespace flor::detail::record_parts_test
