// flor doctor --ranks: what several ranks find together, and what each fault is called.
#include "doctor/rank_facts.h"
#include "support/git_repository.h"
#include "support/process.h"
#include "support/soon.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flor::cli::doctor_ranks_test {
namespace {

using flor::testing::GitRepository;
using flor::testing::Process;
using flor::testing::ProcessOptions;
using flor::testing::ProcessResult;
using flor::testing::soon;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Three ranks of which nothing is wrong.
std::vector<RankFacts> good_ranks() {
  std::vector<RankFacts> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back({.rank = rank,
                     .host = fmt::format("node{}", rank / 2),
                     .flor = "0.1.0",
                     .libraries = "zstd 1.5.4",
                     .torch = "1.13.1",
                     .blas = "libopenblas.so",
                     .repository = "/src/train",
                     .commit = "9629376e",
                     .gpu = fmt::format("GPU-{}", rank),
                     .gpu_name = "NVIDIA Test",
                     .clock_seconds = 0.01,
                     .respects_lock = true,
                     .written_bytes = 1e8});
  }
  return ranks;
}

/// The findings that do not say ok, as "fail commit: ...".
std::vector<std::string> wrong(const std::vector<RankFacts>& ranks,
                               const std::vector<std::int64_t>& missing = {}) {
  Findings findings;
  examine_ranks(ranks, missing, findings);
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    if (finding.health == Health::ok) continue;
    EXPECT_FALSE(finding.advice.empty()) << finding.topic;
    lines.push_back(
        fmt::format("{} {}: {}", to_string(finding.health), finding.topic, finding.what));
  }
  return lines;
}

TEST(RanksTogether, AreWellWhereAllHaveTheSame) { EXPECT_THAT(wrong(good_ranks()), IsEmpty()); }

TEST(RanksTogether, EachFaultIsNamedWithItsRanks) {
  struct Case {
    std::function<void(std::vector<RankFacts>&)> spoil;
    const char* said;
  };
  const Case cases[] = {
      {[](auto& all) { all[1].flor = "0.2.0"; }, "fail flor: rank 0 has 0.1.0; rank 1 has 0.2.0"},
      {[](auto& all) { all[1].commit = all[2].commit = "1a2b"; },
       "fail commit: rank 0 has 9629376e; ranks 1 and 2 have 1a2b"},
      {[](auto& all) { all[2].commit = ""; }, "fail commit: rank 0 has 9629376e; rank 2 has none"},
      {[](auto& all) { all[2].repository = "/other"; },
       "fail repository: rank 0 has /src/train; rank 2 has /other"},
      {[](auto& all) { all[1].libraries = "zstd 1.4"; },
       "warn libraries: rank 0 has zstd 1.5.4; rank 1 has zstd 1.4"},
      {[](auto& all) { all[1].torch = "2.0"; }, "warn libtorch: rank 0 has 1.13.1; rank 1 has 2.0"},
      {[](auto& all) { all[1].blas = ""; },
       "warn BLAS: rank 0 has libopenblas.so; rank 1 has none"},
      {[](auto& all) { all[2].clock_seconds = -90; },
       "warn clocks: that of rank 2 (node1) is 1 min 30 s behind that of rank 0"},
      {[](auto& all) { all[1].respects_lock = false; },
       "fail locks: rank 1 could lock what rank 0 had locked"},
      {[](auto& all) { all[1].gpu = ""; }, "fail GPUs: rank 1 sees none"},
      {[](auto& all) { all[2].gpu = "GPU-0"; },
       "fail GPUs: ranks 0 and 2 would use the same one, GPU-0"}};
  for (const Case& fault : cases) {
    auto ranks = good_ranks();
    fault.spoil(ranks);
    EXPECT_THAT(wrong(ranks), ElementsAre(fault.said));
  }
}

TEST(RanksTogether, ThoseThatAreMissingAreNamed) {
  EXPECT_THAT(wrong(good_ranks(), {3}),
              ElementsAre("fail ranks: rank 3 did not come to this home"));
  std::vector<std::int64_t> many(20);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i) + 3;
  EXPECT_THAT(wrong(good_ranks(), many).front(),
              HasSubstr("ranks 3, 4, 5, 6, 7, 8, 9, 10 and 12 more"));
}

TEST(RanksTogether, FactsComeBackFromTheirFile) {
  const RankFacts facts = good_ranks()[1];
  EXPECT_EQ(rank_json(rank_of_json(rank_json(facts))), rank_json(facts));
  EXPECT_THROW(rank_of_json(Json::object()), Error);
  EXPECT_THROW(rank_of_json({{"rank", "x"}}), Error);
}

/// Several processes that a launcher starts.
class Job : public ::testing::Test {
 protected:
  Job() {
    repository_.write("train.cpp", "int main() {}\n");
    repository_.commit_all("first");
  }

