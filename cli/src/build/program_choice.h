// Chooses the program that replays a run: the one that recorded it, the same rebuilt with more log
// statements, or, for an old version, one that is built from that version's sources.
#pragma once

#include "build/version_build.h"
#include "choose/run_spec.h"

#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct ProgramWish {
  std::string command;         ///< --build: builds the version
  bool own = false;            ///< --own: the version's own code, even if it is the latest
  bool current = false;        ///< --current: the recorded path as it is, even for an old version
  bool named_version = false;  ///< RUN was given as NAME:COMMIT
  bool dry_run = false;        ///< build nothing
};

struct ProgramChoice {
  std::string program;  ///< to execute
  std::string why;      ///< a few words: "recorded the run"
  /// The version, if one was built: to be kept until the replay is over.
  std::optional<VersionWithTree> version;
  /// It recorded the run, and its sources may have changed since: another version was recorded
  /// later, or this one was asked for.
  bool as_recorded = false;
  bool to_be_built = false;  ///< in a dry run: `program` is not there yet
};

/// Chooses a program, and builds it if needed. Throws NotFound if it is not known how to build it,
/// and BuildError.
ProgramChoice choose_program(Context& context, const store::Run& run, const Permit& permit,
                             const ProgramWish& wish);

/// The run that `flor replay` without RUN means: that of the program after --, if there is one. If
/// several programs have recorded here, says which one it is.
store::Run run_to_replay(Context& context, const std::vector<std::string>& program);

/// The run that `spec` (not empty) names, with the program after --; says so if another program
/// recorded it.
RunChoice run_to_replay(Context& context, const std::string& spec,
                        const std::vector<std::string>& program);

/// Prints the compiler's messages, under the line of the BuildError itself.
void print_build_error(Context& context, const BuildError& error);

/// Builds a version and says so. A command that worked is remembered for the program.
VersionWithTree build_and_say(Context& context, const store::Run& run, const Permit& permit,
                              const std::string& command, bool clean = false);
/// Says which entries of a recipe are left out here, if any.
void say_what_is_left_out(Context& context, const BuildPlan& plan);

}  // namespace flor::cli
