// What the machine did while a program was recorded: shown, drawn and exported on request, beside
// the metrics and not among them.
#include "workbench.h"

#include <nlohmann/json.hpp>

namespace flor::testing::sampled_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

class Sampled : public ::testing::Test {
 protected:
  ProcessResult record(const Words& more = {}) const {
    ProcessOptions options = bench_.options();
    options.environment["FLOR_NVML"] = FLOR_FAKE_NVML;
    return bench_.run("sampled", Words{"--flor", "test", "--flor_every", "1"} + more, options);
  }
  ProcessResult flor(const Words& words) const {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  }
  json json_of(const Words& words) const {
    const ProcessResult result = flor(words + Words{"--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }
  std::vector<int> epochs_with_samples() const {
    std::vector<int> epochs;
    const json shown = json_of({"show", "test", "--machine"});
    for (const auto& row : shown["machine"]) {
      epochs.push_back(row["epoch"].is_null() ? -1 : row["epoch"].get<int>());
    }
    return epochs;
  }

  Workbench bench_;
};

TEST_F(Sampled, IsShownInALineAndByEpochs) {
  ASSERT_EQ(record().status, 0);
  EXPECT_THAT(flor({"show", "test"}).out,
              AllOf(HasSubstr("\n  machine "), HasSubstr("memory at most"),
                    HasSubstr("GPU 0 75 %, GPU 1 25 %"), Not(HasSubstr("flor:machine"))));
  EXPECT_THAT(epochs_with_samples(), ElementsAre(-1, 0, 1, 2, 3));
  const json rows = json_of({"show", "test", "--machine"})["machine"];
  EXPECT_EQ(rows[2]["gpu1"]["mean"], 25);
  EXPECT_EQ(rows[2]["gpu0_memory"]["max"], 1 << 30);
  EXPECT_GT(rows[2]["memory"]["max"], 1 << 20);
  EXPECT_EQ(rows.size(), 5u);
  EXPECT_EQ(json_of({"show", "test@2", "--machine"})["machine"].size(), 1u);
  EXPECT_EQ(json_of({"show", "test"})["run"]["machine"]["gpu0"]["mean"], 75);
  EXPECT_THAT(flor({"show", "test", "--machine"}).out,
              AllOf(HasSubstr("epoch"), HasSubstr("gpu1"), HasSubstr("25 %")));
}

TEST_F(Sampled, IsNoMetricUnlessItIsNamed) {
  ASSERT_EQ(record().status, 0);
  for (const Words& words :
       {Words{"list", "--json"}, Words{"query", "weight", "--json"},
        Words{"export", "test", "--format", "csv"}, Words{"plot", "test", "--json"},
        Words{"sql", "SELECT DISTINCT metric FROM points"}}) {
    EXPECT_THAT(flor(words).out, Not(HasSubstr("machine/cpu"))) << words[0];
  }
  const json curve = json_of({"plot", "test", "-m", "machine/cpu"});
  EXPECT_EQ(curve["by"], "time");
  const std::vector<double> times = curve["series"][0]["x"], shares = curve["series"][0]["y"];
  EXPECT_THAT(times, AllOf(Each(Ge(1)), Each(Le(90))));
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_THAT(shares, Each(AllOf(Ge(0), Le(100))));
  EXPECT_EQ(json_of({"plot", "test", "-m", "machine/gpu0", "--by", "epoch"})["series"][0]["x"],
            (json{0.0, 1.0, 2.0, 3.0}));
  EXPECT_THAT(flor({"plot", "test", "-m", "machine/cpu", "--by", "step"}).err,
              HasSubstr("use --by time"));
  EXPECT_THAT(flor({"query", "machine/gpu0", "--run", "test", "--csv"}).out, HasSubstr(",75,"));
  EXPECT_THAT(flor({"export", "test", "-m", "machine/gpu1", "--format", "csv"}).out,
              HasSubstr("machine/gpu1"));
  EXPECT_THAT(flor({"sql", "SELECT max(value) AS most FROM machine WHERE name = 'gpu0'"}).out,
              HasSubstr("75"));
  const ProcessResult wrong = flor({"plot", "test", "-m", "machine/gpu7"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.err, HasSubstr("--machine shows which there are"));
}

#ifdef FLOR_HAS_PAGE
TEST_F(Sampled, IsInAReport) {
  ASSERT_EQ(record().status, 0);
  const std::filesystem::path file = bench_.repository().root() / "report.html";
  const ProcessResult report = flor({"report", "test", "-o", file.string()});
  ASSERT_EQ(report.status, 0) << report.err;
  const std::string page = read_file(file);
  EXPECT_THAT(page, AllOf(HasSubstr("metric=machine/gpu1"), HasSubstr("class MachineTab")));
}
#endif

TEST_F(Sampled, AReplayTakesNoneAndComparesNone) {
  ASSERT_EQ(record().status, 0);
  const std::string before = flor({"show", "test", "--machine", "--json"}).out;
  const ProcessResult replay = bench_.replay("sampled");
  EXPECT_EQ(replay.status, 0) << replay.err;
  EXPECT_EQ(flor({"show", "test", "--machine", "--json"}).out, before);
}

TEST_F(Sampled, ComesBackWhenTheIndexIsMadeAgain) {
  ASSERT_EQ(record().status, 0);
  const std::string before = flor({"show", "test", "--machine", "--json"}).out;
  std::filesystem::remove(bench_.home() / "catalog.db");
  EXPECT_EQ(flor({"show", "test", "--machine", "--json"}).out, before);
  EXPECT_EQ(flor({"gc"}).status, 0);
  std::filesystem::remove(bench_.home() / "catalog.db");
  EXPECT_EQ(flor({"show", "test", "--machine", "--json"}).out, before) << "from sealed journals";
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(Sampled, TravelsWithARunThatIsSpooled) {
  ASSERT_EQ(record().status, 0);
  const std::string key = bench_.last_run().key;
  const auto machine = json_of({"show", key, "--machine"})["machine"];
  const std::string bucket = "file://" + (bench_.repository().root() / "bucket").string();
  ASSERT_EQ(flor({"spool", "test", bucket}).status, 0);
  bench_.use_home(bench_.repository().root() / "other");
  const ProcessResult fetch = flor({"fetch", key, bucket});
  ASSERT_EQ(fetch.status, 0) << fetch.err;
  EXPECT_EQ(json_of({"show", key, "--machine"})["machine"], machine);
}

TEST_F(Sampled, OfAResumedRunIsThatOfItsEpochs) {
  ::setenv("KILLED_IN", "2", 1);
  EXPECT_EQ(record().status, 9);
  ::unsetenv("KILLED_IN");
  ASSERT_EQ(record({"--flor_resume"}).status, 0);
  EXPECT_THAT(epochs_with_samples(), ElementsAre(-1, 0, 1, 2, 3));
}

TEST_F(Sampled, IsNotWhereItIsNotWished) {
  ASSERT_EQ(record({"--flor_machine", "none"}).status, 0);
  EXPECT_THAT(epochs_with_samples(), IsEmpty());
  EXPECT_THAT(flor({"show", "test"}).out, Not(HasSubstr("\n  machine ")));
  EXPECT_THAT(flor({"show", "test", "--machine"}).err, HasSubstr("--flor_machine none"));
  EXPECT_THAT(record({"--flor_machine", "0.5"}).err, HasSubstr("at least 1 second"));
}

}  // namespace
}  // namespace flor::testing::sampled_test
