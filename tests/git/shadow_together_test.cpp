// Several processes commit at once.
#include "shadow_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace flor::git {
namespace {

namespace fs = std::filesystem;

constexpr int kProcesses = 8;

/// Runs `work` in processes that start at the same moment; true if all succeed.
template <typename Work>
bool at_once(const Work& work) {
  int start[2];
  if (::pipe(start) != 0) return false;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(start[1]);
      char byte = 0;
      const ssize_t got = ::read(start[0], &byte, 1);
      int status = got == 0 ? 0 : 1;
      try {
        work(i);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", i, error.what());
        status = 1;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  ::close(start[0]);
  ::close(start[1]);
  bool good = true;
  for (pid_t child : children) {
    int status = 0;
    good = ::waitpid(child, &status, 0) == child && status == 0 && good;
  }
  return good;
}

ShadowCommit commit_from(const fs::path& root, const std::string& message) {
  CommitOptions options;
  options.message = message;
  return Repository::discover(root)->commit_work_tree(options);
}

TEST_F(ShadowTest, EightProcessesInEightWorkTreesMakeEightCommitsAndNoneIsLost) {
  repo.write("a.cpp", "main\n");
  repo.commit_all("first");
  std::vector<fs::path> trees;
  for (int i = 0; i < kProcesses; ++i) {
    trees.push_back(repo.place() / ("tree" + std::to_string(i)));
    repo.run_git({"worktree", "add", "-q", "--detach", trees.back().string()});
    testing::write_file(trees.back() / "a.cpp", "tree " + std::to_string(i) + "\n");
  }
  constexpr int kRounds = 5;
  ASSERT_TRUE(at_once([&](int i) {
    const fs::path& root = trees[static_cast<std::size_t>(i)];
    for (int round = 0; round < kRounds; ++round) {
      const std::string name = std::to_string(i) + "." + std::to_string(round);
      testing::write_file(root / "round.txt", name);
      commit_from(root, "process " + name);
    }
  }));
  check_repository();
  const auto subjects =
      testing::lines_of(repo.run_git({"log", "--first-parent", "--format=%s", "flor.shadow"}));
  std::set<std::string> distinct;
  for (const std::string& subject : subjects) {
    if (subject.starts_with("process ")) distinct.insert(subject);
  }
  EXPECT_EQ(distinct.size(), static_cast<std::size_t>(kProcesses * kRounds));
}

TEST_F(ShadowTest, EightProcessesInOneWorkTreeMakeOneCommit) {
  repo.write("a.cpp", "main\n");
  repo.commit_all("first");
  repo.write("a.cpp", "changed\n");
  repo.write("b.cpp", "new\n");
  ASSERT_TRUE(at_once([&](int i) { commit_from(repo.root(), "process " + std::to_string(i)); }));
  check_repository();
  EXPECT_EQ(repo.git_line({"rev-list", "--count", "main..flor.shadow"}), "1");
}

TEST_F(ShadowTest, EightProcessesOnTheCheckedOutShadowBranchLeaveTheIndexInLine) {
  repo.write("a.cpp", "main\n");
  repo.commit_all("first");
  repo.run_git({"checkout", "-q", "-b", "flor.shadow"});
  repo.write("a.cpp", "changed\n");
  ASSERT_TRUE(at_once([&](int i) { commit_from(repo.root(), "process " + std::to_string(i)); }));
  check_repository();
  EXPECT_EQ(repo.git_line({"rev-list", "--count", "main..flor.shadow"}), "1");
  EXPECT_EQ(repo.run_git({"status", "--porcelain"}), "");
}

}  // namespace
}  // namespace flor::git
