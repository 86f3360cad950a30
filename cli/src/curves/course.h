// The course of a run: how its epochs and steps lie in time, from what it wrote down.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// What the places of values are drawn over.
enum class Axis { epoch, step, time };
/// "epoch", "step" or "time"; throws UsageError for anything else.
Axis parse_axis(std::string_view text);
std::string_view to_string(Axis axis);

/// The name of the nested loop that a path goes through ("train" of "epoch/train/batch"); empty for
/// a main loop and outside of every loop.
std::string_view nested_loop(std::string_view path);

/// Turns places into positions. Flor keeps no clock reading for each value: times come from the
/// recorded durations of epochs and of executions of nested loops, whose steps count as equally
/// long. A run that is recorded just now may have values in epochs whose numbers of steps and
/// durations are not written yet; those of the epoch before stand for them, or what `notice` said.
class Course {
 public:
  /// `now_us`: the duration of the first epoch of a run that is still in it is counted to here.
  Course(const store::Catalog& catalog, const store::Run& run, std::int64_t now_us);

  /// A value of this step was seen.
  void notice(std::string_view loop, std::int64_t epoch, std::int64_t step);

  /// Where the value lies, the `index`-th of `count` at one place, from 0:
  /// - epoch: the epoch's number for what was logged once in it; several values of an epoch, as
  ///   those of its steps, are spread evenly from its number to the next;
  /// - step: the number of the step in its nested loop, counted over all epochs. What was logged in
  ///   the main loop itself lies at the number of steps that the run had made by the end of the
  ///   epoch, in the loop that has the most; without nested loops epochs are steps;
  /// - time: seconds of computing from the start of the first epoch to the end of the step or
  ///   epoch. What passes between an interruption and the resumption does not count.
  double position(Axis axis, const store::Place& place, std::int64_t index,
                  std::int64_t count) const;

  /// The steps of the place's nested loop before it, over all epochs; in a main loop the epoch.
  std::int64_t step_number(const store::Place& place) const;
  /// When the place was over, Unix time in microseconds, as far as the durations tell: counted from
  /// the start of the run, or of the process that went on with it.
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
  /// The share of the place's epoch that is over, in (0, 1]; by steps or by time.
  double share(const store::Place& place, double within) const;

  std::map<std::int64_t, std::int64_t> first_epochs_;  // by main loop
  std::vector<double> before_;                         // seconds; one more than epochs
  double going_on_ = 0;                                // length of an epoch that is not complete
  std::map<std::string, Loop, std::less<>> loops_;
  const Loop* longest_ = nullptr;
  std::vector<Start> starts_;
};

}  // namespace flor::cli
