// Starts the seats of a replay on other machines: by Slurm, by GNU parallel over ssh, or by any
// command that runs another one in several places.
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
  std::vector<std::string> words;  ///< hosts; or the command and its arguments
  SlurmWish slurm;
  std::string shared;  ///< a directory that all machines see; empty: the store's
  std::string flor;    ///< path of flor on the other machines; empty: as here

  bool is_local() const { return kind == Kind::local; }
};
/// "local", "slurm", "ssh:HOST,HOST", "run:COMMAND ARGS". Throws UsageError for anything else.
void parse_engine(const std::string& text, EngineWish& wish);

class SeatStarter {
 public:
  virtual ~SeatStarter() = default;
  /// Begins to start seats. Throws Error if that is refused.
  virtual void start() = 0;
  /// Why there are no seats yet; empty: nothing prevents them.
  virtual std::string waiting_for() { return {}; }
  /// Why there are no seats any more, or never will be; nothing while there may be.
  virtual std::optional<std::string> over() = 0;
  /// After `over`: whether `start` may be tried again with hope.
  virtual bool may_start_again() { return false; }
  /// A seat has left or is silent: asks soon what happened.
  virtual void look_soon() {}
  /// Ends everything that it has started. Called once.
  virtual void stop() = 0;
};

/// `tasks.command` is that of a seat.
std::unique_ptr<SeatStarter> make_seat_starter(const EngineWish& wish, const SlurmTasks& tasks);

}  // namespace flor::cli
