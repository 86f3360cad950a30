// Differences between a recorded run and the process that continues it, as a resume or as a fork.
#pragma once

#include "protocol/flags.h"
#include "resume/fork_point.h"

#include <flor/store/store.h>

#include <string>
#include <vector>

namespace flor::detail {

/// Values as they may be shown: secrets are masked.
struct ChangedArgument {
  std::string name, recorded, given;
};

/// A resumed run keeps its arguments: throws UsageError if any was given another value.
void refuse_changed(const store::Run& run, const std::vector<ChangedArgument>& changed);

/// Whether sources of the program differ between the commits: not every change of the work tree is
/// one of the program, since outputs change, and other programs.
bool has_other_sources(const store::Catalog& catalog, const store::Run& run,
                       const std::string& last, const std::string& commit);

/// Differences to the run that is forked, for people; empty without one.
std::string fork_changes(const store::Catalog& catalog, const ForkPoint& from, const Flags& flags,
                         const std::string& commit, const std::vector<ChangedArgument>& changed);

/// Whether one program, with the same arguments, computed all epochs of the run: it was neither
/// forked nor resumed with changes.
bool has_one_program(const store::Catalog& catalog, const store::Run& run);

/// The name under which a fork is recorded; empty if its parent is gone, and none was given.
std::string experiment_of_fork(const store::Catalog& catalog, const Flags& flags);

/// The number of threads and the generators that the run began with.
void put_back_environment(const store::Run& run);

}  // namespace flor::detail
