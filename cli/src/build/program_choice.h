// Chooses the program that replays a run: the program that recorded it, perhaps rebuilt since with
// more log statements, or for an old version a program built from that version's sources.
#pragma once

#include "build/version_build.h"
#include "choose/run_spec.h"

#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct ProgramWish {
  std::string command;         ///< --build: the command that builds the version
  bool own = false;            ///< --own: use the version's own code, even if it is the latest
  bool current = false;        ///< --current: use the recorded path as it is, even for an old
                               ///< version
  bool named_version = false;  ///< the user wrote RUN as NAME:COMMIT
  bool dry_run = false;        ///< build nothing
};

struct ProgramChoice {
  std::string program;  ///< path of the executable
  std::string why;      ///< why this program, in a few words: "recorded the run"
  /// The version, if one was built. Keep it until the replay is over: it holds the lock of the
  /// tree.
  std::optional<VersionWithTree> version;
  /// Whether `program` is the very executable that recorded the run, although the sources may have
  /// changed since: a later version was recorded, or the user asked for this version.
  bool as_recorded = false;
  bool to_be_built = false;  ///< a dry run: `program` does not exist yet
};

/// Chooses a program, and builds it if needed. Throws NotFound if nothing says how to build it, and
/// BuildError.
ProgramChoice choose_program(Context& context, const store::Run& run, const Permit& permit,
                             const ProgramWish& wish);

/// The run that `flor replay` without RUN means: the latest one of the program after --, if a
/// program is given. If several programs have recorded here, prints which run it is.
store::Run run_to_replay(Context& context, const std::vector<std::string>& program);

/// The run that `spec` (not empty) names, to be replayed by the program after --. Prints a note if
/// another program recorded the run.
RunChoice run_to_replay(Context& context, const std::string& spec,
                        const std::vector<std::string>& program);

/// Prints the compiler's messages, to follow the error's own line.
void print_build_error(Context& context, const BuildError& error);

/// Builds a version and prints the result. A successful `command` is remembered for the program.
VersionWithTree build_and_say(Context& context, const store::Run& run, const Permit& permit,
                              const std::string& command, bool clean = false);
/// Prints which entries of a foreign recipe are not used on this machine, if any.
void say_what_is_left_out(Context& context, const BuildPlan& plan);

}  // namespace flor::cli
