// Messages between a watch and its seats on the nodes of a cluster. They share only a directory.
// Each file in it has a single writer, so any file system works that shows a growing file to other
// machines.
//
//   plan.json    the evaluator, for all seats; written before there are any
//   watch.log    the watch: signs of life, and the end
//   NAME.said    a seat: its arrival, signs of life, and results
//   NAME.told    the watch: jobs for this seat
//
// The last three are logs of lines (file/line_log.h), each a JSON object with one member.
#pragma once

#include "watch/evaluators/evaluation_group.h"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace flor::cli {

/// The facts that a seat needs at its start.
struct SeatPlan {
  GroupPlan group;             ///< the evaluator, and `workers` of 1
  std::filesystem::path logs;  ///< directory for the output of attempts
  /// Time between signs of life of the watch and the seats; a side that is silent for
  /// `kSilentBeats` of them counts as dead.
  std::chrono::milliseconds beat{5000};
};
inline constexpr int kSilentBeats = 6;

namespace seat {

// Messages of a seat.
inline constexpr const char* kHello = "hello";    ///< {host, job, restart}
inline constexpr const char* kReady = "ready";    ///< it has loaded its evaluator
inline constexpr const char* kBeat = "beat";      ///< a sign of life; the watch sends it, too
inline constexpr const char* kResult = "result";  ///< {job, token, good, text, seconds}
inline constexpr const char* kNote = "note";      ///< for the user
inline constexpr const char* kFatal = "fatal";    ///< it cannot evaluate anything, and ends
inline constexpr const char* kBye = "bye";        ///< it is being taken away, by a signal
// Messages of the watch.
inline constexpr const char* kJudge = "judge";      ///< {job, token, path, arguments}
inline constexpr const char* kCallOff = "calloff";  ///< {job, token}
inline constexpr const char* kEnd = "end";          ///< nothing is wanted any more: leave

/// A message as a line of JSON: an object with one member.
std::string line(const char* name, const nlohmann::json& value);

}  // namespace seat

/// The Slurm name of all jobs of the watch that holds the lock with the key `owner`.
std::string watch_job_name(const std::string& owner);

void write_seat_plan(const std::filesystem::path& directory, const SeatPlan& plan);
/// Throws Error if it cannot be read.
SeatPlan read_seat_plan(const std::filesystem::path& directory);

/// Decides when to look at the other side's files again: soon after a message, more rarely the
/// longer none comes.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next() const { return next_; }
  bool is_due() const { return Clock::now() >= next_; }
  void looked(bool something);

 private:
  Clock::time_point since_ = Clock::now(), next_ = since_;
};

}  // namespace flor::cli
