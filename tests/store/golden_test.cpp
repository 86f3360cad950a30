// Stores that earlier versions of Flor wrote, made by make_golden.cpp: they must open for ever, and
// hold what they held.
#include "golden_text.h"
#include "store_fixture.h"

#include <flor/store/collect.h>

#include <fstream>

namespace flor::store {
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
  EXPECT_THAT(report.remarks, ::testing::IsEmpty());
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
}  // namespace flor::store
