// Every single bit of a small store is turned over, one at a time: in its pack and in what the
// catalog says of content. Each of them is found by fsck; what is read is right or refused; what
// does not depend on the bit is read as before.
#include "database/sqlite.h"
#include "made_again.h"
#include "maintain/repair.h"
#include "promises.h"
#include "support/packs.h"
#include "support/some_points.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace flor::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kFlipped = 60;

/// Columns by which content is found and proven. Blobs are turned over bit by bit, numbers in their
/// lower 12 bits.
struct Column {
  const char *table, *name;
};
constexpr Column kBlobs[] = {
    {"chunk", "digest"},      {"layout", "digest"}, {"layout", "items"}, {"checkpoint", "digest"},
    {"checkpoint", "chunks"}, {"object", "digest"}, {"object", "chunks"}};
constexpr Column kNumbers[] = {
    {"chunk", "pack"},  {"chunk", "offset"},      {"chunk", "raw_bytes"}, {"chunk", "stored_bytes"},
    {"chunk", "codec"}, {"chunk", "type"},        {"chunk", "depth"},     {"chunk", "base"},
    {"pack", "bytes"},  {"checkpoint", "layout"}, {"object", "layout"}};

class FlipTest : public StoreTest {
 protected:
  static constexpr int kSteps = 3;

  std::filesystem::path fast_home() const { return memory_ / "home"; }

  void SetUp() override {
    store_ = Store::open(fast_home(), OpenMode::create);
    run_ = store_->catalog().add_run(new_run());
    {
      CheckpointWriter writer(*store_, run_.id);
      for (int step = 0; step < kSteps; ++step) {
        const CheckpointInfo info = writer.write(boundary(step), make_snapshot(1, step, kFlipped));
        ids_.push_back(info.id);
        names_.push_back("boundary " + std::to_string(step) + " of run " + run_.key);
      }
      reference_ = writer.write_object({"x", ElementType::u8, {200}, 200}, random_bytes(9, 200));
      names_.push_back("the logged object ");  // whatever its name is by then
    }
    // Another connection, as another program would change it.
    connection_ =
        std::make_unique<Connection>(fast_home() / "catalog.db", Connection::Mode::existing);
    connection_->execute("PRAGMA synchronous=OFF; PRAGMA ignore_check_constraints=ON");
    for (const auto& entry : flor::testing::packs_of(fast_home())) {
      pack_ = entry.path();
    }
  }
  void TearDown() override { connection_.reset(); }

  /// Numbers of what cannot be read: checkpoints in order, then the object. What is read must be
  /// right.
  std::set<int> refused() {
    std::set<int> lost;
    for (int i = 0; i <= kSteps; ++i) {
      try {
        if (i == kSteps) {
          EXPECT_EQ(read_object(*store_, reference_).content, random_bytes(9, 200));
        } else {
          expect_holds(*store_, ids_[static_cast<std::size_t>(i)], make_snapshot(1, i, kFlipped),
                       1);
        }
      } catch (const Error&) {
        lost.insert(i);
      }
    }
    return lost;
  }

  /// The damage is found and everything that cannot be read is named. Returns what that is.
  std::set<int> expect_found(const std::string& what, bool read = true) {
    const std::string findings = damage(*store_);
    EXPECT_NE(findings, "") << what << " is not found";
    if (!read) return {};
    const std::set<int> lost = refused();
    for (const int i : lost) {
      const std::string& name = names_[static_cast<std::size_t>(i)];
      EXPECT_THAT(findings, HasSubstr(name)) << what;
    }
    return lost;
  }

  static void expect_only(const std::set<int>& lost, const std::set<int>& allowed,
                          const std::string& what) {
    for (const int i : lost) EXPECT_TRUE(allowed.contains(i)) << what << " costs " << i;
  }

