// What a recording tells of the training itself: that it takes long, that a metric is no number.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::detail {

/// How far a training is whose epochs take minutes. Not thread-safe: the training's thread asks.
class LongEpochs {
 public:
  static constexpr double kLong = 60;    ///< seconds of an epoch that is worth a line
  static constexpr double kPause = 600;  ///< seconds of training between two lines

  /// An epoch of `seconds` is complete, and with it `done` of the `count` iterations of its loop;
  /// a negative count is not known. The line to show, if one is due.
  std::optional<std::string> completed(std::int64_t epoch, std::int64_t done, std::int64_t count,
                                       double seconds);

 private:
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
