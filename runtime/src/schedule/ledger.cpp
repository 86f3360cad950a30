#include "schedule/ledger.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace flor::detail {
namespace {

/// Measured by bench/adaptive.sh, see docs/performance.md.
constexpr double kShareOfSpareCore = 0.25;

double clock_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// How many cores the control group of this process may use; nothing if it has no limit.
std::optional<double> quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string most;
  double period = 0;
  if (!(file >> most >> period) || most == "max" || !(period > 0)) return std::nullopt;
  try {
    return std::stod(most) / period;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

double usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const double cores = ::sched_getaffinity(0, sizeof set, &set) == 0
                           ? static_cast<double>(CPU_COUNT(&set))
                           : static_cast<double>(std::thread::hardware_concurrency());
  return std::max(0.1, std::min(cores, quota().value_or(cores)));
}

double background_share(double busy_cores, double cores) {
  const double spare = std::clamp(cores - busy_cores, 0.0, 1.0);
  return kShareOfSpareCore + (1 - kShareOfSpareCore) * (1 - spare);
}

Ledger::Ledger()
    : cores_(usable_cores()),
      last_wall_(clock_seconds(CLOCK_MONOTONIC)),
      last_process_(clock_seconds(CLOCK_PROCESS_CPUTIME_ID)) {}

std::shared_ptr<Batch> Ledger::open(Batch::Kind kind) {
  auto batch = std::make_shared<Batch>();
  batch->kind = kind;
  return batch;
}

void Ledger::taken(Batch& batch, double seconds, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  batch.cost.training += seconds;
  batch.cost.charged += seconds;
  batch.cost.bytes = std::max(batch.cost.bytes, bytes);
  ++batch.unfinished;
  (batch.kind == Batch::Kind::chosen ? totals_.cost : totals_.forced) += seconds;
}

void Ledger::spent(double seconds) {
  const std::lock_guard lock(mutex_);
  totals_.cost += seconds;
}

void Ledger::file(const std::shared_ptr<Batch>& batch) {
  if (batch->closed && batch->unfinished == 0) finished_.push_back(batch);
}

void Ledger::close(const std::shared_ptr<Batch>& batch) {
  if (!batch) return;
  const std::lock_guard lock(mutex_);
  if (std::exchange(batch->closed, true)) return;
  file(batch);
}

IterationCost Ledger::cost_of(const Batch& batch) const {
  const std::lock_guard lock(mutex_);
  return batch.cost;
}

std::vector<std::shared_ptr<const Batch>> Ledger::finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void Ledger::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

double Ledger::charge(double cpu, bool forced) {
  const double wall = clock_seconds(CLOCK_MONOTONIC);
  const double process = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double used = std::max(0.0, cpu - last_background_);
  const double busy =
      std::max(0.0, process - last_process_ - used) / std::max(wall - last_wall_, 1e-9);
  const double charged = draining_ ? used : used * background_share(busy, cores_);
  last_wall_ = wall;
  last_process_ = process;
  last_background_ = cpu;
  (forced ? totals_.forced : totals_.cost) += charged;
  if (!draining_) totals_.background += charged;
  return charged;
}

void Ledger::job_begins(double cpu) {
  const std::lock_guard lock(mutex_);
  // Work after the program's end counts as forced, since every run has to wait for the rows written
  // last.
  charge(cpu, draining_);
}

void Ledger::job_ends(double cpu, const std::shared_ptr<Batch>& batch) {
  const std::lock_guard lock(mutex_);
  const double used = std::max(0.0, cpu - last_background_);
  const double charged = charge(cpu, batch && batch->kind != Batch::Kind::chosen);
  if (!batch) return;
  batch->cost.background += used;
  batch->cost.charged += charged;
  --batch->unfinished;
  file(batch);
}

void Ledger::setup_ends(double cpu) {
  const std::lock_guard lock(mutex_);
  charge(cpu, true);
}

Ledger::Totals Ledger::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace flor::detail
