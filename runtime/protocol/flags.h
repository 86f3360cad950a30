// Flor's own command-line flags, taken out of a program's argv.
#pragma once

#include "protocol/plan.h"

#include <flor/session.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

enum class Resume {
  no,
  yes,        ///< --flor_resume
  automatic,  ///< --flor_resume auto: if there is something to resume, else a new run
};

struct Flags {
  Mode mode = Mode::off;

  bool help = false;  ///< --flor_help: nothing else counts

  // Recording.
  std::string name;  ///< --flor NAME; empty: the name last used in this repository
  bool git = true;   ///< --flor_no_git
  /// --flor_every N: store the checkpoints of every N-th iteration, whatever it costs
  std::optional<std::int64_t> every;
  double epsilon = 1.0 / 15;  ///< --flor_epsilon X: share of the computing that recording may take

  Resume resume = Resume::no;
  /// --flor_from RUN[@EPOCH]: a new run begins with the state after that epoch of RUN
  std::string from;
  std::optional<std::int64_t> every_steps;  ///< --flor_every_steps N: also inside epochs
  std::optional<double> every_seconds;      ///< --flor_every_seconds S: also inside epochs

  struct Beside {
    /// --flor_output MIB|none: so much of what the program prints is kept; 0: nothing
    std::optional<std::int64_t> output_mib;
    /// --flor_machine SECONDS|none: between two samples of the machine; 0: none are taken
    std::optional<double> machine_seconds;
  } beside;  ///< what is kept beside the values

  bool check = true;                    ///< --flor_check none: a resume checks nothing
  std::optional<double> check_seconds;  ///< --flor_check SECONDS: that it may take

  // Replaying.
  std::int64_t segment = 0, segments = 1;  ///< --replay_flor PID/NGPUS
  std::string run;                         ///< --flor_run RUN; also with --flor_resume
  std::vector<Epochs> epochs;              ///< --flor_epochs LIST; empty: no such flag
  bool strong = false;                     ///< --flor_init weak|strong
  std::vector<std::string> probes;         ///< --flor_probe LOOP[,LOOP...]
  bool no_probe = false;                   ///< --flor_no_probe: ignore flor::probed, too
  std::optional<int> threads;              ///< --flor_threads N: instead of the recorded number
  std::string plugin;                      ///< --flor_plugin FILE, see flor/plugin/probe.h
  VerifyWish verify;                       ///< --flor_verify N|all|none

  // Either.
  std::string home;                           ///< --flor_home DIR
  std::map<std::string, std::string> kwargs;  ///< --kwargs NAME=VALUE...

  std::vector<std::string> command;    ///< argv as it was given
  std::string source_file;             ///< that calls flor::init, as the compiler knew it
  std::vector<std::string> arguments;  ///< of these, the program's own, without its name

  // A worker of `flor replay`, see protocol.h.
  int worker_socket = -1;     ///< -1: none
  std::vector<int> cores;     ///< to run on; empty: any
  std::string sources;        ///< work tree that the program was built from; empty: it says itself
  bool as_recorded = false;   ///< this very program recorded, regardless of the present sources
  std::string plugin_digest;  ///< expected digest of the plug-in
  bool alone = false;         ///< of the ranks of a group only this one is replayed
  bool hands_in = false;      ///< `home` is a snapshot: findings are handed in

  /// Whether the plug-in sees stored state, and nothing is executed that does not have to be.
  bool shows_what_is_stored() const { return !plugin.empty() && probes.empty() && !strong; }
};

/// Takes Flor's flags out of argv: argc and argv are compacted, argv[argc] is null. Nothing after
/// `--` is looked at. Throws UsageError, with argc and argv as they were.
Flags take_flags(int& argc, char** argv);

/// The same for a worker of `flor replay`, which is started with the command line of the recording:
/// Flor's flags in it describe the recording, not the replay.
Flags take_flags_of_worker(int& argc, char** argv);

/// The program's own arguments in a command line.
std::vector<std::string> own_arguments(std::vector<std::string> command);

/// The flags of a command line that recorded; nothing where it has flags of another version of
/// Flor.
Flags flags_of_command(std::vector<std::string> command);

}  // namespace flor::detail
