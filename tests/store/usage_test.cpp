// Usage: what it says would be freed is what is freed.
#include "maintain/collect.h"
#include "maintain/usage.h"
#include "store_fixture.h"

#include <algorithm>

namespace flor::store {
namespace {

class UsageTest : public StoreTest {
 protected:
  Run record(Store& store, const std::string& experiment, unsigned seed, int count) {
    const Run run = store.catalog().add_run(new_run(experiment));
    CheckpointWriter writer(store, run.id);
    for (int step = 0; step < count; ++step) {
      writer.write(boundary(step), make_snapshot(seed, step, 5000));
    }
    return run;
  }

  static Usage of(const std::vector<Usage>& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &Usage::name);
    EXPECT_NE(found, list.end()) << name;
    return found == list.end() ? Usage{} : *found;
  }
};

TEST_F(UsageTest, WhatDeletingARunFreesIsWhatACollectionFreesThen) {
  const auto store = open();
  const Run first = record(*store, "a", 1, 4);
  record(*store, "b", 1, 2);
  record(*store, "b", 7, 3);
  const UsageReport before = usage(*store);
  const Usage run = of(before.runs, first.key);
  EXPECT_EQ(run.checkpoints, 4);
  EXPECT_EQ(run.stored, run.shared + run.frees);
  EXPECT_GT(run.shared, 0u);
  EXPECT_GT(run.frees, 0u);
  EXPECT_EQ(of(before.experiments, "a").frees, run.frees);
  EXPECT_EQ(of(before.experiments, "b").checkpoints, 5);
  EXPECT_EQ(before.unreferenced, 0u);
  EXPECT_EQ(before.on_disk, bytes_in_packs());
  EXPECT_EQ(before.on_disk, before.stored + 32 * packs().size());

  store->catalog().drop_run(first.id);
  EXPECT_EQ(usage(*store).unreferenced, run.frees);
  collect(*store, false);
  const UsageReport after = usage(*store);
  EXPECT_EQ(after.unreferenced, 0u);
  EXPECT_EQ(after.stored, before.stored - run.frees);
}

TEST_F(UsageTest, ItemsAddUpToTheirRun) {
  const auto store = open();
  const Run run = record(*store, "a", 1, 4);
  const std::vector<Usage> items = item_usage(*store, run.id);
  ASSERT_EQ(items.size(), 4u);
  const Usage whole = of(usage(*store).runs, run.key);
  std::uint64_t raw = 0, stored = 0, frees = 0;
  for (const Usage& item : items) {
    raw += item.raw;
    stored += item.stored;
    frees += item.frees;
  }
  EXPECT_EQ(raw, whole.raw);
  EXPECT_EQ(stored, whole.stored);
  EXPECT_EQ(frees, whole.frees);
  EXPECT_EQ(of(items, "model/fc1.weight").raw, 4u * 5000u * 4u);
  record(*store, "b", 1, 4);
  EXPECT_EQ(of(item_usage(*store, run.id), "model/fc1.weight").frees, 0u);
}

}  // namespace
}  // namespace flor::store
