// A process that says something of many runs has few files open at a time.
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

}  // namespace
}  // namespace flor::store
