// flor fsck.
#include "cli/fixture.h"
#include "support/packs.h"

#include <gmock/gmock.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FsckTest : public CliTest {
 protected:
  std::filesystem::path some_pack() {
    for (const auto& entry : flor::testing::packs_of(home())) {
      if (entry.is_regular_file() && entry.file_size() > 64) return entry.path();
    }
    throw std::runtime_error("no pack");
  }
};

TEST_F(FsckTest, SaysWhatItCheckedInASoundStore) {
  record({});
  const Outcome outcome = flor({"fsck"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out,
              HasSubstr("checked " + home().string() + ": 1 run, 6 checkpoints, 1 pack"));
  EXPECT_THAT(outcome.out, HasSubstr("no damage found\n"));
}

TEST_F(FsckTest, PromisesItsJsonFieldByField) {
  record({});
  const Json json = flor({"fsck", "--json"}).json();
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["command"], "fsck");
  EXPECT_EQ(json["home"], home().string());
  EXPECT_EQ(json["sound"], true);
  EXPECT_EQ(json["read_data"], true);
  EXPECT_EQ(json["runs"], 1);
  EXPECT_EQ(json["checkpoints"], 6);
  EXPECT_EQ(json["packs"], 1);
  EXPECT_GT(json["chunks"].get<int>(), 0);
  EXPECT_GT(json["bytes_read"].get<int>(), 0);
  EXPECT_EQ(json["findings"], Json::array());
  EXPECT_TRUE(json["remarks"].is_array());
  EXPECT_EQ(flor({"fsck", "--no-read-data", "--json"}).json()["read_data"], false);
}

TEST_F(FsckTest, FindsAFlippedByteAndEndsWithStatusFour) {
  record({});
  close();
  const auto pack = some_pack();
  const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(pack) / 2);
  std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(middle);
  const char byte = static_cast<char>(file.get() ^ 0x40);
  file.seekp(middle);
  file.put(byte);
  file.close();
  const Outcome outcome = flor({"fsck"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.out, HasSubstr("the store is damaged"));
  const Json json = flor({"fsck", "--json"}).json();
  EXPECT_EQ(json["sound"], false);
  ASSERT_FALSE(json["findings"].empty());
  EXPECT_THAT(json["findings"][0]["what"].get<std::string>(), HasSubstr(pack.filename().string()));
}

TEST_F(FsckTest, OfALostPackSaysInOneLineWhatIsLostAndTheNextCommand) {
  for (int i = 0; i < 4; ++i) record({});
  close();
  std::filesystem::remove(some_pack());
  const Outcome outcome = flor({"fsck"});
  EXPECT_EQ(outcome.status, 4);
  ASSERT_EQ(outcome.lines().size(), 3u) << outcome.out;
  EXPECT_THAT(outcome.lines()[0], HasSubstr("and 16 more"));
  EXPECT_THAT(outcome.lines()[2],
              HasSubstr("1 finding: the store is damaged; flor fsck --repair makes it sound"));
}

TEST_F(FsckTest, OfLostPacksAndOfWhatARepairGivesUpSaysALineForAll) {
  for (const int epochs : {3, 6, 9}) {  // what is new is in a pack of its own
    record({.epochs = epochs});
    close();
  }
  int packs = 0;
  for (const auto& entry : flor::testing::packs_of(home())) {
    packs += std::filesystem::remove(entry.path()) ? 1 : 0;
  }
  ASSERT_GT(packs, 2);
  const Outcome outcome = flor({"fsck"});
  EXPECT_EQ(outcome.status, 4);
  ASSERT_EQ(outcome.lines().size(), 3u) << outcome.out;
  EXPECT_THAT(outcome.lines()[0],
              HasSubstr("and " + std::to_string(packs - 1) + " more packs; 36 checkpoints lost by " +
                        "them in all: flor fsck --json names each"));
  EXPECT_EQ(static_cast<int>(flor({"fsck", "--json"}).json()["findings"].size()), packs);
  const Outcome repaired = flor({"fsck", "--repair"});
  EXPECT_EQ(repaired.status, 5);
  const auto lines = repaired.lines();
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("lost: "); }),
            3)
      << repaired.out;
}

TEST_F(FsckTest, FindsAMissingPackWithoutReadingData) {
  record({});
  close();
  std::filesystem::remove(some_pack());
  const Outcome outcome = flor({"fsck", "--no-read-data", "--json"});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.json()["findings"][0]["kind"], "missing_pack");
}

TEST_F(FsckTest, RepairsWhatItCanAndNamesWhatIsLost) {
  record({});
  EXPECT_EQ(flor({"fsck", "--json"}).json()["repair"], nullptr);
  const Json sound = flor({"fsck", "--repair", "--json"}).json();
  EXPECT_EQ(sound["repair"]["dropped"], Json::array());
  close();
  const auto pack = some_pack();
  std::filesystem::resize_file(pack, std::filesystem::file_size(pack) - 1);
  const Outcome outcome = flor({"fsck", "--repair"});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_THAT(outcome.out, HasSubstr("lost: the end of 'train' in iteration 2, boundary 3 of run"));
  EXPECT_THAT(outcome.out, HasSubstr("kept aside: " + home().string() + "/quarantine/"));
  EXPECT_THAT(outcome.out, HasSubstr("no damage found"));
  EXPECT_EQ(flor({"fsck", "--repair"}).status, 0);
}

TEST_F(FsckTest, WhatAJournalHasLostIsWrittenAnewAndThatIsSaid) {
  const store::Run run = record({});
  close();
  EXPECT_EQ(flor({"list"}).status, 0);  // the index knows all of it
  const std::string shown = flor({"show", run.key}).out;
  const auto journal = home() / "runs" / run.key.substr(0, 2) / run.key / "1/journal";
  for (const char* copy : {"", ".copy"}) {  // where each event is, too
    std::fstream file(journal.string() + copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(70);  // the first events
    file << std::string(300, '\xa5');
  }
  const Outcome repaired = flor({"fsck", "--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.out;
  const std::string line = "written anew: what the catalog knows of run " + run.key +
                           ", since its journals had lost something";
  EXPECT_THAT(repaired.lines(), ::testing::Contains(line)) << repaired.out;
  EXPECT_THAT(repaired.out, HasSubstr("no damage found"));
  const Json again = flor({"fsck", "--repair", "--json"}).json();
  EXPECT_EQ(again["repair"]["written_anew"], Json::array()) << "done once";
  for (const char* file_of_index : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
    std::filesystem::remove(home() / file_of_index);
  }
  EXPECT_EQ(flor({"show", run.key}).out, shown);
}

}  // namespace
}  // namespace flor::testing
