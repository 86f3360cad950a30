// The sources of a run: committing them, and how the program was built from them.
#pragma once

#include "git/shadow.h"
#include "protocol/flags.h"

#include <flor/store/store.h>

#include <optional>
#include <string>

namespace flor::detail {

/// How the program was built; nothing if it does not say. Secrets are removed: a build has to get
/// them from its environment. Warns if the repository's sources may not be those of the program.
std::optional<store::RunBuild> build_of_program(const std::optional<git::Repository>& repository);

/// Commits the work tree to the shadow branch, says what is left out, and returns the commit.
/// Throws what git and the catalog throw.
std::string commit_sources(git::Repository& repository, const store::NewRun& run,
                           const Flags& flags, store::Store& store);

}  // namespace flor::detail
