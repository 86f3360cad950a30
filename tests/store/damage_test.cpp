// Damage: cut and missing packs, changed rows, catalogs that are none. Nothing is believed unread.
// Single flipped bits are in flip_test.cpp.
#include "database/sqlite.h"
#include "file/filesystem.h"
#include "pack/pack_writer.h"
#include "store_fixture.h"
#include "support/packs.h"
#include "support/some_points.h"

#include <flor/store/error.h>

#include <fstream>

namespace flor::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

void flip(const std::filesystem::path& path, std::uint64_t offset, unsigned char mask = 0x01) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ mask));
}

class DamageTest : public StoreTest {
 protected:
  /// Checkpoints 0, 1, ... `count` of one run, each a difference to the one before.
  void build(int count, std::size_t weights) {
    const auto store = open();
    run_ = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run_.id);
    for (int step = 0; step < count; ++step) {
      ids_.push_back(writer.write(boundary(step), make_snapshot(1, step, weights)).id);
    }
  }

  void alter(const char* sql) {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute(sql);
  }

  /// True if the checkpoint can be read and is right; a wrong one fails the test.
  bool restores(const Store& store, int step, std::size_t weights) {
    try {
      expect_holds(store, ids_.at(static_cast<std::size_t>(step)), make_snapshot(1, step, weights));
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  Run run_;
  std::vector<std::int64_t> ids_;
};

TEST_F(DamageTest, ACutPackLosesWhatLaidBehindTheCutAndSaysSo) {
  build(3, 1000);
  const auto pack = packs().at(0);
  const std::uint64_t size = std::filesystem::file_size(pack);
  std::filesystem::resize_file(pack, size - 1);
  const auto store = open();
  EXPECT_TRUE(restores(*store, 0, 1000));
  EXPECT_TRUE(restores(*store, 1, 1000));
  EXPECT_THAT(message_of<Damaged>([&] { CheckpointReader(*store, ids_[2]).read(3); }),
              AllOf(HasSubstr("'optimizer/step'"), HasSubstr("cut off"), HasSubstr(pack.string())));
  for (const bool read_data : {false, true}) {
    EXPECT_THAT(damage(*store, read_data),
                AllOf(HasSubstr("is cut off: it has " + std::to_string(size - 1)),
                      HasSubstr("lost: boundary 2 of run " + run_.key)));
  }
}

TEST_F(DamageTest, AMissingPackNamesEveryCheckpointThatNeedsIt) {
  build(2, 1000);
  std::filesystem::remove(packs().at(0));
  const auto store = open();
  const CheckReport report = check(*store, true);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::missing_pack);
  EXPECT_THAT(report.findings[0].what,
              AllOf(HasSubstr("is missing"), HasSubstr("boundary 0 of run " + run_.key),
                    HasSubstr("boundary 1 of run " + run_.key)));
  EXPECT_THAT(message_of<Damaged>([&] { CheckpointReader(*store, ids_[0]).read(0); }),
              HasSubstr("is missing"));
}

TEST_F(DamageTest, ABadBaseLosesTheDifferencesToIt) {
  build(3, 100'000);
  std::int64_t offset = 0, dependents = 0;
  {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    const auto row = connection(
        "SELECT base.offset, count(*) FROM chunk JOIN chunk AS base ON base.id = chunk.base "
        "WHERE base.depth = 0 GROUP BY base.id ORDER BY base.id LIMIT 1");
    ASSERT_TRUE(row->step());
    offset = row->integer(0);
    dependents = row->integer(1);
  }
  ASSERT_GE(dependents, 1);
  flip(packs().at(0), static_cast<std::uint64_t>(offset) + 100);
  const CheckReport report = check(*open(), true);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::damaged_chunk);
  EXPECT_THAT(report.findings[0].what, AllOf(HasSubstr("offset " + std::to_string(offset)),
                                             HasSubstr("boundary 0"), HasSubstr("boundary 1")));
}

TEST_F(DamageTest, ChangedRowsOfTheCatalogAreNotBelieved) {
  build(2, 1000);
  const auto store = open();
  alter(
      "UPDATE checkpoint SET chunks = CAST(substr(chunks, 5) || substr(chunks, 1, 4) AS BLOB) "
      "WHERE iteration = 1");
  EXPECT_THAT(message_of<Damaged>([&] { CheckpointReader(*store, ids_[1]); }),
              HasSubstr("boundary 1"));
  EXPECT_THAT(damage(*store), HasSubstr("boundary 1 of run " + run_.key + " is lost"));
  EXPECT_TRUE(restores(*store, 0, 1000));
  alter("PRAGMA foreign_keys=OFF; DELETE FROM chunk WHERE id = 1");
  EXPECT_THAT(message_of<Damaged>([&] { CheckpointReader(*store, ids_[0]); }),
              HasSubstr("chunk 1 is missing"));
  EXPECT_THAT(damage(*store), HasSubstr("chunk 1 is missing in the catalog; lost: boundary 0"));
}

