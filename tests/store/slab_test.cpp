// Slabs: small items that are stored as if they were one, and are read, compared and named one by
// one.
#include "base/little_endian.h"
#include "database/manifest.h"
#include "database/sqlite.h"
#include "maintain/archive.h"
#include "maintain/repair.h"
#include "maintain/usage.h"
#include "pack/pack_record.h"
#include "store_fixture.h"

#include <flor/store/error.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

/// `count` numbers, as they are after so many steps; a tensor before and after them.
Snapshot numbers(std::size_t count, int step) {
  std::vector<Item> parts;
  auto memory = std::make_shared<std::vector<std::byte>>();
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_flag = i % 100 == 99;  // of another type and length
    const std::uint64_t bytes = is_flag ? 1 : 8;
    parts.push_back({"number" + (i == 0 ? "" : std::to_string(i + 1)),
                     is_flag ? ElementType::boolean : ElementType::f64,
                     {},
                     bytes});
    const double value = static_cast<double>(i) + (i % 7 == 0 ? step : 0);
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    memory->insert(memory->end(), begin, begin + bytes);
  }
  Snapshot snapshot = make_snapshot(1, step, 1000);
  snapshot.items.insert(snapshot.items.begin() + 1,
                        make_slab(std::make_shared<const std::vector<Item>>(std::move(parts)),
                                  Content(memory, memory->data())));
  return snapshot;
}

/// Item by item, and all at once.
void expect_same(const Store& store, std::int64_t checkpoint, const Snapshot& snapshot) {
  const CheckpointReader reader(store, checkpoint), other(store, checkpoint);
  std::size_t index = 0;
  std::vector<std::vector<std::byte>> contents(reader.items().size());
  std::vector<Destination> destinations;
  for (const SnapshotItem& stored : snapshot.items) {
    const std::byte* content = stored.content.get();
    const auto one = [&](const Item& item) {
      ASSERT_LT(index, reader.items().size());
      ASSERT_EQ(reader.items()[index], item);
      ASSERT_EQ(reader.find(item.name), index);
      const std::span expected(content, item.bytes);
      ASSERT_TRUE(std::ranges::equal(reader.read(index), expected)) << item.name;
      ASSERT_EQ(reader.digest(index), item_digest(expected)) << item.name;
      contents[index].resize(item.bytes);
      destinations.push_back({index, contents[index]});
      content += item.bytes;
      ++index;
    };
    if (!stored.parts) one(stored.item);
    if (stored.parts) std::ranges::for_each(*stored.parts, one);
  }
  ASSERT_EQ(index, reader.items().size());
  other.read(destinations);
  for (std::size_t i = 0; i < index; ++i) ASSERT_EQ(contents[i], reader.read(i));
}

class SlabTest : public StoreTest {
 protected:
  std::uintmax_t catalog_bytes(const Snapshot& snapshot, const char* home) const {
    const auto store = Store::open(directory_ / home, OpenMode::create);
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int i = 0; i < 5; ++i) writer.write(boundary(i), snapshot);
    std::uintmax_t bytes = 0;
    for (const char* file : {"catalog.db", "catalog.db-wal"}) {
      bytes += std::filesystem::file_size(store->home() / file);
    }
    return bytes;
  }
};

TEST_F(SlabTest, ItsItemsAreReadAndComparedByName) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  std::vector<std::int64_t> ids;
  for (int step = 0; step < 4; ++step) {
    ids.push_back(writer.write(boundary(step), numbers(1000, step)).id);
  }
  for (int step = 0; step < 4; ++step) {
    expect_same(*store, ids[static_cast<std::size_t>(step)], numbers(1000, step));
  }
  EXPECT_EQ(damage(*store), "");
}

TEST_F(SlabTest, WhatFollowsWithOtherItemsIsStoredInAnotherLayout) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  for (const std::size_t count : {40, 400, 41, 1}) {
    const auto id = writer.write(boundary(static_cast<int>(count)), numbers(count, 1)).id;
    expect_same(*store, id, numbers(count, 1));
  }
}

TEST_F(SlabTest, TwoItemsOfOneNameAreRefusedAlsoWhereOneLiesInASlab) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  Snapshot snapshot = numbers(50, 0);
  snapshot.items.back().item.name = "number7";
  EXPECT_THAT([&] { writer.write(boundary(0), snapshot); },
              ::testing::ThrowsMessage<Error>(HasSubstr("two items of a snapshot have the name "
                                                        "'number7'")));
}

TEST_F(SlabTest, AnArchivedRunAndADiscardedCheckpointHaveThemToo) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  std::vector<std::int64_t> ids;
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 12; ++step) {
      ids.push_back(writer.write(boundary(step), numbers(5000, step)).id);
    }
  }
  store->catalog().finish_run(run.id, 1, false, "");
  archive(*store, run, {});
  for (int step = 0; step < 12; ++step) {
    expect_same(*store, ids[static_cast<std::size_t>(step)], numbers(5000, step));
  }
  EXPECT_EQ(damage(*store), "");
}

