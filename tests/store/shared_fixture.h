// A home that several machines share, each with an index of its own: directories of indexes stand
// for the machines.
#pragma once

#include "database/store_impl.h"
#include "store_fixture.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace flor::store {

class SharedHome : public StoreTest {
 protected:
  static constexpr int kMachines = 2;

  std::filesystem::path indexes(int machine) const {
    return directory_ / fmt::format("machine{}", machine);
  }
  /// Makes this process one of that machine, for stores that it opens from now on.
  void be(int machine) { ::setenv("FLOR_INDEX", indexes(machine).c_str(), 1); }
  std::shared_ptr<Store> open_on(int machine, OpenMode mode = OpenMode::create) {
    be(machine);
    return open(mode);
  }
  std::filesystem::path index_of(const Store& store) const {
    return store.impl().database->paths.catalog();
  }

  /// A run that has ended, with that many checkpoints of content that other seeds do not share.
  Run record(Store& store, unsigned seed, int count) {
    const Run run = store.catalog().add_run(new_run());
    {
      CheckpointWriter writer(store, run.id);
      for (int step = 0; step < count; ++step) {
        writer.write(boundary(step), make_snapshot(seed, step, 5000));
      }
    }
    store.catalog().finish_run(run.id, 1'700'000'001'000'000, false, "");
    return run;
  }
  void expect_run(const Store& store, const std::string& key, unsigned seed, int count) {
    const Run run = store.catalog().resolve(key);
    ASSERT_EQ(store.catalog().checkpoints(run.id).size(), static_cast<std::size_t>(count));
    for (int step = 0; step < count; ++step) {
      const auto info = store.catalog().checkpoint(run.id, boundary(step));
      ASSERT_TRUE(info);
      expect_holds(store, info->id, make_snapshot(seed, step, 5000), 1);
    }
  }
  std::vector<std::filesystem::path> announcements() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(Paths{home()}.announced())) {
      found.push_back(entry.path());
    }
    return found;
  }
  /// As if all of it had been written two hours ago, for the collection of garbage.
  void make_all_old() {
    make_packs_old(home());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Paths{home()}.runs())) {
      make_old(entry.path());
    }
  }

  void SetUp() override { ::setenv("FLOR_FILESYSTEM", "network", 1); }
  void TearDown() override {
    ::unsetenv("FLOR_FILESYSTEM");
    ::unsetenv("FLOR_INDEX");
  }
};

}  // namespace flor::store
