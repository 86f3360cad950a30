// The course of a run: the times of its epochs and steps, from its records.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The axis over which values are drawn.
enum class Axis { epoch, step, time };
/// "epoch", "step" or "time"; throws UsageError for anything else.
Axis parse_axis(std::string_view text);
std::string_view to_string(Axis axis);

/// The name of the nested loop in a path ("train" in "epoch/train/batch"); empty for a main loop
/// and outside of every loop.
std::string_view nested_loop(std::string_view path);

/// Turns places into positions. Flor keeps no clock reading for each value: times come from the
/// recorded durations of epochs and of executions of nested loops, whose steps count as equally
/// long. A run that is being recorded may have values in epochs whose numbers of steps and
/// durations are not written yet; then those of the epoch before are used, or steps passed to
/// `notice`.
class Course {
 public:
  /// `now_us`: while a run is in its first epoch, that epoch's duration is counted up to this time.
  Course(const store::Catalog& catalog, const store::Run& run, std::int64_t now_us);

  /// Reports that a value of this step was seen.
  void notice(std::string_view loop, std::int64_t epoch, std::int64_t step);

  /// The position of the `index`-th value, from 0, of `count` at one place:
  /// - epoch: the epoch's number for a value logged once in it; several values of an epoch, such as
  ///   those of its steps, are spread evenly from its number to the next;
  /// - step: the number of the step in its nested loop, counted over all epochs. Values of the main
  ///   loop itself lie at the number of steps that the run had made by the end of the epoch, in the
  ///   loop that has the most; without nested loops epochs are steps;
  /// - time: seconds of computing from the start of the first epoch to the end of the step or
  ///   epoch. The time between an interruption and the resumption does not count.
  double position(Axis axis, const store::Place& place, std::int64_t index,
                  std::int64_t count) const;

  /// The number of steps of the place's nested loop before it, over all epochs; in a main loop the
  /// epoch.
  std::int64_t step_number(const store::Place& place) const;
  /// When the place ended, in Unix microseconds, as far as the durations tell: counted from the
  /// start of the run, or of the process that resumed it.
  std::int64_t clock_us(const store::Place& place) const;

 private:
  struct Loop {
    std::vector<std::int64_t> steps;     ///< by epoch
    std::vector<double> seconds, start;  ///< by epoch; start: from the beginning of the epoch
    std::vector<std::int64_t> before;    ///< steps of the epochs before; one more than `steps`
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
  /// The share of the place's epoch that has passed, in (0, 1]; by steps or by time.
  double share(const store::Place& place, double within) const;

  std::map<std::int64_t, std::int64_t> first_epochs_;  // by main loop
  std::vector<double> before_;                         // seconds; one more than epochs
  double going_on_ = 0;                                // duration assumed for an incomplete epoch
  std::map<std::string, Loop, std::less<>> loops_;
  const Loop* longest_ = nullptr;
  std::vector<Start> starts_;
};

}  // namespace flor::cli
