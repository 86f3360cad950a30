// What starts the seats of a replay on other machines: Slurm, GNU parallel over ssh, or any command
// that runs another one in several places.
#pragma once

#include "launch/slurm_job.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// `--engine` and what belongs to it.
struct EngineWish {
  enum class Kind { local, slurm, ssh, command } kind = Kind::local;
  std::vector<std::string> words;  ///< hosts; or the command and its arguments
  SlurmWish slurm;
  std::string shared;  ///< a directory that all machines see; empty: in the store
  std::string flor;    ///< path of flor on the other machines; empty: as here

  bool is_local() const { return kind == Kind::local; }
};
/// "local", "slurm", "ssh:HOST,HOST", "run:COMMAND ARGS". Throws UsageError for anything else.
void parse_engine(const std::string& text, EngineWish& wish);

class SeatStarter {
 public:
  virtual ~SeatStarter() = default;
  /// Begins to start seats. Throws Error where that is refused.
  virtual void start() = 0;
  /// Why there are no seats yet; empty: nothing is in their way.
  virtual std::string waiting_for() { return {}; }
  /// There are none any more, or never will be, and why.
  virtual std::optional<std::string> over() = 0;
  /// It is over in a way that leaves hope: `start` may be tried again.
  virtual bool may_start_again() { return false; }
  /// Somebody has left or is silent: looks soon what it was.
  virtual void look_soon() {}
  /// Ends all that it has started. To be called once.
  virtual void stop() = 0;
};

/// `tasks.command` is that of a seat.
std::unique_ptr<SeatStarter> make_seat_starter(const EngineWish& wish, const SlurmTasks& tasks);

}  // namespace flor::cli
