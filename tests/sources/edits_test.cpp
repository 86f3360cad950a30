// Edits of a training program: which of its loops each of them concerns, and whether it changes
// what is computed.
#include "corpus.h"
#include "sources/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

using Files = std::map<std::string, std::string>;
using Names = std::set<std::string>;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Names kNested = {"warm", "train", "tune", "swap", "test", "validate"};

Analysis analyse(const Files& before, const Files& now) {
  AnalysisInput input;
  input.program = "/home/somebody/project/train.cpp";
  input.nested = kNested;
  std::set<std::string> paths;
  for (const auto* files : {&before, &now}) {
    for (const auto& [path, text] : *files) paths.insert(path);
  }
  for (const std::string& path : paths) {
    const auto a = before.find(path), b = now.find(path);
    if (a != before.end() && b != now.end() && a->second == b->second) {
      input.rest.push_back({path, b->second});
      continue;
    }
    ChangedText changed{path, {}, {}};
    if (a != before.end()) changed.before = a->second;
    if (b != now.end()) changed.now = b->second;
    input.changed.push_back(std::move(changed));
  }
  return Analysis(std::move(input));
}

Names touched(const Analysis& analysis) {
  Names names;
  for (const auto& entry : analysis.touched()) names.insert(entry.loop);
  return names;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the program has no: " + from);
  return text.replace(at, from.size(), to);
}
struct Edit {
  const char* what;
  const char* file;
  std::string from, to;
  Names loops;            // that must be executed again
  bool computes = false;  // it is told as a change of the computation
  Names more = {};        // that are executed although a person could tell they need not
};

const Names kAll = kNested;

