// Metrics as the page draws them: kept in memory while they are in use, and thinned to the columns
// of the page, so that a million values cost a screenful.
#pragma once

#include "curves/series.h"
#include "output/json.h"

#include <flor/store/store.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace flor::cli {

struct CurveQuestion {
  std::string run;                     ///< as the user writes it
  std::vector<std::string> runs = {};  ///< instead: the mean of these, over epochs or steps
  std::string metric;
  Axis axis = Axis::epoch;
  double from =
      -std::numeric_limits<double>::infinity();  ///< the visible part, in units of the axis
  double to = std::numeric_limits<double>::infinity();
  std::size_t columns = 800;  ///< of the drawing
  double smoothing = 0;       ///< weight of an exponential moving average, 0: as logged
};

/// Thread-safe: reading takes turns, in a store of its own, so that other requests never wait for
/// it.
class Curves {
 public:
  /// Opens the store once more for itself.
  explicit Curves(const std::filesystem::path& home);

  /// {"run", "metric", "series": [{"loop", "count", "x", "y", "hindsight", "doubtful"}]}: one for
  /// each loop in which the metric was logged. `y` is null if it is not finite. Throws NotFound,
  /// UsageError. A mean also has
  /// "low" and "high", one sample deviation off, and "runs", their number.
  Json answer(const CurveQuestion& question);

 private:
  using Clock = std::chrono::steady_clock;

  /// The curves of a metric over an axis, as they were when read.
  struct Kept {
    std::int64_t run = 0;
    std::string metric;
    Axis axis = Axis::epoch;
    std::int64_t mark = 0;
    std::string signature;
    Clock::time_point fresh_until, used;
    std::shared_ptr<const SeriesAnswer> answer;
    std::size_t points = 0;
  };

  std::shared_ptr<const SeriesAnswer> read_mean(const CurveQuestion& question);
  std::shared_ptr<const SeriesAnswer> read(const store::Run& run, const CurveQuestion& question);
  std::string signature(std::int64_t run, const std::string& metric) const;
  void make_room();

  std::shared_ptr<store::Store> store_;
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace flor::cli
