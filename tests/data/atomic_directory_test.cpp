// Directories of checkpoints: what is kept, what a crash at any system call leaves, and what ranks
// that do not agree are told.
#include "support/syscall_tracer.h"
#include "support/temporary_directory.h"
#include "support/thread_group.h"

#include <flor/save/atomic_directory.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace flor::atomic_directory_test {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ThreadGroups;
using ::testing::ThrowsMessage;

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".lock")) names.insert(name);
  }
  return names;
}

/// A checkpoint whose files hold its number; a directory within, too.
void save(AtomicDirectory& saver, const std::string& text, bool force = false) {
  const fs::path directory = saver.prepare(force);
  EXPECT_TRUE(fs::is_empty(directory));
  write(directory / "model.pt", text);
  fs::create_directory(directory / "parts");
  write(directory / "parts" / "0", text);
  saver.commit();
}

class AtomicDirectoryTest : public ::testing::Test {
 protected:
  const fs::path& out() const { return directory_.path(); }
  std::set<std::string> names() const { return names_in(out()); }
  /// What the link leads to.
  std::string linked(const std::string& name = "m") const {
    return fs::read_symlink(out() / (name + ".latest_checkpoint")).string();
  }
  AtomicDirectoryOptions options(int keep_last = 0) const {
    return {.name = "m", .keep_last = keep_last};
  }

 private:
  testing::TemporaryDirectory directory_;
};

// One process -------------------------------------------------------------------------------------

TEST_F(AtomicDirectoryTest, IsNumberedAndLinkedRelatively) {
  AtomicDirectory saver(out(), options());
  save(saver, "0");
  save(saver, "1");
  EXPECT_EQ(linked(), "m_checkpoint_1");
  EXPECT_THAT(names(), ElementsAre("m.latest_checkpoint", "m_checkpoint_0", "m_checkpoint_1"));
  EXPECT_EQ(read(*saver.latest() / "parts" / "0"), "1");
}

