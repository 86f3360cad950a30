// What a run says of itself while it goes on and at its end, and that the command says the same of
// it.
#include "support/soon.h"
#include "told_numbers.h"

#include <csignal>
#include <fstream>

namespace flor::testing::news_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class News : public ::testing::Test {
 protected:
  std::string flor(const Words& arguments) const { return flor_says(bench_, arguments); }

  Workbench bench_;
};

TEST_F(News, WhileAnEpochTakesMinutesOneLineSaysWhereItIs) {
  const std::filesystem::path marks = bench_.repository().home() / "marks";
  std::filesystem::create_directories(marks);
  const auto process =
      bench_.start("lengthy", {"--flor", "test", "--kwargs", "marks=" + marks.string()});
  const auto said = [&] { return lines_with(process->err(), {"flor: epoch"}); };
  for (const std::size_t line : {1, 2, 3}) {
    ASSERT_TRUE(soon([&] { return said().size() == line; })) << process->err();
    std::ofstream(marks / std::to_string(std::vector{2, 10, 60}[line - 1]));
  }
  const ProcessResult result = process->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(said(), ElementsAre("flor: epoch 0 has taken 2 min, step 813 of train",
                                  "flor: epoch 0 has taken 10 min, step 900 of train",
                                  "flor: epoch 0 has taken 1 h"));
}

TEST_F(News, AMetricThatWasNeverANumberIsSaidAndShownWithoutASign) {
  const auto result = bench_.record("keeper", {"--kwargs", "losses=nan,-nan,nan"});
  EXPECT_THAT(result.err, HasSubstr("flor: loss was NaN in all of epoch 0"));
  EXPECT_THAT(result.err, HasSubstr("flor: loss was never a number: it is NaN in all epochs\n"
                                    "flor: recorded test"));
  for (const Words& command :
       {Words{"list", "--columns", "loss,loss:min"}, Words{"list"}, Words{"show", "test"},
        Words{"show", "test@1"}, Words{"query", "loss"}}) {
    const std::string out = flor(command);
    EXPECT_THAT(out, HasSubstr("nan")) << command[0];
    EXPECT_THAT(out, Not(HasSubstr(" -nan"))) << command[0];
  }
}

TEST_F(News, TheNumbersOfTheLastLineAreThoseOfListAndShow) {
  const json one = expect_told_numbers(bench_, bench_.record("keeper").err);
  EXPECT_EQ(one["epochs"], 4);
  const json several = expect_told_numbers(
      bench_, bench_.record("loops", {"--flor_every", "2", "--kwargs", "scenario=two_mains"}).err);
  EXPECT_EQ(several["epochs"], 5) << "of both main loops";
  // A checkpoint of a strategy that deletes others, and one that the program saved.
  expect_told_numbers(bench_, bench_.record("keeper", {"--kwargs", "keep=1", "save_every=2"}).err);
}

TEST_F(News, TheNumbersStayTheSameWhenARunIsResumedAndCollected) {
  ProcessOptions options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":11";
  const Words every{"--flor", "test", "--flor_every", "1", "--flor_every_steps", "2"};
  ASSERT_EQ(bench_.run("loops", every, options).status, 75);
  const json stopped = listed(bench_, bench_.last_run().key.substr(0, 8));
  const json resumed =
      expect_told_numbers(bench_, bench_.run("loops", {"--flor", "test", "--flor_resume"}).err);
  EXPECT_GT(resumed["epochs"].get<int>(), stopped["epochs"].get<int>());

  flor({"keep", "test", "--every", "3"});
  flor({"gc"});
  const json collected = listed(bench_, resumed["id"].get<std::string>().substr(0, 8));
  EXPECT_EQ(collected["epochs"], resumed["epochs"]);
  EXPECT_LT(collected["checkpoints"].get<int>(), resumed["checkpoints"].get<int>());
  EXPECT_EQ(bench_.checkpoints().size(), collected["checkpoints"].get<std::size_t>());
}

}  // namespace
}  // namespace flor::testing::news_test
