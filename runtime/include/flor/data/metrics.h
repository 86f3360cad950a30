// Numbers of a training that are gathered over steps and ranks, and the time that its steps take.
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
/// The kind of a number belongs to its name: adding it under another kind is an error. Sums are
/// made in double precision, over ranks in their order, so that every rank has the same result, and
/// the same in each run. The sums so far are state: register them with flor::checkpoints. For one
/// thread.
class Metrics {
 public:
  /// Each throws flor::Error if the name is gathered in another way already, and `mean` for a
  /// weight that is negative or not finite.
  void sum(std::string_view name, double value);
  /// The mean of the values, each counted `weight` times; NaN while the weights add up to 0.
  void mean(std::string_view name, double value, double weight = 1);
  /// NaN, if any value is NaN.
  void min(std::string_view name, double value);
  void max(std::string_view name, double value);  ///< NaN, if any value is NaN

  /// The number that this rank gathered. Throws NotFound, with the names there are.
  double operator[](std::string_view name) const;
  /// All of it, by name.
  std::map<std::string, double> values() const;
  bool empty() const { return entries_.empty(); }  ///< true if nothing was gathered

  /// The numbers that all ranks gathered together; those here stay as they are, so calling it twice
  /// gives the same. All ranks have to call it. Throws flor::Error on all of them, naming the rank
  /// and the name, if their names or kinds differ.
  std::map<std::string, double> reduced(Group& group) const;

  /// Logs the reduced numbers with flor::log, under their names with `prefix` before them, returns
  /// them, and begins anew.
  std::map<std::string, double> log_and_reset(Group& group, std::string_view prefix = "");
  /// The same of one process.
  std::map<std::string, double> log_and_reset(std::string_view prefix = "");
  void reset() { entries_.clear(); }  ///< begins anew

  void save(const StateWriter& writer) const;  ///< for flor::checkpoints
  void load(const StateReader& reader);        ///< for flor::checkpoints

 private:
  enum class Kind : std::uint8_t { sum, mean, min, max };
  struct Entry {
    Kind kind = Kind::sum;
    double value = 0;   ///< of a mean: the sum of the weighted values
    double weight = 0;  ///< of a mean
  };
  static const char* to_string(Kind kind);
  static double result(const Entry& entry);
  static void combine(Entry& entry, const Entry& other);
  void add(std::string_view name, const Entry& entry);
  void check_names(Group& group) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

/// Measures how the time of a step is spent. The first mark measures from the construction or
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
/// Times are of the steady clock, in seconds. Logged times are no part of what a replay compares:
/// give them to flor::log only where the record is made. On a device that computes asynchronously
/// a mark says when its work was queued. For one thread.
class StepTimer {
 public:
  using Clock = std::chrono::steady_clock;  ///< the steady clock
  StepTimer() : last_(Clock::now()), begin_(last_) {}

  /// The time since the last mark belongs to `name`; returns it in seconds.
  double mark(std::string_view name);
  /// One step is over; returns the seconds since the one before, or the restart.
  double step();
  /// Measures from now on; the sums so far stay.
  void restart() { begin_ = last_ = Clock::now(); }

  std::uint64_t steps() const { return steps_; }  ///< since the construction
  /// Seconds of all marks of that name; 0 if there is none.
  double seconds(std::string_view name) const;
  /// The number of all steps.
  double seconds() const { return total_; }
  /// Steps a second; 0 before the first.
  double rate() const { return total_ > 0 ? static_cast<double>(steps_) / total_ : 0; }

  /// "41.2 ms a step: forward 15.1, backward 22.0, data 4.1"
  std::string summary() const;
  /// While recording, logs the mean seconds a step as `prefix` + name, and `prefix` + "step"; then
  /// begins anew.
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
