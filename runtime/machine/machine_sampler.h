// Samples of the machine while a run is recorded, at a pace that costs next to nothing.
#pragma once

#include "machine/measures.h"

#include <flor/store/catalog.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

/// Belongs to one thread. Reads no clock but that of the cost.
class MachineSampler {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    double pause = 10;  ///< seconds between two samples; the first come sooner
    /// The part of the time that sampling may take: where a sample takes long, they come more
    /// seldom.
    double share = 1;
    std::function<std::vector<Measure>()> read;
    std::function<double()> used;  ///< CPU time of the calling thread, in seconds
    Time start;                    ///< the moment of construction
    double run_seconds = 0;        ///< how old the run was then
  };
  explicit MachineSampler(Options options) : options_(std::move(options)) {}

  /// Takes a sample in this epoch (-1: outside of the loops) if one is due. `ends`: the run does,
  /// and a last one is due where a second has passed since the one before. Throws what reading
  /// throws.
  void tick(Time now, std::int64_t epoch, bool ends = false);
  /// The values of the samples since the last call, if they are worth a write: soon at first, then
  /// sixteen samples at once. `all`: whether or not they are.
  std::vector<store::Value> take(bool all);

 private:
  void settle_pause(Time now, double cost);

  Options options_;
  std::optional<Time> last_;  // none: nothing was read yet
  Time next_;
  double pause_ = 0;
  std::int64_t last_second_ = -1;
  std::size_t samples_ = 0, waiting_ = 0;
  std::map<std::string, double> before_;  // what grows, as it was
  std::vector<store::Value> values_;
};

/// CPU time of the calling thread, in seconds.
double thread_cpu_seconds();

}  // namespace flor::detail