TEST_F(SlabTest, ItIsOneLineOfWhatTakesSpace) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter(*store, run.id).write(boundary(0), numbers(300, 0));
  const auto usage = item_usage(*store, run.id);
  ASSERT_EQ(usage.size(), 5u);
  const auto found = std::ranges::find(usage, "number (and 299 more)", &Usage::name);
  ASSERT_NE(found, usage.end());
  EXPECT_EQ(found->raw, 297u * 8 + 3);
}

/// A hundred thousand numbers cost at most twice what one item of their bytes costs.
TEST_F(SlabTest, TheCatalogHoldsTheirNamesInFewBytes) {
  const Snapshot slab = numbers(100'000, 0);
  Snapshot whole = slab;
  whole.items[1].parts.reset();
  whole.items[1].item.type = ElementType::bytes;
  EXPECT_LE(catalog_bytes(slab, "slab"), 2 * catalog_bytes(whole, "whole"));
}

/// A store of four checkpoints, each of which has a slab between tensors.
class SlabRepairTest : public StoreTest {
 protected:
  static constexpr int kSteps = 4;
  static constexpr std::size_t kNumbers = 1000;

  void SetUp() override {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < kSteps; ++step) {
      ids_.push_back(writer.write(boundary(step), numbers(kNumbers, step)).id);
    }
  }
  void expect_whole(const Store& store, int steps = kSteps) const {
    for (int step = 0; step < steps; ++step) {
      expect_same(store, ids_[static_cast<std::size_t>(step)], numbers(kNumbers, step));
    }
  }
  /// Offset and length of the slab of the last checkpoint in its pack. No other builds upon it.
  std::pair<std::uint64_t, std::uint64_t> record_of_last_slab() const {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    const auto row = connection("SELECT chunks FROM checkpoint WHERE id = ?1", ids_.back());
    row->step();
    const std::int64_t slab = decode_ids(row->blob(0)).at(1);
    const auto chunk = connection(
        "SELECT offset, stored_bytes, (SELECT count(*) FROM chunk WHERE base = ?1) FROM chunk "
        "WHERE id = ?1",
        slab);
    chunk->step();
    EXPECT_EQ(chunk->integer(2), 0) << "another builds upon it";
    return {chunk->integer(0), chunk->integer(1)};
  }

  std::vector<std::int64_t> ids_;
};

TEST_F(SlabRepairTest, RowsThatTheChunkTableLostAreMadeAgain) {
  for (const char* loss : {"DELETE FROM chunk WHERE id = 2", "DELETE FROM chunk WHERE id % 3 = 1",
                           "DELETE FROM chunk WHERE base IS NOT NULL", "DELETE FROM chunk"}) {
    Connection(home() / "catalog.db", Connection::Mode::existing).execute(loss);
    const auto store = open();
    ASSERT_NE(damage(*store, false), "") << loss;
    const RepairReport report = repair(*store);
    EXPECT_GT(report.restored, 0) << loss;
    EXPECT_THAT(report.dropped, ::testing::IsEmpty()) << loss;
    EXPECT_EQ(damage(*store), "") << loss;
    expect_whole(*store);
  }
}

TEST_F(SlabRepairTest, ADamagedByteIsNamedAndCostsNothingButThatSlab) {
  const auto [offset, bytes] = record_of_last_slab();
  const auto sound = directory_ / "sound";
  std::filesystem::copy(home(), sound, std::filesystem::copy_options::recursive);
  for (const std::uint64_t at : {kRecordHeaderBytes + bytes / 2, kRecordHeaderBytes + bytes - 1}) {
    std::filesystem::remove_all(home());
    std::filesystem::copy(sound, home(), std::filesystem::copy_options::recursive);
    std::fstream file(packs().at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset + at));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(offset + at));
    file.put(byte);
    file.close();
    const auto store = open();
    EXPECT_THAT(damage(*store), HasSubstr("lost: boundary 3 of run "));
    const CheckpointReader reader(*store, ids_.back());
    for (std::size_t i = 0; i < reader.items().size(); ++i) {
      const std::string& name = reader.items()[i].name;
      if (!name.starts_with("number")) {
        EXPECT_EQ(reader.read(i).size(), reader.items()[i].bytes) << "a tensor beside the slab";
      } else if (i % 100 == 1) {
        EXPECT_THAT(message_of<Damaged>([&] { reader.read(i); }),
                    HasSubstr("cannot read 'number' and 999 that follow it of boundary 3 of run "));
      }
    }
    expect_whole(*store, kSteps - 1);
    const RepairReport report = repair(*store);
    EXPECT_THAT(report.dropped, ::testing::ElementsAre(::testing::Property(
                                    &LostContent::text, HasSubstr("boundary 3 of run "))));
    EXPECT_EQ(report.removed, 1);
    EXPECT_THAT(report.quarantined, ::testing::SizeIs(1));
    EXPECT_EQ(damage(*store), "");
    expect_whole(*store, kSteps - 1);
  }
}