TEST_F(DamageTest, ChainsThatTheCatalogMadeEndlessAreRefused) {
  build(2, 1000);
  const auto store = open();
  alter("UPDATE chunk SET base = id, depth = 1 WHERE id = 1");
  EXPECT_THAT(message_of<Damaged>([&] { CheckpointReader(*store, ids_[0]); }),
              HasSubstr("chunk 1"));
  EXPECT_THAT(damage(*store), HasSubstr("chunk 1 does not fit its base"));
}

TEST_F(DamageTest, AValueWhoseObjectIsGoneIsFound) {
  build(1, 10);
  const auto store = open();
  Value value;
  value.name = "confusion";
  value.type = ValueType::tensor;
  value.value = std::string(32, 'a');
  store->catalog().add_values(run_.id, std::span(&value, 1));
  EXPECT_THAT(damage(*store), HasSubstr("'confusion' of run " + run_.key));
}

TEST_F(DamageTest, BytesThatAKilledWriterLeftAreOnlyRemarked) {
  build(1, 100);
  std::ofstream(packs().at(0), std::ios::app | std::ios::binary) << "half a record";
  std::ofstream(flor::testing::place_of_pack(home(), "00000000deadbeef")) << "never committed";
  const CheckReport report = check(*open(), true);
  EXPECT_THAT(report.findings, SizeIs(0));
  EXPECT_THAT(report.remarks, ::testing::UnorderedElementsAre(HasSubstr("13 bytes at the end"),
                                                              HasSubstr("15 bytes at the end")));
}

TEST_F(DamageTest, ACatalogThatIsNoDatabaseIsMadeAgain) {
  build(1, 100);
  for (const OpenMode mode : {OpenMode::create, OpenMode::existing, OpenMode::read_only}) {
    std::filesystem::remove(home() / "catalog.db-wal");
    std::ofstream(home() / "catalog.db") << std::string(8192, 'x');
    const auto store = open(mode);
    EXPECT_TRUE(restores(*store, 0, 100));
    EXPECT_EQ(damage(*store), "");
  }
}

TEST_F(DamageTest, AnotherProgramsDatabaseIsRefused) {
  std::filesystem::create_directories(home());
  {
    Connection other(home() / "catalog.db", Connection::Mode::create);
    other.execute("CREATE TABLE recipes (id INTEGER); PRAGMA user_version=3");
  }
  EXPECT_THAT(message_of<Damaged>([&] { open(); }), HasSubstr("not a catalog of Flor"));
}

TEST_F(DamageTest, FlippedBytesInTheCatalogNeverYieldWrongContent) {
  constexpr std::size_t kWeights = 60;
  build(2, kWeights);
  const auto path = home() / "catalog.db";
  const std::uint64_t size = std::filesystem::file_size(path);
  int refused = 0;
  for (std::uint64_t offset = 7; offset < size; offset += testing::every_point() ? 101 : 421) {
    flip(path, offset, 0x10);
    try {
      const auto store = open(OpenMode::read_only);
      check(*store, true);
      for (int step = 0; step < 2; ++step) {
        if (!restores(*store, step, kWeights)) ++refused;
      }
    } catch (const Error&) {
      ++refused;
    }
    flip(path, offset, 0x10);
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(damage(*open()), "");
}

TEST_F(DamageTest, AFormatOfTheFutureIsRefusedWithAdvice) {
  build(1, 100);
  alter("PRAGMA user_version=7");
  EXPECT_THAT(message_of<Error>([&] { open(OpenMode::existing); }),
              AllOf(HasSubstr("written by a newer Flor (format 7); this one reads up to 2"),
                    HasSubstr("upgrade flor")));
}

TEST_F(DamageTest, APackOfTheFutureIsRefusedWithAdvice) {
  build(1, 100);
  const auto pack = packs().at(0);
  const auto header =
      encode_header(PackHeader{.format = 9, .key = std::stoull(pack.stem().string(), nullptr, 16)});
  std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()), header.size());
  file.close();
  const auto store = open();
  EXPECT_THAT(message_of<Error>([&] { CheckpointReader(*store, ids_[0]).read(0); }),
              AllOf(HasSubstr("newer Flor (format 9)"), HasSubstr("upgrade flor")));
}

TEST_F(DamageTest, WhereThereIsNoStoreItSaysSo) {
  for (const OpenMode mode : {OpenMode::existing, OpenMode::read_only}) {
    EXPECT_THAT(message_of<NotFound>([&] { open(mode); }), HasSubstr("there is no store in"));
  }
  EXPECT_FALSE(std::filesystem::exists(home()));
}

}  // namespace
}  // namespace flor::store
