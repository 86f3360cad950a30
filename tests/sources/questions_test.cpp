// What a loop leaves in variables that nobody keeps, and who asks for it afterwards.
#include "sources/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The line that asks is where the program has //ASK.
Analysis asked_line(const std::string& program, const std::string& line) {
  std::string now = program;
  now.replace(now.find("//ASK"), 5, line);
  AnalysisInput input;
  input.changed.push_back({"train.cpp", program, now});
  input.program = "/project/train.cpp";
  input.nested = {"train", "test"};
  input.main = {"epoch"};
  return Analysis(std::move(input));
}

std::vector<std::string> stepped_into(const std::string& program, const std::string& line) {
  std::vector<std::string> loops;
  const Analysis analysis = asked_line(program, line);
  for (const auto& touched : analysis.touched()) loops.push_back(touched.loop);
  return loops;
}

/// A main with the given state, training and what follows it in the epoch.
std::string program(const std::string& state, const std::string& step, const std::string& tail) {
  return R"(struct Net {
  double learn(int i) { return weight += 0.1 * i; }
  void check(int i) const { std::printf("%d %f", i, weight); }
  void nudge(int i) { weight *= 1 + 0.01 * i; }
  void use(const Tensor& data) { weight += data.sum().item<double>(); }
  double norm() const { return weight * weight; }
  double loss(const Tensor& data) const { return weight * data.sum().item<double>(); }
  void save(flor::StateWriter& writer) const { writer.value("weight", weight); }
  double weight = 1;
};
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Net net;
  )" + state +
         R"(
  for (int epoch : flor::loop("epoch", 5)) {
    double sum = 0;
    std::vector<double> losses;
    for (int i : flor::loop("train", 10)) {
      const double loss = net.learn(i);
      )" +
         step +
         R"(
    }
    for (int i : flor::loop("test", 3)) net.check(i);
    )" + tail +
         R"(
  }
}
)";
}
const std::string kState = "auto state = flor::checkpoints(net);";

TEST(Questions, ARunningSumThatIsAskedForBehindItsLoopExecutesTheLoop) {
  const std::string text = program(kState, "sum += loss;", "//ASK");
  EXPECT_THAT(stepped_into(text, "flor::log(\"mean\", sum / 10);"), ElementsAre("train"));
  EXPECT_THAT(asked_line(text, "flor::log(\"mean\", sum / 10);").touched().front().why,
              HasSubstr("'sum' that the loop may leave behind and that is not registered"));
  EXPECT_THAT(stepped_into(text, "const double mean = sum / 10; flor::log(\"mean\", mean);"),
              ElementsAre("train"));
  EXPECT_THAT(stepped_into(text, "flor::log(\"epoch\", epoch);"), IsEmpty());
  EXPECT_THAT(stepped_into(text, "flor::log(\"net\", net.norm());"), IsEmpty());
}

TEST(Questions, ContainersAndTensorsThatAreChangedInPlaceCount) {
  EXPECT_THAT(stepped_into(program(kState, "losses.push_back(loss);", "//ASK"),
                           "flor::log(\"n\", losses.size());"),
              ElementsAre("train"));
  EXPECT_THAT(
      stepped_into(program(kState, "losses[i] = loss;", "//ASK"), "flor::log(\"n\", losses[0]);"),
      ElementsAre("train"));
  EXPECT_THAT(stepped_into(program("Tensor seen;" + kState, "seen.add_(1);", "//ASK"),
                           "flor::log(\"seen\", seen);"),
              ElementsAre("train"));
  EXPECT_THAT(stepped_into(program("Tensor data;" + kState, "net.use(data.slice(i));", "//ASK"),
                           "flor::log(\"data\", net.loss(data));"),
              IsEmpty())
      << "what is only read is as it was";
}

TEST(Questions, WhatIsAttachedOrRegisteredOrTheLoopsOwnIsKept) {
  std::string attached = program(kState, "sum += loss;", "//ASK");
  attached.replace(attached.find("10))"), 4, "10, flor::with(sum)))");
  EXPECT_THAT(stepped_into(attached, "flor::log(\"mean\", sum / 10);"), IsEmpty());
  const std::string registered =
      program("long steps = 0; auto state = flor::checkpoints(net, steps);", "++steps;", "//ASK");
  EXPECT_THAT(stepped_into(registered, "flor::log(\"steps\", steps);"), IsEmpty());
  EXPECT_THAT(asked_line(registered, "flor::log(\"steps\", steps);").walk(), IsEmpty());
  EXPECT_THAT(stepped_into(program(kState, "double norm = 0; norm += loss;",
                                   "const double norm = net.norm(); //ASK"),
                           "flor::log(\"norm\", norm);"),
              IsEmpty());
}

TEST(Questions, AreFollowedThroughVariablesFunctionsAndReferences) {
  EXPECT_THAT(stepped_into(program(kState, "sum += loss;",
                                   "const double mean = sum / 10; double scaled = 2 * mean; //ASK"),
                           "flor::log(\"scaled\", scaled);"),
              ElementsAre("train"));
  const std::string returned = R"(double train(Net& net) {
  double sum = 0;
  for (int i : flor::loop("train", 10)) sum += net.learn(i);
  return sum / 10;
}
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Net net;
  auto state = flor::checkpoints(net);
  for (int epoch : flor::loop("epoch", 5)) {
    const double mean = train(net);
    //ASK
  }
}
)";
  EXPECT_THAT(stepped_into(returned, "flor::log(\"mean\", mean);"), ElementsAre("train"));
  EXPECT_THAT(stepped_into(returned, "flor::log(\"norm\", net.norm());"), IsEmpty());
  const std::string referred = R"(void train(Net& net, double& sum) {
  for (int i : flor::loop("train", 10)) sum += net.learn(i);
}
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  Net net;
  auto state = flor::checkpoints(net);
  for (int epoch : flor::loop("epoch", 5)) {
    double total = 0;
    train(net, total);
    //ASK
  }
}
)";
  EXPECT_THAT(stepped_into(referred, "flor::log(\"total\", total);"), ElementsAre("train"));
  const std::string member = R"(struct Trainer {
  void epoch() {
    for (int i : flor::loop("train", 10)) running_ += net_.learn(i);
  }
  void report() {
    //ASK
  }
  Net net_;
  double running_ = 0;
};
)";
  EXPECT_THAT(stepped_into(member, "flor::log(\"running\", running_);"), ElementsAre("train"));
}

