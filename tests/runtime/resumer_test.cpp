// A run that was interrupted, and the program that is led to where it was: what it passes by, what
// it executes again, and what becomes of the values that it logs on the way.
#include "resume/resumer.h"

#include "recording.h"
#include "resume/continuation.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>

namespace flor::detail::recording_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

/// In place of the end of the process.
struct Refused : std::runtime_error {
  Refused(const std::string& message, bool within) : runtime_error(message), inside(within) {}
  bool inside;
};

/// The process that continues a run.
struct Process {
  Process(const std::shared_ptr<store::Store>& store, const store::Run& run, const Flags& flags)
      : it(store, run, flags) {}

  void continue_from(Continuation from) {
    it.run = from.run;
    resumer.lead(std::move(from));
  }
  void resume() { continue_from(resume_run(*it.store, it.run, {}, it.flags)); }
  bool logs() { return !it.journal.place().suppressed; }

  /// An event of the main loop, as the recorder passes it on.
  std::optional<LoopScope::Start> begin(Frame& main) {
    it.loops.begin_main(main);
    it.frames.push_back(&main);
    return resumer.begin_main(main, /*random_access=*/true);
  }
  void log(std::string_view name, double value) {
    it.journal.move([&](CurrentPlace& place) { place.epoch = it.frames.front()->index; });
    it.journal.add_number(name, store::ValueType::real, std::bit_cast<std::uint64_t>(value));
  }

  Recording it;
  std::vector<std::string> kept;  ///< names of values that were logged and are not compared
  Ordinals ordinals;
  void keep_logged() {
    const LogBatch batch = it.journal.take();
    if (resumer.checks()) return resumer.check(batch);
    for_each_value(
        it.journal, batch, ordinals, [](const LoggedContent&) { return std::string(); },
        [&](const LogRecord&, const store::Value& value) { kept.push_back(value.name); });
  }
  Resumer resumer{{.store = it.store,
                   .run = it.run,
                   .flags = it.flags,
                   .registry = it.registry,
                   .journal = it.journal,
                   .keep_logged = [this] { keep_logged(); },
                   .refuse = [](const std::string& message) { throw Refused(message, false); },
                   .refuse_inside = [](const std::string& message,
                                       const std::string&) { throw Refused(message, true); }}};
};

class ResumerTest : public RecordingTest {
 protected:
  static Flags unchecked() {
    Flags flags = every(1);
    flags.check = false;
    return flags;
  }
  /// A run of one loop with three epochs, each of which adds 1 to the state and logs it.
  store::Run record_epochs() {
    Recording before(store_, add_run(), every(1));
    before.open();
    Frame main = before.frame("epoch");
    before.begin(main);
    for (int epoch = 0; epoch < 3; ++epoch) {
      before.execute(main, 1);
      store::Value value = number("x", epoch, before.x);
      before.background->post([&] { before.storage.rows().add(value, nullptr); });
      before.drain();
    }
    before.background->post(
        [&] { before.storage.interrupt("by a test", RunStorage::Steps::kept); });
    before.drain();
    return now(before.run);
  }
  /// A run that was interrupted after the second step of its first epoch, which had logged a rate.
  store::Run record_steps() {
    Recording before(store_, add_run(), every(1));
    before.open();
    Frame main = before.frame("epoch");
    before.begin(main);
    before.begin_iteration(main);
    before.background->post([&] { before.storage.rows().add(number("rate", 0, 0.5), nullptr); });
    before.drain();
    Frame nested = before.frame("train");
    before.loops.begin_nested(nested);
    for (int i = 0; i < 2; ++i) {
      ++before.x;
      before.step(nested);
    }
    before.loops.take_last(&nested);
    before.background->post(
        [&] { before.storage.interrupt("by a test", RunStorage::Steps::kept); });
    before.drain();
    return now(before.run);
  }
};

TEST_F(ResumerTest, WithoutACheckTheProgramBeginsAtThePoint) {
  Process process(store_, record_epochs(), unchecked());
  process.resume();
  EXPECT_TRUE(process.resumer.leads());
  EXPECT_FALSE(process.logs()) << "what precedes the loop was logged by the first process";
  Frame main = process.it.frame("epoch");
  const auto start = process.begin(main);
  ASSERT_TRUE(start);
  EXPECT_TRUE(start->visit);
  EXPECT_EQ(start->skip, 3u);
  EXPECT_EQ(process.it.x, 3) << "restored";
  process.resumer.enter(main);
  EXPECT_FALSE(process.resumer.leads());
  EXPECT_FALSE(process.resumer.rehearses());
  EXPECT_TRUE(process.logs());
  EXPECT_EQ(process.resumer.leave(main), std::nullopt) << "the iteration is the program's own";
}

