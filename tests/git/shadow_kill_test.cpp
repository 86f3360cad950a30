// A process that makes a shadow commit of hundreds of files is killed, without a chance to clean
// up, at any of its system calls: the repository is as it was for its user, sound, and takes the
// next commit.
#include "shadow_fixture.h"
#include "support/syscall_tracer.h"

#include <climits>
#include <random>

namespace flor::git {
namespace {

namespace fs = std::filesystem;
using flor::testing::SyscallTracer;
using flor::testing::TraceResult;

class ShadowKill : public ShadowTest {
 protected:
  static constexpr int kFiles = 340;

  static std::string name_of(int file) {
    return "part" + std::to_string(file % 17) + "/deep/f" + std::to_string(file) + ".cpp";
  }
  /// A third of the files are new to git, and others change, each time in another way.
  void edit(int round) {
    for (int file = 0; file < kFiles; ++file) {
      if (round > 0 && file % 5 != round % 5) continue;
      repo.write(name_of(file),
                 "file " + std::to_string(file) + " " + std::to_string(round) + "\n");
      if (round == 0 && file == kFiles * 2 / 3) repo.commit_all("first");
    }
  }
  TraceResult commit_killed(int stop) {
    return SyscallTracer::run([] {},
                              [&] {
                                CommitOptions options;
                                options.message = "killed";
                                Repository::discover(repo.root())->commit_work_tree(options);
                              },
                              stop);
  }
  std::vector<fs::path> locks() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(repo.root() / ".git")) {
      if (entry.path().extension() == ".lock") found.push_back(entry.path());
    }
    return found;
  }

  void storm(int kills) {
    edit(0);
    commit();
    edit(1);
    const TraceResult whole = commit_killed(INT_MAX);
    if (whole.refused) GTEST_SKIP() << "this system does not let a process trace its child";
    ASSERT_EQ(whole.status, 0);
    std::mt19937 random(1);
    int killed = 0, committed = 0;
    for (int round = 2; round < kills + 2; ++round) {
      edit(round);
      const int stop = std::uniform_int_distribution<>(1, whole.stops)(random);
      SCOPED_TRACE("killed at stop " + std::to_string(stop) + " of " + std::to_string(whole.stops));
      const UserView before = view(repo.root());
      const std::string tip = repo.git_line({"rev-parse", "flor.shadow"});
      const bool ended = commit_killed(stop).finished;
      killed += ended ? 0 : 1;
      const UserView after = view(repo.root());
      EXPECT_TRUE(before == after) << "what the user sees has changed";
      EXPECT_THAT(locks(), ::testing::IsEmpty());
      check_repository();
      const std::string now = repo.git_line({"rev-parse", "flor.shadow"});
      if (now != tip) {  // it had come to its end, or nearly so
        ++committed;
        expect_tree_as_git_makes_it();
      }
      repo.write("after.txt", std::to_string(round));
      commit("after it");
      expect_tree_as_git_makes_it();
      if (HasFailure()) return;
    }
    std::printf("killed %d times at %d stops, %d of them after the commit; nothing lost\n", killed,
                whole.stops, committed);
    EXPECT_GT(killed, kills / 2);
  }
};

TEST_F(ShadowKill, AtAnySystemCallLeavesTheRepositoryAsItWas) { storm(12); }

using ShadowKillOften = ShadowKill;
TEST_F(ShadowKillOften, AtAnySystemCallLeavesTheRepositoryAsItWas) { storm(200); }

}  // namespace
}  // namespace flor::git
