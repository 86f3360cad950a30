// Measures ranking the checkpoints of a long run, and deleting those that are not kept:
//   retention [EPOCHS] [DIRECTORY]
// Each epoch has a boundary and a loop end, with a state of 4 KiB. The store is in memory
// (/dev/shm) unless a directory is given.
#include "retention/retention.h"

#include <flor/store/store.h>

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

namespace {

using namespace flor::store;

double seconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

Snapshot state(std::int64_t epoch) {
  constexpr std::size_t kBytes = 4096;
  auto memory = std::shared_ptr<std::byte[]>(new std::byte[kBytes]);
  for (std::size_t i = 0; i < kBytes / sizeof(float); ++i) {
    const float value = 0.01f * static_cast<float>(i) + 1e-4f * static_cast<float>(epoch);
    std::memcpy(memory.get() + i * sizeof(float), &value, sizeof value);
  }
  return {{{{"weights", ElementType::f32, {1024}, kBytes}, Content(memory, memory.get())}}};
}

Run record(Store& store, std::int64_t epochs) {
  NewRun start;
  start.experiment = "long";
  const Run run = store.catalog().add_run(start);
  CheckpointWriter writer(store, run.id, {.threads = 1, .priority = {}});
  std::minstd_rand random(1);
  Progress progress;
  std::vector<Value> values;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const Snapshot snapshot = state(epoch);
    writer.write({CheckpointKind::loop_end, 0, epoch, "train"}, snapshot);
    writer.write({CheckpointKind::boundary, 0, epoch + 1, ""}, snapshot);
    progress.iterations.push_back({0, epoch, 1, 0.01});
    values.push_back({"loss",
                      {"epoch", epoch, -1, ""},
                      0,
                      ValueType::real,
                      static_cast<double>(random() % 1000),
                      0});
  }
  progress.loops.push_back({0, "epoch", 0, epochs, true, false});
  store.catalog().add_progress(run.id, progress);
  store.catalog().add_values(run.id, values);
  store.catalog().finish_run(run.id, 1, false, "");
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 10'000;
  const std::filesystem::path home =
      std::filesystem::path(argc > 2 ? argv[2] : "/dev/shm") / "flor-retention-bench";
  std::filesystem::remove_all(home);
  {
    const auto store = Store::open(home, OpenMode::create);
    const Run run = record(*store, epochs);
    const KeepRules rules{.last = 10,
                          .every = 100,
                          .best = {{.count = 10, .metric = "loss", .order = ScoreOrder::min}}};
    RetentionReport report;
    const double planned = seconds([&] { report = plan_retention(*store, run.id, rules); });
    std::vector<Candidate> candidates;
    for (const RetainedUnit& unit : report.units) candidates.push_back(unit.candidate);
    const double ranked = seconds([&] { (void)decide(candidates, report.rules, nullptr); });
    const double applied = seconds([&] { report = retain(*store, run.id, rules, Sizes::weighed); });
    const double again = seconds([&] { (void)retain(*store, run.id, rules, Sizes::skipped); });
    RestoreReport restored;
    const double undone = seconds([&] { restored = restore_discarded(*store, run.id); });
    fmt::print(
        "{} epochs: ranked in {:.2f} ms; planned with sizes in {:.0f} ms; {} deleted in "
        "{:.0f} ms; {} kept looked at again in {:.1f} ms; {} checkpoints brought back in "
        "{:.0f} ms\n",
        epochs, 1e3 * ranked, 1e3 * planned, report.deleted, 1e3 * applied, report.kept,
        1e3 * again, restored.restored, 1e3 * undone);
  }
  std::filesystem::remove_all(home);
}
