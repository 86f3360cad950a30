// The disk fails at any of the calls by which a store is maintained, or a run comes into it:
// nothing that was there is lost, an index that is made again says the same, and the same work done
// again does it.
#include "checkpoint/transfer.h"
#include "database/store_impl.h"
#include "made_again.h"
#include "maintain/archive.h"
#include "maintain/collect.h"
#include "maintain/repair.h"
#include "remote/objects/object_store.h"
#include "remote/remote.h"
#include "retention/retention.h"
#include "store_fixture.h"
#include "support/disk.h"
#include "support/packs.h"
#include "support/temporary_directory.h"

#include <cerrno>
#include <fstream>
#include <functional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace flor::store::maintenance_fault_test {
namespace {

namespace fs = std::filesystem;
using flor::testing::Disk;

constexpr std::size_t kWeights = 2'000;
constexpr int kSteps = 6;

/// What is done, and to which store.
struct Work {
  const char* name;
  void (*prepare)(const fs::path& home);
  void (*act)(Store& store, const fs::path& bucket);
  /// What is in it beside the run "first" when it was done.
  void (*expect_done)(const Store& store);
  friend std::ostream& operator<<(std::ostream& out, const Work& work) { return out << work.name; }
};

Run record(Store& store, const std::string& name, unsigned seed) {
  const Run run = store.catalog().add_run(new_run(name));
  CheckpointWriter writer(store, run.id);
  for (int step = 0; step < kSteps; ++step) {
    writer.write(boundary(step), make_snapshot(seed, step, kWeights));
    Value value;
    value.name = "loss";
    value.place.epoch = step;
    value.value = 0.5 * step;
    store.catalog().add_values(run.id, std::span(&value, 1));
  }
  store.catalog().finish_run(run.id, run.start.started_us + 1, false, "");
  return run;
}

void expect_whole(const Store& store, const std::string& name, unsigned seed, int first = 0) {
  const Run run = store.catalog().resolve(name);
  EXPECT_EQ(store.catalog().values({.run = run.id}).size(), static_cast<std::size_t>(kSteps));
  for (int step = first; step < kSteps; ++step) {
    const auto info = store.catalog().checkpoint(run.id, boundary(step));
    ASSERT_TRUE(info) << name << " " << step;
    expect_holds(store, info->id, make_snapshot(seed, step, kWeights), 1);
  }
}

void prepare_nothing(const fs::path&) {}

/// The run "second" keeps its last two checkpoints; a third one is dropped.
void prepare_garbage(const fs::path& home) {
  const auto store = Store::open(home, OpenMode::create);
  const Run third = record(*store, "third", 3), second = record(*store, "second", 2);
  retain(*store, second.id, {.last = 2}, Sizes::weighed);
  store->catalog().drop_run(third.id);
}

void prepare_second(const fs::path& home) {
  record(*Store::open(home, OpenMode::create), "second", 2);
}

/// A record of the run "second" is damaged, and so is the middle of one of its journals, of which
/// the index was made again since.
void prepare_damage(const fs::path& home) {
  std::set<fs::path> before;
  for (const auto& pack : flor::testing::packs_of(home)) before.insert(pack.path());
  std::string key;
  {
    const auto store = Store::open(home, OpenMode::create);
    key = record(*store, "second", 2).key;
    for (const char* name : {"a", "b", "c"}) {
      store->catalog().add_argument(store->catalog().resolve("second").id, {name, "int", "1"});
    }
  }
  for (const auto& pack : flor::testing::packs_of(home)) {
    if (before.contains(pack.path())) continue;
    std::fstream(pack.path(), std::ios::binary | std::ios::in | std::ios::out).seekp(300)
        << "damage";
  }
  const fs::path journal = find_journals(Paths{home}, key).at(0).path;
  const auto at = static_cast<std::streamoff>(fs::file_size(journal) / 2);
  std::fstream(journal, std::ios::binary | std::ios::in | std::ios::out).seekp(at) << "damage";
  rebuild(Paths{home}, Filesystem::system());
}

/// The middle of the journal of the run "second", which has no copy, is damaged; the index still
/// knows everything.
void prepare_damaged_journal(const fs::path& home) {
  const auto store = Store::open(home, OpenMode::create);
  const Run run = record(*store, "second", 2);
  const fs::path journal = find_journals(Paths{home}, run.key).at(0).path;
  fs::remove(copy_path(journal));
  const auto at = static_cast<std::streamoff>(fs::file_size(journal) / 2);
  std::fstream(journal, std::ios::binary | std::ios::in | std::ios::out).seekp(at) << "damage";
}

fs::path file_of(const fs::path& beside) { return beside.parent_path() / "model.safetensors"; }

void prepare_file(const fs::path& home) {
  write_safetensors(make_snapshot(5, 0, kWeights), file_of(home), {});
}

Run second_of(Store& store) { return store.catalog().resolve("second"); }

void prepare_small_flushes(const fs::path& home) {
  const auto store = Store::open(home, OpenMode::create);
  const Run run = store->catalog().add_run(new_run("chatty"));
  for (int step = 0; step < 60; ++step) {
    Value value;
    value.name = "loss";
    value.place.epoch = step;
    value.value = 0.5 * step;
    store->catalog().add_values(run.id, std::span(&value, 1));
  }
  store->catalog().finish_run(run.id, run.start.started_us + 1, false, "");
}

const Work kWorks[] = {
    {"gc", prepare_garbage, [](Store& store, const fs::path&) { collect(store, false, 0.95); },
     [](const Store& store) { expect_whole(store, "second", 2, kSteps - 2); }},
    {"sealing", prepare_small_flushes, [](Store& store, const fs::path&) { collect(store, false); },
     [](const Store& store) {
       const Run run = store.catalog().resolve("chatty");
       EXPECT_EQ(store.catalog().values({.run = run.id}).size(), 60u);
       EXPECT_TRUE(fs::exists(store.impl().database->paths.run(run.key) / "1" / "sealed"));
     }},
    {"keep", prepare_second,
     [](Store& store, const fs::path&) {
       retain(store, second_of(store).id, {.last = 2}, Sizes::weighed);
     },
     [](const Store& store) { expect_whole(store, "second", 2, kSteps - 2); }},
    {"archive", prepare_second,
     [](Store& store, const fs::path&) { archive(store, second_of(store), {}); },
     [](const Store& store) { expect_whole(store, "second", 2); }},
    {"repair", prepare_damage, [](Store& store, const fs::path&) { repair(store); },
     [](const Store& store) { EXPECT_NO_THROW(store.catalog().resolve("second")); }},
    {"repair of a journal", prepare_damaged_journal,
     [](Store& store, const fs::path&) { repair(store); },
     [](const Store& store) { expect_whole(store, "second", 2); }},
    {"fetch", prepare_nothing,
     [](Store& store, const fs::path& bucket) {
       const auto objects = remote::open_directory(bucket.string());
       const auto all = remote::list_runs(*objects);
       remote::FetchOptions options;
       options.threads = 1;
       remote::fetch(store, *objects, all.runs.at(0), options);
     },
     [](const Store& store) { expect_whole(store, "far", 4); }},
    {"import", prepare_file,
     [](Store& store, const fs::path& bucket) {
       const fs::path file = file_of(bucket);
       import_snapshot(store, new_run("imported"), file, read_safetensors(file));
     },
     [](const Store& store) {
       const Run run = store.catalog().resolve("imported");
       EXPECT_EQ(run.state, RunState::finished);
       const auto info = store.catalog().checkpoint(run.id, boundary(1));
       ASSERT_TRUE(info);
       expect_holds(store, info->id, make_snapshot(5, 0, kWeights), 1);
     }},
    {"the index made again", prepare_second,
     [](Store& store, const fs::path&) { rebuild(Paths{store.home()}, Filesystem::system()); },
     [](const Store& store) { expect_whole(store, "second", 2); }},
};

class MaintenanceFaultTest : public StoreTest, public ::testing::WithParamInterface<Work> {
 protected:
  void SetUp() override { Disk::do_not_sync(); }
  void TearDown() override {
    Disk::heal();
    Disk::do_not_sync(false);
  }
  fs::path fast_home() const { return memory_ / "home"; }
  fs::path base() const { return memory_ / "base"; }
  fs::path bucket() const { return memory_ / "bucket"; }

