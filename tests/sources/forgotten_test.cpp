// What a recording is told about: variables that a loop changes, that code after it reads, and that
// are not registered; and that no program of this repository gives a false alarm.
#include "ordinary.h"
#include "sources/forgotten.h"
#include "support/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> told(const std::string& text) {
  std::vector<std::string> lines;
  for (const Forgotten& one : find_forgotten({{"train.cpp", text}})) {
    lines.push_back(one.variable + " of " + one.loop + " at " + one.where);
  }
  return lines;
}

/// `before` the main loop on line 5, `first` in each epoch on line 7, `step` in its nested loop on
/// line 9, `last` behind that on line 11, `after` everything on line 13.
struct Text {
  std::string before = "", first = "", step = "", last = "", after = "";
  std::string attached = "", functions = "";
};
std::vector<std::string> told(const Text& text) {
  return told("struct Net { double learn(int i); double norm() const { return w * w; } double w = 1; };\n" +
              text.functions + "\nint main(int argc, char** argv) {\n  auto session = flor::init(argc, argv); Net net;\n  " +
              text.before + "\n  for (int epoch : flor::loop(\"epoch\", 5)) {\n    " + text.first +
              "\n    for (int i : flor::loop(\"train\", 10" + text.attached + ")) {\n      " +
              text.step + "\n    }\n    " + text.last + "\n  }\n  " + text.after + "\n}\n");
}

const std::string kNet = "auto state = flor::checkpoints(net);";

TEST(Forgotten, ARunningSumThatIsReadBehindItsLoop) {
  EXPECT_THAT(told({.before = kNet, .first = "double sum = 0;", .step = "sum += net.learn(i);",
                    .last = "flor::log(\"mean\", sum / 10);"}),
              ElementsAre("sum of train at train.cpp:11"));
  EXPECT_THAT(told({.before = kNet, .first = "std::vector<double> losses;",
                    .step = "losses.push_back(net.learn(i));",
                    .last = "std::printf(\"%zu\", losses.size());"}),
              ElementsAre("losses of train at train.cpp:11"));
  EXPECT_THAT(told({.before = kNet, .first = "torch::Tensor total = torch::zeros({1});",
                    .step = "total += net.learn(i);", .last = "flor::log(\"t\", total);"}),
              ElementsAre("total of train at train.cpp:11"));
}

TEST(Forgotten, WhatOutlivesTheEpochs) {
  EXPECT_THAT(told({.before = "double best = 1e9; " + kNet, .step = "net.learn(i);",
                    .last = "if (net.norm() < best) best = net.norm();"}),
              ElementsAre("best of epoch at train.cpp:11"));
  EXPECT_THAT(told({.before = "double rate = 0.1; " + kNet, .first = "rate *= 0.5;",
                    .step = "net.learn(rate * i);"}),
              ElementsAre("rate of epoch at train.cpp:7"));
  EXPECT_THAT(told({.before = "int last = 0; " + kNet, .step = "net.learn(i);",
                    .last = "if (net.norm() > 2) last = epoch;", .after = "return last;"}),
              ElementsAre("last of epoch at train.cpp:13"));
  EXPECT_THAT(told({.before = "long steps = 0; " + kNet,
                    .step = "net.learn(i); if (++steps % 10 == 0) std::puts(\"ten\");"}),
              ElementsAre("steps of epoch at train.cpp:9"));
}

TEST(Forgotten, ThroughFunctionsAndReferences) {
  EXPECT_THAT(told({.before = kNet, .first = "double sum = 0; train(net, sum);",
                    .last = "flor::log(\"sum\", sum);",
                    .functions = "void train(Net& net, double& sum) { for (int i : "
                                 "flor::loop(\"fit\", 3)) sum += net.learn(i); }"}),
              ElementsAre("sum of fit at train.cpp:11"));
  EXPECT_THAT(told({.before = kNet, .first = "flor::log(\"mean\", train(net));",
                    .functions = "double train(Net& net) { double sum = 0; for (int i : "
                                 "flor::loop(\"fit\", 3)) sum += net.learn(i); return sum; }"}),
              ElementsAre("sum of fit at train.cpp:2"));
  EXPECT_THAT(told({.before = kNet, .first = "double sum = 0;", .step = "add(sum, net.learn(i));",
                    .last = "flor::log(\"sum\", sum);",
                    .functions = "void add(double& to, double by) { to += by; }"}),
              ElementsAre("sum of train at train.cpp:11"));
}

