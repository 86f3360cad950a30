// Notices about the training itself during a recording: a long epoch, a metric that became NaN.
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

/// The progress of a training whose epochs take minutes. The training thread reports progress; any
/// thread may call `running`.
class LongEpochs {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kLong = 60;    ///< seconds; a longer epoch is worth a line
  /// Seconds of training between two lines about ended epochs.
  static constexpr double kPause = 600;
  /// Minutes after which a running epoch is worth a line. After the last of them, a line is due
  /// each time so many minutes have passed again.
  static constexpr std::array<std::int64_t, 3> kMarks{2, 10, 60};

  void begin(std::int64_t epoch, Time now);
  /// Called when a nested loop begins, or with an empty name when it has ended.
  void enter(std::string_view loop);
  /// Tells how many iterations of the nested loop are complete.
  void step(std::int64_t complete) { step_.store(complete, std::memory_order_relaxed); }
  /// Called when the main loop has ended.
  void end();
  /// The line to show about the running epoch, if one is due.
  std::optional<std::string> running(Time now);

  /// Called when an epoch that took `seconds` is complete, and with it `done` of the `count`
  /// iterations of its loop; a negative count is unknown. Returns the line to show, if one is due.
  std::optional<std::string> completed(std::int64_t epoch, std::int64_t done, std::int64_t count,
                                       double seconds);

 private:
  std::int64_t minutes_of_next_mark() const;

  std::mutex mutex_;
  std::optional<Time> began_;  // nothing: no epoch is being executed
  std::int64_t epoch_ = 0;
  std::size_t marks_ = 0;  // how many of kMarks this epoch has passed
  std::string loop_;
  std::atomic<std::int64_t> step_{0};
  double since_line_ = kPause;
  double seconds_ = 0;  // total of `epochs_` epochs
  std::int64_t epochs_ = 0;
};

/// Finds metrics that have become NaN. Values are noted in the order of logging. Not thread-safe:
/// used by the thread that keeps the values.
class NanWatch {
 public:
  /// Returns the line to show if all values of this metric in a whole epoch were NaN, once each
  /// time that the metric becomes NaN. Ignores values outside epochs.
  std::optional<std::string> note(std::uint32_t id, std::string_view name, std::int64_t epoch,
                                  double value);
  /// A line for each metric that was NaN until its end.
  std::vector<std::string> at_end() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Metric {
    std::string name;
    std::int64_t first = -1, last = -1;  // epochs with values
    std::int64_t nan_since = kNever;     // the epoch since which all values are NaN
    bool said = false;
  };
  std::map<std::uint32_t, Metric> metrics_;
};

}  // namespace flor::detail
