// Main loops one after another, and nested loops that are left together with their function: what a
// replay finds is what a recording of the edited program gives.
#include "edited_program.h"

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SeveralLoops : public EditedProgram {
 protected:
  std::vector<std::string> values_of(const std::string& experiment, const std::string& name) const {
    const auto opened = bench_.store();
    std::vector<std::string> texts;
    for (const store::Run& run : opened->catalog().runs()) {
      if (run.start.experiment != experiment) continue;
      for (const auto& value : opened->catalog().values({.run = run.id,
                                                         .names = {name},
                                                         .first_epoch = -1,
                                                         .recorded = true,
                                                         .hindsight = true})) {
        if (value.name != name) continue;  // set apart
        texts.push_back(value.place.path + " " + std::to_string(value.place.epoch) + " " +
                        std::to_string(real(value)));
      }
      break;
    }
    return texts;
  }
  /// What a recording of the program as it is now logs.
  std::vector<std::string> truth(const std::string& name) const {
    const auto recorded = run({"--flor", "truth", "--flor_every", "1"});
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    return values_of("truth", name);
  }
};

// Three folds, each a main loop; the best of each is in a variable that is not registered.
constexpr const char* kFolds = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1, best = 0;
  int best_epoch = 0;
  auto state = flor::checkpoints(w);
  for (int fold = 0; fold < 3; ++fold) {
    w = 1 + fold;
    for (int epoch : flor::loop("epoch", 4)) {
      for (int step : flor::loop("train", 5)) w = 0.7 * w + 0.1 * ((step * 7 + epoch * 3 + fold) % 5);
      if (w > best) {
        best = w;
        best_epoch = 10 * fold + epoch;
      }
    }
    // fold
  }
  // end
}
)code";

TEST_F(SeveralLoops, FromTheStartWalksEveryEarlierMainLoop) {
  record(kFolds);
  std::string text = kFolds;
  text.replace(text.find("    // fold"), 11, "    flor::log(\"h\", best + best_epoch);");
  text.replace(text.find("  // end"), 8, "  flor::log(\"end\", best + 0.5);");
  write_file(source(), text);
  build();
  const auto h = truth("h"), end = values_of("truth", "end");
  ASSERT_EQ(h.size(), 3u);
  ASSERT_EQ(end.size(), 1u);
  const std::string program = executable().string();
  const auto part = [&](const std::string& which) {
    return Words{program, "--replay_flor", which, "--flor_run", "test"};
  };
  const std::vector<std::vector<Words>> forms = {
      {{program, "--replay_flor", "--flor_run", "test"}},
      {part("0/3"), part("1/3"), part("2/3")},
      {part("1/2"), part("0/2")},
      {{FLOR_CLI, "replay", "test", "--workers", "3", "--again", "--", program}},
      {{FLOR_CLI, "replay", "test", "--workers", "2", "--again", "--", program}}};
  for (const auto& form : forms) {
    for (const Words& command : form) {
      const auto replayed = run_process(command, bench_.options());
      EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    }
    EXPECT_EQ(values_of("test", "h"), h) << ::testing::PrintToString(form);
    EXPECT_EQ(values_of("test", "end"), end) << ::testing::PrintToString(form);
  }
}

// One name, logged after each fold: a replay of some of the folds answers for these alone.
TEST_F(SeveralLoops, APartThatIsAskedSomethingElseLeavesTheOtherPartsAnswers) {
  record(kFolds);
  const auto ask = [&](const std::string& what) {
    std::string text = kFolds;
    text.replace(text.find("    // fold"), 11, "    flor::log(\"h\", " + what + ");");
    write_file(source(), text);
    build();
  };
  ask("best + best_epoch");
  ASSERT_EQ(run({"--replay_flor", "--flor_run", "test"}).status, 0);
  const auto before = values_of("test", "h");
  ASSERT_EQ(before.size(), 3u);
  ask("best - best_epoch");
  const auto after = truth("h");
  ASSERT_EQ(run({"--replay_flor", "1/3", "--flor_run", "test"}).status, 0);
  EXPECT_THAT(values_of("test", "h"), ElementsAre(before[0], after[1], before[2]));
}

