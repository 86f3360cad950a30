// The loose objects of the shadow branch in a pack: what git says of the repository before, after,
// and when it is stopped anywhere.
#include "shadow_fixture.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <atomic>
#include <thread>

namespace flor::git {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

class PackBranch : public ShadowTest {
 protected:
  /// Some thousand loose objects of the shadow branch: what git estimates them by are those of one
  /// directory in 256.
  void fill(int files = 1500) {
    for (int i = 0; i < files; ++i) {
      repo.write(fmt::format("d{}/f{}", i / 100, i), fmt::format("content {}\n", i));
    }
    repo.write("a.cpp", "one\n");
    commit_now();
    for (const char* text : {"two\n", "three\n", "four\n"}) {
      repo.write("a.cpp", text);
      commit_now();
    }
    all_ = reachable();
  }
  ShadowCommit commit_now() {
    CommitOptions options;
    options.message = "run";
    return Repository::discover(repo.root())->commit_work_tree(options);
  }
  std::size_t pack(const std::function<bool()>& goes_on = [] { return true; }) {
    return Repository::discover(repo.root())->pack_branch(kShadowBranch, goes_on);
  }
  std::string reachable() { return repo.run_git({"rev-list", "--objects", "flor.shadow"}); }
  /// Of `git count-objects -v`.
  int count(const std::string& what) {
    for (const std::string& line : testing::lines_of(repo.run_git({"count-objects", "-v"}))) {
      if (line.starts_with(what + ": ")) return std::stoi(line.substr(what.size() + 2));
    }
    return -1;
  }
  void expect_all() {
    check_repository();
    EXPECT_EQ(reachable(), all_);
  }

  std::string all_;
};

TEST_F(PackBranch, MovesWhatTheBranchNeedsAndNothingElse) {
  repo.run_git({"config", "gc.auto", "1000"});
  fill();
  const int loose = count("count");
  repo.write("mine.txt", "a file of another branch\n");
  repo.run_git({"hash-object", "-w", "mine.txt"});
  const UserView before = view(repo.root());
  const std::size_t moved = pack();
  EXPECT_EQ(static_cast<int>(moved), loose);
  EXPECT_EQ(count("count"), 1) << "it belongs to no branch";
  EXPECT_EQ(count("packs"), 1);
  EXPECT_EQ(count("in-pack"), loose);
  EXPECT_EQ(count("prune-packable"), 0);
  expect_all();
  EXPECT_TRUE(view(repo.root()) == before);
  EXPECT_EQ(pack(), 0u) << "nothing is loose any more";

  repo.write("a.cpp", "five\n");
  commit_now();
  check_repository();
  EXPECT_EQ(repo.run_git({"show", "flor.shadow:a.cpp"}), "five\n");
  EXPECT_EQ(repo.run_git({"show", "flor.shadow~:a.cpp"}), "four\n");
}

TEST_F(PackBranch, WaitsUntilGitWouldDoItAndDoesItNeverWhereGitMayNot) {
  fill();
  const int loose = count("count");
  EXPECT_EQ(pack(), 0u) << "6,700 is what git takes for too many";
  repo.run_git({"config", "gc.auto", "0"});
  EXPECT_EQ(pack(), 0u);
  EXPECT_EQ(count("count"), loose);
  EXPECT_EQ(count("packs"), 0);
  repo.run_git({"config", "gc.auto", "1000"});
  EXPECT_EQ(static_cast<int>(pack()), loose);
}

TEST_F(PackBranch, LeavesToGitWhatIsMostlyOfOtherBranches) {
  repo.run_git({"config", "gc.auto", "1000"});
  for (int i = 0; i < 1500; ++i) {
    repo.write(fmt::format("f{}", i), fmt::format("content {}\n", i));
  }
  repo.run_git({"add", "."});
  repo.run_git({"rm", "-r", "-q", "--cached", "."});
  fs::remove_all(repo.root() / ".git" / "index");
  for (int i = 0; i < 1500; ++i) fs::remove(repo.root() / fmt::format("f{}", i));
  repo.write("a.cpp", "one\n");
  commit_now();
  EXPECT_EQ(pack(), 0u);
  EXPECT_EQ(count("packs"), 0);
}

TEST_F(PackBranch, StoppedAnywhereItLosesNothingAndTheNextOneEndsIt) {
  repo.run_git({"config", "gc.auto", "1000"});
  fill();
  const int loose = count("count");
  int asked = 0;
  // The first one finds out how often it is asked, and is stopped at its end.
  pack([&] { return ++asked < loose; });
  expect_all();
  int left = count("count");
  for (const int stop : {1, 3, 100, loose + 100, 2 * loose + 10, 3 * loose, 4 * loose}) {
    int at = 0;
    pack([&] { return ++at < stop; });
    expect_all();
    EXPECT_LE(count("count"), left);
    left = count("count");
    if (HasFailure()) return;
  }
  pack();
  expect_all();
  EXPECT_LE(count("count"), 500) << "fewer than half of what git takes for too many stay";
}

TEST_F(PackBranch, WhoReadsOrCommitsMeanwhileSeesEverything) {
  repo.run_git({"config", "gc.auto", "1000"});
  fill();
  std::atomic<bool> done = false;
  std::jthread packer([&] {
    pack();
    done = true;
  });
  const auto known = Repository::discover(repo.root());
  const std::string tip = *known->branch_tip(kShadowBranch);
  int rounds = 0;
  do {
    EXPECT_EQ(repo.run_git({"rev-list", "--objects", tip}), all_);
    EXPECT_EQ(known->file_at(tip, "d7/f777"), "content 777\n");
    repo.write("a.cpp", fmt::format("round {}\n", rounds));
    commit_now();
  } while (!done && ++rounds < 1000);
  packer.join();
  check_repository();
  EXPECT_EQ(repo.run_git({"rev-list", "--objects", tip}), all_);
  EXPECT_EQ(known->file_at(tip, "d7/f777"), "content 777\n") << "by a repository opened before";
}

TEST_F(PackBranch, NothingGoesWhereAnObjectIsDamaged) {
  repo.run_git({"config", "gc.auto", "1000"});
  fill();
  const std::string id = repo.git_line({"rev-parse", "flor.shadow:d3/f333"});
  const fs::path file = repo.root() / ".git/objects" / id.substr(0, 2) / id.substr(2);
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::string content = testing::read_file(file);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 0x10);
  testing::write_file(file, content);
  const int loose = count("count");
  try {
    pack();
    ADD_FAILURE() << "a damaged object was packed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot pack"));
  }
  EXPECT_EQ(count("count"), loose);
  EXPECT_EQ(testing::read_file(file), content);
}

}  // namespace
}  // namespace flor::git
