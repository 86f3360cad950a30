// Starts seats (workers on other machines): by Slurm, by GNU parallel over ssh, or by any command
// that runs another command in several places.
#pragma once

#include "launch/slurm_job.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The value of `--engine` and its further options.
struct EngineWish {
  enum class Kind { local, slurm, ssh, command } kind = Kind::local;
  std::vector<std::string> words;  ///< the hosts; or the command and its arguments
  SlurmWish slurm;
  std::string shared;  ///< a directory that all machines see; empty: the store's home
  std::string flor;    ///< path of flor on the other machines; empty: the path of this program

  bool is_local() const { return kind == Kind::local; }
};
/// Accepts "local", "slurm", "ssh:HOST,HOST" and "run:COMMAND ARGS". Throws UsageError for anything
/// else.
void parse_engine(const std::string& text, EngineWish& wish);

class SeatStarter {
 public:
  virtual ~SeatStarter() = default;
  /// Begins to start seats. Throws Error if the starting command refuses.
  virtual void start() = 0;
  /// The reason why there are no seats yet; empty if nothing prevents them.
  virtual std::string waiting_for() { return {}; }
  /// The reason why there are no seats any more, or never will be; nullopt while there may be some.
  virtual std::optional<std::string> over() = 0;
  /// Whether a call of `start` after `over` gave a reason may succeed.
  virtual bool may_start_again() { return false; }
  /// Called when a seat has left or is silent: checks soon what happened.
  virtual void look_soon() {}
  /// Ends everything that was started. Called once.
  virtual void stop() = 0;
};

/// `tasks.command` must be the command of a seat.
std::unique_ptr<SeatStarter> make_seat_starter(const EngineWish& wish, const SlurmTasks& tasks);

}  // namespace flor::cli
