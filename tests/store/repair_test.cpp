// Repair: everything that can still be read is kept, everything else is given up and named.
#include "database/store_impl.h"
#include "lock/maintenance_lock.h"
#include "maintain/repair.h"
#include "store_fixture.h"
#include "support/content.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <fstream>
#include <set>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kFewWeights = 3000;

class RepairTest : public StoreTest {
 protected:
  /// Two runs of six checkpoints each, in packs of their own; the second uses chunks of the first.
  void build() {
    const auto store = open();
    for (unsigned seed = 1; seed <= 2; ++seed) {
      const Run run = store->catalog().add_run(new_run());
      CheckpointWriter writer(*store, run.id);
      for (int step = 0; step < 6; ++step) {
        const Snapshot snapshot = make_snapshot(seed, step, kFewWeights);
        contents_.emplace_back(writer.write(boundary(step), snapshot).id, snapshot);
      }
    }
  }

  std::set<std::int64_t> readable(const Store& store) {
    std::set<std::int64_t> ids;
    for (const auto& [id, snapshot] : contents_) {
      try {
        const CheckpointReader reader(store, id);
        for (std::size_t i = 0; i < reader.items().size(); ++i) reader.read(i);
        ids.insert(id);
      } catch (const Error&) {
        continue;
      }
    }
    return ids;
  }

  /// What is left is sound, and nothing is gone that could be read before.
  void expect_keeps(const std::set<std::int64_t>& before) {
    const auto store = open();
    EXPECT_EQ(damage(*store), "");
    for (const auto& [id, snapshot] : contents_) {
      if (before.contains(id)) expect_holds(*store, id, snapshot);
    }
  }

  std::string dump() {
    std::string all;
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    for (const char* sql :
         {"SELECT group_concat(id || hex(digest) || pack || ':' || offset || ifnull(base, '')) "
          "FROM chunk",
          "SELECT group_concat(id || name || bytes) FROM pack",
          "SELECT group_concat(id || hex(digest) || hex(chunks)) FROM checkpoint"}) {
      const auto row = connection(sql);
      row->step();
      all += row->text(0) + "\n";
    }
    for (const auto& path : packs()) all += testing::content_of(path);
    return all;
  }

  void alter(const char* sql) {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute(sql);
  }

  /// Places of the records, by one column of the chunk table.
  std::int64_t ask(const char* sql) {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    const auto row = connection(sql);
    return row->step() ? row->integer(0) : -1;
  }

  static void flip(const std::filesystem::path& path, std::uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x10));
  }

  std::filesystem::path pack_of(std::int64_t id) {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    const auto row = connection("SELECT name FROM pack WHERE id = ?1", id);
    row->step();
    return flor::testing::place_of_pack(home(), row->text(0));
  }

  std::vector<std::pair<std::int64_t, Snapshot>> contents_;
};

TEST_F(RepairTest, ASoundStoreIsNotTouched) {
  build();
  const std::string before = dump();
  const RepairReport report = repair(*open());
  EXPECT_EQ(dump(), before);
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_EQ(report.relocated + report.restored + report.removed + report.rewritten, 0);
  EXPECT_FALSE(std::filesystem::exists(home() / "quarantine"));
}

TEST_F(RepairTest, ADamagedChunkCostsTheCheckpointsThatNeedItAndNoOthers) {
  build();
  const auto offset = ask("SELECT max(offset) FROM chunk WHERE pack = 2");
  const auto pack = pack_of(2);
  flip(pack, static_cast<std::uint64_t>(offset) + 64);
  const auto store = open();
  const auto before = readable(*store);
  ASSERT_EQ(before.size(), contents_.size() - 1);
  const RepairReport report = repair(*store);
  EXPECT_THAT(report.dropped,
              ElementsAre(::testing::Property(&LostContent::text, HasSubstr("boundary 5 of run"))));
  EXPECT_EQ(report.removed, 1);
  const auto kept =
      home() / "quarantine" / (pack.stem().string() + "-" + std::to_string(offset) + ".record");
  EXPECT_THAT(report.quarantined, ElementsAre(kept.string()));
  EXPECT_EQ(std::filesystem::file_size(kept), std::filesystem::file_size(pack) - offset);
  expect_keeps(before);
  EXPECT_EQ(store->catalog().run(2)->checkpoints, 5);
}

TEST_F(RepairTest, WhatWasGivenUpCanBeRecordedAgain) {
  build();
  flip(pack_of(1),
       static_cast<std::uint64_t>(ask("SELECT max(offset) FROM chunk WHERE pack = 1")) + 64);
  const auto store = open();
  repair(*store);
  CheckpointWriter writer(*store, 1);
  const CheckpointInfo info = writer.write(boundary(5), contents_[5].second);
  expect_holds(*store, info.id, contents_[5].second);
  EXPECT_EQ(damage(*store), "");
}

