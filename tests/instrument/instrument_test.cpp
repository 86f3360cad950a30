// The lines that flor instrument writes, and the questions that it asks.
#include "inputs.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::instrument::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Instrument, AWholeTrainingAsItsAuthorWouldHaveWrittenIt) {
  EXPECT_EQ(text_of(R"(#include <torch/torch.h>

#include <cstdio>

int main() {
  torch::nn::Linear net(2, 1);
  torch::optim::Adam optimizer(net->parameters(), 1e-3);
  auto x = torch::rand({64, 2});

  // The training
  for (int epoch = 0; epoch < 10; ++epoch) {
    double sum = 0;
    for (int step = 0; step < 20; ++step) {
      auto loss = net(x).square().mean();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      sum += loss.item<double>();
    }
    std::printf("%d: %f\n", epoch, sum);
  }
}
)"),
            R"(#include <flor/flor.h>
#include <flor/torch.h>
#include <torch/torch.h>

#include <cstdio>

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  torch::nn::Linear net(2, 1);
  torch::optim::Adam optimizer(net->parameters(), 1e-3);
  auto x = torch::rand({64, 2});
  const auto state = flor::checkpoints(net, optimizer);

  // The training
  for (int epoch : flor::loop("epoch", 10)) {
    double sum = 0;
    for ([[maybe_unused]] int step : flor::loop("train", 20, flor::with(sum))) {
      auto loss = net(x).square().mean();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      sum += loss.item<double>();
    }
    std::printf("%d: %f\n", epoch, flor::log("sum", sum));
  }
}
)");
}

TEST(Instrument, TheProgramsThatAreTrainedRaiseNoQuestion) {
  for (const auto& file : input_files()) {
    const std::string text = flor::testing::read_file(file);
    const Instrumented result = of(text);
    EXPECT_THAT(result.questions, IsEmpty()) << file;
    EXPECT_THAT(result.loops, Not(IsEmpty())) << file;
    EXPECT_THAT(result.files, SizeIs(1)) << file;
  }
}

TEST(Instrument, AProgramThatUsesFlorIsLeftAlone) {
  const std::string before = program({});
  const std::string once = text_of(before);
  EXPECT_NE(once, before);
  const Instrumented twice = of(once);
  EXPECT_EQ(twice.already, "train.cpp:1");
  EXPECT_THAT(twice.files, IsEmpty());
  EXPECT_EQ(of("int main() { flor::init(); }\n").already, "train.cpp:1");
}

TEST(Instrument, FormsOfMain) {
  const auto head = [](const std::string& main) {
    const std::string text = program({});
    const std::string old = "int main() {";
    return text_of(std::string(text).replace(text.find(old), old.size(), main));
  };
  EXPECT_THAT(head("int main(void) {"), HasSubstr("int main(int argc, char** argv) {"));
  EXPECT_THAT(head("auto main() -> int {"), HasSubstr("auto main(int argc, char** argv) -> int {"));
  EXPECT_THAT(head("int main(int n, const char* words[]) {"), HasSubstr("flor::init(n, words);"));
  EXPECT_THAT(head("int main(int argc, char* argv[]) {"), HasSubstr("flor::init(argc, argv);"));
  EXPECT_THAT(head("int main(int, char**) {"), HasSubstr("flor::init();"));
  EXPECT_THAT(head("int main(const int argc, char** argv) {"), HasSubstr("flor::init();"));
  EXPECT_THAT(head("int main(int argc, char* const argv[]) {"), HasSubstr("flor::init();"));
  EXPECT_THAT(head("int main() { int argc = 1;"), HasSubstr("flor::init();"));
  EXPECT_THAT(head("int main() { int session = 1;"), HasSubstr("flor_session = flor::init("));
}

