// What is no file of Flor's, in the home and around it: pipes, other users' names, long paths.
#include "cli/fixture.h"
#include "file/crc64.h"
#include "file/own_directory.h"
#include "output/file_name.h"
#include "support/packs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ForeignFilesTest : public CliTest {
 protected:
  void make_fifo(const fs::path& path) const { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0) << path; }
  /// As gc does not touch what is younger.
  static void make_old(const fs::path& path) {
    std::error_code error;
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1000), error);
  }
  fs::path a_pack() const {
    for (const auto& entry : flor::testing::packs_of(home())) return entry.path();
    throw std::runtime_error("no pack");
  }
};

TEST_F(ForeignFilesTest, NoPipeDirectoryOrDeviceAmongTheFilesOfAStoreIsWaitedFor) {
  const store::Run run = record({});
  close();
  for (const char* name : {"cccccccccccccccc", "dddddddddddddddd"}) {
    const fs::path pack = flor::testing::place_of_pack(home(), name);
    make_fifo(pack);
    make_old(pack);
  }
  fs::create_directories(flor::testing::place_of_pack(home(), "eeeeeeeeeeeeeeee"));
  fs::create_symlink("/dev/zero", flor::testing::place_of_pack(home(), "ffffffffffffffff"));
  make_fifo(home() / "packs/99");  // where a directory of packs would be
  fs::remove(home() / "locks" / (run.key + ".lock"));
  make_fifo(home() / "locks" / (run.key + ".lock"));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"list"},
           {"show", run.key},
           {"fsck"},
           {"gc"},
           {"du"},
           {"fsck", "--repair"},
           {"fsck"},
           {"export", run.key + "@2", "-o", (directory_ / "a.safetensors").string()}}) {
    EXPECT_EQ(flor(words).status, 0) << words.front();
  }
}

/// A journal that is none costs its run, and what else lies below runs/ costs nothing.
TEST_F(ForeignFilesTest, WhatIsNoJournalCostsThatJournalAndIsNamed) {
  RunPlan plan;
  std::vector<store::Run> runs;
  for (const char* name : {"pipe", "directory", "device", "newer", "whole"}) {
    plan.experiment = name;
    runs.push_back(record(plan));
  }
  close();
  const auto journal = [&](std::size_t run) {
    return home() / "runs" / runs[run].key.substr(0, 2) / runs[run].key / "1/journal";
  };
  for (std::size_t i = 0; i < 4; ++i) fs::rename(journal(i), directory_ / std::to_string(i));
  make_fifo(journal(0));
  fs::create_directories(journal(1) / "x");
  fs::create_symlink("/dev/zero", journal(2));
  const std::string whole = content_of(directory_ / "3");
  // A file header of format 3 with the checksum that belongs to it.
  std::string newer = whole;
  newer[8] = 3;
  const std::uint64_t sum = store::crc64(std::as_bytes(std::span(newer).first(24)));
  std::memcpy(newer.data() + 24, &sum, sizeof(sum));
  std::ofstream(journal(3), std::ios::binary) << newer;
  make_fifo(home() / "runs/new/0123456789abcdef.0000000000000000");
  std::ofstream(home() / "runs/zz") << "mine";
  const auto expect_looks = [&](const char* what, bool all) {
    const Outcome list = flor({"list"});
    EXPECT_EQ(list.status, 0) << what << list.err;
    EXPECT_THAT(list.out, HasSubstr("whole")) << what;
    for (const char* name : {"pipe", "directory", "device", "newer"}) {
      EXPECT_EQ(list.out.find(name) != std::string::npos, all) << what << name << list.out;
    }
    EXPECT_EQ(flor({"show", runs[4].key}).status, 0) << what;
    // What they say that the index lacks is not known: nothing is taken for garbage.
    const Outcome collected = flor({"gc"});
    EXPECT_EQ(collected.status, 5) << what << collected.out;
    EXPECT_THAT(collected.out, HasSubstr("nothing is collected: ")) << what;
    const Outcome fsck = flor({"fsck"});
    const Outcome repair = flor({"fsck", "--repair"});
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_THAT(fsck.out + fsck.err, HasSubstr(journal(i).string())) << what;
      EXPECT_THAT(repair.out + repair.err, HasSubstr(journal(i).string())) << what;
    }
    EXPECT_NE(fsck.status, 1) << what << fsck.err;
    EXPECT_NE(repair.status, 1) << what << repair.err;
    EXPECT_TRUE(fs::is_fifo(journal(0)));
  };
  expect_looks("with the index: ", true);
  for (const char* file : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    fs::remove(home() / file);
  }
  const Outcome made = flor({"list"});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_THAT(made.err, HasSubstr(journal(i).string()));
  EXPECT_THAT(made.err, HasSubstr("has format 3, this Flor reads 2: update Flor"));
  expect_looks("without the index: ", false);
  // They are read when they are what they were.
  for (std::size_t i = 0; i < 4; ++i) {
    fs::remove_all(journal(i));
    fs::rename(directory_ / std::to_string(i), journal(i));
  }
  const Outcome list = flor({"list"});
  for (const char* name : {"pipe", "directory", "device", "newer", "whole"}) {
    EXPECT_THAT(list.out, HasSubstr(name));
  }
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(ForeignFilesTest, APipeInThePlaceOfAFileIsSaidToBeNone) {
  const store::Run run = record({});
  close();
  const fs::path pack = a_pack();
  fs::rename(pack, directory_ / "aside");
  make_fifo(pack);
  const Outcome outcome = flor({"export", run.key + "@2", "-o", (directory_ / "a.pt").string()});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("is no regular file: move it out of the store"));
  EXPECT_NE(flor({"fsck"}).status, 0);
  fs::remove(pack);
  fs::rename(directory_ / "aside", pack);
  fs::rename(home() / "catalog.db", directory_ / "aside");
  make_fifo(home() / "catalog.db");
  for (const char* command : {"list", "fsck", "gc"}) {
    const Outcome refused = flor({command});
    EXPECT_NE(refused.status, 0) << command;
    EXPECT_THAT(refused.err, HasSubstr("is no regular file")) << command;
  }
}

