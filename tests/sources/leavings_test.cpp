// The promise of skipping: of all ways to leave something behind a loop that a question reads, none
// is skipped. tests/programs compiles and runs a sample of the same programs.
#include "leavings.h"
#include "sources/analysis.h"
#include "support/some_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace flor::sources {
namespace {

constexpr const char* kMain = R"(
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  run%d();
}
)";

std::string whole(const std::string& text, int number) {
  return testing::kLeavingsPrelude + text +
         testing::replace_all(kMain, "%d", std::to_string(number));
}

/// Whether the loop is executed for the question.
bool executed(const testing::Leaving& leaving, int number) {
  AnalysisInput input;
  const std::string n = std::to_string(number);
  input.changed.push_back(
      {"train.cpp", whole(leaving.before, number), whole(leaving.asked, number)});
  input.program = "/project/train.cpp";
  input.nested = {"train" + n};
  input.main = {"epoch" + n};
  return !Analysis(std::move(input)).touched().empty();
}

TEST(Leavings, NoneIsSkipped) {
  const auto all = testing::ways_to_leave();
  EXPECT_GE(all.size(), 300u);
  std::size_t missed = 0;
  std::vector<std::size_t> places(all.size());  // each is a number in its program
  std::iota(places.begin(), places.end(), 0u);
  for (const std::size_t i : testing::some_of(places, 150)) {
    if (executed(all[i], static_cast<int>(i))) continue;
    if (++missed <= 10) ADD_FAILURE() << all[i].name << "\n" << all[i].asked;
  }
  EXPECT_EQ(missed, 0u) << "of " << all.size();
}

}  // namespace
}  // namespace flor::sources
