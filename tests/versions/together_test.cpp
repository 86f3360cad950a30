// Runs that start at the same moment, and what git shows of them.
#include "versions/project.h"

#include <set>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class Together : public ::testing::Test {
 protected:
  /// Starts the program in each directory at once, and waits for all.
  void record_in(const std::vector<std::filesystem::path>& directories) {
    std::vector<std::unique_ptr<Process>> runs;
    for (const auto& directory : directories) {
      ProcessOptions options = bench_.options();
      options.directory = directory;
      runs.push_back(std::make_unique<Process>(
          Words{program("trainer").string(), "--flor", "test", "--flor_every", "1"}, options));
    }
    for (const auto& run : runs) {
      const ProcessResult result = run->wait();
      EXPECT_EQ(result.status, 0) << result.err;
    }
  }
  std::vector<store::Run> runs() const { return bench_.store()->catalog().runs(); }
  std::string git(const Words& words) const { return bench_.repository().run_git(words); }
  std::size_t versions() const {
    return lines_of(git({"log", "--first-parent", "--format=%H", "main..flor.shadow"})).size();
  }

  Workbench bench_;
};

TEST_F(Together, EightRunsOfEightTreesMakeEightCommitsAndNoneIsLost) {
  std::vector<std::filesystem::path> trees;
  for (int i = 0; i < 8; ++i) {
    trees.push_back(bench_.repository().place() / ("tree" + std::to_string(i)));
    git({"worktree", "add", "-q", "--detach", trees.back().string()});
    write_file(trees.back() / "mine.txt", "tree " + std::to_string(i) + "\n");
  }
  record_in(trees);
  std::set<std::string> commits;
  for (const store::Run& run : runs()) {
    commits.insert(run.start.commit);
    // Reachable, and what the run's own tree held.
    git({"merge-base", "--is-ancestor", run.start.commit, "flor.shadow"});
    EXPECT_EQ(git({"show", run.start.commit + ":mine.txt"}),
              read_file(std::filesystem::path(run.start.repository) / "mine.txt"));
  }
  EXPECT_EQ(runs().size(), 8u);
  EXPECT_EQ(commits.size(), 8u);
  EXPECT_EQ(versions(), 8u);
  git({"fsck", "--strict", "--no-dangling"});
}

TEST_F(Together, EightRunsOfOneTreeShareOneCommit) {
  bench_.repository().write("mine.txt", "one tree\n");
  record_in(std::vector(8, bench_.repository().root()));
  std::set<std::string> commits, keys;
  for (const store::Run& run : runs()) {
    commits.insert(run.start.commit);
    keys.insert(run.key);
  }
  EXPECT_EQ(commits.size(), 1u);
  EXPECT_EQ(keys.size(), 8u);
  EXPECT_EQ(versions(), 1u);
  git({"fsck", "--strict"});
}

TEST_F(Together, GitShowsRunExperimentAndArgumentsAsTrailers) {
  bench_.record("trainer", {"--kwargs", "epochs=2", "pause_ms=0"});
  const store::Run run = bench_.last_run();
  const std::string trailers = git({"log", "-1", "--format=%(trailers)", "flor.shadow"});
  EXPECT_EQ(trailers,
            fmt::format("Flor-Run: {}\nFlor-Experiment: test\nFlor-Command: {} --flor test "
                        "--flor_every 1 --kwargs epochs=2 pause_ms=0\nFlor-Args: epochs=2 "
                        "pause_ms=0\n\n",
                        run.key, program("trainer").string()));
  EXPECT_EQ(git({"log", "-1", "--format=%(trailers:key=Flor-Run,valueonly)", "flor.shadow"}),
            run.key + "\n\n");
  EXPECT_EQ(git({"log", "-1", "--format=%s", "flor.shadow"}), "flor: test\n");
}

TEST_F(Together, AnArgumentOfSeveralLinesStaysOneTrailer) {
  bench_.record("trainer", {"--", "two\nlines", "Flor-Run: forged"});
  EXPECT_EQ(git({"log", "-1", "--format=%(trailers:key=Flor-Run,valueonly)", "flor.shadow"}),
            bench_.last_run().key + "\n\n");
  EXPECT_THAT(git({"log", "-1", "--format=%B", "flor.shadow"}), HasSubstr("two lines Flor-Run"));
}

}  // namespace
}  // namespace flor::testing
