// The times of a run's epochs and steps, and from them the position of each value on an axis.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The axis over which values are drawn.
enum class Axis { epoch, step, time };
/// The axis called "epoch", "step" or "time".
std::optional<Axis> axis_named(std::string_view text);
/// The same; throws UsageError for anything else.
Axis parse_axis(std::string_view text);
std::string_view to_string(Axis axis);

/// The name of the nested loop in a path ("train" in "epoch/train/batch"); empty for a main loop
/// and outside of loops.
std::string_view nested_loop(std::string_view path);

/// Turns places in the loops into positions on an axis. Flor records no time for a single value:
/// times are computed from the recorded durations of epochs and of nested loops, whose steps count
/// as equally long. While a run is being recorded, the number of steps and the durations of its
/// latest epochs may be missing; then those of the epoch before are used, or the steps reported to
/// `notice`.
class Course {
 public:
  /// `now_us`: the current time; until the first epoch ends, its duration counts up to this time.
  Course(const store::Catalog& catalog, const store::Run& run, std::int64_t now_us);

  /// Reports that the caller has seen a value of this step, so the loop has at least that many
  /// steps.
  void notice(std::string_view loop, std::int64_t epoch, std::int64_t step);

  /// The position of a value: it is the `index`-th (from 0) of the `count` values at its place.
  /// - epoch: the epoch's number for a value logged once in it; several values of an epoch, such as
  ///   those of its steps, are spread evenly from its number to the next;
  /// - step: the number of the step in its nested loop, counted over all epochs. Values of the main
  ///   loop itself lie at the number of steps that the run had made by the end of the epoch, in the
  ///   loop that has the most; without nested loops epochs are steps;
  /// - time: seconds of computing from the start of the first epoch to the end of the step or
  ///   epoch. The time between an interruption and the resumption does not count.
  double position(Axis axis, const store::Place& place, std::int64_t index,
                  std::int64_t count) const;

  /// The number of steps that the place's nested loop made before this place, over all epochs; in a
  /// main loop, the epoch.
  std::int64_t step_number(const store::Place& place) const;
  /// The end of the place in Unix microseconds, as far as the durations tell: counted from the
  /// start of the run, or of the process that resumed it.
  std::int64_t clock_us(const store::Place& place) const;

 private:
  struct Loop {
    std::vector<std::int64_t> steps;     ///< by epoch
    std::vector<double> seconds, start;  ///< start: seconds after the beginning of the epoch
    std::vector<std::int64_t> before;    ///< sum of the steps of earlier epochs; has one element
                                         ///< more than `steps`
  };
  struct Start {
    std::int64_t epoch = 0;
    std::int64_t clock_us = 0;
  };

  void read_epochs(const store::Catalog& catalog, const store::Run& run, std::int64_t now_us);
  void read_loops(const store::Catalog& catalog, const store::Run& run);
  const Loop* loop_of(const store::Place& place) const;
  double seconds_before(std::int64_t epoch) const;
  double length(std::int64_t epoch) const;
  static std::int64_t steps_in(const Loop& loop, std::int64_t epoch);
  static std::int64_t steps_before(const Loop& loop, std::int64_t epoch);
  /// The part of the place's epoch that is over, in (0, 1], measured in steps or in time.
  double share(const store::Place& place, double within) const;

  std::map<std::int64_t, std::int64_t> first_epochs_;  // by main loop
  std::vector<double> before_;                         // seconds before each epoch; one element
                                                       // more than epochs
  double going_on_ = 0;                                // seconds assumed for an epoch that is not
                                                       // complete
  std::map<std::string, Loop, std::less<>> loops_;
  const Loop* longest_ = nullptr;
  std::vector<Start> starts_;
};

}  // namespace flor::cli
