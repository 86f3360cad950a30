// The journals are the truth: an index that is gone, damaged or behind is made again from them, and
// says the same.
#include "journal_fixture.h"
#include "made_again.h"
#include "maintain/collect.h"
#include "queue/job_queue.h"
#include "support/content.h"
#include "support/packs.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace flor::store::journal_test {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

TEST_F(JournalTest, AnIndexThatIsGoneIsMadeAgain) {
  take_golden();
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing, OpenMode::create}) {
    remove_index(home());
    const auto store = open(mode);
    EXPECT_EQ(difference(lines_of(*store), expected_), "");
    EXPECT_EQ(damage(*store), "");
  }
}

/// Whatever a disk does to the index: each command says what it said before, or that the index is
/// damaged; and the next one says it again.
class DamagedIndexTest : public JournalTest {
 protected:
  void SetUp() override {
    take_golden();
    open(OpenMode::create);  // leaves all in the file
    sound_ = testing::content_of(home() / "catalog.db");
  }

  void look_at(const std::string& what, const std::string& index) {
    SCOPED_TRACE(what);
    remove_index(home());
    std::ofstream(home() / "catalog.db", std::ios::binary) << index;
    bool is_refused = false;
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing}) {
      try {
        ASSERT_EQ(difference(lines_of(*open(mode)), expected_), "");
      } catch (const Error&) {
        ASSERT_FALSE(is_refused);
        is_refused = true;
        // Only a command that reads the same pages has to say that they are damaged.
        ASSERT_EQ(difference(lines_of(*open(OpenMode::existing)), expected_), "");
      }
    }
    refused_ += is_refused ? 1 : 0;
  }

  void flip_every(std::size_t stride) {
    for (std::size_t at = 0; at < sound_.size() && !HasFatalFailure(); at += stride) {
      std::string index = sound_;
      index[at] = static_cast<char>(index[at] ^ 1 << at / stride % 8);
      look_at(fmt::format("bit {} of byte {}", at / stride % 8, at), index);
    }
    std::printf("%zu flips, %d commands refused\n", sound_.size() / stride, refused_);
  }
  void move_every(std::size_t stride) {
    const std::size_t pages = sound_.size() / kPage;
    for (std::size_t i = 0; i < pages * pages && !HasFatalFailure(); i += stride) {
      std::string index = sound_;
      index.replace(i / pages * kPage, kPage, sound_, i % pages * kPage, kPage);
      look_at(fmt::format("page {} in the place of {}", i % pages, i / pages), index);
    }
    std::printf("%zu pages moved, %d commands refused\n", pages * pages / stride, refused_);
  }

  static constexpr std::size_t kPage = 4096;
  std::string sound_;
  int refused_ = 0;
};

TEST_F(DamagedIndexTest, AnyBit) { flip_every(4001); }
TEST_F(DamagedIndexTest, AnyPageInThePlaceOfAnother) { move_every(149); }
TEST_F(DamagedIndexTest, NoiseZerosAndCuts) {
  std::minstd_rand random(3);
  for (std::size_t page = 0; page < sound_.size() / kPage; page += 7) {
    std::string noise = sound_, zeros = sound_;
    for (std::size_t i = 0; i < kPage; ++i) noise[page * kPage + i] = static_cast<char>(random());
    zeros.replace(page * kPage, kPage, kPage, '\0');
    look_at(fmt::format("noise in page {}", page), noise);
    look_at(fmt::format("zeros in page {}", page), zeros);
  }
  for (const std::size_t size : {0u, 1u, 100u, 4096u, 40'000u}) {
    look_at(fmt::format("cut at {}", size), sound_.substr(0, size));
  }
}

class DamagedIndexOftenTest : public DamagedIndexTest {};
TEST_F(DamagedIndexOftenTest, AnyBit) { flip_every(257); }
TEST_F(DamagedIndexOftenTest, AnyPageInThePlaceOfAnother) { move_every(5); }

/// The index as it was before a process that was killed between its journal and the index.
TEST_F(JournalTest, AnIndexThatIsBehindIsBroughtUpToDate) {
  const fs::path before = home().parent_path() / "before";
  std::vector<std::string> expected;
  std::int64_t run = 0;
  {
    const auto store = open();
    run = store->catalog().add_run(new_run()).id;
    CheckpointWriter writer(*store, run);
    writer.write(boundary(0), make_snapshot(1, 0, 1000));
  }
  fs::copy(home() / "catalog.db", before);
  {
    const auto store = open();
    CheckpointWriter writer(*store, run);
    writer.write(boundary(1), make_snapshot(1, 1, 1000));
    store->catalog().add_argument(run, {"lr", "real", "0.5"});
    Value value;
    value.name = "loss";
    value.value = 0.25;
    store->catalog().add_values(run, std::span(&value, 1));
    store->catalog().finish_run(run, 5, false, "");
    expected = lines_of(*store);
  }
  remove_index(home());
  fs::copy(before, home() / "catalog.db");
  // A process that is killed leaves its announcement, by which the second journal is found.
  const Run known = open(OpenMode::read_only)->catalog().runs().at(0);
  std::ofstream(Paths{home()}.announced() / (known.key + ".0000000000000000"));
  const auto store = open(OpenMode::read_only);
  EXPECT_EQ(difference(lines_of(*store), expected), "");
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoints(known.id).at(1).id, make_snapshot(1, 1, 1000));
}

