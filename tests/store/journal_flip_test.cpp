// Every bit and byte of a small journal is damaged, one at a time, and every end cut off, with its
// copy and without; and so is the copy. The index is made again from what is left: nothing is
// wrong, what the copy has is not lost, and what is damaged is named.
#include "file/frames.h"
#include "journal/journal_copy.h"
#include "made_again.h"
#include "maintain/repair.h"
#include "promises.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string overwritten(std::string bytes, std::size_t at, std::size_t length) {
  for (std::size_t i = at; i < std::min(at + length, bytes.size()); ++i) {
    bytes[i] = static_cast<char>(~bytes[i]);
  }
  return bytes;
}

bool is_of_values(const std::string& line) {
  return line.starts_with("value ") || line.starts_with("series ") || line.starts_with("metric ");
}

/// All that is known but for logged values.
std::vector<std::string> facts(std::vector<std::string> lines) {
  std::erase_if(lines, is_of_values);
  return lines;
}

/// Without what is counted or summed up of those that are there.
std::vector<std::string> single_facts(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) {
    return line.starts_with("run ") || line.starts_with("metric ");
  });
  for (std::string& line : lines) {
    const std::size_t at = line.find(" ordinal=");
    if (line.starts_with("argument ")) line.erase(at, line.find(' ', at + 1) - at);
  }
  return lines;
}

class JournalFlipTest : public StoreTest {
 protected:
  void SetUp() override {
    {
      const auto store = Store::open(fast_home(), OpenMode::create);
      const Run run = store->catalog().add_run(new_run());
      CheckpointWriter writer(*store, run.id);
      for (int step = 0; step < 2; ++step) {
        store->catalog().add_argument(run.id, {"a" + std::to_string(step), "int", "1"});
        writer.write(boundary(step), make_snapshot(1, step, 20));
        Value value;
        value.name = "loss";
        value.place.epoch = step;
        value.value = 0.5 + step;
        store->catalog().add_values(run.id, std::span(&value, 1));
      }
      store->catalog().finish_run(run.id, run.start.started_us + 1, false, "");
      journal_ = find_journals(Paths{fast_home()}, run.key).at(0).path;
    }
    bytes_ = bytes_of(journal_);
    copy_ = bytes_of(copy_path(journal_));
    whole_ = made_with(bytes_);
    ASSERT_THAT(damage_, IsEmpty());
    ends_ = ends_in(journal_);
    ASSERT_EQ(ends_.back(), bytes_.size());
    copy_ends_ = ends_in(copy_path(journal_));
    ASSERT_EQ(copy_ends_.back(), copy_.size());
  }
  static std::vector<std::uint64_t> ends_in(const fs::path& framed) {
    const File file(Filesystem::system(), framed, O_RDONLY);
    FrameReader reader(file);
    std::vector<std::uint64_t> ends{kFileHeaderBytes};
    while (reader.next()) ends.push_back(reader.position());
    return ends;
  }
  fs::path fast_home() const { return memory_ / "home"; }

  /// What is known of runs with this journal. `damage_`: what is told, then.
  std::vector<std::string> made_with(const std::string& bytes) {
    put_bytes(journal_, bytes);
    return made();
  }

  std::vector<std::string> made() {
    damage_ = rebuild(Paths{fast_home()}, Filesystem::system()).damage;
    const auto store = Store::open(fast_home(), OpenMode::read_only);
    // Checkpoints that are there can be read.
    for (const Run& run : store->catalog().runs()) {
      for (const CheckpointInfo& info : store->catalog().checkpoints(run.id)) {
        expect_holds(*store, info.id, make_snapshot(1, static_cast<int>(info.key.iteration), 20),
                     1);
      }
    }
    return known_of_runs(*store);
  }