  ProcessOptions options(int rank, int world, const char* patience = "60") const {
    return {.directory = repository_.root(),
            .environment = {{"FLOR_HOME", home()},
                            {"FLOR_RANK_TIMEOUT", patience},
                            {"FLOR_NVML", FLOR_FAKE_NVML},
                            {"CUDA_VISIBLE_DEVICES", std::nullopt},
                            {"MASTER_ADDR", "localhost"},
                            {"LOCAL_RANK", std::to_string(rank)},
                            {"RANK", std::to_string(rank)},
                            {"WORLD_SIZE", std::to_string(world)}}};
  }
  std::string home(const char* name = "home") const { return (directory_.path() / name).string(); }
  static std::vector<ProcessResult> run_all(const std::vector<ProcessOptions>& all) {
    std::vector<std::unique_ptr<Process>> processes;
    for (const ProcessOptions& each : all) {
      processes.push_back(std::make_unique<Process>(
          std::vector<std::string>{FLOR_CLI, "doctor", "--ranks", "--json"}, each));
    }
    std::vector<ProcessResult> results;
    for (const auto& process : processes) results.push_back(process->wait());
    return results;
  }
  /// "warn what" of a topic.
  static std::string finding(const ProcessResult& result, const std::string& topic) {
    const json document = json::parse(result.out, nullptr, false);
    if (document.is_discarded()) return "no JSON: " + result.out + result.err;
    for (const auto& each : document["findings"]) {
      if (each["topic"] == topic) {
        return each["health"].get<std::string>() + " " + each["what"].get<std::string>();
      }
    }
    return "no " + topic;
  }

  /// What ranks have left in the meeting place.
  std::vector<std::string> json_files() const {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(home() + "/doctor", ignored)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    return files;
  }

  GitRepository repository_;
  flor::testing::TemporaryDirectory directory_;
};

TEST_F(Job, OfTwoRanksIsReadyAndLeavesNothing) {
  const auto results = run_all({options(0, 2), options(1, 2)});
  EXPECT_EQ(results[0].status, 0) << results[0].out << results[0].err;
  EXPECT_EQ(results[1].status, 0) << results[1].err;
  EXPECT_EQ(results[1].out, "") << "rank 0 speaks for all";
  EXPECT_EQ(finding(results[0], "ranks"), "ok all 2 are here");
  EXPECT_EQ(finding(results[0], "locks"), "ok what rank 0 locks is locked for all");
  EXPECT_EQ(finding(results[0], "GPUs"), "ok each rank has its own, 2 in all");
  const json ranks = json::parse(results[0].out)["ranks"];
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[1]["gpu"], "GPU-one");
  EXPECT_EQ(ranks[1]["commit"], ranks[0]["commit"]);
  EXPECT_GT(ranks[1]["written_bytes_a_second"], 0);
  EXPECT_FALSE(std::filesystem::exists(home() + "/doctor"));
}

TEST_F(Job, WithAFaultFailsInEveryRank) {
  ProcessOptions same_gpu = options(1, 2);
  same_gpu.environment["CUDA_VISIBLE_DEVICES"] = "0";
  ProcessOptions elsewhere = options(2, 3);
  elsewhere.directory = directory_.path();
  auto results = run_all({options(0, 2), same_gpu});
  EXPECT_EQ(results[0].status, 1);
  EXPECT_EQ(results[1].status, 1);
  EXPECT_THAT(finding(results[0], "GPUs"), HasSubstr("ranks 0 and 1 would use the same one"));
  results = run_all({options(0, 3), options(1, 3), elsewhere});
  EXPECT_THAT(finding(results[0], "repository"), HasSubstr("rank 2 has none"));
  EXPECT_EQ(results[1].status, 1) << "though it is not its own fault";
}

TEST_F(Job, WithARankInAnotherHomeSaysWhoIsMissingWhere) {
  ProcessOptions other = options(1, 2, "1");
  other.environment["FLOR_HOME"] = home("other");
  const auto results = run_all({options(0, 2, "1"), other});
  EXPECT_EQ(results[0].status, 1);
  EXPECT_EQ(finding(results[0], "ranks"), "fail rank 1 did not come to this home");
  EXPECT_EQ(results[1].status, 1);
  EXPECT_THAT(finding(results[1], "ranks"), HasSubstr("rank 0 did not come to " + home("other")));
}

/// The files of a rank 0 that was killed mislead no later job of the same launcher.
TEST_F(Job, AfterOneThatWasKilledMeetsAnew) {
  {
    Process killed({FLOR_CLI, "doctor", "--ranks"}, options(0, 2));
    ASSERT_TRUE(soon([&] { return !json_files().empty(); }));
    killed.kill(SIGKILL);
    killed.wait();
  }
  const auto results = run_all({options(0, 2), options(1, 2)});
  EXPECT_EQ(results[0].status, 0) << results[0].out << results[0].err;
  EXPECT_EQ(results[1].status, 0) << results[1].err;
}

TEST_F(Job, OfALauncherThatRecordingsDoNotHearIsToldSo) {
  std::vector<ProcessOptions> all;
  for (int rank = 0; rank < 2; ++rank) {
    all.push_back(options(rank, 2));
    all.back().environment["RANK"] = std::nullopt;
    all.back().environment["WORLD_SIZE"] = std::nullopt;
    all.back().environment["OMPI_COMM_WORLD_RANK"] = std::to_string(rank);
    all.back().environment["OMPI_COMM_WORLD_SIZE"] = "2";
  }
  const auto results = run_all(all);
  EXPECT_EQ(results[0].status, 0) << results[0].err;
  EXPECT_THAT(finding(results[0], "launcher"), HasSubstr("warn OMPI_COMM_WORLD_RANK says"));
}

TEST_F(Job, OfOneProcessIsRefused) {
  ProcessOptions alone = options(0, 2);
  alone.environment["RANK"] = alone.environment["WORLD_SIZE"] = std::nullopt;
  const auto results = run_all({alone});
  EXPECT_EQ(results[0].status, 2);
  EXPECT_THAT(results[0].err, HasSubstr("start it by torchrun, srun or mpirun"));
}

}  // namespace
}  // namespace flor::cli::doctor_ranks_test
