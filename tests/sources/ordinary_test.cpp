// The other side of the promise: questions that people ask every day execute no loop that they need
// not, and no epoch that was not asked for.
#include "ordinary.h"
#include "sources/analysis.h"
#include "support/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

struct Outcome {
  std::vector<std::string> loops;
  std::string text;  ///< why, for each loop, and why from the start
};

Outcome asked(const testing::Training& training, const std::string& place,
              const std::string& line) {
  AnalysisInput input;
  std::string now = training.text;
  const std::size_t at = now.find(place);
  if (at == std::string::npos) throw std::logic_error(training.name + ": no " + place);
  now.insert(at + place.size(), "\n    " + line + "\n");
  input.changed.push_back({training.name, training.text, now});
  input.program = "/project/" + training.name;
  for (const auto& [path, text] : training.others) input.rest.push_back({path, text});
  input.nested = {"train", "test", "batch", "step", "validate", "discriminator"};
  input.main = {"epoch"};
  const Analysis analysis(std::move(input));
  Outcome outcome;
  for (const auto& touched : analysis.touched()) {
    outcome.loops.push_back(touched.loop);
    outcome.text += touched.loop + ": " + touched.why + "\n";
  }
  if (!analysis.walk().empty()) outcome.text += "from the start: " + analysis.walk() + "\n";
  return outcome;
}

TEST(OrdinaryQuestions, ExecuteNothingThatTheyNeedNot) {
  std::size_t count = 0, needless = 0;
  for (const testing::Training& training : testing::ordinary_trainings()) {
    for (const testing::Question& question : training.questions) {
      const Outcome outcome = asked(training, question.place, question.line);
      ++count;
      std::vector<std::string> more;
      for (const std::string& loop : outcome.loops) {
        if (std::ranges::find(question.loops, loop) == question.loops.end()) more.push_back(loop);
      }
      for (const std::string& loop : question.loops) {
        EXPECT_THAT(outcome.loops, ::testing::Contains(loop)) << training.name << question.line;
      }
      const bool walks = outcome.text.find("from the start") != std::string::npos;
      if (more.empty() && walks == question.walks) continue;
      EXPECT_TRUE(walks || !question.walks) << training.name << ": " << question.line;
      ++needless;
      std::printf("%s: %s\n  %s", training.name.c_str(), question.line.c_str(),
                  outcome.text.c_str());
    }
  }
  std::printf("%zu questions, %zu execute more than they need\n", count, needless);
  EXPECT_GE(count, 60u);
  EXPECT_LE(needless * 10, count);
}

}  // namespace
}  // namespace flor::sources
