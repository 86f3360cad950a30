// Commands for many runs of which one is refused: it is named, and the others are done.
#include "fixture.h"

#include <gmock/gmock.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RefusedRunsTest : public CliTest {
 protected:
  std::filesystem::path archive() const { return directory_ / "archive"; }
  std::string url() const { return "file://" + archive().string(); }
  std::filesystem::path far_home() const { return directory_ / "far"; }
  Outcome far(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--home", far_home().string()});
    return bare(std::move(arguments));
  }
  /// Three finished runs, `bad_` between two others.
  void record_three() {
    RunPlan plan;
    first_ = record(plan).key;
    plan.started_us += 1'000'000;
    bad_ = record(plan).key;
    plan.started_us += 1'000'000;
    last_ = record(plan).key;
    close();
  }
  void spool_three() {
    record_three();
    ASSERT_EQ(flor({"spool", "linear", url()}).status, 0);
  }
  /// The object with what the run recorded loses its end.
  void damage_there(const std::string& key) const {
    std::ifstream in(archive() / "runs" / key / "00000001.json");
    const std::string catalog = Json::parse(in)["catalog"];
    std::filesystem::resize_file(
        archive() / "catalogs" / catalog.substr(0, 2) / (catalog + ".zst"), 100);
  }
  /// One line says that this run, and why.
  static auto says(const std::string& key, const std::string& what) {
    return HasSubstr("flor: run " + key.substr(0, 8) + " (linear) is not " + what + ": ");
  }
  static std::string line_of(const std::string& text, const std::string& part) {
    const std::size_t at = text.find(part);
    if (at == text.npos) return {};
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  }
  std::vector<std::string> keys_of(const Json& list) const {
    std::vector<std::string> keys;
    for (const Json& run : list["runs"]) keys.push_back(run[run.contains("run") ? "run" : "id"]);
    std::ranges::sort(keys);
    return keys;
  }
  std::vector<std::string> others() const {
    std::vector<std::string> keys{first_, last_};
    std::ranges::sort(keys);
    return keys;
  }

  std::string first_, bad_, last_;
};

TEST_F(RefusedRunsTest, AFetchBringsAllButTheDamagedOne) {
  spool_three();
  damage_there(bad_);
  const Outcome fetched = far({"fetch", "linear", url()});
  EXPECT_EQ(fetched.status, 4);
  EXPECT_THAT(fetched.err, AllOf(says(bad_, "fetched"), HasSubstr("not what its digest says")));
  EXPECT_EQ(std::ranges::count(fetched.err, '\n'), 1) << fetched.err;
  EXPECT_EQ(fetched.lines().size(), 2U);
  EXPECT_EQ(keys_of(far({"list", "--json"}).json()), others());
  EXPECT_EQ(far({"fsck"}).status, 0);
  const Outcome again = far({"fetch", "linear", url(), "--json"});
  EXPECT_EQ(again.status, 4);
  const Json runs = again.json()["runs"];
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[1]["run"], bad_);
  EXPECT_THAT(runs[1]["refused"].get<std::string>(), HasSubstr("not what its digest says"));
  EXPECT_FALSE(runs[0].contains("refused"));
}

TEST_F(RefusedRunsTest, AFetchEndsWithTheStatusOfTheRefusalAndWithThatOfDamageFirst) {
  spool_three();
  for (const bool is_damaged : {false, true}) {
    if (is_damaged) damage_there(bad_);
    std::filesystem::remove_all(far_home());
    const auto store = store::Store::open(far_home(), store::OpenMode::create);
    const auto lock = store->lock_run(first_);
    ASSERT_TRUE(lock);
    const Outcome fetched = far({"fetch", "linear", url()});
    EXPECT_EQ(fetched.status, is_damaged ? 4 : 6);
    EXPECT_THAT(fetched.err,
                AllOf(says(first_, "fetched"), HasSubstr("is being recorded or fetched here")));
    EXPECT_EQ(std::ranges::count(fetched.err, '\n'), is_damaged ? 2 : 1) << fetched.err;
    EXPECT_EQ(far({"fetch", first_, url()}).status, 6) << "one run alone is refused as ever";
  }
}