TEST_F(JournalTest, ARunThatWasDroppedStaysAway) {
  {
    const auto store = open();
    const Run gone = store->catalog().add_run(new_run("gone"));
    store->catalog().add_run(new_run("stays"));
    store->catalog().drop_run(gone.id);
  }
  remove_index(home());
  const auto store = open();
  ASSERT_EQ(store->catalog().runs().size(), 1u);
  EXPECT_EQ(store->catalog().runs()[0].start.experiment, "stays");
}

/// The header of a record in the middle of a pack: what follows it is found.
TEST_F(JournalTest, ADamagedRecordCostsNoneThatFollows) {
  constexpr int kSteps = 6;
  const auto content = [](int step) {
    return bytes_snapshot("x", random_bytes(static_cast<unsigned>(step) + 1, 5000));
  };
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < kSteps; ++step) writer.write(boundary(step), content(step));
  }
  std::int64_t second = 0;
  {
    Connection connection(home() / "catalog.db", Connection::Mode::read_only);
    const auto row = connection("SELECT offset FROM chunk ORDER BY offset LIMIT 1 OFFSET 1");
    ASSERT_TRUE(row->step());
    second = row->integer(0);
  }
  for (const auto& pack : flor::testing::packs_of(home())) {
    std::fstream file(pack.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(second + 20) << "damage";
  }
  remove_index(home());
  const auto store = open();
  const Run run = store->catalog().runs().at(0);
  for (int step = 0; step < kSteps; ++step) {
    const auto info = store->catalog().checkpoint(run.id, boundary(step));
    EXPECT_EQ(info.has_value(), step != 1) << step;
    if (info) expect_holds(*store, info->id, content(step));
  }
}

/// No event vouches for what a collection and an archive have written.
TEST_F(JournalTest, WhatWasCopiedIntoOtherPacksIsFoundAgain) {
  {
    const auto store = open();
    const Run gone = store->catalog().add_run(new_run("gone"));
    CheckpointWriter other(*store, gone.id);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 4; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
      other.write(boundary(step), bytes_snapshot("x", random_bytes(7, 50'000)));
    }
    const CheckpointKey keys[] = {boundary(0), boundary(1)};
    store->catalog().drop_checkpoints(run.id, keys);
    const auto connection = open_for_reading(Paths{home()});
    const auto chain = (*connection)("SELECT max(depth) FROM chunk");
    ASSERT_TRUE(chain->step());
    EXPECT_GT(chain->integer(0), 1) << "differences of differences";
  }
  make_packs_old(home());
  EXPECT_GT(collect(*open(), false, 1).packs_compacted, 0);
  expect_same_when_made_again(home());
  for (int step = 2; step < 4; ++step) {
    remove_index(home());
    const auto store = open();
    const auto info =
        store->catalog().checkpoint(store->catalog().resolve("linear").id, boundary(step));
    ASSERT_TRUE(info);
    expect_holds(*store, info->id, make_snapshot(1, step, 20'000));
  }
}

/// A content that was collected and recorded again has two records, of which the later one is not
/// at the end of a chain.
TEST_F(JournalTest, ADifferenceIsGivenTheRecordThatItWasMadeFrom) {
  const auto record = [&](const std::string& name, int first, int last) {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run(name));
    CheckpointWriter writer(*store, run.id);
    for (int step = first; step <= last; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
    }
  };
  for (int beside = 0; beside < 12 && !HasFailure(); ++beside) {  // packs are found in any order
    fs::remove_all(home());
    record("first", 0, 3);
    {
      const auto store = open();
      const CheckpointKey keys[] = {boundary(1), boundary(2), boundary(3)};
      store->catalog().drop_checkpoints(store->catalog().resolve("first").id, keys);
      collect(*store, false, 0);
    }
    record("second", 2 - beside % 2, 4);
    expect_same_when_made_again(home());
  }
}

TEST_F(JournalTest, AStoreOfAnOlderFormIsRefusedInOneLine) {
  fs::create_directories(home());
  {
    Connection connection(home() / "catalog.db", Connection::Mode::create);
    connection.execute(
        "CREATE TABLE run (id INTEGER); PRAGMA user_version=1; PRAGMA "
        "application_id=1179406162");
  }
  for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
    EXPECT_THAT([&] { open(mode); },
                ::testing::ThrowsMessage<Error>(HasSubstr("has the form of an older Flor")));
  }
}

}  // namespace
}  // namespace flor::store::journal_test
