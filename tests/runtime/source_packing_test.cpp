// The thread that packs the shadow branch while a program trains.
#include "record/source_packing.h"

#include "git/shadow.h"
#include "support/git_repository.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace flor::detail {
namespace {

namespace fs = std::filesystem;

class SourcePackingTest : public ::testing::Test {
 protected:
  SourcePackingTest() {
    repo_.run_git({"config", "gc.auto", "1000"});
    for (int i = 0; i < 1500; ++i) repo_.write(fmt::format("f{}", i), fmt::format("{}\n", i));
    git::CommitOptions options;
    options.message = "run";
    commit_ = git::Repository::discover(repo_.root())->commit_work_tree(options).id;
  }
  bool has_pack() const {
    for (const auto& entry : fs::directory_iterator(repo_.root() / ".git/objects/pack")) {
      if (entry.path().extension() == ".idx") return true;
    }
    return false;
  }
  bool has_loose() const {
    for (const auto& entry : fs::directory_iterator(repo_.root() / ".git/objects")) {
      const bool is_loose = entry.path().filename().string().size() == 2;
      if (is_loose && !fs::is_empty(entry.path())) return true;
    }
    return false;
  }
  void expect_sound() {
    EXPECT_EQ(testing::run_command({"git", "fsck", "--full", "--no-dangling"}, repo_.root()).status,
              0);
    EXPECT_EQ(repo_.run_git({"show", commit_ + ":f777"}), "777\n");
  }

  testing::GitRepository repo_;
  std::string commit_;
};

TEST_F(SourcePackingTest, HappensWhileTheProgramGoesOn) {
  const SourcePacking packing(repo_.root());
  const auto last = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // git fsck takes an object that becomes packed while it looks for one that is lost.
  while ((!has_pack() || has_loose()) && std::chrono::steady_clock::now() < last) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(has_pack());
  EXPECT_FALSE(has_loose());
  expect_sound();
}

TEST_F(SourcePackingTest, AProgramThatEndsAtOnceDoesNotWaitForIt) {
  for (int i = 0; i < 5; ++i) SourcePacking packing(repo_.root());
  expect_sound();
}

TEST_F(SourcePackingTest, OutsideOfARepositoryThereIsNothingToDo) {
  SourcePacking packing(repo_.place() / "not-there");
}

}  // namespace
}  // namespace flor::detail