TEST(Questions, MethodsInPlaceChangeTheirTensorAndNothingThatTheyAreGiven) {
  const std::string text = R"(int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const auto [train, test] = load();
  torch::nn::Sequential net(torch::nn::Linear(4, 2));
  auto marks = torch::zeros({10});
  auto state = flor::checkpoints(net);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int i : flor::loop("train", 10)) net->forward(train.images).sum().backward();
    //ASK
  }
}
)";
  const auto table = [](const std::string& method, const std::string& what) {
    return "auto table = torch::zeros({10, 10}); table." + method + "; flor::log_table(\"t\", " +
           what + ");";
  };
  for (const char* method : {"index_put_({test.labels, test.digits}, torch::ones({}), true)",
                             "add_(test.images)", "copy_(test.images)",
                             "scatter_(0, test.labels, test.images)"}) {
    EXPECT_THAT(asked_line(text, table(method, "table")).walk(), IsEmpty()) << method;
    EXPECT_THAT(stepped_into(text, table(method, "table")), IsEmpty()) << method;
  }
  EXPECT_THAT(asked_line(text, "marks.add_(1); flor::log(\"marks\", marks.sum());").walk(),
              HasSubstr("'marks' that epoch changes"));
  EXPECT_THAT(asked_line(text,
                         "auto alias = torch::zeros({}); alias.set_(marks); alias.add_(1); "
                         "flor::log(\"marks\", marks.sum());")
                  .walk(),
              HasSubstr("'marks' that epoch changes"));
}

TEST(Questions, WhatOutlivesEpochsIsAskedForFromTheStart) {
  const std::string text = program("double best = 1e9; " + kState, "net.nudge(i);",
                                   "if (net.norm() < best) best = net.norm(); //ASK");
  EXPECT_THAT(asked_line(text, "flor::log(\"best\", best);").walk(),
              HasSubstr("'best' that epoch changes and that is not registered"));
  EXPECT_THAT(stepped_into(text, "flor::log(\"best\", best);"), IsEmpty());
  EXPECT_THAT(asked_line(text, "flor::log(\"norm\", net.norm());").walk(), IsEmpty());
  EXPECT_THAT(
      asked_line(program(kState, "sum += loss;", "//ASK"), "flor::log(\"sum\", sum);").walk(),
      IsEmpty())
      << "each epoch begins it anew";
}

// Code that the sources do not show may keep anything, and share it with other such code.
constexpr const char* kWithLibrary = R"(#include <library.h>
double load() { return library::open("data"); }
double ask_library() { return library::total(); }
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const double data = load();
  double rate = 0;
  std::mt19937 generator(3);
  library::Engine engine, other, registered;
  auto state = flor::checkpoints(rate, registered);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int i : flor::loop("train", 10)) {
      rate += generator() * data;
      LEAVE
    }
    //ASK
  }
}
)";

std::string leaving(const std::string& statement) {
  std::string text = kWithLibrary;
  return text.replace(text.find("LEAVE"), 5, statement);
}
std::string logged(const std::string& value) { return "flor::log(\"q\", " + value + ");"; }

TEST(Questions, OfCodeThatIsNotShownExecuteLoopsThatCallSuchCode) {
  for (const char* statement :
       {"library::advance();", "library::Engine::get().step();", "advance(3);", "engine.step();",
        "library::counter++;", "library::counter = 3;", "engine(3);", "std::srand(3);",
        "cudaMemcpy(a, b, 3);", "[&] { library::advance(); }();", "LIBRARY_STEP(3);"}) {
    for (const char* read :
         {"library::total()", "library::Engine::get().count()", "total_of_library()",
          "ask_library()", "2 * library::total()", "library::counter", "std::rand()",
          "other.total()"}) {
      const Analysis analysis = asked_line(leaving(statement), logged(read));
      EXPECT_EQ(analysis.touched().size(), 1u) << statement << " " << read;
      EXPECT_FALSE(analysis.proof().proven) << statement << " " << read;
    }
  }
}

TEST(Questions, OfWhatIsShownSkipLoopsThatCallCodeWhichIsNot) {
  for (const char* statement : {"library::advance();", "engine.step();", "advance(3);",
                                "std::printf(\"%d\", i);", "fmt::print(\"{}\", i);"}) {
    for (const char* read : {"rate", "data", "std::sqrt(rate)", "fmt::format(\"{}\", rate)",
                             "registered.total()", "library::kLimit * rate", "epoch + rate"}) {
      EXPECT_THAT(stepped_into(leaving(statement), logged(read)), IsEmpty())
          << statement << " " << read;
    }
  }
  for (const char* read : {"library::total()", "ask_library()", "other.total()"}) {
    EXPECT_THAT(stepped_into(leaving("rate *= 2;"), logged(read)), IsEmpty())
        << read << ": the loop calls nothing that is not shown";
  }
}

}  // namespace
}  // namespace flor::sources
