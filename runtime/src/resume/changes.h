// Differences between a recorded run and the process that continues it, by resuming or by forking.
#pragma once

#include "protocol/flags.h"
#include "resume/fork_point.h"

#include <flor/store/store.h>

#include <string>
#include <vector>

namespace flor::detail {

/// An argument with two values, in the form in which they may be shown: secrets are masked.
struct ChangedArgument {
  std::string name, recorded, given;
};

/// A resumed run keeps its arguments. Throws UsageError if one was given another value.
void refuse_changed(const store::Run& run, const std::vector<ChangedArgument>& changed);

/// Whether source files of the program differ between the two commits. Changes of other files do
/// not count: outputs, and the sources of other programs.
bool has_other_sources(const store::Catalog& catalog, const store::Run& run,
                       const std::string& last, const std::string& commit);

/// Describes the differences from the run that is forked; empty if there are none.
std::string fork_changes(const store::Catalog& catalog, const ForkPoint& from, const Flags& flags,
                         const std::string& commit, const std::vector<ChangedArgument>& changed);

/// Whether one program with the same arguments computed all epochs of the run: the run was neither
/// forked nor resumed with changes.
bool has_one_program(const store::Catalog& catalog, const store::Run& run);

/// The name under which a fork is recorded. Empty if its parent is gone and no name was given.
std::string experiment_of_fork(const store::Catalog& catalog, const Flags& flags);

/// Restores the number of threads and the generators with which the run began.
void put_back_environment(const store::Run& run);

}  // namespace flor::detail