  void prepare() {
    {
      const auto far = Store::open(memory_ / "far", OpenMode::create);
      const Run run = record(*far, "far", 4);
      const auto objects = remote::open_directory(bucket().string());
      remote::spool(*far, *far->catalog().run(run.id), *objects, {});
    }
    record(*Store::open(base(), OpenMode::create), "first", 1);
    GetParam().prepare(base());
  }

  /// A store as it was prepared.
  void begin_anew() const {
    fs::remove_all(fast_home());
    fs::copy(base(), fast_home(), fs::copy_options::recursive);
    make_packs_old(fast_home());
  }

  void expect_sound(const char* when) const {
    const auto store = Store::open(fast_home(), OpenMode::create);
    expect_whole(*store, "first", 1);
    // What is damaged stays so until the repair is done again.
    const bool repairs = std::string_view(GetParam().name).starts_with("repair");
    if (repairs && std::string_view(when) == "after the fault") return;
    EXPECT_EQ(damage(*store), "") << when;
    expect_same_when_made_again(*store);
  }

  /// False if the work makes fewer calls than `n`.
  bool fail_at(int n, int error, bool stays, int& failures) {
    begin_anew();
    bool reached = false;
    {
      const auto store = Store::open(fast_home(), OpenMode::create);
      Disk::fail(fast_home(), Disk::Calls::changes, n, error, stays);
      try {
        GetParam().act(*store, bucket());
      } catch (const std::exception&) {
        ++failures;
      }
      reached = Disk::heal() >= n;
    }
    expect_sound("after the fault");
    {
      const auto store = Store::open(fast_home(), OpenMode::create);
      GetParam().act(*store, bucket());
    }
    expect_sound("when it was done again");
    GetParam().expect_done(*Store::open(fast_home(), OpenMode::create));
    return reached;
  }

