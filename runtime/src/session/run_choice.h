// Which run a program means with --replay_flor, --flor_resume and --flor_run.
#pragma once

#include "protocol/flags.h"
#include "protocol/program_of_run.h"

#include <flor/store/catalog.h>

#include <optional>
#include <string>

namespace flor::detail {

/// This very program.
Program this_program();

/// The name that --flor means without one: the last of this program, else the last in `place`.
std::optional<std::string> last_name(const store::Catalog& catalog, const std::string& place);

/// The run that is to be replayed; prints a line where another program recorded it. Throws NotFound
/// if there is none, Busy if it is still being recorded.
store::Run run_to_replay(const store::Catalog& catalog, const Flags& flags);

/// The run that --flor_resume continues, in the repository or directory `place`; nothing if a new
/// one is to begin. Throws NotFound if there is none, Busy if it is still being recorded.
std::optional<store::Run> run_to_resume(const store::Catalog& catalog, const Flags& flags,
                                        const std::string& place);

}  // namespace flor::detail
