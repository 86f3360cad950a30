// A home that the user may read and not write: what only looks works, and the rest says so in a
// line.
#include "cli/fixture.h"
#include "remote/remote.h"
#include "support/packs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class ReadOnlyHome : public CliTest {
 protected:
  static constexpr uid_t kNobody = 65534;

  void SetUp() override {
    const store::Run run = record({});
    replay(run, 3, 4);
    const auto objects = remote::open_objects(bucket());
    remote::spool(store(), *catalog().run(run.id), *objects, {});
    close();
    fs::remove_all(home() / "cache");
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      ::chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444);
    }
    ::chmod(directory_.path().c_str(), 0555);
  }
  void TearDown() override {
    ::chmod(directory_.path().c_str(), 0755);
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
      ::chmod(entry.path().c_str(), 0755);
    }
  }
  std::string bucket() const { return "file://" + (directory_ / "bucket").string(); }

  /// As a user who owns nothing of it, even where root runs the test.
  Outcome as_nobody(const std::vector<std::string>& arguments) {
    const TemporaryDirectory texts;
    ::chmod(texts.path().c_str(), 0777);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(97);
      if (!std::freopen((texts / "out").c_str(), "w", stdout) ||
          !std::freopen((texts / "err").c_str(), "w", stderr) || ::chdir("/") != 0) {
        ::_exit(98);
      }
      std::vector<std::string> words{FLOR_CLI, "--home", home().string()};
      words.insert(words.end(), arguments.begin(), arguments.end());
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      ::setenv("HOME", "/nonexistent", 1);
      ::execv(FLOR_CLI, pointers.data());
      ::_exit(99);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto read = [&](const char* name) {
      std::ifstream in(texts / name);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    return {.status = WEXITSTATUS(status), .out = read("out"), .err = read("err")};
  }
};

TEST_F(ReadOnlyHome, WhatOnlyLooksWorks) {
  const std::vector<std::vector<std::string>> all = {
      {"list"},
      {"show", "linear"},
      {"log", "linear"},
      {"query", "loss"},
      {"sql", "select 1"},
      {"du"},
      {"fsck"},
      {"gc", "--dry-run"},
      {"keep", "linear", "--last", "1", "--dry-run"},
      {"jobs"},
      {"config"},
      {"remote", "ls", bucket()},
      {"remote", "verify", bucket(), "--read-data"},
  };
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  for (const auto& words : all) {
    const Outcome outcome = as_nobody(words);
    EXPECT_EQ(outcome.status, 0) << words[0] << ": " << outcome.err;
  }
}

TEST_F(ReadOnlyHome, WhatWritesSaysInOneLineThatItCannotAndWhatToDo) {
  const std::vector<std::vector<std::string>> all = {
      {"gc"},
      {"keep", "linear", "--last", "1"},
      {"archive", "linear"},
      {"fsck", "--repair"},
      {"jobs", "retry"},
      {"replay", "linear", "--", "/bin/true"},
      {"spool", "linear", "file:///tmp/nothing"},
      {"fetch", "linear", bucket()},
      {"replay", "linear", "--from", bucket(), "--", "/bin/true"},
      {"watch", "/tmp", "--evaluator", "/bin/true", "--until-idle"},
  };
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  for (const auto& words : all) {
    const Outcome outcome = as_nobody(words);
    EXPECT_EQ(outcome.status, 1) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << words[0];
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("choose a store you may write to")) << words[0];
    EXPECT_THAT(outcome.err, Not(HasSubstr("filesystem error"))) << words[0];
  }
}

/// The catalog may be written, the directory of the logs may not be made.
TEST_F(ReadOnlyHome, ADirectoryThatCannotBeMadeIsNamedInOneLine) {
  for (const char* name : {"catalog.db", "locks", "packs"}) {
    ::chmod((home() / name).c_str(), 0777);
  }
  std::ofstream(home() / "logs") << "no directory";
  ::chmod(home().c_str(), 0777);
  ::chmod((home() / "logs").c_str(), 0444);
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  const std::vector<std::vector<std::string>> all = {
      {"watch", "/tmp", "--evaluator", "/bin/true", "--until-idle"},
      {"replay", "linear", "--", "/bin/true"},
  };
  for (const auto& words : all) {
    const Outcome outcome = as_nobody(words);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("cannot make the directory " + (home() / "logs").string()));
    EXPECT_THAT(outcome.err, Not(HasSubstr("filesystem error")));
  }
}