TEST_F(ResumerTest, TheLastEpochIsExecutedAgainAndComparedFirst) {
  Process process(store_, record_epochs(), every(1));
  process.resume();
  Frame main = process.it.frame("epoch");
  const auto start = process.begin(main);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->skip, 2u);
  EXPECT_EQ(process.it.x, 2);
  process.resumer.enter(main);
  EXPECT_TRUE(process.resumer.rehearses());
  EXPECT_TRUE(process.resumer.checks());
  EXPECT_TRUE(process.logs()) << "to be compared";
  process.log("x", ++process.it.x);
  const auto move = process.resumer.leave(main);
  ASSERT_TRUE(move);
  EXPECT_EQ(move->steps, 1);
  EXPECT_FALSE(process.resumer.checks());
  process.resumer.enter(main);
  EXPECT_FALSE(process.resumer.leads());
  EXPECT_THAT(process.kept, IsEmpty()) << "the value of that epoch is in the record already";
}

TEST_F(ResumerTest, AnotherStateIsRefusedAndSoIsAnotherValue) {
  for (const bool state : {true, false}) {
    Process process(store_, record_epochs(), every(1));
    process.resume();
    Frame main = process.it.frame("epoch");
    process.begin(main);
    process.resumer.enter(main);
    process.it.x = state ? 7 : 3;
    process.log("x", state ? 3 : 7);
    try {
      process.resumer.leave(main);
      FAIL() << "it was resumed";
    } catch (const Refused& refused) {
      EXPECT_FALSE(refused.inside);
      const char* differs =
          state ? "0 of 1 value and 1 of 1 state differ" : "1 of 1 value and 0 of 1 state differ";
      EXPECT_THAT(refused.what(),
                  StartsWith(std::string("not resumed: epoch 2 computed again is not what was "
                                         "recorded: ") +
                             differs));
    }
    EXPECT_FALSE(process.resumer.leads()) << "nothing of the store is held any more";
  }
}

TEST_F(ResumerTest, AProgramThatDoesNotComeToThePointIsAnError) {
  Process process(store_, record_epochs(), unchecked());
  process.resume();
  Frame other = process.it.frame("train");
  EXPECT_THAT([&] { process.begin(other); },
              ThrowsMessage<Error>(HasSubstr("main loop 0 was 'epoch', but is 'train'")));
  process.it.frames.clear();
  Frame main = process.it.frame("epoch");
  main.ordinal = 0;
  main.index = 1;
  EXPECT_THAT([&] { process.resumer.end_main(main, LoopEnd::exhausted); },
              ThrowsMessage<Error>(HasSubstr("loop epoch ended before epoch 3")));
}

TEST_F(ResumerTest, ALoopThatHasNothingLeftIsThePoint) {
  Process process(store_, record_epochs(), unchecked());
  process.resume();
  Frame main = process.it.frame("epoch");
  process.begin(main);
  process.resumer.end_main(main, LoopEnd::exhausted);
  EXPECT_FALSE(process.resumer.leads());
  EXPECT_TRUE(process.logs());
}

TEST_F(ResumerTest, ARunWithoutAnyEpochBeginsAsUsual) {
  Recording before(store_, add_run(), every(1));
  store_->catalog().interrupt_run(before.run.id, "by a test");
  Process process(store_, before.run, every(1));
  process.resume();
  EXPECT_FALSE(process.resumer.leads());
  EXPECT_TRUE(process.logs());
  Frame main = process.it.frame("epoch");
  EXPECT_EQ(process.begin(main), std::nullopt);
  EXPECT_EQ(process.resumer.begin_nested(main, main), std::nullopt);
  EXPECT_FALSE(process.resumer.end_nested(main, main, LoopEnd::exhausted));
}