TEST(Forgotten, NotWhatIsKept) {
  const Text sum{.first = "double sum = 0;", .step = "sum += net.learn(i);",
                 .last = "flor::log(\"mean\", sum / 10);"};
  Text kept = sum;
  kept.attached = ", flor::with(sum)";
  EXPECT_THAT(told(kept), IsEmpty());
  for (const std::string state :
       {"double sum = 0; auto state = flor::checkpoints(net, sum);",
        "double sum = 0; auto state = flor::checkpoints(flor::named(\"sum\", sum));",
        "double sum = 0; if (argc > 1) state = flor::checkpoints(sum);",
        "double sum = 0; keep(sum);"}) {
    kept = sum;
    kept.before = state;
    kept.first = "";
    kept.functions = "void keep(double& value) { static auto state = flor::checkpoints(value); }";
    EXPECT_THAT(told(kept), IsEmpty()) << state;
  }
}

TEST(Forgotten, NotWhatBeginsAnewOrIsNotRead) {
  const std::vector<Text> all = {
      {.step = "double sum = 0; sum += net.learn(i); flor::log(\"sum\", sum);"},
      {.first = "double sum = 0;", .step = "sum += net.learn(i);"},  // never read
      {.first = "double sum = 0;", .step = "sum += net.learn(i);",
       .last = "sum = 0; flor::log(\"sum\", sum);"},
      {.before = "double sum;", .first = "sum = 0; sum += net.norm(); flor::log(\"s\", sum);"},
      {.before = "double sum;", .first = "sum = net.norm();", .step = "net.learn(i);",
       .after = "flor::log(\"last\", sum);"},
      {.before = "std::vector<double> all;", .first = "all.clear(); all.push_back(net.norm());",
       .last = "flor::log(\"n\", all.size());"},
      {.before = "std::vector<double> g(4);",
       .step = "for (int k = 0; k < 4; ++k) g[k] = net.learn(k); net.learn(g[1]);"},
      {.before = "double loss, share;", .first = "std::tie(loss, share) = measure(net);",
       .last = "flor::log(\"loss\", loss + share);",
       .functions = "std::pair<double, double> measure(const Net& net);"},
      {.before = "double loss;", .first = "measure(net, loss);", .last = "flor::log(\"l\", loss);",
       .functions = "void measure(const Net& net, double& to) { to = net.norm(); }"},
      {.before = "int seen = 0; ++seen; flor::log(\"seen\", seen);"},
      {.before = "const double rate = 0.1;", .step = "net.learn(rate * i);"},
      {.first = "double sum = 0;",
       .step = "for (int k : flor::loop(\"inner\", 3)) sum += net.learn(k); net.learn(sum);"},
  };
  for (Text text : all) {
    text.before = kNet + text.before;
    EXPECT_THAT(told(text), IsEmpty()) << text.before << text.first << text.step << text.last;
  }
}

TEST(Forgotten, InTheProgramsOfThisRepository) {
  const std::filesystem::path root = FLOR_SOURCE_DIR;
  std::vector<std::string> lines;
  double slowest = 0;
  for (const char* folder : {"examples", "examples/hindsight", "tests/programs", "bench"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      const auto name = entry.path().filename().string();
      if (entry.path().extension() != ".cpp" || name.ends_with("_test.cpp")) continue;
      std::vector<SourceText> texts = {{name, testing::read_file(entry.path())}};
      for (const auto& header : std::filesystem::directory_iterator(entry.path().parent_path())) {
        const auto other = header.path().filename().string();
        if (header.path().extension() == ".h" || other == "data.cpp") {
          if (other != name) texts.push_back({other, testing::read_file(header.path())});
        }
      }
      const auto began = std::chrono::steady_clock::now();
      for (const Forgotten& one : find_forgotten(texts)) {
        lines.push_back(one.where.substr(0, one.where.find(':')) + " " + one.variable);
      }
      slowest = std::max(slowest, std::chrono::duration<double>(
                                      std::chrono::steady_clock::now() - began).count());
    }
  }
  std::printf("the slowest took %.0f ms\n", slowest * 1000);
  // Times that the benchmarks take in each epoch and print at the end: a resume would lose them.
  // Elements of a container that are registered one by one. What a program read in an epoch, and
  // counts over several loops, of which tests want that a resume does not know them.
  EXPECT_THAT(lines, UnorderedElementsAre("total_loss.cpp background", "total_loss.cpp copy",
                                          "gpu_stall.cpp copy", "epochs.cpp objects",
                                          "pipeline.cpp sum", "documents.cpp number"));
}

TEST(Forgotten, InOrdinaryTrainings) {
  std::vector<std::string> lines;
  for (const testing::Training& training : testing::ordinary_trainings()) {
    std::vector<SourceText> texts = {{training.name, training.text}};
    for (const auto& [path, text] : training.others) texts.push_back({path, text});
    for (const Forgotten& one : find_forgotten(texts)) {
      lines.push_back(one.where + " " + one.variable + " of " + one.loop);
    }
  }
  EXPECT_THAT(lines, IsEmpty());
}

}  // namespace
}  // namespace flor::sources
