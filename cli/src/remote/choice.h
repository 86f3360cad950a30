// Names of runs in an object store, as the user writes them.
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

/// NAME: all its runs. NAME~2, or the first digits of a key: one run. In both cases with all ranks
/// of its group. The oldest first, and in a group rank 0 first. Throws NotFound with the nearest
/// names, or UsageError if digits are ambiguous.
std::vector<remote::RemoteRun> choose_remote(const std::vector<remote::RemoteRun>& runs,
                                             std::string_view spec, std::string_view url);

/// The same, where some manifests cannot be read: such runs match no name, and are an error if
/// their digits are given.
std::vector<remote::RemoteRun> choose_remote(const remote::RunList& there, std::string_view spec,
                                             std::string_view url);

/// Lists the runs in `objects`. Throws NotFound if there are none.
remote::RunList runs_in(remote::ObjectStore& objects, unsigned threads,
                        remote::RunsFrom from = remote::RunsFrom::listing);

/// Reports on standard error which runs cannot be read. Returns the status with which to end: done,
/// damaged or partly done.
ExitStatus note_unreadable(Context& context, const remote::RunList& there);

/// "3f2a91c4 (linear)", safe to print.
std::string title(const remote::RemoteRun& run);

/// The number given by --transfers, or the default. Throws UsageError.
unsigned parse_transfers(std::optional<std::uint64_t> threads);

/// "24h", "30min", "7d", "90s", "0": in microseconds. Throws UsageError.
std::int64_t parse_grace(std::string_view text);

}  // namespace flor::cli