  /// `bits` of the 8 of each `stride`-th byte.
  void flip(std::size_t stride, unsigned bits) {
    int flips = 0;
    for (std::size_t at = 0; at < bytes_.size(); at += stride) {
      for (unsigned i = 0; i < bits; ++i, ++flips) {
        std::string with = bytes_;
        const auto bit = static_cast<unsigned>(at / stride + i) % 8;
        with[at] = static_cast<char>(with[at] ^ (1 << bit));
        SCOPED_TRACE("byte " + std::to_string(at) + ", bit " + std::to_string(bit));
        EXPECT_EQ(made_with(with), whole_);
        EXPECT_THAT(damage_, ::testing::Contains(HasSubstr(journal_.string())));
        if (HasFailure()) return;
      }
    }
    std::printf("a journal of %zu bytes: %d flips, all undone and told\n", bytes_.size(), flips);
  }

  /// Of a journal that has no copy: all whole frames count, as if its writer had been killed.
  void cut_alone(std::size_t stride) {
    fs::remove(copy_path(journal_));
    std::size_t frames = 0, cuts = 0;
    std::vector<std::string> before;
    for (std::size_t size = 0; size < bytes_.size(); size += stride, ++cuts) {
      SCOPED_TRACE("cut at " + std::to_string(size));
      const auto whole = std::ranges::upper_bound(ends_, size) - ends_.begin();
      if (cuts == 0 || static_cast<std::size_t>(whole) != frames) {
        frames = static_cast<std::size_t>(whole);
        before = frames == 0 ? std::vector<std::string>{}
                             : made_with(bytes_.substr(0, ends_[frames - 1]));
      }
      EXPECT_EQ(made_with(bytes_.substr(0, size)), before);
      if (HasFailure()) return;
    }
    std::printf("a journal of %zu bytes: %zu cuts, all whole frames are read\n", bytes_.size(),
                cuts);
  }

  /// Of a journal that has no copy: `length` bytes from each `stride`-th on, more than can be
  /// undone.
  void overwrite_alone(std::size_t stride, std::size_t length) {
    fs::remove(copy_path(journal_));
    int damages = 0, costly = 0;
    const std::vector<std::string> all = single_facts(whole_);
    for (std::size_t at = 0; at < bytes_.size(); at += stride, ++damages) {
      SCOPED_TRACE(std::to_string(length) + " bytes from " + std::to_string(at));
      const auto left = single_facts(made_with(overwritten(bytes_, at, length)));
      EXPECT_THAT(all, ::testing::IsSupersetOf(left)) << "nothing is wrong";
      // Where nothing sound follows, it is as if the writer had been killed.
      const bool is_torn_end = at + length > ends_[ends_.size() - 2];
      if (!is_torn_end) {
        EXPECT_THAT(damage_, Not(IsEmpty()));
      }
      costly += left.size() < all.size() ? 1 : 0;
      if (HasFailure()) return;
    }
    std::printf("a journal of %zu bytes: %d places overwritten, %d of them cost something\n",
                bytes_.size(), damages, costly);
    EXPECT_GT(costly, 0);
  }

  /// With its copy only values may be lost, and what is damaged is told, at its end, too.
  void expect_facts(const std::string& with) {
    const auto left = made_with(with);
    EXPECT_EQ(facts(left), facts(whole_));
    EXPECT_THAT(single_facts(whole_), ::testing::IsSupersetOf(single_facts(left)))
        << "nothing is wrong";
    EXPECT_THAT(damage_, Not(IsEmpty()));
  }
  void cut(std::size_t stride) {
    for (std::size_t size = 0; size < bytes_.size(); size += stride) {
      SCOPED_TRACE("cut at " + std::to_string(size));
      expect_facts(bytes_.substr(0, size));
      if (HasFailure()) return;
    }
  }
  void overwrite(std::size_t stride, std::size_t length) {
    for (std::size_t at = 0; at < bytes_.size(); at += stride) {
      SCOPED_TRACE(std::to_string(length) + " bytes from " + std::to_string(at));
      expect_facts(overwritten(bytes_, at, length));
      if (HasFailure()) return;
    }
  }