  /// At every `stride`-th call, beginning with another one each time.
  void fail_everywhere(int stride) {
    prepare();
    std::random_device random;
    int points = 0, failures = 0;
    for (const int error : {ENOSPC, EIO}) {
      for (const bool stays : {false, true}) {
        for (int n = std::uniform_int_distribution(1, stride)(random);; n += stride, ++points) {
          SCOPED_TRACE("error " + std::to_string(error) + " at call " + std::to_string(n) +
                       (stays ? " and all after" : ""));
          ASSERT_LT(n, 5000);
          const bool reached = fail_at(n, error, stays, failures);
          if (HasFailure()) return;
          if (!reached) break;
        }
      }
    }
    std::printf("%s: the disk failed at %d points, %d of them were errors: nothing lost\n",
                GetParam().name, points, failures);
    if (stride == 1) {
      EXPECT_GT(failures, 0);
    }
  }

  flor::testing::TemporaryDirectory memory_{flor::testing::fast_parent()};
};

TEST_P(MaintenanceFaultTest, NothingIsLostAndWhatIsDoneAgainIsDone) { fail_everywhere(20); }
INSTANTIATE_TEST_SUITE_P(Works, MaintenanceFaultTest, ::testing::ValuesIn(kWorks));

class MaintenanceFaultOftenTest : public MaintenanceFaultTest {};
TEST_P(MaintenanceFaultOftenTest, NothingIsLostAndWhatIsDoneAgainIsDone) { fail_everywhere(1); }
INSTANTIATE_TEST_SUITE_P(Works, MaintenanceFaultOftenTest, ::testing::ValuesIn(kWorks));

}  // namespace
}  // namespace flor::store::maintenance_fault_test