std::vector<Edit> edits() {
  return {
      {"a log line at the end of the epoch",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    flor::log(\"rate\", optimizer.rate);",
       {}},
      {"a log line before the main loop",
       "train.cpp",
       "  Options options;",
       "  Options options;\n  flor::log(\"rate\", options.rate);",
       {}},
      {"a log line in the training loop",
       "train.cpp",
       "      running += smooth(loss);",
       "      running += smooth(loss);\n      flor::log(\"loss\", loss);",
       {"train"}},
      {"a log line at the beginning of the training loop",
       "train.cpp",
       "flor::with(running))) {",
       "flor::with(running))) {\n      flor::log(\"b\", batch.data);",
       {"train"}},
      {"a log line right behind the training loop",
       "train.cpp",
       "      report(loss, epoch);\n    }",
       "      report(loss, epoch);\n    }\n    flor::log(\"running\", running);",
       {}},
      {"a log line right before the training loop",
       "train.cpp",
       "    pretrain(net, data);\n",
       "    pretrain(net, data);\n    flor::log(\"rate\", optimizer.rate);\n",
       {}},
      {"a printed line in the training loop",
       "train.cpp",
       "      CHECKED(loss < 1e6);",
       "      CHECKED(loss < 1e6);\n      std::printf(\"%f\\n\", loss);",
       {"train"}},
      {"a streamed line in the training loop",
       "train.cpp",
       "      CHECKED(loss < 1e6);",
       "      CHECKED(loss < 1e6);\n      std::cout << loss << std::endl;",
       {"train"}},
      {"a value that is wrapped by a log",
       "train.cpp",
       "const double loss = learn(net, batch);",
       "const double loss = flor::log(\"loss\", learn(net, batch));",
       {"train"}},
      {"a log of a variable made for it",
       "train.cpp",
       "      report(loss, epoch);",
       "      report(loss, epoch);\n      double largest = 0;\n      for (double p : "
       "net.parameters()) largest = std::max(largest, p);\n      flor::log(\"largest\", largest);",
       {"train"}},
      {"a log under a condition",
       "train.cpp",
       "      report(loss, epoch);",
       "      report(loss, epoch);\n      if (loss > 3) flor::log(\"large\", loss);",
       {"train"}},
      {"a log of a local whose name another block has",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    { double loss = 0; for (int k = 0; k < 3; ++k) loss += k; "
       "flor::log(\"sum\", loss); }",
       {}},
      {"a log in a loop over a name that another loop has",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    for (int k = 0; k < 3; ++k) flor::log(\"k\", k);",
       {}},
      {"a loop that changes a variable of that name",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    for (running = 0; running < 3; ++running) "
       "flor::log(\"k\", running);",
       {},
       true},
      {"a block that changes a variable before it declares one of that name",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    { running = 1; double running = 2; flor::log(\"r\", "
       "running); }",
       {},
       true},
      {"a variable that is changed after a block with one of that name",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    if (epoch > 2) { double running = 2; flor::log(\"r\", "
       "running); }\n    running = 1;",
       {},
       true},
      {"a declaration that takes the name of a variable for what follows",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    double options = 0;\n    options += 1;\n    optimizer.rate *= 0.9;",
       {},
       true},
      {"a loop that changes what it refers to",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    for (auto& p : net.parameters()) p = 0;",
       {},
       true},
      {"a change through a new reference",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    double& zz = net.parameters()[0];\n    zz += 1;",
       {},
       true},
      {"a change through a new pointer",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    double* zz = &net.parameters()[0];\n    *zz = 1;",
       {},
       true},
      {"a method of what a new reference leads to",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    auto& zz = net;\n    zz.nudge(3);",
       {},
       true},
      {"a loop over references to pairs",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    for (auto& [a, b] : pairs()) b = 0;",
       {},
       true},
      {"references to the parts of what is there",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    auto& [a, b] = parts();\n    b = 0;",
       {},
       true},
      {"a change through a new iterator",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    auto it = net.parameters().begin();\n    *it = 0;",
       {},
       true},
      {"a method through a new pointer",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    auto zz = &net;\n    zz->nudge(3);",
       {},
       true},
      {"a log of what a reference leads to",
       "train.cpp",
       "    optimizer.rate *= 0.9;",
       "    optimizer.rate *= 0.9;\n    const auto& zz = net.parameters();\n    flor::log(\"p\", "
       "zz[0]);",
       {}},
      {"a log in a loop inside the training loop",
       "train.cpp",
       "net.nudge(k);",
       "{ net.nudge(k); flor::log(\"k\", k); }",
       {"train"}},
      {"a log in a helper that the training loop calls",
       "train.cpp",
       "  clip(net.parameters(), 2.0);",
       "  clip(net.parameters(), 2.0);\n  flor::log(\"loss\", loss);",
       {"train"}},
      {"a log in a helper of the helper, a template",
       "train.cpp",
       "  return norm;",
       "  flor::log(\"norm\", norm);\n  return norm;",
       {"train"}},
      {"a log in a lambda that the loop calls",
       "train.cpp",
       "{ return decay * value; }",
       "{ flor::log(\"smooth\", value); return decay * value; }",
       {"train"}},
      {"a log in a member function in a header",
       "model.h",
       "{ weights_[0] += 1e-3 * k; }",
       "{ weights_[0] += 1e-3 * k; flor::log(\"w\", weights_[0]); }",
       {"train"}},
      {"a log in a member function of another file",
       "model.cpp",
       "p -= rate * gradient;",
       "p -= rate * gradient;\n  flor::log(\"rate\", rate);",
       {"train"}},
      {"a log in what every loop calls",
       "model.h",
       "    return y * scale_;",
       "    flor::log(\"y\", y);\n    return y * scale_;",
       {"warm", "train", "test", "validate"},
       false,
       {"tune", "swap"}},
      {"a log in a function of another file",
       "metrics.cpp",
       "#ifdef SQUARED\n",
       "  flor::log(\"y\", y);\n#ifdef SQUARED\n",
       {"test", "validate"}},
      {"a log in a function in a namespace",
       "metrics.cpp",
       "return x < 0 ? -x : x;",
       "flor::log(\"x\", x); return x < 0 ? -x : x;",
       {"test", "validate"}},
      {"a log in a function that is called behind the loops",
       "metrics.cpp",
       "  std::printf(\"%f\\n\", total);",
       "  std::printf(\"%f\\n\", total);\n  flor::log(\"total\", total);",
       {"test"}},  // which fills `history`, and that is not registered that
      {"a log in a loop of a helper that the main loop calls",
       "train.cpp",
       "    net.forward(batch.data);\n  }",
       "    net.forward(batch.data);\n    flor::log(\"warm\", batch.data);\n  }",
       {"warm"}},
      {"a log behind the loop of such a helper",
       "train.cpp",
       "  return sum;",
       "  flor::log(\"sum\", sum);\n  return sum;",
       {}},
      {"a log in an operator",
       "model.h",
       "    gradient += x;\n",
       "    gradient += x;\n    flor::log(\"x\", x);\n",
       {},
       false,
       kAll},
      {"a log in a destructor",
       "model.h",
       "{ rate = 0; }",
       "{ rate = 0; flor::log(\"end\", 1); }",
       {},
       false,
       kAll},
      {"a log in a constructor",
       "model.h",
       "scale_{1.0} {}",
       "scale_{1.0} { flor::log(\"hidden\", hidden); }",
       {},
       false,
       kAll},
      {"the first of two loops on a line",
       "train.cpp",
       "optimizer.tune(i);",
       "flor::log(\"i\", i);",
       {"tune"},
       true},
      {"the second of two loops on a line",
       "train.cpp",
       "net.exchange(j);",
       "{ net.exchange(j); flor::log(\"j\", j); }",
       {"swap"}},
      {"a loop without braces",
       "train.cpp",
       "history.push_back(error_of",
       "history.push_back(2 * error_of",
       {"test"},
       true},
      {"a log behind a loop without braces",
       "train.cpp",
       "    const double error = validate",
       "    flor::log(\"size\", history.size());\n    const double error = validate",
       {"test"}},
      {"a constant that the helper uses",
       "train.cpp",
       "kClip = 1.0",
       "kClip = 2.0",
       {"train"},
       true},
      {"a constant that decides what is printed",
       "train.cpp",
       "kReport = 10",
       "kReport = 5",
       {"train"},
       true},
      {"a default argument",
       "train.cpp",
       "double limit = kClip",
       "double limit = 3.0",
       {"train"},
       true},
      {"a global variable",
       "train.cpp",
       "double decay = 0.5;",
       "double decay = 0.25;",
       {"train"},
       true},
      {"a field of the options",
       "train.cpp",
       "double rate = 0.1;",
       "double rate = 0.2;",
       {},
       true,
       kAll},
      {"a macro that the loop uses",
       "train.cpp",
       "optimizer.zero_grad()",
       "flor::log(\"rate\", optimizer.rate); optimizer.zero_grad()",
       {"train"},
       true},
      {"the arguments of a macro",
       "train.cpp",
       "CHECKED(loss < 1e6)",
       "CHECKED(loss < 1e9)",
       {"train"},
       true},
      {"an #ifdef that is turned",
       "metrics.cpp",
       "#ifdef SQUARED",
       "#ifndef SQUARED",
       {"test", "validate"},
       true},
      {"an #if around a statement of the loop",
       "train.cpp",
       "      running += smooth(loss);\n",
       "#if 0\n      running += smooth(loss);\n#endif\n",
       {"train"},
       true},
      {"an #ifdef with a log in the loop",
       "train.cpp",
       "      running += smooth(loss);\n",
       "      running += smooth(loss);\n#ifdef VERBOSE\n      flor::log(\"l\", loss);\n#endif\n",
       {"train"}},
      {"an #if around a function",
       "train.cpp",
       "void report(double loss, int step) {\n  if (step % kReport == 0) std::printf(\"%d: "
       "%f\\n\", step, loss);\n}\n",
       "#ifndef QUIET\nvoid report(double loss, int step) {\n  if (step % kReport == 0) "
       "std::printf(\"%d: %f\\n\", step, loss);\n}\n#endif\n",
       {"train"},
       true},
      {"an optimizer's rate in the epoch", "train.cpp", "rate *= 0.9", "rate *= 0.8", {}, true},
      {"a statement that is gone from the loop",
       "train.cpp",
       "      UPDATE(optimizer);\n",
       "",
       {"train"},
       true},
      {"a statement that is gone from the epoch",
       "train.cpp",
       "    optimizer.rate *= 0.9;\n",
       "",
       {},
       true},
      {"the last statement of a loop that is gone",
       "train.cpp",
       "      report(loss, epoch);\n",
       "",
       {"train"},
       true},
      {"the first statement behind a loop that is gone",
       "train.cpp",
       "    const double error = validate(net, test);\n    flor::log(\"error\", error);\n",
       "",
       {},
       false},
      {"a statement that moved out of the loop",
       "train.cpp",
       "      report(loss, epoch);\n    }\n",
       "    }\n    report(0, epoch);\n",
       {"train"},
       true},
      {"a variable of the loop that is renamed",
       "train.cpp",
       "const double loss = learn(net, batch);\n      running += smooth(loss);\n      "
       "CHECKED(loss < 1e6);\n      UPDATE(optimizer);\n      for (int k : flor::loop(\"inner\", "
       "2)) net.nudge(k);\n      report(loss, epoch);",
       "const double cost = learn(net, batch);\n      running += smooth(cost);\n      "
       "CHECKED(cost < 1e6);\n      UPDATE(optimizer);\n      for (int k : flor::loop(\"inner\", "
       "2)) net.nudge(k);\n      report(cost, epoch);",
       {"train"},
       true},
      {"the range of a loop",
       "train.cpp",
       "flor::loop(\"tune\", 3)",
       "flor::loop(\"tune\", 4)",
       {"tune"},
       true},
      {"a probe in the code",
       "train.cpp",
       "flor::loop(\"test\", test)",
       "flor::loop(\"test\", test, flor::probed)",
       {"test"},
       true},
      {"only comments",
       "train.cpp",
       "      UPDATE(optimizer);",
       "      UPDATE(optimizer);  // } the step { \"",
       {}},
      {"only white space",
       "train.cpp",
       "      running += smooth(loss);",
       "      running\n        +=   smooth( loss ) ;",
       {}},
      {"a comment between", "train.cpp", "learn(net, batch);", "learn(net /* } */, batch);", {}},
      {"another text in a raw string",
       "train.cpp",
       "\"not code\" }",
       "\"still no code\" } }",
       {},
       true},
      {"an include",
       "train.cpp",
       "#include <cstdio>\n",
       "#include <cstdio>\n#include <iostream>\n",
       {}},
      {"a new helper and its call",
       "train.cpp",
       "void report(double loss",
       "double norm_of(const Net&) { return 1; }\nvoid report(double loss",
       {}},
      {"another program of the repository",
       "convert.cpp",
       "load_data(\"x\")",
       "load_data(\"y\")",
       {}},
      {"a new function that nobody calls",
       "model.cpp",
       "void Sgd::step() {",
       "int unused_here(int x) { return x; }\nvoid Sgd::step() {",
       {}},
      {"how the data is read",
       "model.cpp",
       "data.push_back(b);",
       "data.insert(data.end(), b);",
       {},
       true},
      {"a structure that loops use",
       "model.h",
       "double data, target;",
       "double data, target, weight;",
       {},
       true,
       {"warm", "train", "test", "validate"}},
      {"a name in a namespace that moved",
       "metrics.cpp",
       "double metrics::absolute(double x) { return x < 0 ? -x : x; }\n\n",
       "",
       {"test", "validate"},
       true},
  };
}

class Edits : public ::testing::TestWithParam<Edit> {};

TEST_P(Edits, ConcernTheLoopsThatTheyChange) {
  const Edit& edit = GetParam();
  const Files& before = testing::training_program();
  Files now = before;
  now[edit.file] = replaced(now[edit.file], edit.from, edit.to);
  const Analysis analysis = analyse(before, now);
  Names expected = edit.loops;
  expected.insert(edit.more.begin(), edit.more.end());
  EXPECT_EQ(touched(analysis), expected);
  std::string computation;
  for (const auto& entry : analysis.computation()) {
    computation += (entry.loop.empty() ? "" : "in " + entry.loop + ": ") + entry.why + "\n";
  }
  EXPECT_EQ(!analysis.computation().empty(), edit.computes) << computation;
}

/// The training program with a statement after its loop, beside `file`.
Names touched_after_the_loop(const std::string& file) {
  Files before = testing::training_program();
  before["parts.h"] = file;
  Files now = before;
  now["train.cpp"] = replaced(now["train.cpp"], "  summarize(history);",
                              "  flor::log(\"epochs\", options.epochs);\n  summarize(history);");
  return touched(analyse(before, now));
}

/// The training program, whose training loop calls helper(), with a change in `file`.
Names touched_by_helper(const std::string& file) {
  Files before = testing::training_program();
  before["train.cpp"] = replaced(before["train.cpp"], "  clip(net.parameters(), 2.0);",
                                 "  clip(net.parameters(), helper());");
  before["parts.cpp"] = file;
  Files now = before;
  now["parts.cpp"] = replaced(file, "0.5", "0.25");
  return touched(analyse(before, now));
}

/// The same block in both versions is compared, whatever its names are.
/// The compiler's definitions are not known: a log that stands under another condition than before
/// may be logged for the first time, and computes nothing.
TEST(LogsUnderAnotherCondition, CountAsAdded) {
  const std::string log = "      flor::log(\"l\", loss);\n",
                    anchor = "      running += smooth(loss);\n";
  const std::vector<std::string> ways = {log,
                                         "#ifdef VERBOSE\n" + log + "#endif\n",
                                         "#ifndef VERBOSE\n" + log + "#endif\n",
                                         "#if VERBOSE > 1\n" + log + "#endif\n",
                                         "#if 0\n" + log + "#endif\n",
                                         "#ifdef QUIET\n#else\n" + log + "#endif\n",
                                         "#ifdef A\n#ifdef B\n" + log + "#endif\n#endif\n",
                                         "#ifdef A\n#elif defined(B)\n" + log + "#endif\n"};
  const auto with = [&](const std::string& text) {
    Files files = testing::training_program();
    files["train.cpp"] = replaced(files["train.cpp"], anchor, anchor + text);
    return files;
  };
  for (const std::string& before : ways) {
    for (const std::string& now : ways) {
      if (before == now) continue;
      SCOPED_TRACE(before + "becomes\n" + now);
      const Analysis analysis = analyse(with(before), with(now));
      EXPECT_EQ(touched(analysis), Names{"train"});
      EXPECT_TRUE(analysis.computation().empty());
    }
  }
}

TEST(EditsOfABlock, WithLocalsOfItsOwnAreTold) {
  Files before = testing::training_program();
  const std::string block =
      "    optimizer.rate *= 0.9;\n    { double loss = 0; for (int k = 0; k < 3; ++k) loss += "
      "learn(net, first, 0.5); flor::log(\"sum\", loss); }";
  before["train.cpp"] = replaced(before["train.cpp"], "    optimizer.rate *= 0.9;", block);
  for (const auto& [from, to] : {std::pair("0.5", "0.25"),
                                 {"k < 3", "k < 4"},
                                 {"first", "last"},
                                 {"loss += learn", "loss -= learn"}}) {
    Files now = before;
    now["train.cpp"] = replaced(before["train.cpp"], block, replaced(block, from, to));
    EXPECT_FALSE(analyse(before, now).computation().empty()) << from << " to " << to;
    Files more = now;  // and a log statement, which alone would be none
    more["train.cpp"] = replaced(more["train.cpp"], "    optimizer.rate *= 0.9;",
                                 "    for (int k = 0; k < 2; ++k) flor::log(\"k\", k);\n"
                                 "    optimizer.rate *= 0.9;");
    EXPECT_FALSE(analyse(before, more).computation().empty()) << from << " to " << to;
  }
}

TEST(EntryOfTheProgram, IsNotWhatBearsItsName) {
  for (const char* parts : {
           "struct Kept { double main = 0; double step() const { return main + 1; } };",
           "struct Part { double main(); };\n"
           "inline double step(Part& part) { return part.main(); }",
           "struct Part { double x; };\n"
           "inline double step(const Part& main) { return main.x; }\n"
           "inline Part forward(Part& main) { return copy(main); }",
           "namespace part { double main(double x); }\n"
           "inline double step(double x) { return part::main(x) + part::main(1); }",
           "inline double step(std::vector<double> main) { return sum(main); }\n"
           "inline double forward() { const auto main = [] { return 1; }; return main(); }",
       }) {
    EXPECT_THAT(touched_after_the_loop(parts), IsEmpty()) << parts;
  }
}

TEST(EntryOfTheProgram, IsFollowedWhereSomebodyMentionsIt) {
  for (const char* use :
       {"return main(0, nullptr);", "return ::main(0, nullptr);", "return 2 * main(0, nullptr);",
        "const auto again = &main; return again(0, nullptr);", "return start(main);",
        "return start(::main);", "return start(&::main);", "return call<main>();",
        "return call<&main>();", "return (*main)(0, nullptr);",
        "return start(x ? &main : nullptr);", "return start([f = main] { return f(0, nullptr); });",
        "if (x) y(); else main(0, nullptr);", "return x and main(0, nullptr);",
        "int main(int, char**); return start(main);", "hooks += main; return 0;"}) {
    EXPECT_EQ(touched_after_the_loop("inline int forward(int x) { " + std::string(use) + " }\n"),
              kNested)
        << use;
  }
  EXPECT_EQ(touched_after_the_loop("#define ENTRY main\n"), kNested);
  EXPECT_EQ(touched_after_the_loop("#define AGAIN main(0, nullptr)\n"), kNested);
}

TEST(EntryOfTheProgram, DoesNotHideWhatElseBearsItsName) {
  for (const char* parts : {
           "struct Part { double main() { return 0.5; } };\n"
           "double helper() { return Part().main(); }",
           "struct Part { double main(); };\ndouble Part::main() { return 0.5; }\n"
           "double helper() { return Part().main(); }",
           "struct { double main() { return 0.5; } } part;\ndouble helper() { return part.main(); "
           "}",
           "namespace part { double main = 0.5; }\ndouble helper() { return part::main; }",
           "namespace part { double main(int x) { return 0.5; } }\n"
           "double helper() { return part::main(1); }",
           "namespace part { double main(int x) { return 0.5; } }\n"
           "double helper() { return apply(::part::main, 1); }",
           "namespace part { template <class T> double main(T x) { return 0.5; } }\n"
           "double helper() { return part::main<double>(1); }",
           "namespace { double main(int x) { return 0.5; } }\n"
           "double helper() { return call<main>(1); }",
           "namespace part {\ndouble main(int x) { return 0.5; }\n"
           "double helper() { if (x) return 2 * main(1); else main(2); }\n}",
       }) {
    EXPECT_THAT(touched_by_helper(parts), ::testing::Contains("train")) << parts;
  }
}

TEST(EditsTogether, MissNothingAndReportLittleTooMuch) {
  const Files& before = testing::training_program();
  std::size_t edits_with_more = 0, loops = 0, more = 0, missed = 0;
  for (const Edit& edit : edits()) {
    Files now = before;
    now[edit.file] = replaced(now[edit.file], edit.from, edit.to);
    const Names found = touched(analyse(before, now));
    std::size_t unneeded = 0;
    for (const auto& loop : found) unneeded += edit.loops.contains(loop) ? 0 : 1;
    for (const auto& loop : edit.loops) missed += found.contains(loop) ? 0 : 1;
    loops += edit.loops.size();
    more += unneeded;
    edits_with_more += unneeded > 0 ? 1 : 0;
  }
  EXPECT_EQ(missed, 0u);
  EXPECT_LE(edits_with_more, edits().size() / 4);
  std::printf(
      "%zu edits, %zu loops to step into: %zu missed; %zu edits step into %zu loops too many\n",
      edits().size(), loops, missed, edits_with_more, more);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Edits, ::testing::ValuesIn(edits()), [](const auto& test) {
  std::string name;
  for (const char c : std::string(test.param.what)) {
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
});

}  // namespace
}  // namespace flor::sources
