// A program that is told something else at each question is replayed, resumed and forked to the
// bits, if the answers are pinned; and where they are not of the record, it is said.
#include "whole_record.h"
#include "workbench.h"

#include <csignal>
#include <fstream>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Pinned : public ::testing::Test {
 protected:
  ProcessOptions options(const std::string& raise = {}) const {
    ProcessOptions made = bench_.options();
    made.environment["QUESTIONS"] = questions_.string();
    if (!raise.empty()) made.environment["RAISE"] = raise;
    return made;
  }
  ProcessResult run(const Words& arguments, const std::string& raise = {},
                    const std::string& program = "advised") const {
    return bench_.run(program, arguments, options(raise));
  }
  ProcessResult record(const std::string& how = "", const std::string& raise = {}) const {
    return run(recording(how), raise);
  }
  static Words recording(const std::string& how) {
    return {"--flor", "advised", "--flor_every", "1", "--kwargs", "how=" + how};
  }
  ProcessResult replay(const Words& flags = {}, const std::string& program = "advised") const {
    return run(Words{"--replay_flor"} + flags, {}, program);
  }
  ProcessResult flor(const Words& arguments) const {
    return run_process(Words{FLOR_CLI} + arguments, options());
  }
  /// Of all processes so far.
  std::int64_t questions() const {
    std::int64_t count = 0;
    std::ifstream(questions_) >> count;
    return count;
  }
  void begin_anew() const { std::filesystem::remove(questions_); }
  static Words told(const ProcessResult& result) {
    return lines_with(result.out, {"types", "signalling", "nan", "texts", "row", "length",
                                   "refused", "told", "storm", "step", "tail", "end"});
  }
  WholeRecord last_record() const { return whole_record(*bench_.store(), bench_.last_run().id); }

  Workbench bench_;
  std::filesystem::path questions_ = bench_.home().parent_path() / "questions";
};

TEST_F(Pinned, AReplayIsToldWhatTheRecordingWasToldAndAsksNothing) {
  const auto recorded = record();
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::int64_t asked = questions();
  EXPECT_EQ(asked, 2 + 5 * (3 + 3 * 4));
  for (const Words& flags :
       {Words{"--flor_probe", "train"}, Words{"--flor_init", "strong"},
        Words{"--flor_verify", "all"}, Words{"--flor_epochs", "2..3", "--flor_probe", "train"}}) {
    const auto replayed = replay(flags, "advised_hindsight");
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, AllOf(HasSubstr("verified"), Not(HasSubstr("not in the record"))));
    for (const std::string& line : told(replayed)) {
      EXPECT_THAT(told(recorded), ::testing::Contains(line)) << flags[0];
    }
  }
  EXPECT_EQ(questions(), asked);
  const auto shared = flor({"replay", "advised", "--workers", "2", "--probe", "train"});
  EXPECT_EQ(shared.status, 0) << shared.err;
  EXPECT_THAT(shared.out + shared.err, HasSubstr("verified"));
  EXPECT_EQ(questions(), asked);
}