  /// Whatever needs the chunk: those that list it, or one that builds upon it.
  std::set<int> users(std::int64_t chunk) {
    std::set<int> users;
    const auto rows = (*connection_)(
        "WITH RECURSIVE bad(id) AS (SELECT ?1 UNION SELECT chunk.id FROM chunk, bad "
        "WHERE chunk.base = bad.id) SELECT id FROM bad",
        chunk);
    while (rows->step()) {
      const auto id = static_cast<std::uint32_t>(rows->integer(0));
      for (const auto& [number, list] : lists_) {
        if (std::find(list.begin(), list.end(), id) != list.end()) users.insert(number);
      }
    }
    return users;
  }

  void load_lists() {
    const auto rows =
        (*connection_)("SELECT chunks FROM checkpoint UNION ALL SELECT chunks FROM object");
    for (int number = 0; rows->step(); ++number) {
      const Bytes blob = rows->blob(0);
      for (std::size_t at = 0; at < blob.size(); at += 4) {
        lists_[number].push_back(std::to_integer<std::uint32_t>(blob[at]));  // small numbers
      }
    }
  }

  void flip_file(std::uint64_t offset, unsigned bit) const {
    std::fstream file(pack_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ (1 << bit)));
  }

  /// Turns over `bits` of the 8 bits of every byte. Unless that is all of them, only every fourth
  /// time everything is read.
  void flip_pack(unsigned bits) {
    load_lists();
    struct Place {
      std::uint64_t end;
      std::int64_t chunk;
    };
    std::vector<Place> places;
    const auto rows = (*connection_)("SELECT offset + 64 + stored_bytes, id FROM chunk ORDER BY 1");
    while (rows->step()) {
      places.push_back({static_cast<std::uint64_t>(rows->integer(0)), rows->integer(1)});
    }
    const std::uint64_t size = std::filesystem::file_size(pack_);
    ASSERT_EQ(places.back().end, size);
    int flips = 0, costs = 0;
    testing::SomePoints points(64, 2);  // the header and the first record, and half of the others
    for (std::uint64_t offset = 0; offset < size;
         offset = static_cast<std::uint64_t>(points.next())) {
      // The first 32 bytes are the pack's own.
      std::set<int> allowed;
      const auto place = std::ranges::upper_bound(places, offset, {}, &Place::end);
      if (offset >= 32) allowed = users(place->chunk);
      for (unsigned i = 0; i < bits; ++i, ++flips) {
        const unsigned bit = static_cast<unsigned>(offset + i) % 8;
        const std::string what = "byte " + std::to_string(offset) + ", bit " + std::to_string(bit);
        flip_file(offset, bit);
        const auto lost = expect_found(what, bits == 8 || offset % 4 == 0);
        expect_only(lost, allowed, what);
        costs += lost.empty() ? 0 : 1;
        flip_file(offset, bit);
        if (HasFailure()) FAIL() << what;
      }
    }
    report("the pack", flips, costs);
  }

  /// Every flip is undone by a change back.
  void flip_column(const Column& column, bool is_blob, unsigned bits, int& flips, int& costs) {
    const std::string table = column.table, name = column.name;
    std::vector<std::pair<std::int64_t, std::vector<std::byte>>> blobs;
    const auto rows =
        (*connection_)("SELECT id, " + name + " FROM " + table + " WHERE " + name + " IS NOT NULL");
    while (rows->step()) {
      const Bytes blob = is_blob ? rows->blob(1) : Bytes();
      blobs.emplace_back(rows->integer(0), std::vector<std::byte>(blob.begin(), blob.end()));
    }
    rows->run();  // no read lock while it is changed
    for (auto& [id, blob] : blobs) {
      const std::size_t positions = is_blob ? blob.size() * 8 : 12;
      for (std::size_t at = 0; at < positions; ++at) {
        if (is_blob && (at + at / 8) % 8 >= bits) continue;
        const std::string what =
            table + "." + name + " of row " + std::to_string(id) + ", bit " + std::to_string(at);
        flip_value(table, name, id, blob, is_blob, at);
        const std::set<int> lost = expect_found(what);
        ++flips;
        costs += lost.empty() ? 0 : 1;
        flip_value(table, name, id, blob, is_blob, at);
        if (HasFailure()) FAIL() << what;
      }
    }
  }

  void flip_value(const std::string& table, const std::string& name, std::int64_t id,
                  std::vector<std::byte>& blob, bool is_blob, std::size_t bit) {
    const std::string update = "UPDATE " + table + " SET " + name + " = ";
    if (is_blob) {
      blob[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      (*connection_)(update + "?2 WHERE id = ?1", id, Bytes(blob))->run();
    } else {
      (*connection_)(update + "(" + name + " | ?2) - (" + name + " & ?2) WHERE id = ?1", id,
                     std::int64_t{1} << bit)
          ->run();
    }
  }

  void flip_catalog(unsigned bits) {
    int flips = 0, costs = 0;
    for (const Column& column : kBlobs) flip_column(column, true, bits, flips, costs);
    for (const Column& column : kNumbers) flip_column(column, false, bits, flips, costs);
    report("the catalog", flips, costs);
    EXPECT_EQ(damage(*store_), "");
    EXPECT_THAT(refused(), IsEmpty());
  }

  void report(const char* what, int flips, int costs) {
    std::printf(
        "%s: %d flips, all found; %d of them cost a checkpoint or an object, the others "
        "nothing\n",
        what, flips, costs);
    RecordProperty("flips", flips);
    EXPECT_GT(costs, 0);
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
  std::shared_ptr<Store> store_;
  std::unique_ptr<Connection> connection_;
  std::filesystem::path pack_;
  Run run_;
  std::vector<std::int64_t> ids_;
  std::vector<std::string> names_;
  std::string reference_;
  std::map<int, std::vector<std::uint32_t>> lists_;
};

TEST_F(FlipTest, EveryByteOfAPackIsGuardedAndCostsOnlyWhatNeedsIt) { flip_pack(1); }
TEST_F(FlipTest, EveryByteOfTheCatalogsBlobsIsGuarded) { flip_catalog(1); }

TEST_F(FlipTest, ADamagedLayoutIsHealedByTheNextCheckpointThatHasIt) {
  connection_->execute("UPDATE layout SET items = CAST(replace(hex(items), '66', '67') AS BLOB)");
  ASSERT_EQ(refused().size(), 4u);
  CheckpointWriter writer(*store_, run_.id);
  const Snapshot snapshot = make_snapshot(1, 3, kFlipped);
  expect_holds(*store_, writer.write(boundary(3), snapshot).id, snapshot, 1);
  EXPECT_EQ(refused(), std::set<int>{3});  // the object has another layout
  writer.write_object({"x", ElementType::u8, {200}, 200}, random_bytes(9, 200));
  EXPECT_THAT(refused(), IsEmpty());
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(FlipTest, ADamagedObjectIsHealedWhenItIsLoggedAgain) {
  connection_->execute("UPDATE object SET chunks = X'01000000'");
  ASSERT_EQ(refused(), std::set<int>{3});
  CheckpointWriter(*store_, run_.id)
      .write_object({"x", ElementType::u8, {200}, 200}, random_bytes(9, 200));
  EXPECT_THAT(refused(), IsEmpty());
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(FlipTest, RepairGivesALayoutItsDigestBackAndForgetsOneThatNobodyCanRead) {
  connection_->execute("UPDATE layout SET digest = zeroblob(16) WHERE id = 1");
  EXPECT_THAT(damage(*store_), HasSubstr("layout 1"));
  EXPECT_THAT(repair(*store_).dropped, IsEmpty());
  EXPECT_EQ(damage(*store_), "");
  connection_->execute("UPDATE layout SET items = zeroblob(9) WHERE id = 1");
  EXPECT_THAT(repair(*store_).dropped, ::testing::SizeIs(kSteps));
  EXPECT_EQ(damage(*store_), "");
  EXPECT_THAT(read_object(*store_, reference_).content, Not(IsEmpty()));
}

class FlipEveryBitTest : public FlipTest {};

TEST_F(FlipEveryBitTest, OfThePack) { flip_pack(8); }
TEST_F(FlipEveryBitTest, OfTheCatalogsBlobs) { flip_catalog(8); }

}  // namespace
}  // namespace flor::store
