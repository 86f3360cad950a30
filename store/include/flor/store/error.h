// The errors that Flor reports to people, and the exit status each of them stands for.
#pragma once

#include <stdexcept>
#include <string>

namespace flor {

/// Exit status of the `flor` command and of instrumented programs. Scripts rely on these numbers
/// (docs/cli.md), so their meaning never changes.
enum class ExitStatus : int {
  done = 0,
  failed = 1,
  usage = 2,
  not_found = 3,
  damaged = 4,
  partly_done = 5,
  busy = 6,
  differs = 7,
  preempted = 75,
  interrupted = 130,
};

/// Base of all exceptions that Flor throws. `what()` is one line that says what happened, where,
/// and how to fix it, without a leading "flor: ".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitStatus status = ExitStatus::failed)
      : std::runtime_error(message), status_(status) {}

  /// The status with which a program should exit because of this error.
  ExitStatus status() const noexcept { return status_; }

 private:
  ExitStatus status_;
};

/// A flag, argument or name is wrong. Nothing has been written.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, ExitStatus::usage) {}
};

/// The named run, checkpoint, experiment or metric does not exist.
class NotFound : public Error {
 public:
  explicit NotFound(const std::string& message) : Error(message, ExitStatus::not_found) {}
};

/// Stored bytes are not those that were written: a truncated pack, a flipped bit, or a catalog that
/// SQLite rejects.
class Damaged : public Error {
 public:
  explicit Damaged(const std::string& message) : Error(message, ExitStatus::damaged) {}
};

/// Another process holds a resource that is needed, and still held it after the time allowed for
/// waiting.
class Busy : public Error {
 public:
  explicit Busy(const std::string& message) : Error(message, ExitStatus::busy) {}
};

}  // namespace flor
