// What damage of a journal costs, and that it is told. What a repair does about it is in
// mended_journals_test.cpp.
#include "journal/journal_copy.h"
#include "journal_fixture.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "support/content.h"

#include <fcntl.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace flor::store::journal_damage_test {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// A flipped bit of a journal is undone; what a damaged page held is lost, and the rest is not.
TEST_F(JournalTest, DamageOfAJournalCostsWhatItHeld) {
  const Run run = add_run_with_arguments(*open(), 50);
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  fs::remove(copy_path(journal));
  const std::string bytes = testing::content_of(journal);
  const auto arguments_with = [&](const std::string& with) {
    std::ofstream(journal, std::ios::binary) << with;
    remove_index(home());
    const auto store = open();
    return store->catalog().arguments(store->catalog().runs().at(0).id).size();
  };
  std::minstd_rand random(5);
  for (int i = 0; i < 20; ++i) {
    std::string with = bytes;
    with[random() % with.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_EQ(arguments_with(with), 50u);
  }
  std::string with = bytes;
  for (std::size_t i = 0; i < 200; ++i) with[with.size() / 2 + i] = 'x';
  const std::size_t left = arguments_with(with);
  EXPECT_GE(left, 46u);
  EXPECT_LT(left, 50u);
  EXPECT_EQ(arguments_with(bytes.substr(0, bytes.size() - 3)), 49u) << "a torn tail";
}

/// What a replay says without the event that began it is said of no other, least of the recording.
TEST_F(JournalTest, ALostReplayTakesNothingFromTheRecording) {
  std::string key;
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    key = run.key;
    Value value;
    value.name = "loss";
    value.place = {"epoch", 0, -1, ""};
    value.value = 0.25;
    store->catalog().add_values(run.id, std::span(&value, 1));
  }
  {
    const auto store = open();
    NewReplay start;
    start.run = store->catalog().runs().at(0).id;
    const std::int64_t replay = store->catalog().add_replay(start);
    store->catalog().verify_replay(replay, std::vector<std::int64_t>{0});
    store->catalog().doubt_replay(replay, "loss differs");
    ReplayResult result;
    result.verdict = Verdict::differs;
    store->catalog().finish_replay(replay, result);
  }
  const fs::path journal = find_journals(Paths{home()}, key).at(1).path;
  fs::remove(copy_path(journal));
  std::uint64_t at = 0;
  {
    const File file(Filesystem::system(), journal, O_RDONLY);
    FrameReader reader(file);
    reader.next();
    at = reader.position();
  }
  {
    std::fstream file(journal, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at + 50)) << "damage of this event";
  }
  remove_index(home());
  const auto store = open();
  const auto values = store->catalog().values({.run = store->catalog().runs().at(0).id});
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].name, "loss");
  EXPECT_EQ(values[0].verdict, ValueVerdict::recorded);
  EXPECT_TRUE(store->catalog().replays(store->catalog().runs().at(0).id).empty());

  EXPECT_THAT(damage(*store), HasSubstr("journal"));
  EXPECT_EQ(repair(*store).quarantined.size(), 1u);
  EXPECT_EQ(damage(*store), "");
  EXPECT_EQ(open()->catalog().values({.run = store->catalog().runs().at(0).id}).size(), 1u);
}

/// Each time the damaged one is kept.
TEST_F(JournalTest, AJournalIsRepairedAsOftenAsItIsDamaged) {
  const Run run = add_run_with_arguments(*open(), 50);
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  for (int times = 1; times < 4; ++times) {
    const auto middle = static_cast<std::streamoff>(fs::file_size(journal) / 2);
    std::fstream(journal, std::ios::binary | std::ios::in | std::ios::out).seekp(middle)
        << "damage of some events";
    const auto store = open();
    const auto report = repair(*store);
    ASSERT_EQ(report.quarantined.size(), 1u) << times;
    EXPECT_EQ(std::distance(fs::directory_iterator(home() / "quarantine"), {}), times);
    EXPECT_EQ(damage(*store), "");
  }
}

TEST_F(JournalTest, AJournalThatIsGoneIsNamed) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  EXPECT_EQ(damage(*store), "");
  const fs::path journal = find_journals(Paths{home()}, run.key).at(0).path;
  fs::remove(journal);
  EXPECT_THAT(damage(*store), HasSubstr("journal is gone: its copy has 2 more of its frames"));
  fs::remove(copy_path(journal));
  EXPECT_THAT(damage(*store), HasSubstr("is missing: the catalog alone has what it said"));
}

