// --where in every command that chooses among runs: one language, one choice.
#include "app.h"
#include "commands/commands.h"
#include "cli/repository.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class Where : public RepositoryTest {
 protected:
  Where() {
    for (const char* rate : {"0.001", "0.01", "30"}) {
      RunPlan plan;
      plan.arguments = {{"lr", "real", rate}};
      plan.loss = std::stod(rate);
      write("train.cpp", rate);
      plan.commit = commit(rate);
      plan.repository = work_.string();
      plan.started_us += 1'000'000 * ++recorded_;
      runs_.push_back(record(plan));
    }
    RunPlan other;
    other.experiment = "other";
    other.arguments = {{"lr", "real", "30"}};
    runs_.push_back(record(other));
  }

  std::string url() const { return "file://" + (directory_ / "bucket").string(); }

  /// The runs of the rows that a command prints as JSON.
  std::set<std::string> runs_in(const std::vector<std::string>& words, const char* list) {
    const Outcome outcome = flor(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::set<std::string> runs;
    const Json json = outcome.json();
    for (const Json& row : json[list]) runs.insert(row["run"].get<std::string>());
    return runs;
  }
  const std::string& key(std::size_t run) const { return runs_[run].key; }

  std::vector<store::Run> runs_;
  int recorded_ = 0;
};

TEST_F(Where, ChoosesTheRunsWhoseValuesAreQueried) {
  EXPECT_THAT(runs_in({"query", "accuracy", "--where", "lr<1", "--json"}, "rows"),
              UnorderedElementsAre(key(0), key(1)));
  EXPECT_THAT(runs_in({"query", "accuracy", "--where", "lr=30", "--json"}, "rows"),
              UnorderedElementsAre(key(2), key(3)));
  EXPECT_THAT(runs_in({"query", "accuracy", "--where", "lr=30", "--experiment", "linear", "--json"},
                      "rows"),
              UnorderedElementsAre(key(2)));
  EXPECT_THAT(runs_in({"query", "accuracy", "--where", "lr<1", "--run", key(1) + "@2", "--run",
                       key(2), "--json"},
                      "rows"),
              UnorderedElementsAre(key(1)));
}

