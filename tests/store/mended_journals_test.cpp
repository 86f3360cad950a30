// A journal that was damaged and is repaired: what the index knew of its run is in another journal
// then, so that an index that is made again has all of it.
#include "database/store_impl.h"
#include "index/copies/run_image.h"
#include "index/writing.h"
#include "journal_fixture.h"
#include "made_again.h"
#include "maintain/repair.h"
#include "run_fixture.h"
#include "support/content.h"
#include "support/some_points.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace flor::store::mended_journals_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

using testing::content_of;

/// `length` bytes from `at` on are other ones.
void overwrite(const fs::path& file, std::size_t at, std::size_t length) {
  std::string bytes = content_of(file);
  for (std::size_t i = at; i < std::min(at + length, bytes.size()); ++i) {
    bytes[i] = static_cast<char>(~bytes[i]);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

struct Damage {
  std::string name;
  std::function<void(const fs::path& journal)> happen;
};

class MendedJournalsTest : public StoreTest {
 protected:
  fs::path fast_home() const { return memory_ / "home"; }
  Paths paths() const { return Paths{fast_home()}; }

  std::vector<fs::path> journals() const {
    std::vector<fs::path> all;
    for (const std::string& run : find_runs(paths())) {
      for (const FoundJournal& found : find_journals(paths(), run)) all.push_back(found.path);
    }
    std::ranges::sort(all);
    return all;
  }

  /// The store that has every kind of event, as it was before anything happened to it.
  void take_golden() {
    fs::remove_all(fast_home());
    fs::copy(fs::path(FLOR_GOLDEN_STORES) / "format-2", fast_home(), fs::copy_options::recursive);
    // A command that has brought it up to date knows that the writers have ended.
    Connection(fast_home() / "catalog.db", Connection::Mode::existing)
        .execute("UPDATE journal SET closed = 1");
  }

  /// Which run is the latest, and so on.
  static std::vector<std::string> order(const Store& store) {
    std::vector<std::string> keys;
    for (const Run& run : store.catalog().runs()) keys.push_back(run.key);
    return keys;
  }

  static std::vector<std::string> missing(const std::vector<std::string>& some,
                                          const std::vector<std::string>& all) {
    std::vector<std::string> missing;
    std::ranges::set_difference(all, some, std::back_inserter(missing));
    return missing;
  }

  static std::string problems(const Store& store) { return damage(store, false); }

  /// Nothing that was known is lost, now or when the index is made again, and nothing is wrong.
  void expect_mended(const std::vector<std::string>& known) {
    std::vector<std::string> runs;
    {
      const auto store = Store::open(fast_home(), OpenMode::create);
      EXPECT_EQ(problems(*store), "");
      const std::vector<std::string> now = known_of_runs(*store);
      EXPECT_THAT(missing(now, known), IsEmpty());
      EXPECT_THAT(missing(known, now), IsEmpty());
      runs = order(*store);
    }
    expect_same_when_made_again(fast_home());
    rebuild(paths(), Filesystem::system());
    EXPECT_EQ(order(*Store::open(fast_home(), OpenMode::read_only)), runs);
  }

  RepairReport repaired() { return repair(*Store::open(fast_home(), OpenMode::create)); }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
};

TEST_F(MendedJournalsTest, WhatAnyDamageOfAnyJournalCostIsWrittenAnew) {
  take_golden();
  const std::vector<std::string> known =
      known_of_runs(*Store::open(fast_home(), OpenMode::read_only));
  const auto part = [](double share) {
    return [share](const fs::path& journal) {
      const auto size = static_cast<double>(fs::file_size(journal));
      overwrite(journal, static_cast<std::size_t>(size * share), 40);
    };
  };
  const std::vector<Damage> damages = {
      {"at the first event", [](const fs::path& journal) { overwrite(journal, 70, 300); }},
      {"in the first third", part(0.3)},
      {"in the last third", part(0.7)},
      {"at its end",
       [](const fs::path& journal) { overwrite(journal, fs::file_size(journal) - 40, 40); }},
      {"cut off",
       [](const fs::path& journal) { fs::resize_file(journal, fs::file_size(journal) / 2); }},
      {"of its header", [](const fs::path& journal) { overwrite(journal, 0, 64); }},
      {"gone", [](const fs::path& journal) { fs::remove(journal); }}};
  int mended = 0;
  const std::size_t count = journals().size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const Damage& each : testing::some_of(damages, 4)) {
      take_golden();
      const fs::path journal = journals().at(i);
      SCOPED_TRACE(journal.string() + ": damage " + each.name);
      each.happen(journal);
      EXPECT_NE(problems(*Store::open(fast_home(), OpenMode::create)), "");
      const RepairReport report = repaired();
      const std::string run = journal.parent_path().parent_path().filename();
      EXPECT_THAT(report.written_anew, ElementsAre(run));
      EXPECT_THAT(repaired().written_anew, IsEmpty()) << "done once";
      expect_mended(known);
      if (HasFailure()) return;
      ++mended;
    }
  }
  std::printf("%zu journals, damaged in %d ways: nothing that was known is lost\n", count, mended);
}