TEST(Instrument, AsksAboutStateThatItDoesNotKnow) {
  EXPECT_THAT(
      questions_of(program({.top = "struct Buffer { std::vector<int> all; void add(int n) { "
                                   "all.push_back(n); } };",
                            .before = "Buffer buffer;",
                            .step = "buffer.add(i);"})),
      ElementsAre(HasSubstr("'buffer' (Buffer)")));
  EXPECT_THAT(questions_of(program({.top = "int seen = 0;", .step = "++seen;"})),
              ElementsAre(HasSubstr("'seen', which is a global variable")));
  EXPECT_THAT(questions_of(program({.before = "static int seen = 0;", .step = "++seen;"})),
              ElementsAre(HasSubstr("'seen', which is kept by a function")));
  EXPECT_THAT(questions_of(program({.before = "double* sum = new double(0);",
                                    .step = "*sum += 1;",
                                    .last = "std::printf(\"%f\", *sum);"})),
              ElementsAre(HasSubstr("'sum'")));
  EXPECT_THAT(
      questions_of(program({.before = "std::ofstream out(\"log\");", .last = "out << epoch;"})),
      ElementsAre(HasSubstr("flor::output")));
}

TEST(Instrument, AsksAboutPointersThatGetAnotherObjectOrHaveNone) {
  const std::string net = "auto deep = std::make_shared<Deep>();";
  const auto asks = [&](const std::string& before, const std::string& last, const char* says,
                        const std::string& more = "") {
    const std::string text = program({.top = "struct Deep : torch::nn::Module {};\n" + more,
                                      .before = net + before,
                                      .step = "deep->forward(x);",
                                      .last = last});
    EXPECT_THAT(questions_of(text), ElementsAre(HasSubstr(says))) << before << last;
    EXPECT_THAT(text_of(text), Not(HasSubstr("*best)"))) << before;
    EXPECT_THAT(text_of(text), HasSubstr("flor::checkpoints(net, optimizer, *deep)"));
  };
  const char* another = "'best' (shared_ptr<Deep>) may get another object in the loop";
  const std::string made = "std::shared_ptr<Deep> best = std::make_shared<Deep>();";
  asks("std::shared_ptr<Deep> best;", "best = std::make_shared<Deep>(*deep);", another);
  asks(made, "best = deep;", another);
  asks(made, "best.reset(new Deep);", another);
  asks(made, "take(best, deep);", another,
       "void take(std::shared_ptr<Deep>& to, const std::shared_ptr<Deep>& from) { to = from; }");
  asks(made + "auto take = [&] { best = deep; };", "take();", another);
  asks("std::shared_ptr<Deep> best;", "if (best) best->forward(x);",
       "'best' (shared_ptr<Deep>) may hold no object where the loop begins");
  // What surely is one object stays registered.
  const auto registers = [&](const std::string& before, const std::string& last,
                             const std::string& more = "") {
    const Instrumented result = of(program(
        {.top = "struct Deep : torch::nn::Module {};\n" + more, .before = before, .step = last}));
    EXPECT_THAT(result.questions, IsEmpty()) << before;
    EXPECT_THAT(result.registered, ElementsAre("net", "optimizer", "*best")) << before;
  };
  registers(made, "best->forward(x);");
  registers("std::shared_ptr<Deep> best; best = std::make_shared<Deep>();", "best->forward(x);");
  registers(made, "run(best);", "void run(std::shared_ptr<Deep>& deep) { deep->forward(1); }");
}