TEST_F(JournalTest, ACopyThatIsGoneIsCountedAndMadeAgain) {
  const std::string key = add_run_with_arguments(*open(), 50).key;
  const fs::path copy = copy_path(find_journals(Paths{home()}, key).at(0).path);
  const std::string before = testing::content_of(copy);
  EXPECT_THAT(check(*open(), false).remarks, ::testing::IsEmpty());
  fs::remove(copy);
  EXPECT_EQ(damage(*open()), "");
  EXPECT_THAT(
      check(*open(), false).remarks,
      ::testing::ElementsAre(HasSubstr("a journal is without a copy: `flor fsck --repair`")));
  EXPECT_EQ(repair(*open()).rewritten, 1);
  EXPECT_EQ(testing::content_of(copy), before);
  EXPECT_THAT(check(*open(), false).remarks, ::testing::IsEmpty());
}

/// The disk kept later sectors of a journal than the first, before any promise was made.
class LostBeginningTest : public JournalTest {
 protected:
  LostBeginningTest() {
    const auto store = open();
    kept_ = add_run_with_arguments(*store, 5).key;
    const Run lost = add_run_with_arguments(*store, 50);
    lost_ = lost.key;
    journal_ = find_journals(Paths{home()}, lost_).at(0).path;
  }

  void lose_the_beginning() const {
    std::fstream(journal_, std::ios::binary | std::ios::in | std::ios::out)
        << std::string(512, '\0');
  }

  std::vector<std::string> runs() {
    std::vector<std::string> keys;
    for (const Run& run : open()->catalog().runs()) keys.push_back(run.key);
    return keys;
  }

  std::string kept_, lost_;
  fs::path journal_;
};

TEST_F(LostBeginningTest, IsNoDamageWhereNothingElseKnowsOfTheJournal) {
  lose_the_beginning();
  fs::remove(copy_path(journal_));
  remove_index(home());
  EXPECT_EQ(runs(), std::vector{kept_});
  EXPECT_EQ(damage(*open()), "");

  collect(*open(), false);
  EXPECT_TRUE(fs::exists(journal_)) << "it may be older than its process";
  fs::last_write_time(journal_, fs::file_time_type::clock::now() - std::chrono::hours(2));
  collect(*open(), false);
  EXPECT_FALSE(fs::exists(journal_));
  EXPECT_EQ(runs(), std::vector{kept_});
}

TEST_F(LostBeginningTest, OfTheCopyTooIsNoDamage) {
  lose_the_beginning();
  std::fstream(copy_path(journal_), std::ios::binary | std::ios::in | std::ios::out)
      << std::string(512, '\0');
  remove_index(home());
  EXPECT_EQ(runs(), std::vector{kept_});
  EXPECT_EQ(damage(*open()), "");
  fs::last_write_time(journal_, fs::file_time_type::clock::now() - std::chrono::hours(2));
  collect(*open(), false);
  EXPECT_FALSE(fs::exists(copy_path(journal_)));
  EXPECT_FALSE(fs::exists(journal_.parent_path()));
}

TEST_F(LostBeginningTest, IsDamageOfAJournalThatTheIndexKnows) {
  lose_the_beginning();
  fs::remove(copy_path(journal_));
  EXPECT_THAT(damage(*open()), HasSubstr(journal_.string()));
  fs::last_write_time(journal_, fs::file_time_type::clock::now() - std::chrono::hours(2));
  collect(*open(), false);
  EXPECT_TRUE(fs::exists(journal_));
  EXPECT_EQ(runs(), (std::vector{lost_, kept_}));
}

TEST_F(LostBeginningTest, IsTakenFromTheCopy) {
  lose_the_beginning();
  remove_index(home());
  EXPECT_EQ(runs(), (std::vector{lost_, kept_}));
  EXPECT_THAT(damage(*open()), HasSubstr(journal_.string()));
  EXPECT_EQ(repair(*open()).quarantined.size(), 1u);
  EXPECT_EQ(damage(*open()), "");
}

/// Zeros are what a disk leaves of what it never wrote; anything else was written.
TEST_F(LostBeginningTest, WithAnythingElseThanZerosIsDamage) {
  lose_the_beginning();
  std::fstream(journal_, std::ios::binary | std::ios::in | std::ios::out).seekp(31) << "x";
  fs::remove(copy_path(journal_));
  remove_index(home());
  EXPECT_THAT(damage(*open()), HasSubstr("does not start with Flor's file header"));
}

}  // namespace
}  // namespace flor::store::journal_damage_test
