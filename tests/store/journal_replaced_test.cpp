// An index that is made again under processes that have the one before it open.
#include "index/refresh.h"
#include "index/writing.h"
#include "journal_fixture.h"
#include "maintain/collect.h"
#include "queue/job_queue.h"

#include <fcntl.h>

#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::store::journal_replaced_test {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// A recording goes on while the index is made again under it, and garbage is collected by that.
TEST_F(JournalTest, ARunThatIsRecordedMeanwhileIsWholeInTheNewIndex) {
  std::vector<Snapshot> snapshots;
  for (int step = 0; step < 6; ++step) snapshots.push_back(make_snapshot(1, step, 1000));
  auto store = open();
  const Run dropped = store->catalog().add_run(new_run("dropped"));
  CheckpointWriter(*store, dropped.id).write(boundary(0), snapshots[4]);
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter writer(*store, run.id);
  for (int step = 0; step < 2; ++step)
    writer.write(boundary(step), snapshots[static_cast<std::size_t>(step)]);
  store->catalog().drop_run(dropped.id);  // the content of step 4 is garbage, and still has rows
  remove_index(home());
  make_packs_old(home());
  collect(*open(), false);
  for (int step = 2; step < 6; ++step)
    writer.write(boundary(step), snapshots[static_cast<std::size_t>(step)]);
  const Run later = store->catalog().add_run(new_run("later"));
  store->catalog().finish_run(run.id, 7, false, "");
  EXPECT_EQ(open_home_queue(*store)->add_evaluator("a", "b"), 1) << "the queue is not in it";
  const auto now = open();
  collect(*now, false);
  EXPECT_EQ(damage(*now), "");
  const Run found = now->catalog().resolve("linear");
  EXPECT_EQ(found.key, run.key);
  EXPECT_EQ(found.state, RunState::finished);
  EXPECT_EQ(now->catalog().resolve("later").key, later.key);
  for (int step = 0; step < 6; ++step) {
    const auto info = now->catalog().checkpoint(found.id, boundary(step));
    ASSERT_TRUE(info) << step;
    expect_holds(*now, info->id, snapshots[static_cast<std::size_t>(step)]);
  }
}

/// Calls a function before the index that is made again takes its place.
struct WhileMadeAgain : Filesystem {
  std::function<void()> then;

  int open(const char* path, int flags, mode_t mode) override {
    const bool made = std::string_view(path).ends_with("/catalog.new") && (flags & O_CREAT) == 0;
    if (made && then) std::exchange(then, {})();
    return Filesystem::open(path, flags, mode);
  }
};

TEST_F(JournalTest, ARunThatIsDroppedInAnIndexThatWasReplacedIsGone) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 0, 100));
  rebuild(Paths{home()}, Filesystem::system());
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
  store->catalog().drop_run(run.id);
  const auto now = open();
  EXPECT_THAT(now->catalog().runs({}), ::testing::IsEmpty());
  const Paths paths{home()};
  EXPECT_FALSE(fs::exists(paths.run(run.key)));
  EXPECT_THAT(names_in(paths.announced()), ::testing::IsEmpty());
  EXPECT_EQ(damage(*now), "");
}

TEST_F(JournalTest, WhatIsSaidWhileTheIndexIsMadeAgainIsInTheNewOne) {
  const auto store = open(), other = open();
  const Run gone = store->catalog().add_run(new_run("gone"));
  const Run stays = store->catalog().add_run(new_run("stays"));
  WhileMadeAgain filesystem;
  filesystem.then = [&] {
    store->catalog().drop_run(gone.id);
    other->catalog().add_argument(stays.id, {"a", "int", "1"});  // in a journal that is new
  };
  rebuild(Paths{home()}, filesystem);
  ASSERT_FALSE(filesystem.then);
  const auto now = open();
  ASSERT_EQ(now->catalog().runs({}).size(), 1u);
  EXPECT_EQ(now->catalog().arguments(now->catalog().resolve("stays").id).size(), 1u);
  EXPECT_FALSE(fs::exists(Paths{home()}.run(gone.key)));
  EXPECT_EQ(damage(*now), "");
}

/// A run that was dropped and fetched again keeps its journals.
TEST_F(JournalTest, ARunThatIsThereAgainKeepsItsDirectory) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  rebuild(Paths{home()}, Filesystem::system());
  store->catalog().drop_run(run.id);
  {
    const Paths paths{home()};
    RunJournal journal(Filesystem::system(), paths, run.key);
    RunEvent begins;
    begins.key = run.key;
    begins.start = new_run();
    journal.begin(encode_event(now_us() + 1, this_writer(run.key, journal.number())));
    journal.append(EventKind::run, encode_event(now_us() + 2, begins));
    journal.flush();
    journal.sync();
    journal.keep();
  }
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
  remove_index(home());
  EXPECT_EQ(open()->catalog().runs({}).size(), 1u);
}

/// A process was killed when it removed a part of an earlier directory of that name.
TEST_F(JournalTest, TheDirectoryOfADroppedRunGoesWhateverIsInTheWay) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run());
  const fs::path directory = Paths{home()}.run(run.key);
  fs::create_directories(directory.string() + ".gone/1");
  store->catalog().drop_run(run.id);
  EXPECT_THAT(names_in(directory.parent_path()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace flor::store::journal_replaced_test
