// Writing and reading checkpoints: what comes back, what is stored once, what chains look like.
#include "database/sqlite.h"
#include "pack/chunk_writer.h"
#include "run_fixture.h"

#include <sys/mman.h>

#include <fstream>
#include <limits>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

class CheckpointTest : public RunTest {};

TEST_F(CheckpointTest, ComesBackBitForBit) {
  CheckpointWriter writer(*store_, run_.id);
  const Snapshot snapshot = make_snapshot(1, 0);
  const CheckpointInfo info = writer.write(boundary(0), snapshot);
  EXPECT_EQ(info.raw_bytes, snapshot.raw_bytes());
  EXPECT_GT(info.stored_bytes, 0u);
  expect_holds(*store_, info.id, snapshot, 1);
  expect_holds(*store_, info.id, snapshot, 4);
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(CheckpointTest, KeepsItemsOfEveryLengthAndShape) {
  CheckpointWriter writer(*store_, run_.id);
  Snapshot snapshot;
  std::vector<std::size_t> lengths = {
      0, 1, 3, kChunkBytes - 1, kChunkBytes, kChunkBytes + 1, 2 * kChunkBytes};
  for (const std::size_t length : lengths) {
    Snapshot one = bytes_snapshot("b" + std::to_string(length),
                                  random_bytes(static_cast<unsigned>(length), length));
    one.items[0].item.sizes = {static_cast<std::int64_t>(length), 1, 7};
    snapshot.items.push_back(one.items[0]);
  }
  snapshot.items[0].content = nullptr;
  const CheckpointInfo info = writer.write(boundary(0), snapshot);
  expect_holds(*store_, info.id, snapshot);
  const CheckpointReader reader(*store_, info.id);
  EXPECT_EQ(reader.find("b3"), std::optional<std::size_t>(2));
  EXPECT_EQ(reader.find("b4"), std::nullopt);
  EXPECT_EQ(reader.read(2), random_bytes(3, 3));
}

TEST_F(CheckpointTest, OfNothingIsACheckpointToo) {
  CheckpointWriter writer(*store_, run_.id);
  const CheckpointInfo info = writer.write(boundary(0), {});
  expect_holds(*store_, info.id, {});
  EXPECT_TRUE(packs().empty());
}

TEST_F(CheckpointTest, IsFoundByItsKeyAndListedInOrder) {
  CheckpointWriter writer(*store_, run_.id);
  const CheckpointKey end{CheckpointKind::loop_end, 1, 3, "train~2"};
  writer.write(boundary(4), make_snapshot(1, 0, 100));
  const CheckpointInfo info = writer.write(end, make_snapshot(1, 1, 100));
  const auto found = store_->catalog().checkpoint(run_.id, end);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, info.id);
  EXPECT_EQ(found->digest, info.digest);
  EXPECT_EQ(found->created_us, info.created_us);
  EXPECT_FALSE(store_->catalog().checkpoint(run_.id, boundary(3)));
  const auto all = store_->catalog().checkpoints(run_.id);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].key, boundary(4));
  EXPECT_EQ(all[1].key, end);
}

TEST_F(CheckpointTest, ReplacesTheOneWithItsKey) {
  CheckpointWriter writer(*store_, run_.id);
  writer.write(boundary(0), make_snapshot(1, 0, 1000));
  const Snapshot snapshot = make_snapshot(1, 1, 2000);
  const CheckpointInfo info = writer.write(boundary(0), snapshot);
  EXPECT_EQ(store_->catalog().checkpoints(run_.id).size(), 1u);
  const Run run = store_->catalog().run(run_.id).value();
  EXPECT_EQ(run.checkpoints, 1);
  EXPECT_EQ(run.raw_bytes, snapshot.raw_bytes());
  expect_holds(*store_, info.id, snapshot);
}