TEST_F(Where, ANameStandsForAllItsRunsWhereCurvesAreDrawnAndValuesWritten) {
  EXPECT_THAT(runs_in({"plot", "linear", "--where", "lr>0.005", "-m", "loss", "--json"}, "series"),
              UnorderedElementsAre(key(1), key(2)));
  EXPECT_THAT(runs_in({"plot", "--where", "lr=30", "-m", "loss", "--json"}, "series"),
              UnorderedElementsAre(key(2), key(3)));
  EXPECT_THAT(
      runs_in({"plot", "linear", key(3), "--where", "lr=30", "-m", "loss", "--json"}, "series"),
      UnorderedElementsAre(key(2), key(3)));
  const Outcome written = flor({"export", "linear", "values.jsonl", "--where", "lr<1"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("values of 2 runs"));
  EXPECT_THAT(flor({"export", "values.jsonl", "--where", "lr=30"}).out, HasSubstr("of 2 runs"));
  EXPECT_EQ(flor({"export", "linear", "model.pt", "--where", "lr<1"}).status, 2);
}

TEST_F(Where, ChoosesAmongVersionsByTheirRuns) {
  const Json log = flor({"log", "linear", "--where", "lr<1", "--json"}).json();
  ASSERT_THAT(log["versions"], SizeIs(2));
  EXPECT_EQ(log["versions"][0]["runs"][0]["id"], key(1));
  const Json blame = flor({"blame", "loss:max", "linear", "--where", "lr<1", "--json"}).json();
  EXPECT_THAT(blame["versions"], SizeIs(2));
}

TEST_F(Where, ChoosesTheRunsThatAreUploaded) {
  const Outcome sent = flor({"spool", "linear", url(), "--where", "lr<1"});
  EXPECT_EQ(sent.status, 0) << sent.err;
  const Json there = flor({"remote", "ls", url(), "--json"}).json();
  EXPECT_THAT((std::set<std::string>{there["runs"][0]["run"], there["runs"][1]["run"]}),
              UnorderedElementsAre(key(0), key(1)));
  EXPECT_THAT(there["runs"], SizeIs(2));
  EXPECT_EQ(flor({"spool", "linear", url(), "--where", "lr<1", "--follow"}).status, 2);
}

/// The beginning of a call of each command that has --where.
std::vector<std::vector<std::string>> calls(const std::string& url) {
  return {{"list"},
          {"top"},
          {"best", "loss", "--min"},
          {"query", "loss"},
          {"plot"},
          {"log", "linear"},
          {"blame", "loss", "linear"},
          {"export", "--format", "csv"},
          {"spool", "linear", url},
          {"rm", "linear"},
          {"replay", "linear", "--all-versions", "--apply"}};
}

TEST_F(Where, IsTheSameLanguageInEachCommandThatHasIt) {
  std::set<std::string> asked, known;
  for (const cli::CommandPage& page : cli::command_pages(cli::all_commands()).commands) {
    for (const cli::Syntax::Entry& entry : page.entries) {
      if (entry.left.ends_with("--where CONDITION")) known.insert(page.name);
    }
  }
  for (std::vector<std::string> words : calls(url())) {
    asked.insert(words.front());
    if (words.front() == "replay") continue;  // which first needs what its work tree adds
    words.insert(words.end(), {"--where", "lr<0.1 adn x=1"});
    const Outcome wrong = flor(words);
    EXPECT_EQ(wrong.status, 2) << words.front();
    EXPECT_THAT(wrong.err, HasSubstr("condition 'lr<0.1 adn x=1', column 8: expected")) << words[0];
    if (words.front() == "top") continue;  // nothing is being recorded
    words.back() = "lrr<0.1";
    const Outcome unknown = flor(words);
    EXPECT_EQ(unknown.status, 3) << words.front();
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'lr'?")) << words.front();
    if (words.front() == "list") continue;  // an empty list is a list
    words.back() = "lr>1000";
    const Outcome none = flor(words);
    EXPECT_EQ(none.status, 3) << words.front();
    EXPECT_THAT(none.err, HasSubstr("no run meets 'lr>1000'")) << words.front();
  }
  EXPECT_EQ(asked, known);
}

TEST_F(Where, ANumberAsTheTableShowsItIsFound) {
  RunPlan plan;
  plan.experiment = "third";
  plan.loss = 1.0 / 3;
  plan.started_us += 9'000'000;
  const store::Run run = record(plan);
  const std::string shown = flor({"list", "third", "-c", "loss:max"}).lines()[1];
  const std::string number = shown.substr(shown.rfind(' ') + 1);
  EXPECT_THAT(flor({"list", "third", "-q", "--where", "loss:max=" + number}).lines(),
              ElementsAre(run.key))
      << number;
  EXPECT_THAT(flor({"list", "third", "-q", "--where", "loss:max!=" + number}).lines(), IsEmpty());
}

TEST_F(Where, ANameThatIsAMetricHereAndAnArgumentThereIsEachRunsOwnInEveryCommand) {
  RunPlan plan;
  plan.arguments = {};
  plan.started_us += 9'000'000;
  const store::Run metric = record(plan);
  catalog().add_values(metric.id, std::vector{value("lr", 30, 0)});
  const auto listed = flor({"list", "-q", "--where", "lr=30"}).lines();
  EXPECT_THAT(listed, UnorderedElementsAre(metric.key, key(2), key(3)));
  for (const auto& [words, list] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"query", "accuracy"}, "rows"}, {{"plot", "-m", "loss"}, "series"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--where", "lr=30", "--json"});
    EXPECT_THAT(runs_in(all, list), UnorderedElementsAre(metric.key, key(2), key(3)));
  }
}

}  // namespace
}  // namespace flor::testing
