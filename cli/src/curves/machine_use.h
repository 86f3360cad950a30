// Samples of the machine while a run was recorded, summed up: for the whole run and by epochs.
#pragma once

#include "curves/spread.h"
#include "machine/measures.h"
#include "output/json.h"

#include <flor/store/store.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The samples of a part of a run.
struct MachineUse {
  std::int64_t epoch = -1;  ///< -1: outside of the loops, or all of the run
  std::map<std::string, Spread> measures;

  std::int64_t samples() const;
  /// Null where it was not sampled.
  const Spread* find(const std::string& measure) const;
};

/// Sums up the whole run. Reads the samples of these measures only; 86,400 of one take 50 ms.
MachineUse machine_use(const store::Catalog& catalog, std::int64_t run,
                       std::span<const detail::MeasureKind> measures);
/// One for each epoch in which a sample was taken, those outside of the loops first.
std::vector<MachineUse> machine_use_by_epochs(const store::Catalog& catalog, std::int64_t run,
                                              std::int64_t first_epoch, std::int64_t last_epoch);

/// The latest sample of each measure of `main_measures`, among those of this epoch and later ones.
std::map<std::string, double> latest_samples(const store::Catalog& catalog, std::int64_t run,
                                             std::int64_t first_epoch);

/// CPU, memory and the shares of GPUs: what a line has room for.
std::span<const detail::MeasureKind> main_measures();
/// "CPU 45 % of 8 cores, memory at most 1.2 GiB, GPU 0 87 %"; empty without samples.
std::string machine_text(const MachineUse& use, std::string_view cores);
/// A cell of a table: the mean, of memory and temperatures the greatest, of free space the
/// least.
std::string measure_text(const detail::MeasureKind& kind, const Spread& spread);
/// A number with the unit of the measure: "45 %", "1.2 GiB".
std::string measure_text(const detail::MeasureKind& kind, double value);
/// {"samples", "cpu": {"mean", "min", "max"}, ...}; null without samples.
Json machine_json(const MachineUse& use);

}  // namespace flor::cli
