// Numbers of a training that are collected over steps and ranks, and how long its steps take.
#pragma once

#include <flor/dist/group.h>
#include <flor/state.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flor {

/// Collects named numbers:
///
///   flor::Metrics metrics;
///   metrics.mean("loss", loss, batch.size());   // weighted by the size of the batch
///   metrics.sum("seen", batch.size());
///   ...
///   metrics.log_and_reset(group);               // at the end of the epoch, on all ranks
///
/// A name has one kind (sum, mean, min or max); adding to it under another kind is an error. Sums
/// are made in double precision, over ranks in rank order, so every rank gets the same result, and
/// every run does. The numbers collected so far are state: register the object with
/// flor::checkpoints. To be used by one thread.
class Metrics {
 public:
  /// Adds `value` to the sum. This and the functions below throw flor::Error if the name has
  /// another kind already; `mean` also throws if `weight` is negative or not finite.
  void sum(std::string_view name, double value);
  /// Adds to a mean in which each value counts `weight` times. The mean is NaN while the weights
  /// add up to 0.
  void mean(std::string_view name, double value, double weight = 1);
  /// The smallest of the values; NaN if any value is NaN.
  void min(std::string_view name, double value);
  /// The greatest of the values; NaN if any value is NaN.
  void max(std::string_view name, double value);

  /// The number that this rank has collected under `name`. Throws NotFound, with the list of names.
  double operator[](std::string_view name) const;
  /// All numbers of this rank, by name.
  std::map<std::string, double> values() const;
  bool empty() const { return entries_.empty(); }  ///< true if nothing was gathered

  /// The numbers of all ranks combined. All ranks have to call it. The rank's own numbers stay as
  /// they are, so calling it twice gives the same result. If names or kinds differ between ranks,
  /// throws flor::Error on every rank, with the rank and the name.
  std::map<std::string, double> reduced(Group& group) const;

  /// Combines the numbers of all ranks, logs each with flor::log under `prefix` + name, resets this
  /// object, and returns the numbers. All ranks have to call it.
  std::map<std::string, double> log_and_reset(Group& group, std::string_view prefix = "");
  /// Logs and resets the numbers of this process alone.
  std::map<std::string, double> log_and_reset(std::string_view prefix = "");
  void reset() { entries_.clear(); }  ///< forgets all numbers

  void save(const StateWriter& writer) const;  ///< for flor::checkpoints
  void load(const StateReader& reader);        ///< for flor::checkpoints

 private:
  enum class Kind : std::uint8_t { sum, mean, min, max };
  struct Entry {
    Kind kind = Kind::sum;
    double value = 0;   ///< of a mean: the sum of value * weight
    double weight = 0;  ///< of a mean: the sum of the weights
  };
  static const char* to_string(Kind kind);
  static double result(const Entry& entry);
  static void combine(Entry& entry, const Entry& other);
  void add(std::string_view name, const Entry& entry);
  void check_names(Group& group) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

/// Measures how the time of a step is divided. The first mark counts from the construction or
/// `restart`.
///
///   flor::StepTimer timer;
///   for (auto& batch : flor::loop("train", *loader)) {
///     timer.mark("data");
///     ...;  timer.mark("forward");  ...;  timer.mark("backward");
///     timer.step();
///   }
///   timer.log_and_reset();   // time/data, time/forward, ...: mean seconds a step
///
/// Times are seconds of the steady clock. Logged times are not compared by a replay: give a time to
/// flor::log only while recording. On a device that computes asynchronously, a mark measures until
/// the work was queued, not until it was done. To be used by one thread.
class StepTimer {
 public:
  using Clock = std::chrono::steady_clock;  ///< the steady clock
  StepTimer() : last_(Clock::now()), begin_(last_) {}

  /// Counts the time since the last mark (of any name) for `name`, and returns it in seconds.
  double mark(std::string_view name);
  /// Ends a step. Returns the seconds since the end of the step before, or since the restart.
  double step();
  /// Starts measuring from this moment; the sums so far stay.
  void restart() { begin_ = last_ = Clock::now(); }

  std::uint64_t steps() const { return steps_; }  ///< since the construction or log_and_reset
  /// Seconds counted for marks of that name; 0 if there is none.
  double seconds(std::string_view name) const;
  /// Seconds that all steps took together.
  double seconds() const { return total_; }
  /// Steps per second; 0 before the end of the first step.
  double rate() const { return total_ > 0 ? static_cast<double>(steps_) / total_ : 0; }

  /// A text such as "41.2 ms a step: forward 15.1, backward 22.0, data 4.1".
  std::string summary() const;
  /// While recording, logs the mean seconds per step of each mark under `prefix` + name, and of the
  /// whole step under `prefix` + "step". Resets all sums, also when not recording.
  void log_and_reset(std::string_view prefix = "time/");

 private:
  struct Mark {
    std::string name;
    double seconds = 0;
  };
  std::vector<Mark> marks_;  ///< in the order of their first use
  Clock::time_point last_, begin_;
  double total_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace flor