TEST(Instrument, AsksAboutObjectsThatAreSwapped) {
  const std::string
      top =
          "struct Deep : torch::nn::Module {};\nstruct NetImpl : torch::nn::Module {}; "
          "TORCH_MODULE(Net);\n",
      pointers = "auto a = std::make_shared<Deep>(), b = std::make_shared<Deep>();",
      uses = "a->forward(x); b->forward(x);";
  const auto asked = [&](const std::string& before, const std::string& step,
                         const std::string& last, const std::string& more = "") {
    return questions_of(program({.top = top + more, .before = before, .step = step, .last = last}));
  };
  for (const char* last :
       {"std::swap(a, b);", "std::swap((a), (b));", "a.swap(b);", "std::ranges::swap(a, b);",
        "a = std::exchange(b, a);", "std::iter_swap(&a, &b);", "auto& r = a; r.swap(b);"}) {
    EXPECT_THAT(asked(pointers, uses, last), ElementsAre(HasSubstr("'a' (make_shared<Deep>) may"),
                                                         HasSubstr("'b' (make_shared<Deep>) may")))
        << last;
  }
  EXPECT_THAT(asked(pointers, uses, "flip(a, b);",
                    "void flip(std::shared_ptr<Deep>& p, std::shared_ptr<Deep>& q);"),
              ElementsAre(HasSubstr("'a' (make_shared<Deep>) may"), HasSubstr("'b'")));
  EXPECT_THAT(asked("Net a, b;", uses, "std::swap(a, b);"),
              ElementsAre(HasSubstr("'a' (Net) may get another object"), HasSubstr("'b' (Net)")));
  const std::string all = "std::vector<std::shared_ptr<Deep>> all{std::make_shared<Deep>()};",
                    each = "for (auto& one : all) one->forward(x);";
  for (const char* last :
       {"std::swap(all[0], all[1]);", "all[0] = all[1];", "all.at(0).reset(new Deep);",
        "all.push_back(std::make_shared<Deep>());", "std::reverse(all.begin(), all.end());",
        "for (auto& one : all) one = std::make_shared<Deep>();"}) {
    EXPECT_THAT(asked(all, each, last),
                ElementsAre(HasSubstr("'all' (vector) may get other objects in the loop")))
        << last;
  }
  EXPECT_THAT(asked(all, each, ""), IsEmpty());
  EXPECT_THAT(asked("std::vector<double> a(2), b(2);", "a[0] += 1;", "std::swap(a, b);"),
              IsEmpty());
}

TEST(Instrument, EachMainLoopHasItsStateWhereItRuns) {
  const auto loop = [](const std::string& optimizer) {
    return "for (int epoch = 0; epoch < 3; ++epoch) { net(x).backward(); " + optimizer +
           ".step(); }\n";
  };
  const auto all = [&](const std::string& body) {
    return text_of(
        "#include <torch/torch.h>\nint main() {\ntorch::nn::Linear net(2, 1);\n"
        "auto x = torch::rand({4, 2});\n" +
        body + "}\n");
  };
  const std::string sgd = "torch::optim::SGD a(net->parameters(), 0.1);\n",
                    adam = "torch::optim::Adam b(net->parameters(), 0.1);\n";
  const std::string blocks = all("{\n" + sgd + loop("a") + "}\n{\n" + adam + loop("b") + "}\n");
  EXPECT_THAT(blocks, HasSubstr("state = flor::checkpoints(net, a);"));
  EXPECT_THAT(blocks, HasSubstr("state = flor::checkpoints(net, b);"));
  const std::string one = all(sgd + loop("a") + adam + loop("b"));
  EXPECT_THAT(one, HasSubstr("const auto state = flor::checkpoints(net, a);"));
  EXPECT_THAT(one, HasSubstr("const auto state2 = flor::checkpoints(b);"));
  const std::string nested = all(sgd + loop("a") + "{\n" + adam + loop("b") + "}\n");
  EXPECT_THAT(nested, HasSubstr("const auto state2 = flor::checkpoints(b);"));
  const std::string used = all("int state2 = 0;\n" + sgd + loop("a") + adam + loop("b"));
  EXPECT_THAT(used, HasSubstr("const auto state22 = flor::checkpoints(b);"));
}

