// Chooses runs in an object store by the names that users write.
#pragma once

#include "remote/remote.h"

#include <flor/store/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

class Context;

/// The runs that `spec` names, with all ranks of their groups. NAME means all its runs; NAME~2 or
/// the first digits of a key mean one. Oldest first, and rank 0 first in a group. Throws NotFound
/// with the nearest names, UsageError if the digits are ambiguous.
std::vector<remote::RemoteRun> choose_remote(const std::vector<remote::RemoteRun>& runs,
                                             std::string_view spec, std::string_view url);

/// The same for a listing in which some manifests could not be read: such a run matches no name,
/// and naming it by its digits is an error.
std::vector<remote::RemoteRun> choose_remote(const remote::RunList& there, std::string_view spec,
                                             std::string_view url);

/// Lists the runs in `objects`. Throws NotFound if there are none.
remote::RunList runs_in(remote::ObjectStore& objects, unsigned threads,
                        remote::RunsFrom from = remote::RunsFrom::listing);

/// Reports on standard error which runs cannot be read. Returns the exit status for the command:
/// done, damaged or partly done.
ExitStatus note_unreadable(Context& context, const remote::RunList& there);

/// Key and experiment, "3f2a91c4 (linear)", safe to print.
std::string title(const remote::RemoteRun& run);

/// The value of --transfers, or the default number. Throws UsageError.
unsigned parse_transfers(std::optional<std::uint64_t> threads);

/// Parses "24h", "30min", "7d", "90s" or "0"; returns microseconds. Throws UsageError.
std::int64_t parse_grace(std::string_view text);

}  // namespace flor::cli