TEST_F(ReadOnlyHome, WithoutACatalogWhatOnlyLooksHasOneForItself) {
  ::chmod(home().c_str(), 0755);
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    fs::remove(home() / file);
  }
  ::chmod(home().c_str(), 0555);
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  const std::vector<std::vector<std::string>> all = {{"list"},
                                                     {"show", "linear"},
                                                     {"query", "loss"},
                                                     {"sql", "select * from runs"},
                                                     {"fsck"},
                                                     {"du"},
                                                     {"gc", "--dry-run"},
                                                     {"plot", "linear"}};
  for (const auto& words : all) {
    const Outcome outcome = as_nobody(words);
    EXPECT_EQ(outcome.status, 0) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.out, Not(IsEmpty())) << words[0];
    const std::string said = "for this command it was made in ";
    EXPECT_EQ(outcome.err.find(said), outcome.err.rfind(said)) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(said)) << words[0];
  }
  EXPECT_FALSE(fs::exists(home() / "catalog.db"));
}

/// A home whose user may not read some of what lies in it, as after a copy by root.
class UnreadableJournal : public ReadOnlyHome {
 protected:
  void SetUp() override {
    RunPlan plan;
    plan.experiment = "hidden";
    hidden_ = record(plan).key;
    plan.experiment = "seen";
    record(plan);
    close();
    ::chmod(directory_.path().c_str(), 0755);
    give(home());
    for (const auto& entry : fs::recursive_directory_iterator(home())) give(entry.path());
    for (const auto& pack : flor::testing::packs_of(home())) {
      // As gc leaves alone what may be new.
      fs::last_write_time(pack, fs::file_time_type::clock::now() - std::chrono::hours(2));
      packs_.insert(pack.path());
    }
  }
  /// To the user of `as_nobody`.
  static void give(const fs::path& path) {
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0) << path;
    }
  }
  static void hide(const fs::path& path) {
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    }
    ::chmod(path.c_str(), 0);
  }
  static void show(const fs::path& path, mode_t mode) {
    give(path);
    ::chmod(path.c_str(), mode);
  }
  void remove_index() const {
    for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
      fs::remove(home() / file);
    }
  }
  fs::path shard() const { return home() / "runs" / hidden_.substr(0, 2); }

  std::string hidden_;
  std::set<fs::path> packs_;
};

TEST_F(UnreadableJournal, CostsThatRunIsNamedAndIsReadWhenItCanBe) {
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  const fs::path run = shard() / hidden_;
  for (const fs::path& path : {run / "1/journal", run / "1", run, shard()}) {
    SCOPED_TRACE(path);
    const mode_t mode = fs::is_directory(path) ? 0700 : 0600;
    hide(path);
    // With the index nothing is missing.
    Outcome listed = as_nobody({"list"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("hidden"));
    remove_index();
    for (int times = 0; times < 2; ++times) {
      listed = as_nobody({"list"});
      EXPECT_EQ(listed.status, 0) << listed.err;
      EXPECT_THAT(listed.out, HasSubstr("seen"));
      EXPECT_THAT(listed.out, Not(HasSubstr("hidden")));
      EXPECT_THAT(listed.err, HasSubstr(path.string()));
    }
    EXPECT_THAT(as_nobody({"show", "seen"}).out, HasSubstr("finished"));
    // What it needs is no garbage.
    const Outcome collected = as_nobody({"gc"});
    EXPECT_EQ(collected.status, 5) << collected.err;
    EXPECT_THAT(collected.out, HasSubstr("remark: nothing is collected: "));
    EXPECT_THAT(collected.out, HasSubstr(path.string()));
    for (const fs::path& pack : packs_) EXPECT_TRUE(fs::exists(pack)) << pack;
    show(path, mode);
    listed = as_nobody({"list"});
    EXPECT_THAT(listed.out, HasSubstr("hidden")) << listed.err;
    EXPECT_EQ(as_nobody({"gc"}).status, 0);
    const Outcome checked = as_nobody({"fsck"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
    if (HasFailure()) return;
  }
}

/// Nothing is taken for a store in which nothing was recorded.
TEST_F(UnreadableJournal, NoneAtAllIsAnErrorThatNamesTheDirectory) {
  if (as_nobody({"--version"}).status == 99) GTEST_SKIP() << "the program is not for all users";
  hide(home() / "runs");
  remove_index();
  for (const char* command : {"list", "gc"}) {
    const Outcome refused = as_nobody({command});
    EXPECT_EQ(refused.status, 1) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr((home() / "runs").string() + " cannot be listed"));
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
  show(home() / "runs", 0700);
  EXPECT_THAT(as_nobody({"list"}).out, HasSubstr("hidden"));
}

}  // namespace
}  // namespace flor::testing
