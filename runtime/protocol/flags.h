// Flor's own command-line flags, which are removed from a program's argv.
#pragma once

#include "protocol/overrides.h"
#include "protocol/plan.h"
#include "protocol/protocol.h"

#include <flor/session.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

enum class Resume {
  no,
  yes,  ///< --flor_resume
  /// --flor_resume auto: resumes if there is something to resume, else starts a new run.
  automatic,
};

struct Flags {
  Mode mode = Mode::off;

  bool help = false;  ///< --flor_help: all other flags are ignored

  // Recording.
  std::string name;  ///< --flor NAME; empty: the name last used in this repository
  bool git = true;   ///< false with --flor_no_git: no sources are committed
  /// --flor_every N: stores a checkpoint every N iterations, whatever it costs.
  std::optional<std::int64_t> every;
  /// --flor_epsilon X: the fraction of the computing time that recording may take.
  double epsilon = 1.0 / 15;

  Resume resume = Resume::no;
  /// --flor_from RUN[@EPOCH]: a new run begins with the state that RUN had after that epoch.
  std::string from;
  std::optional<std::int64_t> every_steps;  ///< --flor_every_steps N: also inside epochs
  std::optional<double> every_seconds;      ///< --flor_every_seconds S: also inside epochs

  /// Records beside the values.
  struct Beside {
    /// --flor_output MIB|none: how many MiB of printed text are kept; 0 keeps nothing.
    std::optional<std::int64_t> output_mib;
    bool is_output_asked = false;  ///< a flag or a setting gives it
    /// --flor_machine SECONDS|none: the pause between two samples of the machine; 0: no samples.
    std::optional<double> machine_seconds;
  } beside;

  bool check = true;                    ///< --flor_check none: a resume checks nothing
  std::optional<double> check_seconds;  ///< --flor_check SECONDS: time limit of the check

  // For replaying.
  std::int64_t segment = 0, segments = 1;  ///< --replay_flor PID/NGPUS: which segment of how many
  std::string run;                         ///< --flor_run RUN; also with --flor_resume
  /// The places that a replay answers.
  struct Asked {
    std::vector<Epochs> epochs;  ///< --flor_epochs LIST; empty: not given
    StepChoice steps;            ///< --flor_step LIST; empty: not given
    /// Also executes what lies beyond the chosen steps, to verify what was found without it.
    bool in_full = false;
  };
  Asked asked;
  bool strong = false;  ///< --flor_init weak|strong; strong: starts from the first boundary
  std::vector<std::string> probes;  ///< --flor_probe LOOP[,LOOP...]
  bool no_probe = false;            ///< --flor_no_probe: ignore flor::probed in the sources, too
  Instead instead;                  ///< --flor_threads N, --flor_override NAME=VALUE...
  std::string plugin;               ///< --flor_plugin FILE, see flor/plugin/probe.h
  VerifyWish verify;                ///< --flor_verify N|all|none

  // For recording and replaying.
  std::string home;                           ///< --flor_home DIR
  std::map<std::string, std::string> kwargs;  ///< --kwargs NAME=VALUE...

  /// The number of this session among those that the process opens one after another, from 1; 0: it
  /// is not known yet.
  std::int64_t session = 0;
  std::vector<std::string> command;  ///< the complete argv
  std::string source_file;           ///< file that calls flor::init, as the compiler named it
  /// The program's own arguments in `command`, without the program's name.
  std::vector<std::string> arguments;

  // For a worker of `flor replay` (a process that it starts), see protocol.h.
  int worker_socket = -1;  ///< -1: none
  std::vector<int> cores;  ///< cores to run on; empty: any
  /// Work tree that the program was built from; empty: the program knows it itself.
  std::string sources;
  /// This is the program that recorded the run, even if the present sources differ.
  bool as_recorded = false;
  std::string plugin_digest;  ///< expected digest of the plug-in's content
  struct Ordered {
    bool alone = false;  ///< replays only this rank of its group
    /// `home` is a snapshot of the store: findings are sent to `flor replay`, not written.
    bool hands_in = false;
    WalkOrder walk = {};  ///< the purpose of the walk, if it is one
  } ordered;

  /// Whether a plug-in only reads stored state, so that nothing is executed that need not be.
  bool shows_what_is_stored() const { return !plugin.empty() && probes.empty() && !strong; }
};

/// Removes Flor's flags from argv: shifts the other arguments down, sets argc, and ends argv with a
/// null pointer. Ignores everything after `--`. On a UsageError argc and argv are unchanged.
Flags take_flags(int& argc, char** argv);

/// Takes the flags of a worker of `flor replay`. It is started with the command line of the
/// recording, so flags of Flor in it describe the recording, and are ignored for the replay.
Flags take_flags_of_worker(int& argc, char** argv);

/// The arguments in a command line that are the program's own.
std::vector<std::string> own_arguments(std::vector<std::string> command);

/// The flags in the command line of a recording. Nothing is set if it has flags of another version
/// of Flor.
Flags flags_of_command(std::vector<std::string> command);

}  // namespace flor::detail
