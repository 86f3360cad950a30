// Serves curves of metrics to the page. Keeps them in memory while they are in use, and thins them
// to the columns of the page, so that a million values cost no more to send than a screenful.
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
  std::string run;                     ///< RUN as the user writes it
  std::vector<std::string> runs = {};  ///< if not empty, used instead of `run`: the mean of these
                                       ///< runs, over epochs or steps
  std::string metric;
  Axis axis = Axis::epoch;
  double from =
      -std::numeric_limits<double>::infinity();  ///< from, to: the visible range, in units of the
                                                 ///< width of the drawing, for thinning
  double to = std::numeric_limits<double>::infinity();
  std::size_t columns = 800;  ///< width of the drawing in pixels
  double smoothing = 0;       ///< weight of an exponential moving average; 0: values as logged
};

/// Reads from the store one at a time, through an open store of its own, so that other requests
/// never wait for it. Thread-safe.
class Curves {
 public:
  /// Opens the store for this object alone.
  explicit Curves(const std::filesystem::path& home);

  /// Returns {"run", "metric", "series": [{"loop", "count", "x", "y", "hindsight", "doubtful"}]}
  /// with one series for each loop in which the metric was logged. `y` is null if it is not finite.
  /// A mean also has "low" and "high", one standard deviation away, and "runs", their number.
  /// Throws NotFound or UsageError.
  Json answer(const CurveQuestion& question);

 private:
  using Clock = std::chrono::steady_clock;

  /// The curves of a metric over an axis, as they were when they were read.
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
