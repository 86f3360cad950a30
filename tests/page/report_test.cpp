// flor report: a run as one file.
#include "cli/fixture.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ReportTest = CliTest;

TEST_F(ReportTest, IsOneFileThatMayReachForNothing) {
  record({.experiment = "other", .started_us = 1'600'000'000'000'000});
  const store::Run run = record({.experiment = "other"});
  replay(run, 3, 4);
  const std::filesystem::path file = directory_ / "report.html";
  const Outcome outcome = flor({"report", "other", "-o", file.string(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["run"], run.key);
  std::ifstream in(file);
  const std::string html{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(outcome.json()["bytes"], html.size());
  EXPECT_THAT(html, AllOf(HasSubstr("default-src 'none'"), Not(HasSubstr("connect-src")),
                          HasSubstr("gradient"), HasSubstr("Leon Sorokin")));
  // The page asks for what is there under these names.
  EXPECT_THAT(html, HasSubstr("curve\\naxis=time\\nmetric=loss\\nrun=" + run.key));
  EXPECT_THAT(html, HasSubstr("values\\nname=confusion\\nrun=" + run.key));
  const Outcome piped = flor({"report", "other", "-o", "-"});
  EXPECT_THAT(piped.out, ::testing::StartsWith("<!doctype html>"));
  EXPECT_EQ(flor({"report", "other"}).status, 2);
  EXPECT_EQ(flor({"report", "nothing", "-o", file.string()}).status, 3);
}

}  // namespace
}  // namespace flor::testing