TEST_F(AtomicDirectoryTest, IsNotSeenBeforeItIsCommitted) {
  AtomicDirectory saver(out(), options());
  save(saver, "0");
  write(saver.prepare() / "model.pt", "half");
  EXPECT_EQ(read(*latest_checkpoint(out(), "m") / "model.pt"), "0");
  EXPECT_EQ(saver.checkpoints().size(), 1u);
  save(saver, "1");  // what was begun is discarded
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(AtomicDirectoryTest, KeepsTheLastOnesAndEveryForcedOne) {
  for (const int keep : {1, 2, 3}) {
    const fs::path directory = out() / std::to_string(keep);
    AtomicDirectory saver(directory, options(keep));
    for (int i = 0; i < 7; ++i) {
      save(saver, std::to_string(i), i == 1 || i == 3);
      const auto all = saver.checkpoints();
      int plain = 0;
      for (const SavedDirectory& saved : all) plain += !saved.forced;
      EXPECT_EQ(plain, std::min(keep, i + 1 - (i >= 1) - (i >= 3)));
      EXPECT_EQ(read(*saver.latest() / "model.pt"), std::to_string(i));
    }
    EXPECT_TRUE(fs::is_directory(directory / "m_checkpoint_1_force"));
    EXPECT_TRUE(fs::is_directory(directory / "m_checkpoint_3_force"));
  }
}

TEST_F(AtomicDirectoryTest, NothingIsDeletedBeforeItsSuccessorIsComplete) {
  AtomicDirectory saver(out(), options(1));
  save(saver, "0");
  saver.prepare();
  EXPECT_EQ(read(*saver.latest() / "model.pt"), "0");
}

TEST_F(AtomicDirectoryTest, ASaverWhoseNameBeginsLikeAnothersIsLeftAlone) {
  AtomicDirectory other(out(), {.name = "m_checkpoint_x"}), saver(out(), options(1));
  save(other, "x");
  fs::create_directory(out() / "m_checkpoint_3_old");
  for (int i = 0; i < 4; ++i) save(saver, std::to_string(i));
  EXPECT_EQ(read(out() / "m_checkpoint_x_checkpoint_0" / "model.pt"), "x");
  EXPECT_TRUE(fs::exists(out() / "m_checkpoint_3_old"));
  EXPECT_EQ(saver.latest()->filename(), "m_checkpoint_3");
}

TEST_F(AtomicDirectoryTest, MayBeMovedElsewhere) {
  testing::TemporaryDirectory elsewhere;
  {
    AtomicDirectory saver(out() / "a", options());
    save(saver, "0");
  }
  fs::rename(out() / "a", elsewhere.path() / "b");
  EXPECT_EQ(read(elsewhere.path() / "b" / "m.latest_checkpoint" / "model.pt"), "0");
  AtomicDirectory saver(elsewhere.path() / "b", options());
  save(saver, "1");
  EXPECT_EQ(read(elsewhere.path() / "b" / "m.latest_checkpoint" / "model.pt"), "1");
}

TEST_F(AtomicDirectoryTest, WorksWithARelativePath) {
  const fs::path before = fs::current_path();
  fs::current_path(out());
  AtomicDirectory saver("rel", options());
  save(saver, "0");
  EXPECT_EQ(read("rel/m.latest_checkpoint/model.pt"), "0");
  fs::current_path(before);
}

TEST_F(AtomicDirectoryTest, ALostOrDanglingOrStaleLinkLosesNothing) {
  AtomicDirectory saver(out(), options(2));
  save(saver, "0");
  save(saver, "1");
  const fs::path link = out() / "m.latest_checkpoint";
  for (const char* target : {"", "m_checkpoint_77", "m_checkpoint_0"}) {
    fs::remove(link);
    if (*target) fs::create_symlink(target, link);
    EXPECT_EQ(read(*saver.latest() / "model.pt"), "1");
    saver.prepare();
    EXPECT_EQ(linked(), "m_checkpoint_1");
  }
  save(saver, "2");
  EXPECT_EQ(saver.checkpoints().size(), 2u);
}

TEST_F(AtomicDirectoryTest, LeftoversOfACrashAreRemovedAndDoNotStandInTheWay) {
  fs::create_directory(out() / ".m.checkpoint.123.partial");
  write(out() / ".m.checkpoint.123.partial" / "half", "x");
  fs::create_directory(out() / ".m.checkpoint.124.removed");
  fs::create_symlink("m_checkpoint_0", out() / ".m.checkpoint.125.link");
  write(out() / ".m.checkpoint.mine.partial", "not of this saver");
  AtomicDirectory saver(out(), options());
  save(saver, "0");
  EXPECT_THAT(names(),
              ElementsAre(".m.checkpoint.mine.partial", "m.latest_checkpoint", "m_checkpoint_0"));
}

TEST_F(AtomicDirectoryTest, DirectoriesThatAreAllGoneAreNoReasonToFail) {
  AtomicDirectory saver(out(), options());
  save(saver, "0");
  fs::remove_all(out() / "m_checkpoint_0");
  EXPECT_FALSE(saver.latest());
  save(saver, "again");
  EXPECT_EQ(read(*saver.latest() / "model.pt"), "again");
}

TEST_F(AtomicDirectoryTest, OnlyOneProcessSavesUnderAName) {
  AtomicDirectory saver(out(), options());
  EXPECT_THAT(
      [&] { AtomicDirectory(out(), options()); },
      ThrowsMessage<Busy>(HasSubstr("another process saves checkpoints under the same name")));
}

TEST_F(AtomicDirectoryTest, RefusesWhatAnotherProgramMayHaveLeftHalfWritten) {
  fs::create_directory(out() / "m_checkpoint_4");
  fs::create_directory(out() / "m_checkpoint_5");
  fs::create_symlink(out() / "m_checkpoint_4", out() / "m.latest_checkpoint");
  EXPECT_THAT([&] { AtomicDirectory(out(), options()); },
              ThrowsMessage<Error>(HasSubstr("m_checkpoint_5 was written by another program")));
  fs::remove(out() / "m_checkpoint_5");
  AtomicDirectory saver(out(), options());
  save(saver, "5");
  EXPECT_EQ(linked(), "m_checkpoint_5");
}

TEST_F(AtomicDirectoryTest, RefusesWrongOptions) {
  EXPECT_THAT([&] { AtomicDirectory(out(), options(-1)); },
              ThrowsMessage<Error>(HasSubstr("keep_last is -1")));
  for (const char* name : {"", "a/b", ".hidden"}) {
    EXPECT_THAT([&] { AtomicDirectory(out(), {.name = name}); },
                ThrowsMessage<Error>(HasSubstr("cannot be the name of a saver")));
  }
  EXPECT_THAT([] { parse_save_strategy("sync"); },
              ThrowsMessage<Error>("there is no strategy 'sync' of saving: use one of sync_any, "
                                   "sync_all, async, single"));
  for (const auto strategy : {SaveStrategy::sync_any, SaveStrategy::sync_all, SaveStrategy::async,
                              SaveStrategy::single}) {
    EXPECT_EQ(parse_save_strategy(to_string(strategy)), strategy);
  }
  AtomicDirectory saver(out(), options());
  EXPECT_THAT([&] { saver.commit(); },
              ThrowsMessage<Error>(HasSubstr("commit() without prepare()")));
}

TEST_F(AtomicDirectoryTest, TheNamesOfNewDirectoriesAreDurableOnceItIsOpen) {
  int syncs = 0;
  for (int stop = 1;; ++stop) {
    const testing::TemporaryDirectory directory(testing::fast_parent());
    const auto open = [&] { AtomicDirectory(directory.path() / "a" / "b", options()); };
    const auto result = testing::SyscallTracer::run([] {}, open, stop);
    if (result.refused) GTEST_SKIP() << "the system does not allow tracing";
    if (result.finished) break;
    syncs += result.call == SYS_fsync;
  }
  constexpr int kStops = 2;  // a call
  EXPECT_GE(syncs, 3 * kStops) << "b, a, and what was there";
}

TEST_F(AtomicDirectoryTest, ADirectoryThatCannotBeReadIsSaidInItsOwnWords) {
  const fs::path directory = out() / "saved";
  fs::create_directory(directory);
  ASSERT_EQ(::chmod(directory.c_str(), 0300), 0);
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;  // who may read everything
  if (root) {
    for (const fs::path& path : {out(), directory}) {
      ASSERT_EQ(::chown(path.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    }
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  std::string message;
  try {
    AtomicDirectory(directory, options());
  } catch (const std::exception& error) {
    message = error.what();
  }
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(directory.c_str(), 0700);
  EXPECT_THAT(message, HasSubstr("cannot open " + directory.string()));
  EXPECT_THAT(message, Not(HasSubstr("FLOR_HOME")));
}

// Several ranks -----------------------------------------------------------------------------------

/// What every rank does: its own file in the common directory.
void save_together(AtomicDirectory& saver, Group& group, const std::string& text,
                   bool force = false) {
  const fs::path directory = saver.prepare(force);
  write(directory / fmt::format("rank{}", group.rank()), text);
  saver.commit();
}

TEST_F(AtomicDirectoryTest, IsForcedIfAnyRankOrAllRanksSaySo) {
  struct Case {
    SaveStrategy strategy;
    std::vector<bool> votes;
    bool forced;
  };
  const auto any = SaveStrategy::sync_any, all = SaveStrategy::sync_all;
  const std::vector<Case> cases{
      {any, {false, false, false}, false}, {any, {false, true, false}, true},
      {any, {true, true, true}, true},     {all, {false, false, false}, false},
      {all, {true, false, true}, false},   {all, {true, true, true}, true}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const fs::path directory = out() / std::to_string(i);
    const auto errors = ThreadGroups(3).run([&](Group& group) {
      AtomicDirectory saver(directory, group, {.name = "m", .strategy = cases[i].strategy});
      save_together(saver, group, "x", cases[i].votes[static_cast<std::size_t>(group.rank())]);
    });
    EXPECT_THAT(errors, Each(""));
    EXPECT_EQ(latest_checkpoint(directory, "m")->filename(),
              cases[i].forced ? "m_checkpoint_0_force" : "m_checkpoint_0");
    EXPECT_EQ(names_in(directory / "m.latest_checkpoint").size(), 3u);
  }
}

TEST_F(AtomicDirectoryTest, AsynchronousRanksSaveOnTheirOwnAndFindTheNewestThatAllHave) {
  std::vector<std::optional<std::int64_t>> common(3);
  const auto errors = ThreadGroups(3).run([&](Group& group) {
    AtomicDirectory saver(out(), group, {.name = "m", .strategy = SaveStrategy::async});
    for (int i = 0; i < 2 + group.rank(); ++i) {
      save_together(saver, group, std::to_string(i), group.rank() == 1 && i == 0);
    }
    common[static_cast<std::size_t>(group.rank())] = saver.latest_common();
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_THAT(common, Each(::testing::Optional(1)));
  EXPECT_EQ(linked("m_rank_2"), "m_rank_2_checkpoint_3");
  EXPECT_TRUE(fs::exists(out() / "m_rank_1_checkpoint_0_force"));
}

TEST_F(AtomicDirectoryTest, RanksWithDifferentOptionsAreToldSoOnAllOfThem) {
  for (const int kind : {0, 1, 2}) {
    const auto errors = ThreadGroups(2).run([&](Group& group) {
      AtomicDirectoryOptions mine{.name = "m"};
      if (group.rank() == 1) {
        if (kind == 0) mine.strategy = SaveStrategy::sync_all;
        if (kind == 1) mine.name = "n";
        if (kind == 2) mine.keep_last = 2;
      }
      AtomicDirectory saver(out(), group, mine);
    });
    EXPECT_THAT(errors, Each(HasSubstr("rank 1 saves with other options than rank 0")));
  }
}

TEST_F(AtomicDirectoryTest, AFailureOnOneRankIsAnErrorOnAllAndPublishesNothing) {
  const auto errors = ThreadGroups(2).run([&](Group& group) {
    AtomicDirectory saver(out(), group, {.name = "m"});
    const fs::path directory = saver.prepare();
    group.barrier();
    if (group.rank() == 0) fs::remove_all(directory);  // as if the disk had lost it
    group.barrier();
    saver.commit();
  });
  EXPECT_THAT(errors, Each(HasSubstr("No such file or directory")));
  EXPECT_FALSE(latest_checkpoint(out(), "m"));
}

TEST_F(AtomicDirectoryTest, ARankThatCommitsEarlyDoesNotMindFilesThatOthersStillRename) {
  constexpr int kFiles = 100;
  const auto errors = ThreadGroups(2).run([&](Group& group) {
    AtomicDirectory saver(out(), group, {.name = "m"});
    const fs::path directory = saver.prepare();
    const auto file = [&](int i, const char* end) {
      return directory / fmt::format("rank{}-{}{}", group.rank(), i, end);
    };
    for (int i = 0; i < kFiles; ++i) write(file(i, ".tmp"), "x");
    if (group.rank() == 0) {
      for (int i = 0; i < kFiles; ++i) fs::rename(file(i, ".tmp"), file(i, ""));
    }
    group.barrier();
    for (int i = 0; group.rank() == 1 && i < kFiles; ++i) {
      fs::rename(file(i, ".tmp"), file(i, ""));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    saver.commit();
  });
  EXPECT_THAT(errors, Each(""));
  EXPECT_EQ(names_in(out() / "m.latest_checkpoint").size(), 2u * kFiles);
}

TEST_F(AtomicDirectoryTest, ADirectoryThatCannotBeMadeIsAnErrorOnAllRanks) {
  write(out() / "file", "");
  const auto errors = ThreadGroups(3).run(
      [&](Group& group) { AtomicDirectory saver(out() / "file", group, {.name = "m"}); });
  EXPECT_THAT(errors, Each(HasSubstr("ot a directory")));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 could not open the directory of checkpoints"));
}

TEST_F(AtomicDirectoryTest, ARankThatDoesNotComeIsAnErrorAndNoHang) {
  ThreadGroups groups(3, std::chrono::milliseconds(300));
  const auto errors = groups.run([&](Group& group) {
    AtomicDirectory saver(out(), group, {.name = "m"});
    saver.prepare();
    if (group.rank() == 2) return;  // it failed while it wrote
    saver.commit();
  });
  EXPECT_THAT(errors, ElementsAre(HasSubstr("in time"), HasSubstr("in time"), ""));
  EXPECT_FALSE(latest_checkpoint(out(), "m"));
  AtomicDirectory next(out(), options());
  save(next, "0");
  EXPECT_EQ(next.checkpoints().size(), 1u);
}

// Crashes -----------------------------------------------------------------------------------------

struct Crash {
  SaveStrategy strategy;
  int keep_last;
};

/// Numbered saves by one process, or by two ranks in threads of it, which die together.
class Savers {
 public:
  Savers(fs::path directory, const Crash& crash)
      : directory_(std::move(directory)), crash_(crash) {}

  std::vector<std::string> saver_names() const {
    if (crash_.strategy == SaveStrategy::async) return {"m_rank_0", "m_rank_1"};
    return {"m"};
  }

  /// Each file of a checkpoint holds the checkpoint's number.
  void save(int count) const {
    const AtomicDirectoryOptions options{
        .name = "m", .strategy = crash_.strategy, .keep_last = crash_.keep_last};
    if (crash_.strategy == SaveStrategy::single) {
      AtomicDirectory saver(directory_, options);
      for (int i = 0; i < count; ++i) save_one(saver, 0);
      return;
    }
    const auto errors = ThreadGroups(2).run([&](Group& group) {
      AtomicDirectory saver(directory_, group, options);
      for (int i = 0; i < count; ++i) save_one(saver, group.rank());
    });
    for (const std::string& error : errors) {
      if (!error.empty()) throw Error(error);
    }
  }

  /// The numbers of the complete checkpoints of a saver, each looked into.
  std::vector<int> complete(const std::string& name) const {
    std::vector<int> numbers;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(name + "_checkpoint_")) continue;
      const int number = std::stoi(file.substr(name.size() + 12));
      const bool both =
          crash_.strategy == SaveStrategy::sync_any || crash_.strategy == SaveStrategy::sync_all;
      const auto parts = names_in(entry.path());
      EXPECT_EQ(parts.size(), both ? 2u : 1u) << file;
      for (const std::string& part : parts) {
        EXPECT_EQ(read(entry.path() / part), std::to_string(number)) << file;
      }
      numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
  }

 private:
  static void save_one(AtomicDirectory& saver, int rank) {
    const auto before = saver.checkpoints();
    const std::int64_t number = before.empty() ? 0 : before.back().index + 1;
    write(saver.prepare() / fmt::format("rank{}", rank), std::to_string(number));
    saver.commit();
  }

  fs::path directory_;
  Crash crash_;
};

class AtomicDirectoryCrash : public ::testing::TestWithParam<Crash> {
 protected:
  /// Kills a save at every `stride`-th of its system calls, before and after it.
  void crash(int first, int stride) const;
};

void AtomicDirectoryCrash::crash(int first, int stride) const {
  constexpr int kBefore = 2;  // checkpoints that are there already
  int crashes = 0, finished = 0;
  for (int stop = first; finished < 3; stop += stride) {
    const testing::TemporaryDirectory directory(testing::fast_parent());
    const Savers savers(directory.path(), GetParam());
    savers.save(kBefore);
    const auto result = testing::SyscallTracer::run([] {}, [&] { savers.save(1); }, stop);
    if (result.refused) GTEST_SKIP() << "the system does not allow tracing";
    SCOPED_TRACE(fmt::format("stop {}, call {}", stop, result.call));
    ++(result.finished ? finished : crashes);
    std::map<std::string, int> newest;
    for (const std::string& name : savers.saver_names()) {
      const auto there = savers.complete(name);
      ASSERT_FALSE(there.empty());
      ASSERT_GE(there.back(), kBefore - 1);
      const auto latest = latest_checkpoint(directory.path(), name);
      ASSERT_EQ(latest->filename(), fmt::format("{}_checkpoint_{}", name, there.back()));
      newest[name] = there.back();
    }
    savers.save(1);
    std::size_t files = 0;
    for (const auto& [name, number] : newest) {
      const auto kept = savers.complete(name);
      ASSERT_EQ(kept.back(), number + 1);
      ASSERT_EQ(std::ssize(kept), std::min(GetParam().keep_last, number + 2));
      files += kept.size() + 1;  // and the link
    }
    ASSERT_EQ(names_in(directory.path()).size(), files);
    if (HasFailure()) return;
  }
  fmt::print("{} with keep_last {}: {} crashes, after each a complete checkpoint\n",
             to_string(GetParam().strategy), GetParam().keep_last, crashes);
  EXPECT_GT(crashes, 30);
}

// Two ranks make many calls to wait for each other, and not in the same order every time: each of
// the three values of keep_last has a third of them.
TEST_P(AtomicDirectoryCrash, AtAnySystemCallLeavesACompleteCheckpointAndTheNextSaveWorks) {
  const bool one = GetParam().strategy == SaveStrategy::single;
  one ? crash(1, 1) : crash(GetParam().keep_last, 3);
}

TEST_P(AtomicDirectoryCrash, OftenAtEverySystemCallOfEachRank) { crash(1, 1); }

std::vector<Crash> crashes() {
  std::vector<Crash> all;
  for (const auto strategy : {SaveStrategy::single, SaveStrategy::sync_any, SaveStrategy::sync_all,
                              SaveStrategy::async}) {
    for (const int keep_last : {1, 2, 3}) all.push_back({strategy, keep_last});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(, AtomicDirectoryCrash, ::testing::ValuesIn(crashes()),
                         [](const auto& crash) {
                           return fmt::format("{}_keeping_{}", to_string(crash.param.strategy),
                                              crash.param.keep_last);
                         });

}  // namespace
}  // namespace flor::atomic_directory_test