TEST(Instrument, AsksAboutSeedsLoadersAndThreads) {
  EXPECT_THAT(questions_of(program({.before = "std::mt19937 random(std::random_device{}());"})),
              ElementsAre(HasSubstr("another seed")));
  EXPECT_THAT(questions_of(program({.before = "torch::manual_seed(std::time(nullptr));"})),
              ElementsAre(HasSubstr("another seed")));
  EXPECT_THAT(questions_of(program({.step = "int k = std::rand();"})),
              ElementsAre(HasSubstr("calls rand")));
  EXPECT_THAT(questions_of(program({.step = "auto k = torch::rand({2});"})), IsEmpty());
  EXPECT_THAT(questions_of(program({.step = "std::thread other(f);"})),
              ElementsAre(HasSubstr("starts a thread")));
  const std::string data =
      "auto set = Data().map(torch::data::transforms::Stack<>()); auto loader = ";
  const auto loads = [&](const std::string& made, const std::string& get) {
    return questions_of(program(
        {.top = "struct Data : torch::data::datasets::Dataset<Data> { torch::data::Example<> "
                "get(size_t i) override { " +
                get +
                " return {x_[i], y_[i]}; } torch::Tensor x_, y_; "
                "size_t calls_ = 0; };",
         .before = data + made,
         .steps = "for (auto& batch : *loader)"}));
  };
  const std::string plain = "torch::data::make_data_loader(std::move(set), 8);";
  EXPECT_THAT(loads(plain, ""), IsEmpty());
  EXPECT_THAT(loads(plain, "++calls_;"), ElementsAre(HasSubstr("Data changes itself")));
  EXPECT_THAT(
      loads("torch::data::make_data_loader<torch::data::samplers::DistributedRandomSampler>("
            "std::move(set), 8);",
            ""),
      ElementsAre(HasSubstr("DistributedRandomSampler")));
  EXPECT_THAT(loads("torch::data::make_data_loader(std::move(set), "
                    "torch::data::DataLoaderOptions(8).workers(2));",
                    "auto noise = torch::randn({2});"),
              ElementsAre(HasSubstr("several workers")));
}

TEST(Instrument, AQuestionIsOneLineInOneForm) {
  const Instrumented result = of(program({.top = "int seen = 0;", .step = "++seen; std::rand();"}));
  ASSERT_THAT(result.questions, SizeIs(2));
  const auto lines = flor::testing::lines_of(result.files.front().after);
  for (const Question& question : result.questions) {
    EXPECT_EQ(lines.at(question.line - 1), "  // flor: " + question.text);
    EXPECT_TRUE(question.text.ends_with('?'));
  }
}

TEST(Instrument, RefusesWhatItCannotTell) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      of(text);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refusal("int f();\n"), HasSubstr("has no main: name the file that has it"));
  EXPECT_THAT(refusal("int main() { return 0; }\n"), HasSubstr("no loop that trains"));
  EXPECT_THAT(refusal(""), HasSubstr("has no main"));
  const std::string two =
      "int main() {\n  double a = 1, b = 1;\n  for (int i = 0; i < 3; ++i) a *= 2;\n"
      "  for (int k = 0; k < 3; ++k) b += a * b;\n  return a + b > 3;\n}\n";
  EXPECT_THAT(refusal(two), HasSubstr("(train.cpp:3, train.cpp:4): say which with --line LINE"));
  EXPECT_THAT(text_of(two, 4), HasSubstr("for ([[maybe_unused]] int k : flor::loop("));
  EXPECT_THROW(of(two, 2), UsageError);
  EXPECT_THROW(of(two, 400), UsageError);
}

TEST(Instrument, AModelForEachFoldMakesItsEpochsTheMainLoop) {
  const std::string text =
      flor::testing::read_file(std::filesystem::path(FLOR_TEST_INPUTS) / "folds.cpp");
  EXPECT_THAT(text_of(text), HasSubstr("for (int fold = 0; fold < 2; ++fold)"));
  EXPECT_THAT(of(text).registered, ElementsAre("*model", "optimizer"));
}

TEST(Instrument, ValuesThatClocksMadeAreNotLogged) {
  EXPECT_THAT(
      of(program({.each = "const auto begin = std::chrono::steady_clock::now();",
                  .last = "const double s = (std::chrono::steady_clock::now() - begin).count() "
                          "/ 1e9; std::printf(\"%f\", s);"}))
          .logged,
      IsEmpty());
  EXPECT_THAT(
      of(program({.last = "const double n = x.norm().item<double>(); std::cout << n;"})).logged,
      ElementsAre("n"));
  EXPECT_THAT(of(program({.last = "double n = 1; std::cout << n; std::cout << n;"})).logged,
              IsEmpty());
}

TEST(Instrument, SourcesThatAreNoProgramsAreRefusedOrAsked) {
  for (const auto& file : input_files()) {
    const std::string text = flor::testing::read_file(file);
    for (std::size_t size = 0; size < text.size(); size += 97) {
      try {
        of(text.substr(0, size));  // any text gives a result or an Error
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace flor::instrument::testing