TEST_F(ResumerTest, AForkLogsOutsideOfLoopsAndNotInTheEpochsThatItHas) {
  const store::Run parent = record_epochs();
  Flags flags = unchecked();
  flags.from = parent.key + "@1";
  const ForkPoint from = fork_point(*store_, flags);
  store::NewRun as;
  as.experiment = "test";
  Continuation made = fork_run(*store_, from, as, std::nullopt, {}, flags);
  EXPECT_THAT(made.forked,
              StartsWith(" from the end of epoch 1 of run " + parent.key.substr(0, 8)));
  EXPECT_EQ(now(made.run).epochs, 2);
  Process process(store_, made.run, flags);
  process.continue_from(std::move(made));
  EXPECT_TRUE(process.logs());
  Frame main = process.it.frame("epoch");
  const auto start = process.begin(main);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->skip, 2u);
  EXPECT_EQ(process.it.x, 2);
  EXPECT_FALSE(process.logs());
  process.resumer.enter(main);
  EXPECT_TRUE(process.logs());
}

TEST_F(ResumerTest, InsideAnEpochItGoesOnAfterTheStepWithWhatWasLoggedBefore) {
  Process process(store_, record_steps(), unchecked());
  process.resume();
  ASSERT_EQ(process.resumer.point().loop, "train");
  Frame main = process.it.frame("epoch");
  const auto start = process.begin(main);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->skip, 0u);
  EXPECT_EQ(process.it.x, 0);
  process.resumer.enter(main);
  EXPECT_TRUE(process.logs()) << "the code before the nested loop is executed";
  store::Value same = number("rate", 0, 0.5), other = number("momentum", 0, 0.9);
  EXPECT_FALSE(process.resumer.keeps_recorded(same, nullptr));
  EXPECT_FALSE(process.resumer.keeps_recorded(other, nullptr)) << "it is new";
  Frame nested = process.it.frame("train");
  const auto inside = process.resumer.begin_nested(main, nested);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->skip, 2u);
  EXPECT_FALSE(process.logs()) << "while the range is stepped through";
  process.resumer.arrive(nested, false);
  EXPECT_EQ(process.it.x, 2);
  process.resumer.reach(nested);
  EXPECT_FALSE(process.resumer.leads());
  EXPECT_TRUE(process.logs());
  EXPECT_FALSE(process.resumer.keeps_recorded(same, nullptr)) << "the way is over";
}

TEST_F(ResumerTest, WhatLeadsToAStepOtherwiseIsRefused) {
  Process process(store_, record_steps(), every(1));
  process.resume();
  Frame main = process.it.frame("epoch");
  process.begin(main);
  process.resumer.enter(main);
  store::Value other = number("rate", 0, 0.25);
  EXPECT_TRUE(process.resumer.keeps_recorded(other, nullptr));
  EXPECT_EQ(std::get<double>(other.value), 0.5);
  Frame nested = process.it.frame("train");
  process.resumer.begin_nested(main, nested);
  try {
    process.resumer.reach(nested);
    FAIL() << "it was resumed";
  } catch (const Refused& refused) {
    EXPECT_TRUE(refused.inside);
    EXPECT_THAT(refused.what(), StartsWith("not resumed inside epoch 0, since what leads there is "
                                           "not what was recorded: rate at "));
  }
}

TEST_F(ResumerTest, TheStepsBeforeThePointAreExecutedAgainAndCompared) {
  for (const bool same : {true, false}) {
    Process process(store_, record_steps(), every(1));
    process.resume();
    Frame main = process.it.frame("epoch");
    process.begin(main);
    process.resumer.enter(main);
    Frame nested = process.it.frame("train");
    const auto start = process.resumer.begin_nested(main, nested);
    ASSERT_TRUE(start);
    EXPECT_EQ(start->skip, 0u);
    process.resumer.reach(nested);
    EXPECT_TRUE(process.resumer.checks());
    process.it.x += same ? 1 : 5;
    ++nested.index;
    EXPECT_EQ(process.resumer.leave_nested(main, nested), 1);
    ++process.it.x;
    ++nested.index;
    if (same) {
      EXPECT_EQ(process.resumer.leave_nested(main, nested), 1);
      EXPECT_FALSE(process.resumer.leads()) << "this is the point";
    } else {
      EXPECT_THROW(process.resumer.leave_nested(main, nested), Refused);
    }
  }
}

}  // namespace
}  // namespace flor::detail::recording_test