TEST_F(CheckpointTest, HasADigestOfContentAndNamesOnly) {
  CheckpointWriter writer(*store_, run_.id);
  Snapshot snapshot = make_snapshot(1, 0, 1000);
  const Digest first = writer.write(boundary(0), snapshot).digest;
  EXPECT_EQ(writer.write(boundary(1), make_snapshot(1, 0, 1000)).digest, first);
  EXPECT_NE(writer.write(boundary(2), make_snapshot(1, 1, 1000)).digest, first);
  snapshot.items[1].item.name = "model/fc2.bias";
  EXPECT_NE(writer.write(boundary(3), snapshot).digest, first);
}

TEST_F(CheckpointTest, StoresEqualContentOnceAcrossItemsWritersAndRuns) {
  const std::vector<std::byte> content = random_bytes(7, 3 * kChunkBytes / 2);
  Snapshot twice = bytes_snapshot("a", content);
  twice.items.push_back(bytes_snapshot("b", content).items[0]);
  CheckpointWriter writer(*store_, run_.id);
  writer.write(boundary(0), twice);
  EXPECT_EQ(query("SELECT count(*) FROM chunk"), 2);
  EXPECT_LT(bytes_in_packs(), content.size() + 4096);

  const std::uint64_t before = bytes_in_packs();
  const Run other = store_->catalog().add_run(new_run("other"));
  CheckpointWriter second(*store_, other.id);
  const CheckpointInfo info = second.write(boundary(0), bytes_snapshot("c", content));
  EXPECT_EQ(info.stored_bytes, 0u);
  EXPECT_EQ(bytes_in_packs(), before);
  expect_holds(*store_, info.id, bytes_snapshot("c", content));
}

TEST_F(CheckpointTest, StoresEqualContentOnceAcrossProcesses) {
  const Snapshot snapshot = make_snapshot(5, 0);
  store_.reset();
  const pid_t child = start_process([&] {
    const auto store = open();
    CheckpointWriter(*store, run_.id).write(boundary(0), make_snapshot(5, 0));
    return 0;
  });
  ASSERT_EQ(wait_for(child), 0);
  store_ = open();
  CheckpointWriter writer(*store_, run_.id);
  EXPECT_EQ(writer.write(boundary(1), snapshot).stored_bytes, 0u);
}

TEST_F(CheckpointTest, DoesNotTouchContentThatItSharesWithTheLastOne) {
  const std::size_t size = 2 * kChunkBytes;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 42, size);
  const Content content(static_cast<const std::byte*>(memory),
                        [size](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); });
  const Snapshot snapshot{{{{"frozen", ElementType::f32, {}, size}, content}}};
  CheckpointWriter writer(*store_, run_.id);
  const CheckpointInfo first = writer.write(boundary(0), snapshot);
  ASSERT_EQ(::mprotect(memory, size, PROT_NONE), 0);  // reading it now would kill the test
  const CheckpointInfo second = writer.write(boundary(1), snapshot);
  ASSERT_EQ(::mprotect(memory, size, PROT_READ), 0);
  EXPECT_EQ(second.stored_bytes, 0u);
  EXPECT_EQ(second.digest, first.digest);
  expect_holds(*store_, second.id, snapshot);
}