  /// The copy is damaged: that is named but for what a power loss may leave, and costs nothing.
  void damage_copy(std::size_t stride, std::size_t length) {
    for (std::size_t at = 0; at < copy_.size(); at += stride) {
      SCOPED_TRACE(std::to_string(length) + " bytes of the copy from " + std::to_string(at));
      put_bytes(copy_path(journal_), overwritten(copy_, at, length));
      EXPECT_EQ(made(), whole_);
      const bool is_torn_end = at + length > copy_ends_[copy_ends_.size() - 2];
      EXPECT_TRUE(is_torn_end || !damage_of_copy(Filesystem::system(), journal_).empty());
      put_bytes(copy_path(journal_), copy_.substr(0, at));
      EXPECT_EQ(made(), whole_);
      if (HasFailure()) return;
    }
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  fs::path journal_;
  std::string bytes_, copy_;
  std::vector<std::uint64_t> ends_, copy_ends_;  ///< of the file's header, and of each frame
  std::vector<std::string> whole_, damage_;
};

TEST_F(JournalFlipTest, AFlippedBitIsUndoneAndTold) { flip(13, 1); }
TEST_F(JournalFlipTest, ACutLeavesAllWholeFrames) { cut_alone(29); }
TEST_F(JournalFlipTest, OtherDamageCostsWhatItHitAndMakesNothingWrong) { overwrite_alone(37, 3); }
TEST_F(JournalFlipTest, WithItsCopyACutCostsValuesAlone) { cut(29); }
TEST_F(JournalFlipTest, WithItsCopyOtherDamageCostsValuesAlone) { overwrite(37, 3); }
TEST_F(JournalFlipTest, DamageOfTheCopyIsNamedAndCostsNothing) { damage_copy(41, 3); }

TEST_F(JournalFlipTest, AJournalThatIsGoneIsReadFromItsCopy) {
  fs::remove(journal_);
  EXPECT_EQ(facts(made()), facts(whole_));
  EXPECT_THAT(damage_, ::testing::Contains(HasSubstr("is gone: its copy has")));
  // An index that has read it does not read it again.
  const auto store = Store::open(fast_home(), OpenMode::existing);
  EXPECT_EQ(facts(known_of_runs(*store)), facts(whole_));
}

/// A copy is of one journal: that of another one, with frames of the same numbers, counts for
/// nothing.
TEST_F(JournalFlipTest, TheCopyOfAnotherJournalIsNotBelieved) {
  const fs::path foreign = memory_ / "other";
  {
    const auto store = Store::open(foreign, OpenMode::create);
    const Run run = store->catalog().add_run(new_run("another"));
    for (int i = 0; i < 20; ++i) {
      store->catalog().add_argument(run.id, {"b" + std::to_string(i), "int", "1"});
    }
    fs::copy_file(copy_path(find_journals(Paths{foreign}, run.key).at(0).path), copy_path(journal_),
                  fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(made(), whole_);
  const auto left = made_with(bytes_.substr(0, ends_[ends_.size() - 3]));
  EXPECT_THAT(single_facts(whole_), ::testing::IsSupersetOf(single_facts(left)));
}

/// Each of the two is damaged, cut off or gone; a repair makes both of them whole again.
TEST_F(JournalFlipTest, ARepairMakesJournalAndCopyWhole) {
  const std::size_t middle = ends_[ends_.size() / 2];
  const auto repaired = [&](const char* what, const auto& harm) {
    SCOPED_TRACE(what);
    // Of the repair before.
    for (const auto& writer : fs::directory_iterator(journal_.parent_path().parent_path())) {
      if (writer.path() != journal_.parent_path()) fs::remove_all(writer.path());
    }
    put_bytes(journal_, bytes_);
    put_bytes(copy_path(journal_), copy_);
    made();
    harm();
    const auto known = made();
    EXPECT_EQ(facts(known), facts(whole_));
    {
      const auto store = Store::open(fast_home(), OpenMode::existing);
      repair(*store);
      EXPECT_EQ(damage(*store), "");
    }
    EXPECT_EQ(made(), known);
    EXPECT_THAT(damage_, IsEmpty());
    // Now the other one is gone.
    fs::remove(journal_);
    EXPECT_EQ(facts(made()), facts(whole_));
  };
  repaired("damaged journal", [&] { put_bytes(journal_, overwritten(bytes_, middle, 9)); });
  repaired("damaged header", [&] { put_bytes(journal_, overwritten(bytes_, 3, 9)); });
  repaired("cut journal", [&] { put_bytes(journal_, bytes_.substr(0, middle)); });
  repaired("empty journal", [&] { put_bytes(journal_, ""); });
  repaired("no journal", [&] { fs::remove(journal_); });
  repaired("damaged copy", [&] { put_bytes(copy_path(journal_), overwritten(copy_, 90, 9)); });
  repaired("damaged header of the copy",
           [&] { put_bytes(copy_path(journal_), overwritten(copy_, 3, 9)); });
}

class JournalFlipOftenTest : public JournalFlipTest {};
TEST_F(JournalFlipOftenTest, EveryFlippedBitIsUndoneAndTold) { flip(1, 8); }
TEST_F(JournalFlipOftenTest, EveryCutLeavesAllWholeFrames) { cut_alone(1); }
TEST_F(JournalFlipOftenTest, OtherDamageAnywhereCostsWhatItHitAndMakesNothingWrong) {
  for (const std::size_t length : {2, 8, 64}) overwrite_alone(3, length);
}
TEST_F(JournalFlipOftenTest, WithItsCopyAnyDamageCostsValuesAlone) {
  cut(1);
  for (const std::size_t length : {2, 8, 64}) overwrite(3, length);
}
TEST_F(JournalFlipOftenTest, AnyDamageOfTheCopyIsNamedAndCostsNothing) {
  for (const std::size_t length : {2, 8, 64}) damage_copy(3, length);
}

/// What a replay found in a part counts with the event that completes the part: with some of it
/// lost, the part was not found.
class LostFindingsTest : public StoreTest {};

TEST_F(LostFindingsTest, APartThatLostSomeOfItsValuesIsNotAnswered) {
  std::string key;
  std::int64_t replay = 0;
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    key = run.key;
    store->catalog().finish_run(run.id, run.start.started_us + 1, false, "");
  }
  constexpr int kParts = 3, kValues = 40;
  {
    const auto store = open();
    NewReplay start;
    start.run = store->catalog().runs().at(0).id;
    replay = store->catalog().add_replay(start);
    for (int part = 0; part < kParts; ++part) {
      std::vector<Value> values;
      for (int i = 0; i < kValues; ++i) {
        for (const char* name : {"norm", "slope"}) {
          Value value;
          value.name = name;
          value.place.epoch = part;
          value.ordinal = i;
          value.value = part + 0.001 * i;
          value.replay = replay;
          values.push_back(value);
        }
      }
      ReplayedPart done;
      done.part = part;
      store->catalog().add_replayed(start.run, replay, values, std::span(&done, 1));
    }
  }
  const fs::path journal = find_journals(Paths{home()}, key).at(1).path;
  const std::string bytes = bytes_of(journal);
  std::vector<std::pair<EventKind, std::uint64_t>> frames;  // with where they begin
  {
    const File file(Filesystem::system(), journal, O_RDONLY);
    FrameReader reader(file);
    while (const auto frame = reader.next()) {
      frames.emplace_back(static_cast<EventKind>(frame->kind), frame->offset);
    }
  }
  int damaged = 0;
  for (const auto& [kind, offset] : frames) {
    if (kind != EventKind::found) continue;
    SCOPED_TRACE(offset);
    ++damaged;
    put_bytes(journal, overwritten(bytes, offset + kFrameHeaderBytes + 20, 9));
    const RefreshReport report = rebuild(Paths{home()}, Filesystem::system());
    EXPECT_THAT(report.damage, ::testing::Contains(HasSubstr("is lost with that")));
    const auto store = Store::open(home(), OpenMode::read_only);
    Connection& index = store->impl().database->connection;
    const auto count = [&](const char* sql) {
      const auto row = index(sql);
      row->step();
      return row->integer(0);
    };
    EXPECT_EQ(count("SELECT count(*) FROM replayed"), kParts - 1);
    EXPECT_EQ(count("SELECT count(*) FROM value"), (kParts - 1) * kValues * 2)
        << "none of a part that counts as not found";
  }
  EXPECT_EQ(damaged, kParts * 2);
}

}  // namespace
}  // namespace flor::store
