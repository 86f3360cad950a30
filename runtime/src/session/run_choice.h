// Which run --replay_flor, --flor_resume and --flor_run mean.
#pragma once

#include "protocol/flags.h"
#include "protocol/program_of_run.h"

#include <flor/store/catalog.h>

#include <optional>
#include <string>

namespace flor::detail {

/// The program of this process.
Program this_program();

/// The name that --flor without a name means: the last one that this program used, else the last
/// one used in `place`.
std::optional<std::string> last_name(const store::Catalog& catalog, const std::string& place);

/// The run that the flags of a replay name, without a word about it. Throws NotFound if there is
/// none.
store::Run run_meant_by(const store::Catalog& catalog, const Flags& flags);

/// The run to be replayed. Prints a line if another program recorded it. Throws NotFound if there
/// is none, and Busy if it is still being recorded.
store::Run run_to_replay(const store::Catalog& catalog, const Flags& flags);

/// The run that --flor_resume continues, in the repository or directory `place`. Nothing if a new
/// run is to begin. Throws NotFound if there is none, and Busy if it is still being recorded.
std::optional<store::Run> run_to_resume(const store::Catalog& catalog, const Flags& flags,
                                        const std::string& place);

}  // namespace flor::detail
