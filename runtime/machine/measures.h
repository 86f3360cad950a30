// Measures of the machine while a run is recorded: names and units, in the order in which
// they are shown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

enum class Unit { percent, bytes, bytes_a_second, count, watts, degrees };
std::string_view to_string(Unit unit);  ///< "%", "bytes", "bytes/s", "", "W", "°C"

struct MeasureKind {
  std::string name;  ///< "cpu", "gpu0_memory"; users ask for "machine/cpu"
  Unit unit = Unit::count;
};

/// The GPUs that are sampled at most.
inline constexpr unsigned kGpusMax = 16;

/// All that may have been sampled, also by runs of other machines. docs/getting-at-the-data.md says
/// what each one means.
std::span<const MeasureKind> measure_kinds();

/// One number, as the machine tells it.
struct Measure {
  std::string name;  ///< as in MeasureKind
  double value = 0;
  /// It counts since some start: the sample is by how much it grew a second. Else a level.
  bool grows = false;
};

}  // namespace flor::detail