TEST_F(RepairTest, RandomFlipsAndCutsCostOnlyWhatTheyHit) {
  build();
  const auto original = directory_ / "original";
  std::filesystem::copy(home(), original, std::filesystem::copy_options::recursive);
  std::minstd_rand random(4711);
  int lost = 0;
  for (int round = 0; round < 30; ++round) {
    std::filesystem::remove_all(home());
    std::filesystem::copy(original, home(), std::filesystem::copy_options::recursive);
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const auto pack = packs().at(random() % 2);
      const std::uint64_t size = std::filesystem::file_size(pack);
      if (random() % 4 == 0) {
        std::filesystem::resize_file(pack, random() % size);
      } else if (size > 0) {
        flip(pack, random() % size);
      }
    }
    const auto store = open();
    const auto before = readable(*store);
    const RepairReport report = repair(*store);
    EXPECT_EQ(report.dropped.size(), contents_.size() - before.size()) << "round " << round;
    lost += static_cast<int>(report.dropped.size());
    expect_keeps(before);
  }
  EXPECT_GT(lost, 30);
}

TEST_F(RepairTest, AMissingPackCostsItsCheckpoints) {
  build();
  std::filesystem::remove(pack_of(2));
  const auto store = open();
  const auto before = readable(*store);
  EXPECT_THAT(repair(*store).dropped, SizeIs(6));
  expect_keeps(before);
}

TEST_F(RepairTest, ADamagedHeaderOfAPackIsWrittenAnew) {
  build();
  flip(pack_of(2), 9);
  const auto store = open();
  const RepairReport report = repair(*store);
  EXPECT_EQ(report.rewritten, 1);
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_EQ(damage(*store), "");
}

TEST_F(RepairTest, RowsThatTheChunkTableLostAreMadeAgain) {
  build();
  const std::string before = dump();
  for (const char* loss :
       {"DELETE FROM chunk WHERE id = 3", "DELETE FROM chunk WHERE id % 3 = 1",
        "DELETE FROM chunk WHERE pack = 2", "DELETE FROM chunk WHERE base IS NULL"}) {
    alter(loss);
    const auto store = open();
    ASSERT_NE(damage(*store, false), "");
    const RepairReport report = repair(*store);
    EXPECT_GT(report.restored, 0) << loss;
    EXPECT_THAT(report.dropped, IsEmpty()) << loss;
    EXPECT_EQ(damage(*store), "") << loss;
    EXPECT_EQ(dump(), before) << loss;
  }
}

TEST_F(RepairTest, ALostRowIsNotMadeOfADamagedRecord) {
  build();
  const auto offset = ask("SELECT offset FROM chunk WHERE id = 3");
  const auto pack = pack_of(ask("SELECT pack FROM chunk WHERE id = 3"));
  alter("DELETE FROM chunk WHERE id = 3");
  flip(pack, static_cast<std::uint64_t>(offset) + 70);
  const auto store = open();
  const RepairReport report = repair(*store);
  EXPECT_EQ(report.restored, 0);
  EXPECT_THAT(report.dropped, Not(IsEmpty()));
  EXPECT_EQ(damage(*store), "");
}

TEST_F(RepairTest, AnotherCopyOfADamagedChunkIsUsed) {
  const auto store = open();
  const Snapshot snapshot = bytes_snapshot("x", random_bytes(1, 5000));
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter(*store, run.id).write(boundary(0), snapshot);
  // As if two had stored the same at once: the record stays, its row is another's.
  alter("DELETE FROM checkpoint; DELETE FROM chunk");
  const CheckpointInfo info = CheckpointWriter(*store, run.id).write(boundary(0), snapshot);
  flip(pack_of(2), 500);
  const RepairReport report = repair(*store);
  EXPECT_EQ(report.relocated, 1);
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, info.id, snapshot);
}

TEST_F(RepairTest, ALostObjectIsNamedAndHealsWhenItIsLoggedAgain) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const Item item{"x", ElementType::u8, {5000}, 5000};
  const auto bytes = random_bytes(1, 5000);
  const std::string reference = CheckpointWriter(*store, run.id).write_object(item, bytes);
  flip(packs().at(0), 500);
  EXPECT_THAT(repair(*store).dropped,
              ElementsAre(::testing::Property(&LostContent::text,
                                              HasSubstr("the logged object " + reference))));
  EXPECT_EQ(CheckpointWriter(*store, run.id).write_object(item, bytes), reference);
  EXPECT_EQ(read_object(*store, reference).content, bytes);
}

TEST_F(RepairTest, WaitsForNobodyWhoCollects) {
  const auto store = open();
  const MaintenanceLock lock(*store->impl().database);
  EXPECT_THAT(message_of<Busy>([&] { repair(*store); }), HasSubstr("wait for it"));
}

}  // namespace
}  // namespace flor::store
