// The content of a log of another program, before it becomes a run of the store.
#pragma once

#include "index/values/printed.h"

#include <flor/store/catalog.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// Limits of epochs and steps. A bucket refuses runs that count more epochs than they have rows,
/// and steps are added up over epochs.
inline constexpr std::int64_t kLoggedEpochMax = 99'999;
inline constexpr std::int64_t kLoggedStepMax = std::int64_t{1} << 40;

/// A longer name is refused.
inline constexpr std::size_t kLoggedNameMax = 1000;

/// A place in the two loops that logs tell of: -1 where the log does not say.
struct LoggedPlace {
  std::int64_t epoch = -1, step = -1;
  auto operator<=>(const LoggedPlace&) const = default;
};

/// The values of one name, in the order of the log. Takes 32 bytes for a number.
class LoggedSeries {
 public:
  explicit LoggedSeries(std::string name) : name_(std::move(name)) {}

  void add(const LoggedPlace& place, store::ValueType type, store::Scalar&& value);

  const std::string& name() const { return name_; }
  std::size_t size() const { return points_.size(); }
  LoggedPlace& place(std::size_t at) { return points_[at].place; }
  const LoggedPlace& place(std::size_t at) const { return points_[at].place; }
  store::ValueType type(std::size_t at) const { return points_[at].type; }
  store::Scalar value(std::size_t at) const;
  /// Sorts by place, values of one place in the order of the log. Integers become reals if the
  /// series has reals, too: those that no real is equal to are counted.
  void settle();
  std::int64_t inexact() const { return inexact_; }
  std::int64_t first_inexact() const { return first_inexact_; }
  /// Makes the value a real.
  void set_real(std::size_t at, double real);
  /// Leaves out the values for which this holds, by their index.
  template <typename Condition>
  void leave_out(const Condition& condition) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < points_.size(); ++at) {
      if (!condition(at)) points_[kept++] = points_[at];
    }
    points_.resize(kept);
  }

 private:
  struct Point {
    LoggedPlace place;
    std::uint64_t bits = 0;  ///< of a number; of another value its index in `texts_`
    store::ValueType type = store::ValueType::real;
  };
  std::string name_;
  std::vector<Point> points_;
  std::vector<std::string> texts_;
  bool has_reals_ = false;
  std::int64_t inexact_ = 0, first_inexact_ = 0;
};

/// The places of printed text are set without a path.
class LoggedRun {
 public:
  /// The series of this name, which is made if it is new. Nullptr if no value may have the name: it
  /// is one of Flor's own, empty or too long, shown as it is printed. Names that are refused are
  /// counted and not kept. The pointer stays valid until the next call.
  LoggedSeries* series(std::string_view name);
  std::vector<LoggedSeries>& all_series() { return series_; }
  const std::vector<LoggedSeries>& all_series() const { return series_; }
  std::size_t values() const;
  /// How many names were refused, and the bytes of those that were not.
  std::size_t refused_names() const { return refused_.size(); }
  std::size_t bytes_of_names() const { return bytes_of_names_; }

  /// Something was logged at this place and time, in Unix microseconds.
  void notice_time(const LoggedPlace& place, std::int64_t time_us);
  /// A line for the user, safe to print.
  void remark(std::string text) { remarks.push_back(std::move(text)); }

  /// Counts epochs from 0, and steps from the beginning of their epoch, and sorts the series. Call
  /// it once, after all was added.
  void settle();

  std::vector<store::Argument> arguments;
  std::vector<store::Printed> printed;
  std::int64_t lines = 0;  ///< of a text
  std::vector<std::string> remarks;
  std::optional<std::int64_t> first_us;  ///< the earliest time that the log names
  /// Set if the log says that the run has ended.
  struct End {
    std::int64_t at_us = 0;
    bool failed = false;
  };
  std::optional<End> end;

  /// After `settle`: the loops that the log tells of.
  struct Epoch {
    std::int64_t steps = 0;                    ///< 0: it tells of none
    std::optional<std::int64_t> last_us = {};  ///< the latest time in it
  };
  const std::map<std::int64_t, Epoch>& epochs() const { return epochs_; }

 private:
  void refuse(std::string_view name);
  void shift_epochs();
  void count_steps_in_their_epochs();
  template <typename Visit>
  void each_place(const Visit& visit);

  std::vector<LoggedSeries> series_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::set<std::size_t> refused_;  ///< digests, as the names may be long
  std::size_t bytes_of_names_ = 0;
  std::map<std::int64_t, std::int64_t> times_;  ///< by epoch: the latest
  std::map<std::int64_t, Epoch> epochs_;
};

}  // namespace flor::cli
