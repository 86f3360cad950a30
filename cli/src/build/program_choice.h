// Which program replays a run: the one that recorded it, the same rebuilt with more log statements,
// or, for an old version, one that is built from that version's sources.
#pragma once

#include "build/version_build.h"
#include "choose/run_spec.h"

#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct ProgramWish {
  std::string command;         ///< --build: what builds the version
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
  /// It recorded the run, and what has become of its sources does not matter: another version was
  /// recorded since, or this one was asked for.
  bool as_recorded = false;
  bool to_be_built = false;  ///< in a dry run: `program` is not there yet
};

/// Chooses, and builds where that is needed. Throws NotFound where nobody knows how to build, and
/// BuildError.
ProgramChoice choose_program(Context& context, const store::Run& run, const Permit& permit,
                             const ProgramWish& wish);

/// The run that `flor replay` without RUN means: that of the program after --, if there is one.
/// Where several programs have recorded here, says which it is.
store::Run run_to_replay(Context& context, const std::vector<std::string>& program);

/// The run that `spec` names (not empty), with the program after --; says so where that is not the
/// program that recorded it.
RunChoice run_to_replay(Context& context, const std::string& spec,
                        const std::vector<std::string>& program);

/// Prints what the compiler said, under the line that BuildError itself is.
void print_build_error(Context& context, const BuildError& error);

/// Builds a version and says so. A command that worked is remembered for the program.
VersionWithTree build_and_say(Context& context, const store::Run& run, const Permit& permit,
                              const std::string& command, bool clean = false);
/// Says what of a recipe does not count here, if anything.
void say_what_is_left_out(Context& context, const BuildPlan& plan);

}  // namespace flor::cli