TEST_F(RefusedRunsTest, OfAGroupWhoseLeaderIsRefusedNoRankComes) {
  store::NewRun start;
  start.experiment = "linear";
  start.started_us = RunPlan().started_us - 1'000'000;
  start.rank = store::RankPlace{0, 0, 2};
  const store::Run leader = catalog().add_run(start);
  start.rank = store::RankPlace{leader.id, 1, 2};
  const store::Run rank = catalog().add_run(start);
  for (const std::int64_t run : {leader.id, rank.id}) {
    catalog().finish_run(run, start.started_us + 10, false, "");
  }
  spool_three();
  damage_there(leader.key);
  const Outcome fetched = far({"fetch", "linear", url()});
  EXPECT_EQ(fetched.status, 4);
  EXPECT_THAT(fetched.err, AllOf(says(leader.key, "fetched"), says(rank.key, "fetched")));
  EXPECT_THAT(line_of(fetched.err, rank.key.substr(0, 8) + " (linear)"),
              HasSubstr("which leads its group"));
  EXPECT_EQ(far({"list", "--json"}).json()["runs"].size(), 3U);
}

TEST_F(RefusedRunsTest, ASpoolSendsAllButTheOneOfANewerFlor) {
  record_three();
  ASSERT_EQ(flor({"spool", bad_, url()}).status, 0);
  std::ofstream(archive() / "runs" / bad_ / "00000002.json") << R"({"flor_manifest": 99})";
  const Outcome sent = flor({"spool", "linear", url()});
  EXPECT_EQ(sent.status, 1);
  EXPECT_THAT(sent.err, AllOf(says(bad_, "spooled"), HasSubstr("newer Flor: upgrade flor")));
  EXPECT_EQ(sent.lines().size(), 2U);
  const Outcome listed = far({"remote", "ls", url(), "--json"});
  EXPECT_EQ(keys_of(listed.json()), others());
  const Outcome watched = flor({"spool", "linear", url(), "--follow", "--json"});
  EXPECT_EQ(watched.status, 1) << "it ends, for the others have ended";
  EXPECT_EQ(std::ranges::count(watched.err, '\n'), 1) << watched.err;
  EXPECT_EQ(flor({"spool", bad_, url(), "--follow"}).status, 1);
}

TEST_F(RefusedRunsTest, SpaceIsFreedOfAllButTheOneThatHasNotEnded) {
  store::NewRun start;
  start.experiment = "linear";
  start.started_us = RunPlan().started_us + 500'000;
  const store::Run open = catalog().add_run(start);
  record_three();
  const Outcome freed = flor({"spool", "linear", url(), "--delete-local"});
  EXPECT_EQ(freed.status, 1);
  EXPECT_THAT(freed.err, AllOf(says(open.key, "deleted here"), HasSubstr("has not ended")));
  for (const std::string& key : {first_, bad_, last_}) {
    EXPECT_EQ(catalog().checkpoints(catalog().resolve(key).id).size(), 0U);
  }
}

TEST_F(RefusedRunsTest, EachRunWhoseContentIsNotThereAsItWasSentIsNamedAndKeptHere) {
  spool_three();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(archive() / "parcels")) {
    if (!entry.is_regular_file()) continue;
    std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(80) << "?";
  }
  const Outcome freed = flor({"spool", "linear", url(), "--delete-local"});
  EXPECT_EQ(freed.status, 4);
  for (const std::string& key : {first_, bad_, last_}) {
    EXPECT_THAT(freed.err, says(key, "deleted here"));
    EXPECT_EQ(catalog().checkpoints(catalog().resolve(key).id).size(), 6U);
  }
}

TEST_F(RefusedRunsTest, TensorBoardGetsAllButTheRunWhosePictureIsLost) {
  RunPlan plan;
  first_ = record(plan).key;
  const store::Run bad = record(plan);
  bad_ = bad.key;
  last_ = record(plan).key;
  store::Value picture = value("picture", 0, 1);
  picture.type = store::ValueType::image;
  picture.value = std::string(32, '0');
  catalog().add_values(bad.id, std::vector{picture});
  close();
  const std::string logs = (directory_ / "logs").string();
  const Outcome written =
      flor({"export", first_, bad_, last_, "--format", "tensorboard", "-o", logs});
  EXPECT_NE(written.status, 0);
  EXPECT_THAT(written.err, says(bad_, "exported"));
  EXPECT_EQ(written.lines().size(), 2U);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(logs)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 2U) << "nothing is left of the one that was refused";
  EXPECT_EQ(flor({"export", bad_, "--format", "tensorboard", "-o", logs}).status, written.status);
}

}  // namespace
}  // namespace flor::testing