TEST_F(CheckpointTest, BuildsChainsThatAreShortAndReadable) {
  constexpr int kSteps = 14;
  CheckpointWriter writer(*store_, run_.id);
  std::vector<std::int64_t> ids;
  for (int step = 0; step < kSteps; ++step) {
    ids.push_back(writer.write(boundary(step), make_snapshot(2, step, 1'500'000)).id);
  }
  EXPECT_GT(query("SELECT count(*) FROM chunk WHERE depth > 0"), kSteps);
  EXPECT_EQ(query("SELECT max(depth) FROM chunk"), kDepthMax);
  for (int step = 0; step < kSteps; ++step) {
    expect_holds(*store_, ids[static_cast<std::size_t>(step)], make_snapshot(2, step, 1'500'000));
  }
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(CheckpointTest, RefusesSnapshotsThatMakeNoSense) {
  CheckpointWriter writer(*store_, run_.id);
  Snapshot twice = make_snapshot(1, 0, 100);
  twice.items.push_back(twice.items[0]);
  EXPECT_THAT(message_of<Error>([&] { writer.write(boundary(0), twice); }),
              HasSubstr("'model/fc1.weight'"));
  Snapshot empty = make_snapshot(1, 0, 100);
  empty.items[0].content = nullptr;
  EXPECT_THAT(message_of<Error>([&] { writer.write(boundary(0), empty); }),
              HasSubstr("has no content"));
  EXPECT_TRUE(store_->catalog().checkpoints(run_.id).empty());
}

TEST_F(CheckpointTest, ReadsOnlyIntoRoomOfTheRightSize) {
  CheckpointWriter writer(*store_, run_.id);
  const CheckpointReader reader(*store_, writer.write(boundary(0), make_snapshot(1, 0, 100)).id);
  std::vector<std::byte> small(10);
  const Destination destination{0, small};
  EXPECT_THAT(message_of<Error>([&] { reader.read(std::span(&destination, 1)); }),
              HasSubstr("has 400 bytes, but there is room for 10"));
  EXPECT_THAT(message_of<NotFound>([&] { CheckpointReader(*store_, 4711); }),
              HasSubstr("checkpoint 4711"));
}

TEST_F(CheckpointTest, AnObjectIsStoredOnceAndReadByItsReference) {
  CheckpointWriter writer(*store_, run_.id);
  const std::vector<std::byte> content = random_bytes(3, 48);
  const Item item{"confusion", ElementType::f32, {3, 4}, 48};
  const std::string reference = writer.write_object(item, content);
  EXPECT_EQ(writer.write_object(item, content), reference);
  EXPECT_EQ(query("SELECT count(*) FROM object"), 1);
  const Object object = read_object(*store_, reference);
  EXPECT_EQ(object.item, item);
  EXPECT_EQ(object.content, content);
  EXPECT_THAT(message_of<NotFound>([&] { read_object(*store_, std::string(32, 'a')); }),
              HasSubstr("there is no object"));
  EXPECT_THAT(message_of<UsageError>([&] { read_object(*store_, "nonsense"); }),
              HasSubstr("'nonsense'"));
  EXPECT_EQ(damage(*store_), "");
}

TEST_F(CheckpointTest, NamesItemPackAndOffsetOfWhatIsDamaged) {
  CheckpointWriter writer(*store_, run_.id);
  const CheckpointInfo info = writer.write(boundary(3), make_snapshot(1, 0, 1000));
  const auto pack = packs().at(0);
  const std::int64_t offset = query("SELECT offset FROM chunk WHERE id = 2");
  {
    std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset + 64 + 20);
    file.put('!');
  }
  const CheckpointReader reader(*store_, info.id);
  const std::string message = message_of<Damaged>([&] { reader.read(1); });
  EXPECT_THAT(message, HasSubstr("'model/fc1.bias' of boundary 3 of run " + run_.key));
  EXPECT_THAT(message, HasSubstr("offset " + std::to_string(offset) + " of " + pack.string()));
  EXPECT_EQ(reader.read(0).size(), 4000u);  // the others can still be had
}

TEST_F(CheckpointTest, SurvivesThatTheRowsItRemembersWereCollected) {
  CheckpointWriter writer(*store_, run_.id);
  writer.write(boundary(0), make_snapshot(1, 0, 1000));
  {
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    connection.execute("DELETE FROM checkpoint; DELETE FROM chunk; UPDATE run SET checkpoints = 0");
  }
  const CheckpointInfo info = writer.write(boundary(1), make_snapshot(1, 0, 1000));
  expect_holds(*store_, info.id, make_snapshot(1, 0, 1000));
  EXPECT_EQ(damage(*store_), "");
}

}  // namespace
}  // namespace flor::store
