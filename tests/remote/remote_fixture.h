// Stores and an object store in one directory, and runs whose content is known.
#pragma once

#include "maintain/collect.h"
#include "queue/job_queue.h"
#include "remote/remote.h"
#include "store/store_fixture.h"

#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace flor::remote {

namespace fs = std::filesystem;
using store::boundary;
using store::Run;
using store::Store;

/// Larger than any object of these tests.
inline constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

class RemoteTest : public ::testing::Test {
 protected:
  using Run = store::Run;  // not testing::Test::Run

  std::shared_ptr<Store> open(const std::string& name = "home") {
    return Store::open(directory_ / name, store::OpenMode::create);
  }
  fs::path remote_path() const { return directory_ / "remote"; }
  std::unique_ptr<ObjectStore> objects() const { return open_directory(remote_path().string()); }

  static store::Snapshot state(unsigned seed, int epoch) {
    return store::make_snapshot(seed, epoch, 300'000);
  }
  /// Epochs `first` to `last` - 1 of a run: a checkpoint after each, a loss, and a picture.
  static void record(Store& store, const Run& run, unsigned seed, int first, int last) {
    store::CheckpointWriter writer(store, run.id);
    if (first == 0) writer.write(boundary(0), state(seed, 0));
    for (int epoch = first; epoch < last; ++epoch) {
      writer.write(boundary(epoch + 1), state(seed, epoch + 1));
      store.catalog().put_main_loop(run.id, {0, "epoch", 0, epoch + 1, false, false});
      store.catalog().add_iteration(run.id, {0, epoch, 1.5, 0.01});
      const auto pixels = store::random_bytes(seed + static_cast<unsigned>(epoch), 500);
      const store::Item image{"image", store::ElementType::u8, {10, 50, 1}, 500};
      const std::string reference = writer.write_object(image, pixels);
      std::vector<store::Value> values;
      values.push_back({"loss",
                        {"epoch", epoch, -1, ""},
                        0,
                        store::ValueType::real,
                        1.0 / (1 + epoch + seed),
                        0});
      values.push_back(
          {"picture", {"epoch", epoch, -1, ""}, 0, store::ValueType::image, reference, 0});
      store.catalog().add_values(run.id, values);
    }
  }
  static Run finished_run(Store& store, unsigned seed, int epochs,
                          const std::string& name = "linear") {
    store::NewRun start = store::new_run(name);
    start.started_us += seed;
    const Run run = store.catalog().add_run(start);
    store.catalog().add_argument(run.id, {"lr", "real", "0.1"});
    record(store, run, seed, 0, epochs);
    store.catalog().finish_run(run.id, start.started_us + 100, false, "");
    return *store.catalog().run(run.id);
  }
  /// The boundaries `first` to `last` of the run are there, bit for bit, and no others.
  static void expect_boundaries(const Store& store, const std::string& key, unsigned seed,
                                int first, int last) {
    const Run run = store.catalog().resolve(key);
    const auto checkpoints = store.catalog().checkpoints(run.id);
    ASSERT_EQ(checkpoints.size(), static_cast<std::size_t>(last - first + 1));
    for (const store::CheckpointInfo& info : checkpoints) {
      EXPECT_GE(info.key.iteration, first);
      EXPECT_LE(info.key.iteration, last);
      store::expect_holds(store, info.id, state(seed, static_cast<int>(info.key.iteration)));
    }
  }
  static SpoolReport spool(Store& store, const Run& run, ObjectStore& objects) {
    return remote::spool(store, *store.catalog().run(run.id), objects, {});
  }
  static FetchReport fetch(Store& store, ObjectStore& objects, const std::string& key,
                           std::optional<std::int64_t> first = {},
                           std::optional<std::int64_t> last = {}) {
    FetchOptions options;
    options.first_epoch = first;
    options.last_epoch = last;
    return remote::fetch(store, objects, choose_run(objects, key), options);
  }
  static FetchReport take_over(Store& store, ObjectStore& objects, const std::string& key) {
    FetchOptions options;
    options.take_over = true;
    return remote::fetch(store, objects, choose_run(objects, key), options);
  }
  static std::vector<std::string> damage_of(ObjectStore& objects) {
    return verify(objects, list_runs(objects).runs, true, {}).findings;
  }

  /// An evaluator found this accuracy in the checkpoint after that many epochs.
  static void judge(Store& store, const Run& run, std::int64_t iteration, double accuracy) {
    const auto queue = store::open_home_queue(store);
    const std::int64_t evaluator = queue->add_evaluator("/src/judge.py:judge", "1");
    store::NewJob job{.content = {}, .evaluator = evaluator, .path = run.key};
    for (const store::CheckpointInfo& info : store.catalog().checkpoints(run.id)) {
      if (info.key == boundary(iteration)) job.content = info.digest;
    }
    const std::string owner = "00000000000000aa";
    const auto lock = store.lock_run(owner);
    const auto leases = queue
                            ->exchange({.owner = owner,
                                        .retries = {},
                                        .additions = {job},
                                        .requests = {{.evaluator = evaluator, .count = 1}}})
                            .leases;
    ASSERT_EQ(leases.size(), 1U);
    queue->exchange({.owner = owner,
                     .retries = {},
                     .reports = {{leases[0].lease, store::JobReport::Kind::done,
                                  fmt::format("{{\"accuracy\": {}}}", accuracy)}}});
  }

  testing::TemporaryDirectory directory_;
};

/// Passes everything on, counts, and may end the process in between.
class WatchedObjects final : public ObjectStore {
 private:
  template <typename Call>
  auto step(const Call& call, std::uint64_t written, std::uint64_t read) -> decltype(call()) {
    const int number = calls_++;
    if (die_at_ == 2 * number) ::kill(::getpid(), SIGKILL);
    auto result = call();
    written_ += written;
    read_ += read;
    if (die_at_ == 2 * number + 1) ::kill(::getpid(), SIGKILL);
    return result;
  }