TEST_F(Pinned, WithoutItAReplayDiffers) {
  const auto recorded = run(recording("") + Words{"pins=false"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto replayed = replay({"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
}

TEST_F(Pinned, EachTypeComesBackWithAllItsBits) {
  const auto recorded = record("types");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  ASSERT_THAT(lines_with(recorded.out, {"types", "signalling", "nan", "texts", "row", "length"}),
              SizeIs(9));
  const std::int64_t asked = questions();
  const auto replay_exactly = [&] {
    const auto replayed = replay({"--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_EQ(told(replayed), told(recorded));
    EXPECT_EQ(questions(), asked);
  };
  replay_exactly();
  // Also when their journal is sealed in blocks, and the index made again from it.
  ASSERT_EQ(flor({"gc"}).status, 0);
  std::filesystem::remove(bench_.home() / "catalog.db");
  replay_exactly();
  const auto repaired = flor({"fsck", "--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
  replay_exactly();
}

TEST_F(Pinned, AfterARefusedValueTheNextOneIsStillItsOwn) {
  const auto recorded = record("refused");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(lines_with(recorded.out, {"refused"}), SizeIs(10));
  EXPECT_THAT(recorded.out, AllOf(HasSubstr("reads like a secret"),
                                  HasSubstr("called inside a flor::iteration")));
  EXPECT_THAT(recorded.out, Not(HasSubstr("refused 0 5"))) << "the bytes of a password";
  for (const Words& flags : {Words{"--flor_probe", "train"}, Words{"--flor_epochs", "2..3"}}) {
    const auto replayed = replay(flags);
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, Not(HasSubstr("not in the record")));
    for (const std::string& line : lines_with(replayed.out, {"refused", "told"})) {
      EXPECT_THAT(told(recorded), ::testing::Contains(line));
    }
  }
}

/// A replay steps over elements, whose values would come at other places.
TEST_F(Pinned, TheRangeOfAMainLoopPinsNothing) {
  const auto recorded = record("range");
  EXPECT_EQ(recorded.status, 2) << recorded.err;
  EXPECT_THAT(recorded.err, HasSubstr("was called by the range of a main loop"));
}

TEST_F(Pinned, TheRangeOfAMainLoopLogsNothingAndIsToldSoOnce) {
  const auto recorded = record("logging range");
  ASSERT_EQ(recorded.status, 0);
  EXPECT_THAT(lines_with(recorded.err, {"flor: flor::log(\"gone\"): it is logged by the range of a main loop"}), SizeIs(1));
  for (const char* part : {"0/1", "1/2"}) {
    const auto replayed = replay({part});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("flor: verified: "));
  }
  EXPECT_THAT(bench_.values("gone"), IsEmpty());
}

TEST_F(Pinned, ItIsAValueThatIsListedAndQueried) {
  ASSERT_EQ(record().status, 0);
  EXPECT_EQ(bench_.values("pinned:rate").size(), 5u + 5 * 3 * 2);
  EXPECT_THAT(flor({"query", "pinned:rate", "--run", "advised"}).out, HasSubstr("pinned:rate"));
  const auto chosen = flor({"list", "--where", "pinned:start>0", "-c", "+pinned:start"});
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(chosen.out, HasSubstr("advised"));
  EXPECT_THAT(flor({"show", "advised"}).out, HasSubstr("pinned:weather"));
}

TEST_F(Pinned, AnInterruptedRunGoesOnWithWhatItWasTold) {
  const auto whole = record();
  ASSERT_EQ(whole.status, 0) << whole.err;
  const WholeRecord expected = last_record();
  for (const int steps : {2, 5, 9}) {
    SCOPED_TRACE(steps);
    begin_anew();
    const auto ended = record("", std::to_string(SIGTERM) + ":" + std::to_string(steps));
    EXPECT_NE(ended.status, 0);
    const auto resumed = run({"--flor_resume", "--flor", "advised"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, Not(HasSubstr("not in the record")));
    EXPECT_EQ(last_record().values, expected.values);
    EXPECT_EQ(last_record().checkpoints, expected.checkpoints);
    EXPECT_EQ(replay({"--flor_probe", "train"}).status, 0);
  }
}

TEST_F(Pinned, AKilledRunThatIsResumedIsReplayedExactly) {
  ASSERT_NE(record("", std::to_string(SIGKILL) + ":11:20000").status, 0);
  const auto resumed = run({"--flor_resume", "--flor", "advised"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const std::int64_t asked = questions();
  const auto replayed = replay({"--flor_probe", "train"}, "advised_hindsight");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified"));
  EXPECT_EQ(questions(), asked);
}

TEST_F(Pinned, AForkIsToldWhatItsParentWasToldUpToItsPoint) {
  ASSERT_EQ(record().status, 0);
  const store::Run parent = bench_.last_run();
  const auto start = bench_.values("pinned:start");
  const std::int64_t asked = questions();
  const auto forked = run({"--flor_from", parent.key + "@2", "--flor_every", "1"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(questions(), asked + 2 * (3 + 3 * 4) + 1);  // two epochs, and after them
  const auto again = bench_.values("pinned:start");
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_EQ(again[0].value, start[0].value);
  EXPECT_NE(again[1].value, start[1].value);
  const auto key = bench_.last_run().key;
  const auto replayed = replay({"--flor_run", key, "--flor_init", "strong"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  ASSERT_EQ(flor({"rm", parent.key}).status, 0);
  EXPECT_EQ(replay({"--flor_run", key, "--flor_probe", "train"}).status, 0);
}

TEST_F(Pinned, WhatTheRecordDoesNotHaveIsAskedAndDoubted) {
  ASSERT_EQ(record("later").status, 0);
  const std::int64_t asked = questions();
  const auto replayed = replay({"--flor_probe", "train"}, "advised_hindsight");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(lines_with(replayed.err, {"flor: flor::pinned(\"later\"), epoch 2,"}), SizeIs(1));
  EXPECT_THAT(lines_with(replayed.err, {"flor: doubtful: "}), SizeIs(1)) << replayed.err;
  EXPECT_EQ(questions(), asked + 1);
  EXPECT_THAT(flor({"query", "later", "--run", "advised"}).out, HasSubstr("doubtful"));
  // What came before it is the recorded program's.
  const auto first = bench_.values("first");
  EXPECT_THAT(first, SizeIs(5 * 3));
  for (const store::Value& value : first) {
    EXPECT_EQ(value.verdict == store::ValueVerdict::doubtful, value.place.epoch >= 2);
  }
}

TEST_F(Pinned, AValueOfAnotherTypeIsRefused) {
  ASSERT_EQ(record().status, 0);
  const auto replayed = replay({"--flor_probe", "train"}, "advised_other_type");
  EXPECT_EQ(replayed.status, 1) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("flor::pinned(\"rate\"): run " +
                                      bench_.last_run().key.substr(0, 8) + " recorded the number"));
}

TEST_F(Pinned, WhatCannotBeReplayedIsRefused) {
  const auto secret = record("secret");
  EXPECT_EQ(secret.status, 2);
  EXPECT_THAT(secret.err, SaysOnce("reads like a secret"));
  const auto nested = record("nested");
  EXPECT_EQ(nested.status, 2);
  EXPECT_THAT(nested.err, SaysOnce("by the function of another pinned value"));
  const auto logged = record("logged");
  EXPECT_EQ(logged.status, 0) << logged.err;
  EXPECT_THAT(logged.err, AllOf(HasSubstr("flor::log(\"inside\"): it is logged by the function of"),
                                HasSubstr("those of pinned values")));
  EXPECT_EQ(replay({"--flor_probe", "train"}).status, 0);
  EXPECT_THAT(record("thread").out, HasSubstr("refused: flor::pinned(\"elsewhere\") was called"));
}

TEST_F(Pinned, WithoutASessionTheFunctionIsCalled) {
  const auto plain = run({"--kwargs", "how=types"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.err, IsEmpty());
  EXPECT_GT(questions(), 2 + 5 * (3 + 3 * 4));
}

}  // namespace
}  // namespace flor::testing