TEST_F(SeveralLoops, NewMainLoopsHaveEpochsOfTheirOwn) {
  record(kFolds);
  std::string text = kFolds;
  text.replace(text.find("  // end"), 8,
               "  for (int more : flor::loop(\"more\", 2)) flor::log(\"m\", more + 0.5);\n"
               "  for (int more : flor::loop(\"last\", 2)) flor::log(\"m\", more + 9.5);");
  write_file(source(), text);
  build();
  ASSERT_THAT(truth("m"), ElementsAre("more 12 0.500000", "more 13 1.500000", "last 14 9.500000",
                                      "last 15 10.500000"));
  const auto replayed = run({"--replay_flor", "--flor_run", "test"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  // A loop that is new may compute anything, so that its values stand apart.
  EXPECT_THAT(replayed.err, HasSubstr("4 new values (doubtful)"));
  EXPECT_EQ(values_of("test", "m"), std::vector<std::string>());
  EXPECT_EQ(values_of("test", "m (doubtful, replay 1)"), truth("m"));
}

// The best so far, in a variable that nothing registers: a worker that went back to an earlier epoch
// would have that of a later one.
constexpr const char* kBest = R"code(#include <flor/flor.h>

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1, best = 0;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 9)) {
    for (int step : flor::loop("train", 5)) w = 0.7 * w + 0.1 * ((step * 7 + epoch * 3) % 5);
    if (w > best) best = w;
    flor::log("w", w);
  }
}
)code";

TEST_F(SeveralLoops, AWorkerThatWalksGoesBackToNoEpoch) {
  record(kBest);
  edit("    flor::log(\"w\", w);", "    flor::log(\"w\", w);\n    flor::log(\"best\", best);");
  const auto best = truth("best");
  ASSERT_EQ(best.size(), 9u);
  for (const Words& more : std::vector<Words>{{"--workers", "2"},
                                              {"--workers", "3"},
                                              {"--workers", "4", "--strong"},
                                              {"--workers", "2", "--verify-epochs", "all"}}) {
    const auto replayed =
        flor(Words{"replay", "test", "--again"} + more + Words{"--", executable().string()});
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    EXPECT_EQ(values_of("test", "best"), best) << ::testing::PrintToString(more);
  }
}

// A nested loop in a function of its own, which every second epoch leaves together with it.
constexpr const char* kLeaving = R"code(#include <flor/flor.h>

#include <stdexcept>

double train(double& w, int epoch) {
  for (int step : flor::loop("train", 5)) {
    w = 0.8 * w + 0.1 * step;
    if (step < 2) continue;
    if (epoch % 8 == 1) return -1;
    if (epoch % 8 == 3) goto out;
    if (epoch % 8 == 5) throw std::runtime_error("no");
    if (epoch % 8 == 7) {
      if (w > 0) return w < 0 ? 1 : -3;
    }
  }
  // behind
  return 1;
out:
  return -2;
}

int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  double w = 1;
  auto state = flor::checkpoints(w);
  for (int epoch : flor::loop("epoch", 8)) {
    double r = -4;
    try {
      r = train(w, epoch);
    } catch (const std::exception&) {
    }
    flor::log("w", w);
    // ask
  }
}
)code";

TEST_F(SeveralLoops, ANestedLoopThatIsLeftWithItsFunctionIsExecuted) {
  record(kLeaving);
  const auto same = run({"--replay_flor"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("executed train 4 times: 3 left by return, 1 not stored"));
  std::string text = kLeaving;
  text.replace(text.find("  // behind"), 11, "  flor::log(\"b\", w);");
  text.replace(text.find("    // ask"), 10, "    flor::log(\"r\", r);");
  write_file(source(), text);
  build();
  const auto r = truth("r"), b = values_of("truth", "b");
  ASSERT_EQ(r.size(), 8u);
  ASSERT_EQ(b.size(), 4u);
  for (const Words& flags : std::vector<Words>{{"1/2"}, {"0/2"}, {"--flor_init", "strong"}}) {
    const auto replayed = run(Words{"--replay_flor"} + flags + Words{"--flor_run", "test"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    if (flags.front() == "1/2") continue;
    EXPECT_EQ(values_of("test", "r"), r);
    EXPECT_EQ(values_of("test", "b"), b);
  }
}

// The reason is the true one: the source that holds the loop is not there to tell how it was left.
TEST_F(SeveralLoops, WithoutTheSourceOfALoopThatIsWhyItIsExecuted) {
  bench_.repository().write("src/steps.h",
                            "#include <flor/flor.h>\n\ninline void steps(double& w) {\n  for (int i : "
                            "flor::loop(\"train\", 5)) {\n    w += i;\n    if (i == 2) break;\n  }\n}\n");
  bench_.repository().write(".gitignore", "src/steps.h\n");
  record("#include \"steps.h\"\n\nint main(int argc, char** argv) {\n  auto session = "
         "flor::init(argc, argv);\n  double w = 1;\n  auto state = flor::checkpoints(w);\n  for (int "
         "epoch : flor::loop(\"epoch\", 3)) steps(w);\n}\n");
  const auto replayed = run({"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err,
              HasSubstr("executed train 3 times: left early, its source is not known"));
}

}  // namespace
}  // namespace flor::testing
