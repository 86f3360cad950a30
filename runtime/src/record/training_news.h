// Notices of a recording about the training itself: a long epoch, a metric that is no number.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// The progress of a training whose epochs take minutes. The training's thread reports, and any
/// thread asks `running`.
class LongEpochs {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kLong = 60;    ///< seconds of an epoch that is worth a line
  static constexpr double kPause = 600;  ///< seconds of training between two lines of ended epochs
  /// Minutes after which an epoch is worth a line before it ends, and again each time as long as
  /// the last of them.
  static constexpr std::array<std::int64_t, 3> kMarks{2, 10, 60};

  void begin(std::int64_t epoch, Time now);
  /// A nested loop begins, or, without a name, has ended.
  void enter(std::string_view loop);
  /// So many iterations of the nested loop are complete.
  void step(std::int64_t complete) { step_.store(complete, std::memory_order_relaxed); }
  /// The main loop has ended.
  void end();
  /// The line to show, if one is due.
  std::optional<std::string> running(Time now);

  /// An epoch of `seconds` is complete, and with it `done` of the `count` iterations of its loop;
  /// a negative count is not known. The line to show, if one is due.
  std::optional<std::string> completed(std::int64_t epoch, std::int64_t done, std::int64_t count,
                                       double seconds);

 private:
  std::int64_t minutes_of_next_mark() const;

  std::mutex mutex_;
  std::optional<Time> began_;  // none: no epoch is being executed
  std::int64_t epoch_ = 0;
  std::size_t marks_ = 0;  // that this epoch has passed
  std::string loop_;
  std::atomic<std::int64_t> step_{0};
  double since_line_ = kPause;
  double seconds_ = 0;  // of the epochs below
  std::int64_t epochs_ = 0;
};

/// The metrics that have stopped being numbers. Fed in the order of logging; not thread-safe: the
/// thread that keeps the values asks.
class NanWatch {
 public:
  /// The line to show when all that was logged under this name in a whole epoch was NaN, once for
  /// each time it stops being a number. Values outside epochs are not looked at.
  std::optional<std::string> note(std::uint32_t id, std::string_view name, std::int64_t epoch,
                                  double value);
  /// A line for each metric that was NaN to its end.
  std::vector<std::string> at_end() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Metric {
    std::string name;
    std::int64_t first = -1, last = -1;  // epochs with values
    std::int64_t nan_since = kNever;     // the first epoch since which all values are NaN
    bool said = false;
  };
  std::map<std::uint32_t, Metric> metrics_;
};

}  // namespace flor::detail