TEST(SlabLayout, NamesThatCountUpTakeAByteEach) {
  std::vector<Item> items;
  for (int i = 1; i <= 1000; ++i) {
    items.push_back({"layer" + std::to_string(i) + "/bias", ElementType::f32, {4}, 16});
  }
  const std::span<const Item> block(items);
  EXPECT_LT(encode_layout(std::span(&block, 1)).size(), 1100u);
}

/// Byte by byte as docs/internals/format.md says.
TEST(SlabLayout, HasTheFormThatIsDocumented) {
  const Item items[] = {{"a9", ElementType::f64, {}, 8},
                        {"a10", ElementType::f64, {}, 8},
                        {"a1", ElementType::boolean, {3}, 3}};
  std::vector<std::byte> expected;
  const auto text = [&](std::string_view characters) {
    append(expected, static_cast<std::uint32_t>(characters.size()));
    for (const char character : characters) expected.push_back(static_cast<std::byte>(character));
  };
  for (const std::uint32_t number : {0xFFFFFFFFU, 1U, 3U, 2U}) append(expected, number);
  append(expected, static_cast<std::uint16_t>(10));  // f64, no dimension
  append(expected, std::uint64_t{8});
  append(expected, std::uint8_t{1});
  text("a9");
  append(expected, std::uint8_t{0});
  append(expected, std::uint32_t{1});
  append(expected, static_cast<std::uint16_t>(0x0101));  // boolean, one dimension
  append(expected, std::uint64_t{3});
  append(expected, std::uint64_t{3});
  append(expected, std::uint8_t{3});
  text("");
  const std::span<const Item> block(items);
  EXPECT_EQ(encode_layout(std::span(&block, 1)), expected);
}

std::string some_name() {
  static const char* const kPieces[] = {"a",  "number", "7",      "09",  "9",
                                        "99", "/",      "values", "x1y", "é"};
  std::string name;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) name += kPieces[*rc::gen::inRange(0, 10)];
  return *rc::gen::inRange(0, 40) == 0 ? name + std::string(300, 'n') : name;
}

RC_GTEST_PROP(SlabLayout, EveryLayoutIsDecodedAsItWasEncoded, ()) {
  std::vector<Item> items;
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    Item item{some_name(), static_cast<ElementType>(*rc::gen::inRange(0, 13)), {}, 0};
    item.bytes = static_cast<std::uint64_t>(*rc::gen::inRange(0, 3)) * 8;
    if (*rc::gen::inRange(0, 2) == 1) item.sizes = {static_cast<std::int64_t>(item.bytes), 1};
    items.push_back(item);
    if (*rc::gen::inRange(0, 3) == 0) items.push_back(item);
  }
  std::vector<std::span<const Item>> blocks;
  for (std::size_t at = 0; at < items.size();) {
    const auto count =
        std::min(items.size() - at, static_cast<std::size_t>(*rc::gen::inRange(1, 9)));
    blocks.push_back(std::span(items).subspan(at, count));
    at += count;
  }
  const Layout layout = decode_layout(encode_layout(blocks));
  RC_ASSERT(layout.items == items);
  RC_ASSERT(layout.blocks.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    RC_ASSERT(layout.blocks[i].count == blocks[i].size());
    RC_ASSERT(layout.items_of(layout.blocks[i]).data() ==
              layout.items.data() + (blocks[i].data() - items.data()));
  }
}

TEST(SlabLayout, WhatIsCutOffOrForgedIsDamaged) {
  std::vector<Item> items;
  for (int i = 1; i <= 40; ++i) items.push_back({"n" + std::to_string(i), ElementType::f64, {}, 8});
  const std::span<const Item> block(items);
  const std::vector<std::byte> good = encode_layout(std::span(&block, 1));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(decode_layout(std::span(good).first(size)), Damaged) << size;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> forged = good;
    forged[at] ^= std::byte{0x55};
    try {
      decode_layout(forged);
    } catch (const Damaged&) {  // or it is another layout, whose digest is another
    }
  }
}

/// A byte for each of a million items with a name of a megabyte.
TEST(SlabLayout, AForgedOneTakesNoMoreMemoryThanAnyCheckpointNeeds) {
  std::vector<std::byte> forged;
  for (const std::uint32_t number : {0xFFFFFFFFU, 1U, 1'000'000U, 1'000'000U})
    append(forged, number);
  append(forged, std::uint8_t{9});  // f32
  append(forged, std::uint8_t{0});
  append(forged, std::uint64_t{8});
  append(forged, std::uint8_t{1});
  append(forged, std::uint32_t{1'000'000});
  forged.insert(forged.end(), 999'999, std::byte{'n'});
  forged.push_back(std::byte{'1'});
  forged.insert(forged.end(), 999'999, std::byte{0});
  EXPECT_THROW(decode_layout(forged), Damaged);
}

}  // namespace
}  // namespace flor::store