 public:
  explicit WatchedObjects(std::unique_ptr<ObjectStore> objects) : objects_(std::move(objects)) {}

  const std::string& url() const override { return objects_->url(); }
  bool put_if_absent(const std::string& key, std::span<const std::byte> content) override {
    if (before_put) before_put(key);
    return step([&] { return objects_->put_if_absent(key, content); }, content.size(), 0);
  }
  void put(const std::string& key, std::span<const std::byte> content) override {
    if (before_put) before_put(key);
    step([&] { return objects_->put(key, content), true; }, content.size(), 0);
  }
  bool makes_exclusively() override { return exclusive && objects_->makes_exclusively(); }
  std::vector<std::byte> get(const std::string& key, std::uint64_t most) override {
    if (before_get) before_get(key);
    auto content = step([&] { return objects_->get(key, most); }, 0, 0);
    read_ += content.size();
    return content;
  }
  std::vector<std::byte> get_range(const std::string& key, std::uint64_t offset,
                                   std::uint64_t size) override {
    return step([&] { return objects_->get_range(key, offset, size); }, 0, size);
  }
  std::optional<ObjectInfo> head(const std::string& key) override {
    return step([&] { return objects_->head(key); }, 0, 0);
  }
  std::vector<ObjectInfo> list(const std::string& prefix) override {
    if (before_list) before_list(prefix);
    return step([&] { return objects_->list(prefix); }, 0, 0);
  }
  void remove(const std::string& key) override {
    if (before_remove) before_remove(key);
    step([&] { return objects_->remove(key), true; }, 0, 0);
  }
  std::int64_t remove_unfinished(std::int64_t before_us, bool dry_run) override {
    return objects_->remove_unfinished(before_us, dry_run);
  }

  /// What others do at that moment.
  std::function<void(const std::string&)> before_get, before_list, before_put, before_remove;
  bool exclusive = true;  ///< false: as with a server that replaces objects in any case

  /// Kills the process before its n-th call; odd n: after the call (n - 1) / 2.
  void die_at(int n) { die_at_ = n; }
  int calls() const { return calls_; }
  std::uint64_t written() const { return written_; }  ///< bytes
  std::uint64_t read() const { return read_; }

 private:
  std::unique_ptr<ObjectStore> objects_;
  std::atomic<int> calls_{0};
  std::atomic<std::uint64_t> written_{0}, read_{0};
  int die_at_ = -1;
};

}  // namespace flor::remote
