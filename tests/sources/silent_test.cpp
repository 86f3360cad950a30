// Programs in which a skipped loop would leave a wrong value: none of them may be skipped and
// called proven. Each was thought of to break the analysis.
#include "sources/analysis.h"
#include "support/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_GE(count, 250u);
}

/// What such code gave before the loops began is a copy: the other side of the promise.
TEST(SilentCases, DoNotMakeCopiesDoubtful) {
  for (const char* copy :
       {"int k = lib::k();", "double k = lib::tensor().item<double>();",
        "std::string k = lib::name();", "std::vector<double> k = lib::values();",
        "torch::Device k = lib::device();", "const auto k = static_cast<double>(lib::k());"}) {
    const Analysis analysis = analysed({{"before", copy + std::string("\n")},
                                        {"loop", "lib::step();\n"},
                                        {"ask", "flor::log(\"q\", k);\n"}});
    EXPECT_TRUE(is_silent(analysis)) << copy << analysis.proof().why_not << analysis.walk();
  }
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
