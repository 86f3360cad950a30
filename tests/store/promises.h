// What a store owes to those who wrote into it, and whether it keeps that after an accident.
#pragma once

#include "store_fixture.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

/// Checkpoints in the order in which they were begun. Each has a number, from 1.
class Promises {
 public:
  struct Entry {
    std::int64_t run = 0;
    CheckpointKey key;
    Snapshot snapshot;
  };

  /// Before the write begins.
  int attempt(std::int64_t run, const CheckpointKey& key, Snapshot snapshot) {
    entries_.push_back({run, key, std::move(snapshot)});
    return static_cast<int>(entries_.size());
  }
  const Entry& operator[](int number) const {
    return entries_.at(static_cast<std::size_t>(number) - 1);
  }
  int size() const { return static_cast<int>(entries_.size()); }

  /// The store in `home` opens, is sound, has every checkpoint of `kept` (numbers), and whatever
  /// else it has is right.
  void expect_kept(const std::filesystem::path& home, const std::vector<int>& kept) const {
    const auto store = Store::open(home, OpenMode::create);
    EXPECT_EQ(damage(*store), "");
    for (const int number : kept) {
      const Entry& entry = (*this)[number];
      EXPECT_TRUE(store->catalog().checkpoint(entry.run, entry.key))
          << "the checkpoint " << number << " of " << size() << " is lost";
    }
    for (const Run& run : store->catalog().runs()) {
      for (const CheckpointInfo& info : store->catalog().checkpoints(run.id)) {
        const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
          return each.run == run.id && each.key == info.key;
        });
        ASSERT_NE(entry, entries_.end()) << "a checkpoint that nobody wrote";
        expect_holds(*store, info.id, entry->snapshot, 1);
      }
    }
  }

  /// As if nothing had happened, a new process records into it.
  static void expect_usable(const std::filesystem::path& home) {
    const auto store = Store::open(home, OpenMode::create);
    const Run run = store->catalog().add_run(new_run("after"));
    CheckpointWriter writer(*store, run.id);
    for (int step = 0; step < 2; ++step) {
      const Snapshot snapshot = make_snapshot(77, step, 200);
      expect_holds(*store, writer.write(boundary(step), snapshot).id, snapshot, 1);
    }
    EXPECT_EQ(damage(*store), "");
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace flor::store
