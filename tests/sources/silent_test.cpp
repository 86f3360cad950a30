// Programs in which a skipped loop would leave a wrong value: none of them may be skipped and
// called proven. Each was thought of to break the analysis.
#include "sources/analysis.h"
#include "support/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

using Case = std::map<std::string, std::string>;

std::vector<Case> cases() {
  std::istringstream text(testing::read_file(std::filesystem::path(FLOR_SOURCE_DIR) /
                                             "tests/sources/silent_cases.txt"));
  std::vector<Case> out(1);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("#")) continue;
    if (line.empty() && !out.back().empty()) out.emplace_back();
    if (line.empty()) continue;
    const std::string key = line.substr(0, line.find(' '));
    out.back()[key] += line.substr(std::min<std::size_t>(7, line.size())) + "\n";
  }
  return out;
}

Analysis analysed(Case lines) {
  const std::string before = "#include <torch/torch.h>\n" + lines["top"] + R"(
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  torch::Tensor w = torch::zeros({4});
  double rate = 0.1;
)" + lines["before"] + R"(
  auto state = flor::checkpoints(w, rate);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int i : flor::loop("train", 10)) {
      w -= rate * w;
)" + lines["loop"] + "    }\n" +
                             lines["after"];
  AnalysisInput input;
  input.changed.push_back({"train.cpp", before + "  }\n}\n", before + lines["ask"] + "  }\n}\n"});
  input.program = "/project/train.cpp";
  input.nested = {"train"};
  input.main = {"epoch"};
  return Analysis(std::move(input));
}

bool is_silent(const Analysis& analysis) {
  return analysis.proof().proven && analysis.touched().empty() && analysis.walk().empty();
}

TEST(SilentCases, AreExecutedOrSaidToBeUnproven) {
  std::size_t count = 0;
  for (const Case& lines : cases()) {
    std::string text;
    for (const auto& [key, line] : lines) text += key + ": " + line;
    EXPECT_FALSE(is_silent(analysed(lines))) << text;
    ++count;
  }
  EXPECT_GE(count, 450u);
}

bool is_skipped(const std::string& before, const std::string& loop, const std::string& value) {
  const Analysis analysis = analysed({{"before", before + "\n"},
                                      {"loop", loop + "\n"},
                                      {"ask", "flor::log(\"q\", " + value + ");\n"}});
  if (!is_silent(analysis)) std::printf("%s\n", analysis.proof().why_not.c_str());
  return is_silent(analysis);
}

/// What such code gave before the loops began is a copy: the other side of the promise.
TEST(SilentCases, DoNotMakeCopiesDoubtful) {
  for (const char* copy :
       {"int k = lib::k();", "double k = lib::tensor().item<double>();",
        "std::string k = lib::name();", "std::vector<double> k = lib::values();",
        "torch::Device k = lib::device();", "const auto k = static_cast<double>(lib::k());"}) {
    EXPECT_TRUE(is_skipped(copy, "lib::step();", "k")) << copy;
  }
}

/// No library can name these, and no name reaches what no library was called for.
TEST(SilentCases, DoNotMakeOwnVariablesDoubtful) {
  for (const char* top : {"static int n = 0;", "namespace { int n = 0; }", "int n = 0;",
                          "extern int n; int n = 0;", "extern \"C\" { static int n = 0; }"}) {
    const Analysis analysis = analysed({{"top", std::string(top) + "\n"},
                                        {"loop", "lib::step(i);\n"},
                                        {"ask", "flor::log(\"q\", n);\n"}});
    EXPECT_TRUE(is_silent(analysis)) << top << ": " << analysis.proof().why_not;
  }
  const Analysis alone = analysed({{"top", "extern \"C\" { int n = 0; }\n"},
                                   {"loop", "w += 1;\n"},
                                   {"ask", "flor::log(\"q\", n);\n"}});
  EXPECT_TRUE(is_silent(alone)) << alone.proof().why_not;
}

TEST(SilentCases, DoNotMakeDataDoubtfulThatALoopOnlyReads) {
  const std::string list = "std::vector<torch::Tensor> list; list.push_back(torch::ones({3}));";
  EXPECT_TRUE(is_skipped("torch::Tensor data = torch::ones({9});", "w += data[i];", "data.mean()"));
  for (const char* value : {"list[0].mean()", "list.at(0).sum()", "list.back().norm()",
                            "torch::stack(list).mean()", "list.size()"}) {
    EXPECT_TRUE(is_skipped(list, "w += list[0];", value)) << value;
  }
  EXPECT_TRUE(is_skipped("std::map<std::string, torch::Tensor> m; m[\"a\"] = torch::ones({3});",
                         "lib::step();", "m.at(\"a\").mean()"));
  const Analysis each =
      analysed({{"before", list + "\n"},
                {"loop", "lib::step();\n"},
                {"ask",
                 "double s = 0; for (const auto& x : list) s += x.sum().item<double>();\n"
                 "flor::log(\"q\", s);\n"}});
  EXPECT_TRUE(is_silent(each)) << each.proof().why_not << each.walk();
}

/// examples/linear.cpp reads its data by zlib before the loops; README shows what this prints.
TEST(SilentCases, DoNotMakeTheReadmesQuestionDoubtful) {
  const std::filesystem::path examples = std::filesystem::path(FLOR_SOURCE_DIR) / "examples";
  const std::string before = testing::read_file(examples / "linear.cpp");
  std::string now = before;
  const std::string place = "    const auto correct = ";
  ASSERT_NE(now.find(place), now.npos);
  std::istringstream patch(testing::read_file(examples / "hindsight/linear_confusion.patch"));
  std::string added;
  for (std::string line; std::getline(patch, line);) {
    if (line.starts_with("+ ")) added += line.substr(1) + "\n";
  }
  ASSERT_NE(added.find("flor::log_table"), added.npos);
  now.insert(now.find(place), added);
  AnalysisInput input;
  input.changed.push_back({"linear.cpp", before, now});
  for (const char* name : {"data.h", "data.cpp"}) {
    input.rest.push_back({name, testing::read_file(examples / name)});
  }
  input.program = "/project/linear.cpp";
  input.nested = {"train"};
  input.main = {"epoch"};
  const Analysis analysis(std::move(input));
  EXPECT_TRUE(is_silent(analysis)) << analysis.proof().why_not << analysis.walk();
}

/// Each way to call a library and each way to read what it keeps, with the same name here or not.
TEST(SilentCases, AreExecutedWhereOneOfOurFunctionsHasTheSameName) {
  for (const char* name : {"read", "size", "mean", "begin", "get", "item", "max", "forward"}) {
    const std::string call = std::string("lib::") + name + "()";
    for (const std::string& own :
         {std::string(), "double " + std::string(name) + "() { return " + call + "; }",
          "struct Own { double " + std::string(name) + "() const { return " + call + "; } };"}) {
      for (const std::string& read :
           {call, std::string("Own().") + name + "()", std::string(name) + "()"}) {
        const bool method = own.starts_with("struct");
        if (own.empty() ? read != call : method == (read == std::string(name) + "()")) continue;
        if (!own.empty() && !method && read.starts_with("Own")) continue;
        EXPECT_FALSE(is_silent(analysed({{"top", own + "\n"},
                                         {"loop", "lib::step();\n"},
                                         {"ask", "flor::log(\"q\", " + read + ");\n"}})))
            << own << " " << read;
      }
    }
  }
}

}  // namespace
}  // namespace flor::sources
