// Messages between a watch and its seats on the nodes of a cluster. They share nothing but a
// directory, in which each file has one writer: so it may lie on any file system that shows a file
// to other machines as it grows.
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

/// Everything that a seat needs to know at its beginning.
struct SeatPlan {
  GroupPlan group;             ///< one worker
  std::filesystem::path logs;  ///< of the attempts
  /// Time between signs of life of the watch and the seats; a side that is silent for
  /// `kSilentBeats` of them counts as dead.
  std::chrono::milliseconds beat{5000};
};
inline constexpr int kSilentBeats = 6;

namespace seat {

// Messages of a seat.
inline constexpr const char* kHello = "hello";    ///< {host, job, restart}
inline constexpr const char* kReady = "ready";    ///< its evaluator is loaded
inline constexpr const char* kBeat = "beat";      ///< also of the watch
inline constexpr const char* kResult = "result";  ///< {job, token, good, text, seconds}
inline constexpr const char* kNote = "note";      ///< for the user
inline constexpr const char* kFatal = "fatal";    ///< it cannot judge at all, and ends
inline constexpr const char* kBye = "bye";        ///< it is taken away
// Messages of the watch.
inline constexpr const char* kJudge = "judge";      ///< {job, token, path, arguments}
inline constexpr const char* kCallOff = "calloff";  ///< {job, token}
inline constexpr const char* kEnd = "end";          ///< nothing is wanted any more

/// The member, as a line.
std::string line(const char* name, const nlohmann::json& value);

}  // namespace seat

/// Name of all jobs of a watch, which holds the lock with the key `owner`.
std::string watch_job_name(const std::string& owner);

void write_seat_plan(const std::filesystem::path& directory, const SeatPlan& plan);
/// Throws Error if it cannot be read.
SeatPlan read_seat_plan(const std::filesystem::path& directory);

/// When to look at the other side's files again: soon after a message, more rarely the longer none
/// comes.
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
