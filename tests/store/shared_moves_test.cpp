// What one machine does to the packs of a shared home while another one looks at them.
#include "database/store_impl.h"
#include "index/writing.h"
#include "maintain/collect.h"
#include "pack/pack_scan.h"
#include "pack/pack_writer.h"
#include "shared_fixture.h"

#include <flor/store/error.h>

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace flor::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SharedMoves : public SharedHome {
 protected:
  /// Writes the records of all packs once more, and does not commit them.
  std::unique_ptr<PackWriter> write_again(const std::vector<fs::path>& packs) {
    auto writer =
        std::make_unique<PackWriter>(Paths{home()}, Filesystem::system(), PackOrigin::here);
    for (const fs::path& pack : packs) {
      const File file(Filesystem::system(), pack, O_RDONLY);
      PackScan scan;
      scan.add(file, 1, PackOrigin::here, file.size(), {});
      for (const auto& [place, header] : scan.records()) {
        std::vector<std::byte> payload(header.stored_bytes);
        EXPECT_EQ(file.read_at(payload, place.second + kRecordHeaderBytes), payload.size());
        writer->append(header, payload);
      }
    }
    writer->sync();
    return writer;
  }
  void expect_whole_on(int machine, const std::string& run, int at, const Snapshot& snapshot) {
    const auto store = open_on(machine);
    EXPECT_EQ(damage(*store), "") << "on machine " << machine;
    const auto info = store->catalog().checkpoint(store->catalog().resolve(run).id, boundary(at));
    ASSERT_TRUE(info) << "on machine " << machine;
    expect_holds(*store, info->id, snapshot, 1);
  }
};

/// As a writer does when it learns, before its commit, that content was moved.
TEST_F(SharedMoves, AnIndexDoesNotRelyOnRecordsThatTheirWriterTakesBack) {
  std::string key;
  {
    const auto a = open_on(0);
    const Run run = record(*a, 1, 6);
    key = run.key;
    std::vector<CheckpointKey> gone;
    for (int step = 0; step < 5; ++step) gone.push_back(boundary(step));
    a->catalog().drop_checkpoints(run.id, gone);
    make_all_old();
    ASSERT_EQ(collect(*a, false, 1).packs_compacted, 1);
  }
  // No event names the pack of a collection, and names of packs are random: with many writers, some
  // come before it.
  constexpr int kWriters = 40;
  const std::vector<fs::path> lasting = packs();
  ASSERT_EQ(lasting.size(), 1u);
  std::vector<std::unique_ptr<PackWriter>> writers;
  for (int i = 0; i < kWriters; ++i) writers.push_back(write_again(lasting));
  const auto b = open_on(1);
  for (const auto& writer : writers) writer->roll_back(false);
  writers.clear();
  EXPECT_EQ(packs(), lasting);
  expect_whole_on(1, key, 5, make_snapshot(1, 5, 5000));
  make_all_old();
  collect(*b, false, 1);
  for (int machine = 0; machine < 3; ++machine) {
    expect_whole_on(machine, key, 5, make_snapshot(1, 5, 5000));
  }
}

/// Calls `before_lock` once, before the lock of a shared home is taken.
class PausedFilesystem : public Filesystem {
 public:
  std::function<void()> before_lock;

  int open(const char* path, int flags, mode_t mode) override {
    if (before_lock && fs::path(path) == Paths{home}.indexes()) {
      std::exchange(before_lock, nullptr)();
    }
    return Filesystem::open(path, flags, mode);
  }
  fs::path home;
};

TEST_F(SharedMoves, CollectingKeepsWhatAnotherMachineRefersToBeforeItsIndexIsOutdated) {
  PausedFilesystem files;
  files.home = home();
  std::optional<CheckpointWriter> writer;
  auto a = open_on(0);
  const Run old = a->catalog().add_run(new_run());
  writer.emplace(*a, old.id);
  writer->write(boundary(0), make_snapshot(7, 0, 5000));
  writer->write(boundary(1), make_snapshot(8, 0, 5000));
  // This index keeps listing what was collected, since the pack is being written.
  const auto b = open_on(1);
  b->catalog().drop_checkpoints(b->catalog().resolve(old.key).id, std::vector{boundary(0)});
  make_all_old();
  collect(*b, false, 1);
  b->impl().database->renew_mark();
  a->catalog().finish_run(old.id, 1'700'000'001'000'000, false, "");
  writer.reset();
  a.reset();
  // And this one, which is made again, does not.
  be(0);
  a = Store::Impl::open(home(), OpenMode::create, files);
  make_all_old();
  Run late;
  files.before_lock = [&] {
    late = b->catalog().add_run(new_run());
    CheckpointWriter again(*b, late.id);
    EXPECT_EQ(again.write(boundary(0), make_snapshot(7, 0, 5000)).stored_bytes, 0u);
  };
  EXPECT_EQ(collect(*a, false, 1).packs_compacted, 1);
  ASSERT_FALSE(late.key.empty());
  for (int machine = 0; machine < 3; ++machine) {
    expect_whole_on(machine, late.key, 0, make_snapshot(7, 0, 5000));
    expect_whole_on(machine, old.key, 1, make_snapshot(8, 0, 5000));
  }
}

TEST_F(SharedMoves, WhatIsNotFoundWhileContentMayMoveIsNotNotedAsLost) {
  const auto a = open_on(0), b = open_on(1);
  const Run run = record(*a, 1, 2);
  const fs::path pack = packs().front(), aside = directory_ / "aside";
  fs::rename(pack, aside);
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(b->catalog().follow());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(message_of<Busy>([&] { prepare_to_move(*b->impl().database); }),
              HasSubstr("run the command again"));
  fs::rename(aside, pack);
  expect_run(*open_on(1), run.key, 1, 2);
  // What is missing while nothing moves is lost, and the index says so once.
  fs::rename(pack, aside);
  fs::remove_all(index_of(*open_on(1)).parent_path());
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(open_on(1)->catalog().checkpoints(open_on(1)->catalog().resolve(run.key).id),
              ::testing::IsEmpty());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("is lost"));
}

/// An index that is made again would lack the same, so that advice would never help.
TEST_F(SharedMoves, WhatCannotBeListedIsNamedAndNotACommandThatCannotHelp) {
  const auto a = open_on(0);
  record(*a, 1, 2);
  const fs::path circle = Paths{home()}.runs() / "zz";
  fs::create_symlink("zz", circle);
  std::ofstream(damage_mark(index_of(*a)));
  const std::string why = message_of<Error>([&] { prepare_to_move(*a->impl().database); });
  EXPECT_THAT(why, HasSubstr(circle.string() + " cannot be listed"));
  EXPECT_THAT(why, ::testing::Not(HasSubstr("run the command again")));
  fs::remove(circle);
  EXPECT_THAT(message_of<Busy>([&] { prepare_to_move(*a->impl().database); }),
              HasSubstr("run the command again"));
}

}  // namespace
}  // namespace flor::store