TEST_F(MendedJournalsTest, ABitThatIsUndoneNeedsNoCopy) {
  take_golden();
  const std::vector<std::string> known =
      known_of_runs(*Store::open(fast_home(), OpenMode::read_only));
  const fs::path journal = journals().at(0);
  std::string bytes = content_of(journal);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(journal, std::ios::binary) << bytes;
  const RepairReport report = repaired();
  EXPECT_THAT(report.written_anew, IsEmpty());
  EXPECT_THAT(report.quarantined, ::testing::SizeIs(1));
  expect_mended(known);
}

class OwnRunMendedTest : public MendedJournalsTest {
 protected:
  void SetUp() override {
    run_ = add_run_with_arguments(*Store::open(fast_home(), OpenMode::create), 50);
  }
  fs::path first_journal() const { return find_journals(paths(), run_.key).at(0).path; }
  /// And there is no copy of it.
  void damage_first() const {
    overwrite(first_journal(), fs::file_size(first_journal()) / 2, 300);
    fs::remove(copy_path(first_journal()));
  }
  std::size_t arguments(const Store& store) const {
    return store.catalog().arguments(store.catalog().resolve("linear").id).size();
  }

  Run run_;
};

/// What is said later counts, whoever says it.
TEST_F(OwnRunMendedTest, ARunThatIsRecordedMeanwhileGoesOn) {
  const auto recording = Store::open(fast_home(), OpenMode::create);
  recording->catalog().add_argument(run_.id, {"before", "int", "1"});
  damage_first();
  EXPECT_THAT(repaired().written_anew, ElementsAre(run_.key));
  recording->catalog().add_argument(run_.id, {"after", "int", "1"});
  EXPECT_EQ(arguments(*recording), 52u);
  expect_mended(known_of_runs(*recording));
}

/// What another journal says would count no more after a copy that lacks it.
TEST_F(OwnRunMendedTest, NothingIsWrittenWhileAnotherJournalCannotBeRead) {
  {
    Store::open(fast_home(), OpenMode::create)->catalog().add_argument(run_.id, {"b", "int", "1"});
  }
  const fs::path second = find_journals(paths(), run_.key).at(1).path;
  const fs::path away = second.string() + ".away";
  damage_first();
  fs::rename(second, away);
  fs::create_directory(second);
  EXPECT_THAT(repaired().written_anew, IsEmpty());
  EXPECT_THAT(problems(*Store::open(fast_home(), OpenMode::read_only)), HasSubstr("are damaged"))
      << "the next repair does it";
  fs::remove(second);
  fs::rename(away, second);
  EXPECT_THAT(repaired().written_anew, ElementsAre(run_.key));
  EXPECT_EQ(arguments(*Store::open(fast_home(), OpenMode::read_only)), 51u);
  expect_same_when_made_again(fast_home());
}

/// An index that was made from the damaged journal knows no more than that says.
TEST_F(OwnRunMendedTest, WhatNoIndexKnowsAnyMoreStaysLostAndTheRestIsKept) {
  damage_first();
  rebuild(paths(), Filesystem::system());
  const std::size_t left = arguments(*Store::open(fast_home(), OpenMode::read_only));
  EXPECT_LT(left, 50u);
  repaired();
  EXPECT_EQ(arguments(*Store::open(fast_home(), OpenMode::read_only)), left);
  expect_same_when_made_again(fast_home());
}

/// A journal that claims it cannot make a run of this home of one that was fetched.
TEST_F(OwnRunMendedTest, WhatCameFromElsewhereDoesNotBecomeARunOfThisHome) {
  {
    const auto store = Store::open(fast_home(), OpenMode::create);
    Writing writing(*store->impl().database);
    CopyEvent copy = copy_event(writing.connection(), run_.id);
    EXPECT_TRUE(copy.origin.recorded_here());
    writing.add(run_.id, OriginEvent{{RunOrigin::Kind::fetched, "file:///bucket", 1}});
    writing.note(run_.id, copy);
    writing.commit();
  }
  const RefreshReport report = rebuild(paths(), Filesystem::system());
  EXPECT_THAT(report.damage, Contains(HasSubstr("is none of the run of its name")));
  const auto store = Store::open(fast_home(), OpenMode::read_only);
  EXPECT_TRUE(store->catalog().resolve("linear").origin.from_elsewhere());
}

}  // namespace
}  // namespace flor::store::mended_journals_test
