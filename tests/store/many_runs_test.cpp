// What grows with the number of runs and chunks: files that are open at a time, and numbers.
#include "database/sqlite.h"
#include "maintain/collect.h"
#include "retention_fixture.h"

#include <sys/resource.h>

#include <vector>

namespace flor::store {
namespace {

constexpr int kRuns = 150;
constexpr rlim_t kFiles = 130;

class ManyRunsTest : public RetentionTest {
 protected:
  void SetUp() override {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{kFiles, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};

 private:
  rlimit before_{};
};

TEST_F(ManyRunsTest, OneProcessRecordsThinsOutAndCollectsThem) {
  const auto store = Store::open(memory_ / "home", OpenMode::create);
  std::vector<Run> runs;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(record(*store, {2.0 + i, 1.0}, 40));
    finish(*store, runs.back());
  }
  for (const Run& run : runs) {
    EXPECT_EQ(retain(*store, run.id, best(1), Sizes::skipped).deleted, 1);
  }
  EXPECT_GE(collect(*store, false).checkpoints, kRuns);
  EXPECT_EQ(damage(*store), "");
  for (const Run& run : runs)
    EXPECT_EQ(epochs(*store, run).size(), 2u) << "the beginning, and the best";
}

/// A number of 32 bits for each chunk that there ever was does not end a store.
TEST_F(StoreTest, AfterItsLastNumberTheIndexIsMadeAgainAndRecordingGoesOn) {
  {
    const auto store = open();
    const Run run = store->catalog().add_run(new_run());
    CheckpointWriter(*store, run.id).write(boundary(0), make_snapshot(1, 0, 60));
    Connection other(home() / "catalog.db", Connection::Mode::existing);
    other.execute("UPDATE sqlite_sequence SET seq = 4294967295 WHERE name = 'chunk'");
    CheckpointWriter writer(*store, run.id);
    try {
      writer.write(boundary(1), make_snapshot(2, 1, 60));
      ADD_FAILURE() << "there was no number left";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("the next command makes it again"));
    }
  }
  const auto store = open(OpenMode::existing);
  const Run run = store->catalog().runs().at(0);
  CheckpointWriter(*store, run.id).write(boundary(1), make_snapshot(2, 1, 60));
  for (const CheckpointInfo& info : store->catalog().checkpoints(run.id)) {
    const auto step = static_cast<int>(info.key.iteration);
    expect_holds(*store, info.id, make_snapshot(static_cast<unsigned>(step) + 1, step, 60), 1);
  }
  EXPECT_EQ(store->catalog().checkpoints(run.id).size(), 2u);
  EXPECT_EQ(damage(*store), "");
}

}  // namespace
}  // namespace flor::store
