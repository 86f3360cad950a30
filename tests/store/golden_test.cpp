// Stores of this format that were written before, by make_golden.cpp: they open, and hold what they
// held.
#include "golden_group.h"
#include "golden_text.h"
#include "maintain/collect.h"
#include "store_fixture.h"

#include <fstream>

namespace flor::store::golden_test {
namespace {

const std::filesystem::path kGolden = FLOR_GOLDEN_STORES;

class GoldenStoreTest : public StoreTest,
                        public ::testing::WithParamInterface<std::filesystem::path> {
 protected:
  void SetUp() override {
    std::filesystem::copy(GetParam(), home(), std::filesystem::copy_options::recursive);
    std::ifstream in(GetParam() / "expected.txt");
    expected_.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_GT(expected_.size(), 1000u);
  }
  std::string expected_;
};

TEST_P(GoldenStoreTest, HoldsWhatItHeld) {
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::existing, OpenMode::create}) {
    EXPECT_EQ(golden_text(*open(mode)), expected_);
  }
}

TEST_P(GoldenStoreTest, IsSound) {
  const CheckReport report = check(*open(OpenMode::read_only), true);
  EXPECT_THAT(report.findings, ::testing::IsEmpty());
  // It is older than copies of journals.
  EXPECT_THAT(report.remarks, ::testing::ElementsAre(::testing::HasSubstr("are without a copy")));
  EXPECT_GT(report.chunks, 30);
}

TEST_P(GoldenStoreTest, IsRecordedToAndCollected) {
  const auto store = open();
  const Run run = store->catalog().add_run(new_run("later"));
  CheckpointWriter writer(*store, run.id);
  for (int step = 0; step < 3; ++step) {
    const Snapshot snapshot = make_snapshot(5, step, 1000);
    expect_holds(*store, writer.write(boundary(step), snapshot).id, snapshot);
  }
  store->catalog().drop_run(run.id);
  EXPECT_GT(collect(*store, false).chunks, 0);
  EXPECT_EQ(golden_text(*store), expected_);
  EXPECT_EQ(damage(*store), "");
}

class GoldenGroupTest : public StoreTest {};

TEST_F(GoldenGroupTest, ListsItsRanksAndGivesBackTheStateOfEach) {
  std::filesystem::copy(kGolden / "format-2", home(), std::filesystem::copy_options::recursive);
  const auto store = open(OpenMode::read_only);
  const Catalog& catalog = store->catalog();
  const Run first = catalog.resolve("ddp");
  ASSERT_TRUE(first.start.rank);
  const std::vector<Run> ranks = catalog.ranks(first.start.rank->group);
  ASSERT_EQ(ranks.size(), kGoldenRanks);
  EXPECT_EQ(ranks[0].key, first.key) << "a name means rank 0";
  EXPECT_EQ(catalog.group_state(first), RunState::finished);
  EXPECT_EQ(catalog.find_launch(kGoldenLaunch)->attempt, 2);
  for (std::int64_t rank = 0; rank < kGoldenRanks; ++rank) {
    const Run& run = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(run.start.rank, (RankPlace{first.id, rank, kGoldenRanks}));
    EXPECT_TRUE(catalog.has_joined(first.id, rank));
    const auto checkpoints = catalog.checkpoints(run.id);
    EXPECT_EQ(checkpoints.size(), 2u * kGoldenGroupEpochs);
    for (const CheckpointInfo& info : checkpoints) {
      const bool is_boundary = info.key.kind == CheckpointKind::boundary;
      const auto epochs = static_cast<int>(info.key.iteration) + (is_boundary ? 0 : 1);
      expect_holds(*store, info.id, golden_rank_state(rank, epochs));
    }
  }
  EXPECT_EQ(damage(*store), "");
}

std::vector<std::filesystem::path> stores() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& store) {
  std::string name = store.param.filename();
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenStoreTest, ::testing::ValuesIn(stores()), name_of);

}  // namespace
}  // namespace flor::store::golden_test
