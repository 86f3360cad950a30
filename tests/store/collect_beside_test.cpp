// Collecting garbage beside processes that record, read and check.
#include "collect_fixture.h"
#include "database/store_impl.h"
#include "maintain/collect.h"
#include "support/packs.h"

#include <flor/store/error.h>

#include <sys/wait.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

using ::testing::HasSubstr;

TEST_F(CollectTest, ThePackOfALivingWriterIsLeftAsItIsWithAllItsChunks) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 4; ++step) {
      writer.write(boundary(step), make_snapshot(1, step, 20'000));
    }
    drop(*store, run, 0, 3);
    const std::uint64_t before = bytes_in_packs();
    EXPECT_EQ(collect(*store, false).chunks, 0);
    EXPECT_EQ(bytes_in_packs(), before);
    // The same content, which the writer remembers.
    const CheckpointInfo info = writer.write(boundary(4), make_snapshot(1, 3, 20'000));
    EXPECT_EQ(info.stored_bytes, 0U);
    expect_holds(*store, info.id, make_snapshot(1, 3, 20'000));
  }
  EXPECT_EQ(collect(*store, false, 1).packs_compacted, 1);
  EXPECT_EQ(damage(*store), "");
  expect_holds(*store, store->catalog().checkpoint(run.id, boundary(4))->id,
               make_snapshot(1, 3, 20'000));
}

TEST_F(CollectTest, ReadersThatBeganBeforeACompactionGoOn) {
  const auto store = open();
  const Run run = record(*store, 1, 10);
  const auto id = store->catalog().checkpoint(run.id, boundary(9))->id;
  const CheckpointReader closed(*store, id);  // has loaded the rows, but opened no pack
  const CheckpointReader opened(*store, id);
  const auto expected = opened.read(0);
  drop(*store, run, 0, 8);
  ASSERT_EQ(collect(*store, false).packs_compacted, 1);
  EXPECT_EQ(opened.read(0), expected);
  EXPECT_EQ(closed.read(0), expected);
  // And again, for a reader that has moved once.
  CheckpointWriter(*store, run.id).write(boundary(20), unique(20));
  drop(*store, run, 20, 20);
  collect(*store, false);
  EXPECT_EQ(closed.read(0), expected);
}

TEST_F(CollectTest, AReaderOfACheckpointThatWasDroppedIsToldThatThePackIsMissing) {
  const auto store = open();
  const Run run = record(*store, 1, 1);
  const CheckpointReader reader(*store, store->catalog().checkpoint(run.id, boundary(0))->id);
  store->catalog().drop_run(run.id);
  ASSERT_EQ(collect(*store, false).packs_removed, 1);
  EXPECT_THAT(message_of<Damaged>([&] { reader.read(0); }), HasSubstr("is missing"));
}

TEST_F(CollectTest, WhileOthersRecordReadAndCheckNobodyNoticesIt) {
  constexpr int kRecorders = 2;
  constexpr int kSteps = 60;
  const auto store = open();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kRecorders; ++i) {
    children.push_back(start_process([&, i] {
      const auto mine = open();
      const Run run = mine->catalog().add_run(new_run());
      std::unique_ptr<CheckpointWriter> writer;
      for (int step = 0; step < kSteps; ++step) {
        // A new pack every so often, and content that comes back after it was dropped.
        if (step % 7 == 0) writer = std::make_unique<CheckpointWriter>(*mine, run.id);
        const Snapshot snapshot = make_snapshot(1 + i % 2, step % 9, 10'000);
        const CheckpointInfo info = writer->write(boundary(step), snapshot);
        if (step >= 4) drop(*mine, run, step - 4, step - 4);
        expect_holds(*mine, info.id, snapshot, 1);
      }
      return ::testing::Test::HasFailure() ? 1 : 0;
    }));
  }
  const pid_t checker = start_process([&] {
    const auto mine = open(OpenMode::read_only);
    for (int i = 0; i < 25; ++i) {
      if (const std::string found = damage(*mine); !found.empty()) {
        std::fprintf(stderr, "%s\n", found.c_str());
        return 1;
      }
    }
    return 0;
  });
  std::int64_t chunks = 0, given_back = 0;
  const auto collect_once = [&] {
    const CollectReport report = collect(*store, false);
    chunks += report.chunks;
    given_back += report.packs_removed + report.packs_compacted;
  };
  int status = 0;
  for (std::size_t ended = 0; ended < children.size();) {
    collect_once();
    if (::waitpid(children[ended], &status, WNOHANG) == 0) continue;
    EXPECT_EQ(status, 0);
    ++ended;
  }
  EXPECT_EQ(wait_for(checker), 0);
  collect_once();
  EXPECT_GT(chunks, 0);
  EXPECT_GT(given_back, 0);
  EXPECT_EQ(damage(*store), "");
  for (const Run& run : store->catalog().runs()) {
    EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 4u);
  }
}

/// Collects a chunk each time that a pack is opened.
class CollectingFilesystem : public Filesystem {
 public:
  explicit CollectingFilesystem(std::filesystem::path catalog) : catalog_(std::move(catalog)) {}
  bool armed = false;
  int collected = 0;

  int open(const char* path, int flags, mode_t mode) override {
    if (armed && std::string_view(path).ends_with(".pack")) {
      Connection connection(catalog_, Connection::Mode::existing);
      const auto row = connection("DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk)");
      row->run();
      collected += static_cast<int>(row->changes());
    }
    return Filesystem::open(path, flags, mode);
  }

 private:
  std::filesystem::path catalog_;
};

/// Copies all records to other packs each time that a pack is opened.
class MovingFilesystem : public Filesystem {
 public:
  explicit MovingFilesystem(std::filesystem::path home) : home_(std::move(home)) {}
  bool armed = false;
  int moved = 0;

  int open(const char* path, int flags, mode_t mode) override {
    if (std::string_view(path).ends_with(".pack") && std::exchange(armed, false)) {
      moved += static_cast<int>(
          collect(*Store::open(home_, OpenMode::existing), false, 2).packs_compacted);
      armed = true;
    }
    return Filesystem::open(path, flags, mode);
  }

 private:
  std::filesystem::path home_;
};

TEST_F(CollectTest, RecordsThatAreCopiedElsewhereAgainAndAgainAreNotDamaged) {
  {
    const auto store = open();
    record(*store, 1, 3);
    const Run alike = store->catalog().add_run(new_run());
    CheckpointWriter writer(*store, alike.id);
    for (int step = 0; step < 4; ++step) writer.write(boundary(step), make_snapshot(1, step, 20'000));
  }
  MovingFilesystem files(home());
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  files.armed = true;
  EXPECT_EQ(damage(*store), "");
  files.armed = false;
  EXPECT_GE(files.moved, 3);
  EXPECT_EQ(damage(*store), "");
}

TEST_F(CollectTest, DamageOfAPackIsToldThoughSomeOfWhatItHeldIsCollectedMeanwhile) {
  CollectingFilesystem files(home() / "catalog.db");
  const auto store = Store::Impl::open(home(), OpenMode::create, files);
  const Run run = store->catalog().add_run(new_run());
  {
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 8; ++step) {
      writer.write(boundary(step), unique(static_cast<unsigned>(step)));
    }
  }
  for (const auto& pack : flor::testing::packs_of(home())) {
    std::filesystem::resize_file(pack.path(), 4096);
  }
  files.armed = true;
  const std::string found = damage(*store, false);
  files.armed = false;
  EXPECT_GE(files.collected, 3);
  EXPECT_THAT(found, ::testing::HasSubstr("is cut off"));
}

}  // namespace
}  // namespace flor::store
