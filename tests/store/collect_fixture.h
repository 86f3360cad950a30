// What the tests of collecting garbage have in common.
#pragma once

#include "database/sqlite.h"
#include "store_fixture.h"
#include "support/content.h"

#include <map>
#include <string>
#include <vector>

namespace flor::store {

/// Content that shares nothing with any other seed.
inline Snapshot unique(unsigned seed, std::size_t bytes = 50'000) {
  return bytes_snapshot("model/weight", random_bytes(seed, bytes));
}

class CollectTest : public StoreTest {
 protected:
  /// A run of its own writer, with unique content at boundaries 0, 1, ... `count`.
  Run record(Store& store, unsigned seed, int count) {
    const Run run = store.catalog().add_run(new_run());
    CheckpointWriter writer(store, run.id);
    for (int step = 0; step < count; ++step) {
      writer.write(boundary(step), unique(seed + static_cast<unsigned>(step)));
    }
    return run;
  }

  void drop(Store& store, const Run& run, int first, int last) {
    std::vector<CheckpointKey> keys;
    for (int step = first; step <= last; ++step) keys.push_back(boundary(step));
    store.catalog().drop_checkpoints(run.id, keys);
  }

  void expect_unique(const Store& store, const Run& run, unsigned seed, int step) {
    const auto info = store.catalog().checkpoint(run.id, boundary(step));
    ASSERT_TRUE(info) << step;
    expect_holds(store, info->id, unique(seed + static_cast<unsigned>(step)));
  }

  /// Every pack's name and content, and how many rows there are.
  std::map<std::string, std::string> everything() {
    std::map<std::string, std::string> all;
    for (const auto& path : packs()) all[path.filename()] = testing::content_of(path);
    Connection connection(home() / "catalog.db", Connection::Mode::existing);
    for (const std::string table : {"pack", "chunk", "layout", "checkpoint", "object"}) {
      const auto row = connection("SELECT count(*), sum(id) FROM " + table);
      row->step();
      all[table] = row->text(0) + " " + row->text(1);
    }
    return all;
  }
};

}  // namespace flor::store