TEST_F(ForeignFilesTest, GcLeavesAloneWhatFlorWouldNotNameSo) {
  record({});
  close();
  const fs::path left = flor::testing::place_of_pack(home(), "0123456789abcdef");
  std::ofstream(left) << "left by a killed writer";
  make_old(left);
  std::vector<fs::path> mine;
  for (const fs::path& directory : {home() / "packs", left.parent_path()}) {
    for (const char* name : {"zz.pack", "0123456789ABCDEF.pack", "0123456789abcdef0.pack",
                             "fedcba9876543210.pack", "notes.txt"}) {
      mine.push_back(directory / name);
      std::ofstream(mine.back()) << "mine";
      make_old(mine.back());
    }
  }
  EXPECT_EQ(flor({"gc"}).status, 0);
  for (const fs::path& file : mine) EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(flor({"fsck"}).status, 0);
}

TEST_F(ForeignFilesTest, AHomeMayHaveALongerPathThanSqliteTakes) {
  for (const std::size_t length : {400u, 497u, 505u, 513u, 900u, 3000u}) {
    fs::path place = directory_ / "deep";
    while (place.native().size() + 120 < length) place /= std::string(100, 'd');
    place /= std::string(length - place.native().size() - 1, 'e');
    {
      const auto store = store::Store::open(place, store::OpenMode::create);
      store::NewRun start;
      start.experiment = "far";
      const store::Run run = store->catalog().add_run(start);
      store->catalog().add_values(run.id, std::vector{value("loss", 3, 0, 0)});
      store->catalog().finish_run(run.id, start.started_us + 1, false, "");
    }
    const auto run = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {"--home", place.string()});
      const Outcome outcome = bare(words);
      EXPECT_EQ(outcome.status, 0) << length << ": " << words.back() << "\n" << outcome.err;
      return outcome.out;
    };
    EXPECT_THAT(run({"list"}), HasSubstr("far"));
    EXPECT_THAT(run({"sql", "SELECT experiment FROM runs"}), HasSubstr("far"));
    EXPECT_THAT(run({"query", "loss"}), HasSubstr("3"));
    run({"fsck"});
    run({"gc"});
    fs::remove_all(directory_ / "deep");
  }
}

TEST(FileName, OfALongNameIsShortAndItsOwn) {
  using cli::file_name_of;
  EXPECT_EQ(file_name_of("a/b"), "a_b");
  const std::string name(5000, 'n');
  EXPECT_LT(file_name_of(name).size(), 220u);
  EXPECT_NE(file_name_of(name), file_name_of(name + "n"));
  std::string text(199, 'x');
  for (int i = 0; i < 99; ++i) text += "\xc3\xa4";
  EXPECT_EQ(file_name_of(text).substr(0, 199), std::string(199, 'x'));
  EXPECT_EQ(file_name_of(text)[199], '-') << "no half of a character";
}

class OwnDirectoryTest : public CliTest {
 protected:
  OwnDirectoryTest() { ::setenv("TMPDIR", directory_.path().c_str(), 1); }
  ~OwnDirectoryTest() override { ::unsetenv("TMPDIR"); }
};

TEST_F(OwnDirectoryTest, IsEnteredByThisUserAlone) {
  const fs::path path = store::own_temporary_directory("session");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  fs::permissions(path, fs::perms::all);
  EXPECT_EQ(store::own_temporary_directory("session"), path);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
}

TEST_F(OwnDirectoryTest, IsNothingThatWasPutThereToLeadElsewhere) {
  fs::create_directories(directory_ / "elsewhere");
  fs::permissions(directory_ / "elsewhere", fs::perms::all);
  fs::create_symlink("elsewhere", directory_ / "link");
  std::ofstream(directory_ / "file") << "x";
  for (const char* name : {"link", "file"}) {
    EXPECT_THROW(store::own_temporary_directory(name), Error) << name;
  }
  EXPECT_EQ(fs::status(directory_ / "elsewhere").permissions(), fs::perms::all);
}

}  // namespace
}  // namespace flor::testing
