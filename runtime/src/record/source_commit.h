// The sources of a run: what is committed of them, and how the program was built from them.
#pragma once

#include "git/shadow.h"
#include "protocol/flags.h"

#include <flor/store/store.h>

#include <optional>
#include <string>

namespace flor::detail {

/// How the program was built, if it says so; without secrets, which a build has to get from its
/// environment. Warns where the sources of the repository may be others than the program's own.
std::optional<store::RunBuild> build_of_program(const std::optional<git::Repository>& repository);

/// Commits the work tree to the shadow branch, and says what is left out of it. Returns the commit.
/// Throws what git and the catalog throw.
std::string commit_sources(git::Repository& repository, const store::NewRun& run,
                           const Flags& flags, store::Store& store);

}  // namespace flor::detail
